/* The line to try: made from the rules themselves, so that it shows a denial
 * whatever they are. Of the enforced rules the one with the smallest limit is
 * asked as somebody whom it counts; where the limit is high, with a cost that uses
 * it up in a few calls. */
#include "base/buffer.h"
#include "server/server.h"
#include "wire/json_decision.h"

enum { CALLS_MAX = 12, LIMIT_MAX = 1000000000 };

static const struct {
    enum sl_attribute attribute;
    const char *name, *value;
} people[] = {
    { SL_ATTR_TENANT, "tenant", "acme" }, { SL_ATTR_USER, "user", "alice" },
    { SL_ATTR_IP, "ip", "192.0.2.7" },    { SL_ATTR_CLIENT, "client", "app" },
    { SL_ATTR_METHOD, "method", "GET" },  { SL_ATTR_TIER, "tier", "free" },
};

static const struct sl_rule *smallest(const struct sl_ruleset *rules)
{
    const struct sl_rule *best = NULL;
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sl_rule *rule = &rules->rules[i];
        int64_t capacity = rule->numbers[0].limit.capacity;
        if (!rule->shadow && !rule->numbers[0].unlimited && capacity <= LIMIT_MAX &&
            (!best || capacity < best->numbers[0].limit.capacity))
            best = rule;
    }
    return best;
}

/* In a JSON string inside a shell's single quotes. */
static void add_member(struct sl_buffer *out, struct sluice_text name, struct sluice_text value)
{
    if (out->at[out->len - 1] != '{')
        sl_buffer_add(out, SL_TEXT(", "));
    sl_json_print_string(out, name);
    sl_buffer_add(out, SL_TEXT(": "));
    sl_json_print_string(out, value);
}

static bool asks_for(const struct sl_rule *rule, enum sl_attribute attribute)
{
    for (size_t i = 0; i < rule->when_count; i++)
        if (rule->when[i].attribute.attribute == attribute)
            return true; /* it has a value of its own */
    return false;
}

static void add_person(struct sl_buffer *out, const struct sl_rule *rule)
{
    for (size_t i = 0; i < sizeof people / sizeof *people; i++)
        for (size_t j = 0; j < rule->per_count; j++)
            if (rule->per[j].attribute == people[i].attribute &&
                !asks_for(rule, people[i].attribute))
                add_member(out, sl_text(people[i].name), sl_text(people[i].value));
    for (size_t j = 0; j < rule->per_count; j++)
        if (rule->per[j].attribute == SL_ATTR_OTHER && !asks_for(rule, SL_ATTR_OTHER))
            add_member(out, rule->per[j].name, SL_TEXT("x"));
}

static void add_resource(struct sl_buffer *out, const struct sl_rule *rule)
{
    const struct sl_pattern *pattern = &rule->resource;
    char text[512];
    size_t len = 0;
    if (rule->any_resource || pattern->everything || pattern->text.len > sizeof text / 2) {
        for (size_t i = 0; i < rule->per_count; i++)
            if (rule->per[i].attribute == SL_ATTR_RESOURCE)
                add_member(out, SL_TEXT("resource"), SL_TEXT("/x"));
        return;
    }
    for (size_t i = 0; i < pattern->text.len; i++)
        text[len++] = pattern->text.at[i] == '*' ? 'x' : pattern->text.at[i];
    add_member(out, SL_TEXT("resource"), (struct sluice_text){ text, len });
}

static void add_request(struct sl_buffer *out, const struct sl_rule *rule, int64_t cost)
{
    sl_buffer_add(out, SL_TEXT("{"));
    add_resource(out, rule);
    for (size_t i = 0; i < rule->when_count; i++)
        add_member(out, rule->when[i].attribute.name, rule->when[i].values[0]);
    add_person(out, rule);
    if (cost > 1) {
        bool is_first = out->at[out->len - 1] == '{';
        sl_buffer_add(out, is_first ? SL_TEXT("\"cost\": ") : SL_TEXT(", \"cost\": "));
        sl_buffer_add_i64(out, cost);
    }
    sl_buffer_add(out, SL_TEXT("}"));
}

/* An address to listen on is not always one to ask at. */
static void add_url(struct sl_buffer *out, const char *address)
{
    const char *port = strrchr(address, ':');
    if (strncmp(address, "unix:", 5) == 0) {
        sl_buffer_add(out, SL_TEXT("--unix-socket '"));
        sl_buffer_add(out, sl_text(address + 5));
        sl_buffer_add(out, SL_TEXT("' http://sluice"));
    } else if (strstr(address, "//0.0.0.0:")) {
        sl_buffer_add(out, (struct sluice_text){ address, strcspn(address, ":") });
        sl_buffer_add(out, SL_TEXT("://127.0.0.1"));
        sl_buffer_add(out, sl_text(port));
    } else if (strstr(address, "//[::]:")) {
        sl_buffer_add(out, (struct sluice_text){ address, strcspn(address, ":") });
        sl_buffer_add(out, SL_TEXT("://[::1]"));
        sl_buffer_add(out, sl_text(port));
    } else {
        sl_buffer_add(out, sl_text(address));
    }
    sl_buffer_add(out, SL_TEXT("/v1/check"));
}

bool sl_try_print(const struct sl_ruleset *rules, const char *address, struct sl_buffer *out)
{
    bool is_tls = strncmp(address, "https:", 6) == 0;
    const struct sl_rule *rule = smallest(rules);
    const struct sl_settings *settings = &rules->settings;
    /* curl would need more than a line. */
    if (!rule || settings->http.proxy_protocol || (is_tls && settings->tls.client_ca))
        return false;
    int64_t capacity = rule->numbers[0].limit.capacity, cost = 1, calls = capacity + 1;
    if (calls > CALLS_MAX) {
        cost = sl_div_ceil(capacity, 4);
        calls = 6; /* one more than it takes: a bucket fills meanwhile */
    }
    size_t start = out->len;
    sl_buffer_add(out, SL_TEXT("for i in"));
    for (int64_t i = 1; i <= calls; i++) {
        sl_buffer_add(out, SL_TEXT(" "));
        sl_buffer_add_i64(out, i);
    }
    sl_buffer_add(out, SL_TEXT("; do curl -s "));
    if (is_tls)
        sl_buffer_add(out, SL_TEXT("-k "));
    sl_buffer_add(out, SL_TEXT("--json '"));
    size_t request = out->len;
    add_request(out, rule, cost);
    bool is_quotable = !strchr(address, '\'') && !out->failed &&
                       !memchr(out->at + request, '\'', out->len - request);
    sl_buffer_add(out, SL_TEXT("' "));
    add_url(out, address);
    sl_buffer_add(out, SL_TEXT("; echo; done"));
    if (!is_quotable || out->failed)
        out->len = start;
    return out->len > start;
}
