/* Bodies that a client sends only when it is asked for them (`Expect`). */
#include "unit/server/on_stage.h"

/* An empty request is denied, so that its answer is not taken for another's. */
static const char rules[] =
    "identity: { trusted_proxies: [192.0.2.0/24], headers: { user: X-User, plan: X-Plan } }\n"
    "rules: [{ name: all, per: [user, plan], limit: 1000000/h, on_missing: deny }]\n";

#define AUTHORIZE                                                                                  \
    "GET /v1/authorize HTTP/1.1\r\nHost: a\r\nX-User: somebody\r\nX-Plan: golden\r\n\r\n"
#define EXPECT(path, length)                                                                       \
    "POST " path " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n" length "\r\n\r\n"
#define LENGTH_2 "Content-Length: 2"
#define CHUNKED  "Transfer-Encoding: chunked"

ON_STAGE(a_body_is_asked_for_once_and_then_the_answer_comes, rules)
{
    assert_int_equal(says(EXPECT("/v1/check", LENGTH_2)), 1);
    assert_string_equal(statuses(), "100");
    assert_int_equal(says("{"), 0);
    assert_int_equal(says("}"), 1);
    assert_int_equal(answers[0].status, 429); /* without the plan that the rule counts by */
    assert_int_equal(says(EXPECT("/v1/authorize", CHUNKED)), 1);
    assert_string_equal(statuses(), "100");
    assert_int_equal(says("1\r\n"), 0);
    assert_int_equal(says("x\r\n0\r\n\r\n"), 1);
    assert_int_equal(says(AUTHORIZE EXPECT("/v1/check", LENGTH_2)), 2);
    assert_string_equal(statuses(), "200 100");
    assert_int_equal(says("{}" AUTHORIZE), 2);
    assert_string_equal(statuses(), "429 200");
}

ON_STAGE(a_body_that_is_there_is_not_asked_for, rules)
{
    assert_int_equal(says(EXPECT("/v1/check", LENGTH_2) "{}"), 1);
    assert_string_equal(statuses(), "429");
    assert_int_equal(says(EXPECT("/v1/check", "Content-Length: 0")), 1);
    assert_string_equal(statuses(), "400");
}

ON_STAGE(an_unwanted_body_is_refused_at_once, rules)
{
    static const struct {
        const char *head;
        uint32_t status;
    } rows[] = {
        { EXPECT("/nowhere", LENGTH_2), 404 },
        { EXPECT("/healthz", LENGTH_2), 405 },
        { EXPECT("/v1/check", LENGTH_2 "\r\nContent-Type: text/html"), 415 },
        { EXPECT("/v1/check", "Content-Length: 1048577"), 413 },
        { "POST /v1/check HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\n" LENGTH_2 "\r\n\r\n", 417 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer *answer = answer_to(rows[i].head);
        SAME(rows[i].head, answer->status, rows[i].status);
        SAME(rows[i].head, answer->closes, true);
        SAME(rows[i].head, visitor.conn->is_finished && visitor.conn->lingers, true);
        SAME(rows[i].head, says("{}"), 0);
        start_over();
    }
}

ON_STAGE(a_long_body_that_was_asked_for_has_room, rules)
{
    assert_int_equal(says(AUTHORIZE EXPECT("/v1/check", "Content-Length: 100000")), 2);
    assert_string_equal(statuses(), "200 100");
    static char body[100001];
    memset(body, ' ', 100000);
    memcpy(body, "{\"user\": \"u\", \"plan\": \"p\"}", 26);
    assert_int_equal(says(body), 1);
    assert_int_equal(answers[0].status, 200);
    assert_null(visitor.conn->in);
}
