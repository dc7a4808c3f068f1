/* /v1/authorize: what the original request was, and which peers are trusted to name it. */
#include "unit/server/on_stage.h"

/* Rules that name in their answers what they have understood. */
#define RULES                                                                                      \
    "rules: [{ name: get-a, resource: /a, when: { method: GET }, per: ip, limit: 1000/h },\n"      \
    "        { name: put-a, resource: /a, when: { method: PUT }, per: ip, limit: 1000/h },\n"      \
    "        { name: get-b, resource: /b, when: { method: GET }, per: ip, limit: 1000/h },\n"      \
    "        { name: alice, resource: /who, when: { user: alice, plan: gold }, per: global,\n"     \
    "          limit: 1000/h },\n"                                                                 \
    "        { name: one, resource: /one, per: ip, limit: 1/h },\n"                                \
    "        { name: slash, resource: /, per: global, limit: 1000/h }]\n"

static const char trusting[] = "deny_status: 403\n"
                               "identity: { trusted_proxies: [192.0.2.0/24], headers: { user: "
                               "X-User, plan: X-Plan } }\n" RULES;
static const char distrusting[] =
    "deny_status: 499\n"
    "identity: { trusted_proxies: [10.0.0.0/8], headers: { user: X-User, plan: X-Plan } }\n" RULES;

/* The rule that decided, out of its fields; empty: none. */
static const char *rule_for(const char *path, const char *fields)
{
    static char name[32];
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, fields);
    struct answer *answer = answer_to(text);
    struct sluice_text policy = field_of(answer, "RateLimit-Policy");
    if (answer->status != 200)
        snprintf(name, sizeof name, "%u", answer->status);
    else if (policy.at) /* "name";… */
        snprintf(name, sizeof name, "%.*s",
                 (int)((const char *)memchr(policy.at + 1, '"', policy.len - 1) - policy.at - 1),
                 policy.at + 1);
    else
        name[0] = 0;
    return name;
}

struct row {
    const char *path, *fields, *rule;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *rule = rule_for(rows[i].path, rows[i].fields);
        if (strcmp(rule, rows[i].rule) != 0)
            fail_msg("%s %s: %s, not %s", rows[i].path, rows[i].fields, rule, rows[i].rule);
    }
}

ON_STAGE(the_original_request_is_in_headers_or_below_the_path, trusting)
{
    static const struct row rows[] = {
        { "/v1/authorize", "", "" },
        { "/v1/authorize/", "", "slash" },
        { "/v1/authorize/a", "", "get-a" },
        { "/v1/authorize/a?b=c", "", "get-a" },
        { "/v1/authorize/b", "", "get-b" },
        { "/v1/authorize/a", "X-Forwarded-Method: PUT\r\n", "put-a" },
        { "/v1/authorize/a", "X-Original-Method: PUT\r\n", "put-a" },
        { "/v1/authorize", "X-Forwarded-Uri: /a\r\n", "get-a" },
        { "/v1/authorize", "X-Original-URI: /a\r\nX-Forwarded-Method: PUT\r\n", "put-a" },
        { "/v1/authorize/b", "X-Original-URI: /a\r\n", "get-a" },
    };
    check_rows(rows, COUNT(rows));
}

ON_STAGE(headers_that_contradict_each_other_are_400, trusting)
{
    static const struct row rows[] = {
        { "/v1/authorize", "X-Forwarded-Uri: /a\r\nX-Original-URI: /b\r\n", "400" },
        { "/v1/authorize", "X-Forwarded-Uri: /a\r\nX-Original-URI: /a\r\n", "get-a" },
        { "/v1/authorize", "X-Forwarded-Uri: /a\r\nX-Forwarded-Uri: /b\r\n", "400" },
        { "/v1/authorize", "X-Forwarded-Uri: /a\r\nx-forwarded-uri: /a\r\n", "get-a" },
        { "/v1/authorize", "X-Original-URI: /a\r\nX-Original-URI: /\r\n", "400" },
        { "/v1/authorize/a", "X-Forwarded-Method: PUT\r\nX-Original-Method: GET\r\n", "400" },
        { "/v1/authorize/a", "X-Forwarded-Method: PUT\r\nX-Forwarded-Method: PUT\r\n", "put-a" },
        { "/v1/authorize/a", "X-Original-Method: PUT\r\nX-Original-Method: GET\r\n", "400" },
        { "/v1/authorize/who", "X-User: alice\r\nX-User: bob\r\nX-Plan: gold\r\n", "400" },
        { "/v1/authorize/who", "X-User: alice\r\nx-user: alice\r\nX-Plan: gold\r\n", "alice" },
    };
    check_rows(rows, COUNT(rows));
    assert_false(answers[0].closes);
}

ON_STAGE(a_trusted_peer_names_the_user, trusting)
{
    static const struct row rows[] = {
        { "/v1/authorize/who", "X-User: alice\r\nX-Plan: gold\r\n", "alice" },
        { "/v1/authorize/who", "x-user: alice\r\nX-PLAN: gold\r\n", "alice" },
        { "/v1/authorize/who", "X-User: alice\r\n", "" },
        { "/v1/authorize/who", "X-User: Alice\r\nX-Plan: gold\r\n", "" },
    };
    check_rows(rows, COUNT(rows));
}

ON_STAGE(another_peer_does_not_name_the_user, distrusting)
{
    static const struct row rows[] = {
        { "/v1/authorize/who", "X-User: alice\r\nX-Plan: gold\r\n", "" },
        { "/v1/authorize/who", "X-User: alice\r\nX-User: bob\r\n", "" },
    };
    check_rows(rows, COUNT(rows));
    visitor.conn->is_local = true; /* through a Unix socket: its peers are trusted */
    assert_string_equal(rule_for("/v1/authorize/who", "X-User: alice\r\nX-Plan: gold\r\n"),
                        "alice");
}

/* The peer is 192.0.2.1. */
ON_STAGE(addresses_are_those_that_trusted_proxies_give, trusting)
{
    static const struct row rows[] = {
        { "/v1/authorize/one", "X-Forwarded-For: 198.51.100.1\r\n", "one" },
        { "/v1/authorize/one", "X-Forwarded-For: 198.51.100.1\r\n", "403" },
        { "/v1/authorize/one", "X-Forwarded-For: 198.51.100.2\r\n", "one" },
        { "/v1/authorize/one", "Forwarded: for=198.51.100.2\r\n", "403" },
        { "/v1/authorize/one", "", "one" },
        { "/v1/authorize/one", "X-Forwarded-For: 192.0.2.1\r\n", "403" },
    };
    check_rows(rows, COUNT(rows));
}

ON_STAGE(from_another_peer_the_address_is_its_own, distrusting)
{
    static const struct row rows[] = {
        { "/v1/authorize/one", "X-Forwarded-For: 198.51.100.1\r\n", "one" },
        { "/v1/authorize/one", "X-Forwarded-For: 198.51.100.2\r\n", "499" },
    };
    check_rows(rows, COUNT(rows));
}

ON_STAGE(a_denial_has_the_status_that_the_rules_choose_and_says_why, distrusting)
{
    static const char message[] = "GET /v1/authorize/one HTTP/1.1\r\nHost: h\r\n\r\n";
    struct answer *answer = answer_to(message);
    assert_int_equal(answer->status, 200);
    assert_int_equal(answer->body.len, 0);
    answer = answer_to(message);
    assert_int_equal(answer->status, 499);
    assert_true(body_has(answer, "\"error\": \"rate_limit_exceeded\""));
    assert_true(body_has(answer, "\"allowed\": false"));
    assert_true(number_of(field_of(answer, "Retry-After")) > 0);
    assert_false(answer->closes);
}

static const char denying[] = "deny_status: 418\non_store_failure: deny\n" RULES;

/* Not what the rules deny, and so not with their status. */
ON_STAGE(a_store_that_fails_is_503_where_the_rules_deny_then, denying)
{
    model.status = SLUICE_STORE_DOWN;
    struct answer *answer = answer_to("GET /v1/authorize/one HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(answer->status, 503);
    assert_true(body_has(answer, "\"error\": \"store_unavailable\""));
}

ON_STAGE(a_body_is_ignored, distrusting)
{
    assert_int_equal(says("POST /v1/authorize/a HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\n"
                          "Content-Length: 5\r\n\r\n{[GETGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"),
                     2);
    assert_string_equal(statuses(), "200 200");
}
