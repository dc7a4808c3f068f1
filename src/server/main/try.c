/* The command to try, printed at the start: made of the rules, so that it shows a denial whatever
 * they are. It uses the enforced rule with the smallest limit and a caller that the rule counts; if
 * the limit is high, with a cost that uses it up in a few calls. A request that is exempt or
 * otherwise passes is found by trying it first, on separate counts. */
#include "base/buffer.h"
#include "base/clock.h"
#include "limiter/limiter.h"
#include "rules/condition.h"
#include "server/server.h"
#include "wire/json/decision.h"
#include "wire/json/request.h"

enum { CALLS_MAX = 12, LIMIT_MAX = 1000000000, RULES_TRIED_MAX = 16, REQUEST_MAX_BYTES = 4096 };
enum { PATTERN_MAX_BYTES = 512 };

static const struct {
    enum sl_attribute attribute;
    const char *name, *value;
} users[] = {
    { SL_ATTR_TENANT, "tenant", "acme" }, { SL_ATTR_USER, "user", "alice" },
    { SL_ATTR_IP, "ip", "192.0.2.7" },    { SL_ATTR_CLIENT, "client", "app" },
    { SL_ATTR_METHOD, "method", "GET" },  { SL_ATTR_TIER, "tier", "free" },
};

static int64_t capacity_of(const struct sl_rule *rule)
{
    return rule->numbers[0].limit.capacity;
}

/* Returns the enforced rule with the next smallest limit after `last`, or NULL; of equal ones the
 * first in the file first. */
static const struct sl_rule *next_smallest(const struct sl_ruleset *rules,
                                           const struct sl_rule *last)
{
    const struct sl_rule *best = NULL;
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sl_rule *rule = &rules->rules[i];
        int64_t capacity = capacity_of(rule);
        bool was = last && (capacity < capacity_of(last) ||
                            (capacity == capacity_of(last) && rule <= last));
        if (!was && !rule->shadow && !rule->numbers[0].unlimited && capacity <= LIMIT_MAX &&
            (!best || capacity < capacity_of(best)))
            best = rule;
    }
    return best;
}

/* Adds a JSON member, inside a shell's single quotes. */
static void add_member(struct sl_buffer *out, struct sluice_text name, struct sluice_text value)
{
    if (out->at[out->len - 1] != '{')
        sl_buffer_add(out, SL_TEXT(", "));
    sl_json_print_string(out, name);
    sl_buffer_add(out, SL_TEXT(": "));
    sl_json_print_string(out, value);
}

/* Does a condition of the rule need a value of this attribute? Then it has one already. */
static bool has_condition_on(const struct sl_rule *rule, const struct sl_part *part)
{
    for (size_t i = 0; i < rule->when_count; i++)
        if (sl_condition_needs_value(&rule->when[i]) &&
            rule->when[i].attribute.attribute == part->attribute &&
            sl_text_equal(rule->when[i].attribute.name, part->name))
            return true;
    return false;
}

static void add_caller(struct sl_buffer *out, const struct sl_rule *rule)
{
    for (size_t j = 0; j < rule->per_count; j++) {
        const struct sl_part *part = &rule->per[j];
        if (has_condition_on(rule, part))
            continue;
        for (size_t i = 0; i < sizeof users / sizeof *users; i++)
            if (part->attribute == users[i].attribute)
                add_member(out, sl_text(users[i].name), sl_text(users[i].value));
        if (part->attribute == SL_ATTR_OTHER)
            add_member(out, part->name, SL_TEXT("x"));
    }
}

/* Returns a text that the pattern matches: `x` for every star. Cut to PATTERN_MAX_BYTES. */
static struct sluice_text example_of(struct sluice_text pattern, char room[PATTERN_MAX_BYTES])
{
    size_t len = pattern.len < PATTERN_MAX_BYTES ? pattern.len : PATTERN_MAX_BYTES;
    for (size_t i = 0; i < len; i++)
        room[i] = pattern.at[i] == '*' ? 'x' : pattern.at[i];
    return (struct sluice_text){ room, len };
}

static void add_condition(struct sl_buffer *out, const struct sl_condition *when)
{
    char room[PATTERN_MAX_BYTES];
    if (when->value_count)
        add_member(out, when->attribute.name, when->values[0]);
    else if (when->like.count)
        add_member(out, when->attribute.name, example_of(when->like.at[0], room));
}

static void add_resource(struct sl_buffer *out, const struct sl_rule *rule)
{
    const struct sl_pattern *pattern = &rule->resource;
    bool is_counted = false;
    struct sluice_text text = SL_TEXT("/x");
    char room[PATTERN_MAX_BYTES];
    for (size_t i = 0; i < rule->per_count; i++)
        is_counted |= rule->per[i].attribute == SL_ATTR_RESOURCE;
    if (rule->any_resource && !is_counted)
        return;
    if (!rule->any_resource && !pattern->everything)
        text = example_of(pattern->text, room);
    add_member(out, SL_TEXT("resource"), text);
}

static void add_request(struct sl_buffer *out, const struct sl_rule *rule, int64_t cost)
{
    sl_buffer_add(out, SL_TEXT("{"));
    add_resource(out, rule);
    for (size_t i = 0; i < rule->when_count; i++)
        add_condition(out, &rule->when[i]);
    add_caller(out, rule);
    if (cost > 1) {
        bool is_first = out->at[out->len - 1] == '{';
        sl_buffer_add(out, is_first ? SL_TEXT("\"cost\": ") : SL_TEXT(", \"cost\": "));
        sl_buffer_add_i64(out, cost);
    }
    sl_buffer_add(out, SL_TEXT("}"));
}

/* Adds a URL to call: an address to listen on is not always one to connect to. */
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

/* Is the last of so many calls denied, if all come at once? */
static bool is_denied(const struct sl_ruleset *rules, struct sluice_text request, int64_t calls)
{
    char used_up[REQUEST_MAX_BYTES];
    struct sl_json_room room;
    struct sluice_request asked;
    struct sluice_decision decision = { .allowed = true };
    if (request.len > sizeof used_up)
        return false;
    memcpy(used_up, request.at, request.len);
    struct sl_store *store = sl_heap_open();
    struct sl_limiter *limiter = store ? sl_limiter_new(rules, store) : NULL;
    if (limiter && sl_json_read_request(used_up, request.len, &room, &asked)) {
        asked.at_us = sl_walltime_us();
        for (int64_t i = 0; i < calls; i++)
            sl_limiter_decide(limiter, &asked, &decision);
    }
    sl_limiter_free(limiter);
    sl_store_close(store);
    return !decision.allowed;
}

/* Finds a request, and how often to make it. Returns false if none would show a denial. */
static bool find_request(const struct sl_ruleset *rules, struct sl_buffer *request, int64_t *calls)
{
    const struct sl_rule *rule = NULL;
    for (int i = 0; i < RULES_TRIED_MAX && (rule = next_smallest(rules, rule)); i++) {
        int64_t capacity = capacity_of(rule), cost = 1;
        *calls = capacity + 1;
        if (*calls > CALLS_MAX) {
            cost = sl_div_ceil(capacity, 4);
            *calls = 6; /* one more than needed, because a bucket fills meanwhile */
        }
        sl_buffer_clear(request);
        add_request(request, rule, cost);
        struct sluice_text text = { request->at, request->len };
        if (!request->failed && !memchr(text.at, '\'', text.len) && is_denied(rules, text, *calls))
            return true;
    }
    return false;
}

static void print_loop(struct sl_buffer *out, int64_t calls)
{
    sl_buffer_add(out, SL_TEXT("for i in"));
    for (int64_t i = 1; i <= calls; i++) {
        sl_buffer_add(out, SL_TEXT(" "));
        sl_buffer_add_i64(out, i);
    }
    sl_buffer_add(out, SL_TEXT("; do curl -s "));
}

bool sl_try_print(const struct sl_ruleset *rules, const char *address, struct sl_buffer *out)
{
    const struct sl_settings *settings = &rules->settings;
    struct sl_buffer request = sl_buffer(REQUEST_MAX_BYTES);
    bool is_tls = strncmp(address, "https:", 6) == 0;
    int64_t calls;
    /* curl would need more than one line. */
    bool needs_more = settings->http.proxy_protocol || (is_tls && settings->tls.client_ca);
    bool found = !needs_more && !strchr(address, '\'') && find_request(rules, &request, &calls);
    if (found) {
        print_loop(out, calls);
        sl_buffer_add(out, is_tls ? SL_TEXT("-k --json '") : SL_TEXT("--json '"));
        sl_buffer_add(out, (struct sluice_text){ request.at, request.len });
        sl_buffer_add(out, SL_TEXT("' "));
        add_url(out, address);
        sl_buffer_add(out, SL_TEXT("; echo; done"));
    }
    sl_buffer_release(&request);
    return found && !out->failed;
}
