/* The line to try: a command that a shell understands, with a request that the rules
 * themselves deny within the calls that it makes. */
#include <jansson.h>

#include "limiter/limiter.h"
#include "server/server.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"
#include "wire/json/request.h"

/* The line, terminated; NULL: there is none. The caller's to free. */
static char *line_of(const char *yaml, const char *address)
{
    struct sl_ruleset *rules = rules_of(yaml);
    struct sl_buffer out = sl_buffer(8192);
    bool good = sl_try_print(rules, address, &out);
    assert_int_equal(good, out.len > 0);
    assert_false(out.failed);
    sl_buffer_add(&out, SL_TEXT("\0"));
    sl_ruleset_free(rules);
    if (good)
        return out.at;
    sl_buffer_release(&out);
    return NULL;
}

#define ADDRESS "http://127.0.0.1:8080"

TEST(the_line_is_as_written_here)
{
    char *line = line_of("rules: [{ name: a, resource: /login, per: ip, limit: 2/m }]\n", ADDRESS);
    assert_string_equal(line, "for i in 1 2 3; do curl -s --json "
                              "'{\"resource\": \"/login\", \"ip\": \"192.0.2.7\"}' "
                              "http://127.0.0.1:8080/v1/check; echo; done");
    free(line);
}

/* ---- does it do what it is for? ---- */

/* Between the only two single quotes. */
static struct sluice_text body_of(const char *line)
{
    const char *start = strchr(line, '\'');
    assert_non_null(start);
    const char *end = strchr(start + 1, '\'');
    assert_non_null(end);
    assert_null(strchr(end + 1, '\''));
    return (struct sluice_text){ start + 1, (size_t)(end - start - 1) };
}

static size_t calls_of(const char *line)
{
    size_t count = 0;
    assert_int_equal(strncmp(line, "for i in ", 9), 0);
    for (const char *at = line + 8; *at == ' '; at += 1 + strspn(at + 1, "0123456789"))
        count++;
    return count;
}

/* Asked as often as the line asks, at one moment: does the last one hear no? */
static bool denies(const char *yaml, const char *line)
{
    static struct model model;
    static struct sl_json_room room;
    struct sl_ruleset *rules = rules_of(yaml);
    struct sluice_request request;
    struct sluice_decision decision = { .allowed = true };
    struct sluice_text body = body_of(line);
    char *copy = strndup(body.at, body.len);
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(rules, &model.store);
    if (!sl_json_read_request(copy, body.len, &room, &request))
        fail_msg("%s: %s", room.error, line);
    for (size_t i = calls_of(line); i > 0; i--)
        sl_limiter_decide(limiter, &request, &decision);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
    free(copy);
    return !decision.allowed;
}

TEST(the_line_shows_a_denial_whatever_the_rules_are)
{
    static const char *const rules[] = {
        "rules: [{ name: a, per: ip, limit: 1/s }]\n",
        "rules: [{ name: a, per: user, limit: 11/s }]\n",
        "rules: [{ name: a, per: resource, limit: 3/m }]\n",
        "rules: [{ name: a, per: method, limit: 3/m }]\n",
        "rules: [{ name: a, per: [user, method], limit: 3/m }]\n",
        "tiers: { pro: { scale: 2 } }\nrules: [{ name: a, per: tier, limit: 3/m }]\n",
        "rules: [{ name: a, per: user, limit: 12/s }]\n",
        "rules: [{ name: a, per: user, limit: 100/s }]\n",
        "rules: [{ name: a, per: global, algorithm: fixed_window, limit: 999999999/h }]\n",
        "rules: [{ name: a, per: tenant, limit: 5/m }]\n",
        "rules: [{ name: a, per: [tenant, client, user, ip], limit: 5/m, on_missing: deny }]\n",
        "rules: [{ name: a, per: api_key, limit: 5/m }]\n",
        "rules: [{ name: a, per: [plan, region], limit: 5/m }]\n",
        "rules: [{ name: a, per: resource, resource: /a/*, limit: 3/m }]\n",
        "rules: [{ name: a, per: ip, resource: '/a/*/c', limit: 3/m }]\n",
        "rules: [{ name: a, per: user, when: { method: [POST, PUT], plan: gold }, limit: 3/m }]\n",
        "rules: [{ name: a, per: user, when: { user: [bob] }, limit: 3/m }]\n",
        "rules: [{ name: a, per: user, algorithm: token_bucket, capacity: 100, refill_rate: 9 }]\n",
        "rules: [{ name: a, per: user, algorithm: leaky_bucket, capacity: 4, refill_rate: 1 }]\n",
        "rules: [{ name: a, per: ip, algorithm: sliding_window_log, limit: 40/m }]\n",
        "rules: [{ name: big, per: user, limit: 100/s },\n"
        "        { name: tried, per: ip, limit: 1/s, shadow: true },\n"
        "        { name: small, per: user, resource: /x, limit: 2/s }]\n",
        "rules: [{ name: a, per: ip, resource: '/\"q\\q', limit: 3/m }]\n",
        "rules: [{ name: a, per: ip, resource: /gr\xc3\xbc\xc3\x9f, limit: 3/m }]\n",
        "rules: [{ name: a, per: ip, resource: '*', limit: 3/m }]\n",
        "rules: [{ name: a, per: plan, when: { region: eu }, limit: 3/m }]\n",
        /* The first rule cannot be shown, the next one can. */
        "exempt: { users: [alice] }\n"
        "rules: [{ name: a, per: user, limit: 3/m }, { name: b, per: ip, limit: 4/m }]\n",
        "rules: [{ name: a, per: ip, resource: /a/*, except: [/a/x], limit: 3/m },\n"
        "        { name: b, per: ip, resource: /b, limit: 3/m }]\n",
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        char *line = line_of(rules[i], ADDRESS);
        if (!line)
            fail_msg("no line for %s", rules[i]);
        if (calls_of(line) > 12 || !denies(rules[i], line))
            fail_msg("%s is not denied: %s", rules[i], line);
        free(line);
    }
}

TEST(its_body_is_json_with_each_name_once)
{
    static const char *const rules[] = {
        "rules: [{ name: a, per: global, limit: 100/s }]\n", /* a cost alone */
        "rules: [{ name: a, per: global, limit: 1/s }]\n",   /* nothing at all */
        "rules: [{ name: a, per: [user, plan], when: { user: u, plan: p }, limit: 3/s }]\n",
        "rules: [{ name: a, per: resource, resource: /x, limit: 3/s }]\n",
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        char *line = line_of(rules[i], ADDRESS);
        struct sluice_text body = body_of(line);
        json_error_t error;
        json_t *json = json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES, &error);
        if (!json)
            fail_msg("%s: %s", error.text, line);
        json_decref(json);
        free(line);
    }
}

/* ---- none ---- */

TEST(there_is_no_line_where_no_rule_lends_itself)
{
    static const char *const rules[] = {
        "rules: [{ name: a, per: ip, limit: 1/s, shadow: true }]\n",
        "rules: [{ name: a, per: ip, limit: 1/s, shadow: true },\n"
        "        { name: b, per: ip, limit: 2/s, shadow: true }]\n",
        "rules: [{ name: a, per: ip, algorithm: fixed_window, limit: 1000000001/h }]\n",
        "rules: [{ name: a, per: ip, resource: \"/it's\", limit: 1/s }]\n", /* cannot be quoted */
        "exempt: { users: [alice] }\nrules: [{ name: a, per: user, limit: 3/m }]\n",
        "exempt: { ips: [192.0.2.0/24] }\nrules: [{ name: a, per: ip, limit: 3/m }]\n",
        "rules: [{ name: a, per: ip, resource: /a/*, except: [/a/x], limit: 3/m }]\n",
        "tiers: { free: { unlimited: true } }\nrules: [{ name: a, per: tier, limit: 3/m }]\n",
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        char *line = line_of(rules[i], ADDRESS);
        if (line)
            fail_msg("%s", line);
    }
}

TEST(what_was_printed_before_stays_where_there_is_none)
{
    struct sl_ruleset *rules =
        rules_of("rules: [{ name: a, per: ip, limit: 1/s, shadow: true }]\n");
    struct sl_buffer out = sl_buffer(8192);
    sl_buffer_add(&out, SL_TEXT("before"));
    assert_false(sl_try_print(rules, ADDRESS, &out));
    assert_int_equal(out.len, 6);
    sl_ruleset_free(rules);
    rules = rules_of("rules: [{ name: a, per: ip, resource: \"/it's\", limit: 1/s }]\n");
    assert_false(sl_try_print(rules, ADDRESS, &out));
    assert_int_equal(out.len, 6);
    sl_ruleset_free(rules);
    sl_buffer_release(&out);
}

/* ---- where ---- */

TEST(the_address_is_one_that_can_be_asked_at)
{
    static const struct {
        const char *address, *ending;
    } rows[] = {
        { "http://127.0.0.1:80", "' http://127.0.0.1:80/v1/check; echo; done" },
        { "http://0.0.0.0:8080", "' http://127.0.0.1:8080/v1/check; echo; done" },
        { "http://[::]:8080", "' http://[::1]:8080/v1/check; echo; done" },
        { "http://[::1]:8080", "' http://[::1]:8080/v1/check; echo; done" },
        { "http://example.org:1", "' http://example.org:1/v1/check; echo; done" },
        { "https://0.0.0.0:443", "' https://127.0.0.1:443/v1/check; echo; done" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *line = line_of("rules: [{ name: a, per: ip, limit: 1/s }]\n", rows[i].address);
        size_t len = strlen(line), ending = strlen(rows[i].ending);
        assert_true(len > ending);
        assert_string_equal(line + len - ending, rows[i].ending);
        SAME(rows[i].address, strstr(line, "curl -s -k --json") != NULL,
             strncmp(rows[i].address, "https", 5) == 0);
        free(line);
    }
}

TEST(a_unix_socket_is_given_to_curl_as_such)
{
    char *line = line_of("rules: [{ name: a, per: ip, limit: 1/s }]\n", "unix:/run/a b.sock");
    assert_non_null(strstr(line, "' --unix-socket '/run/a b.sock' http://sluice/v1/check; echo"));
    free(line);
}

/* As a shell cuts it into words. */
TEST(a_shell_takes_the_line_as_it_is_meant)
{
    char *line = line_of("rules: [{ name: a, per: ip, resource: '/$(x) `y` \"z\"', limit: 1/s }]\n",
                         "http://127.0.0.1:1");
    char script[1024], got[1024];
    snprintf(script, sizeof script, "curl() { printf '%%s|' \"$@\"; }; %s", line);
    FILE *shell = popen(script, "r");
    assert_non_null(shell);
    assert_non_null(fgets(got, sizeof got, shell));
    pclose(shell);
    assert_string_equal(got, "-s|--json|{\"resource\": \"/$(x) `y` \\\"z\\\"\", \"ip\": "
                             "\"192.0.2.7\"}|http://127.0.0.1:1/v1/check|\n");
    free(line);
}
