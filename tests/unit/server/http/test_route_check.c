/* /v1/check and the reservations: what is answered, and answers that are held. */
#include <jansson.h>

#include "unit/server/on_stage.h"

static const char rules[] =
    "on_store_failure: deny\nmax_wait: 10s\n"
    "rules: [{ name: two, resource: /two, per: user, limit: 2/m },\n"
    "        { name: must, resource: /must, per: user, limit: 2/m, on_missing: deny },\n"
    "        { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 5,\n"
    "          refill_rate: 1 },\n"
    "        { name: many, resource: /many, per: user, limit: 100000/m }]\n";

#define TWO       "{\"user\": \"u\", \"resource\": \"/two\"}"
#define QUEUE     "{\"user\": \"u\", \"resource\": \"/queue\", \"wait\": true}"
#define MANY      "{\"user\": \"u\", \"resource\": \"/many\"}"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* An answer's body has to be JSON, whatever it says; the caller's. */
static json_t *json_of(const struct answer *answer)
{
    json_error_t error;
    json_t *json = json_loadb(answer->body.at, answer->body.len, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("%s: %.*s", error.text, (int)answer->body.len, answer->body.at);
    return json;
}

/* ---- what is answered ---- */

struct row {
    const char *path, *body;
    uint32_t status;
    const char *has; /* in the answer's body */
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct answer *answer = answer_to_post(rows[i].path, rows[i].body);
        SAME(rows[i].body, answer->status, rows[i].status);
        json_decref(json_of(answer));
        if (!body_has(answer, rows[i].has))
            fail_msg("%s: %.*s", rows[i].body, (int)answer->body.len, answer->body.at);
        SAME(rows[i].body, answer->closes, false);
    }
}

ON_STAGE(a_denial_says_what_it_is_and_what_to_do, rules)
{
    static const struct row rows[] = {
        { "/v1/check", TWO, 200, "{\"allowed\": true" },
        { "/v1/check", TWO, 200, "\"remaining\": 0" },
        { "/v1/check", TWO, 429,
          "{\"error\": \"rate_limit_exceeded\", \"error_description\": \"Too many requests. "
          "Please retry after " },
        { "/v1/check", "{\"user\": \"v\", \"resource\": \"/two\", \"cost\": 3}", 429,
          "{\"error\": \"cost_exceeds_limit\", \"error_description\": \"This request can never "
          "pass: its cost exceeds the limit.\"" },
        { "/v1/check", "{\"resource\": \"/must\"}", 429,
          "{\"error\": \"missing_identity\", \"error_description\": \"This request lacks an "
          "attribute that the rule counts by.\"" },
        { "/v1/check", "[" TWO ", {}]", 200, "[{\"error\": \"rate_limit_exceeded\"" },
        { "/v1/check", "{}", 200, "\"reason\": \"no_rule\"" },
    };
    check_rows(rows, COUNT(rows));
    model.status = SLUICE_STORE_DOWN;
    static const struct row failed = { "/v1/check", TWO, 503,
                                       "{\"error\": \"store_unavailable\", \"error_description\": "
                                       "\"The store of the counts does not answer, and the rules "
                                       "deny then.\"" };
    check_rows(&failed, 1);
}

ON_STAGE(what_is_wrong_with_a_body_is_said_and_where, rules)
{
    static const struct row rows[] = {
        { "/v1/check", "", 400, "byte 1" },
        { "/v1/check", "{\"a\": }", 400, "byte 7" },
        { "/v1/check", "{\"cost\": -1}", 422, "cost" },
        { "/v1/check", "{\"at_us\": 5}", 422, "at_us" },
        { "/v1/check", "[]", 422, "empty" },
        { "/v1/check", "[{}, {\"cost\": 1.5}]", 422, "request 2 of the array: " },
        { "/v1/check", "[{}, {\"at_us\": 1}]", 422, "request 2 of the array: " },
        { "/v1/check", "[{}, {}", 400, "byte 8: expected `,` or `]`" },
        { "/v1/check", "[{} {}]", 400, "byte 5: expected `,` or `]`" },
        { "/v1/check", "[{}] x", 400, "byte 6: there is something behind" },
        { "/v1/reserve", "{\"expires_in\": \"60\"}", 422, "expires_in" },
        { "/v1/reserve", "{\"expires_in\": 0}", 422, "0.001 to 86400" },
        { "/v1/reserve", "{\"expires_in\": 86400.1}", 422, "0.001 to 86400" },
        { "/v1/reserve", "{\"explain\": true}", 422, "explain" },
        { "/v1/commit", "{\"reservation\": \"0000000000000001\"}", 422, "cost" },
        { "/v1/commit", "{\"reservation\": \"1\", \"cost\": 1}", 422, "16 hex digits" },
        { "/v1/commit", "[]", 422, "object" },
        { "/v1/commit", "{]", 400, "object" },
        { "/v1/commit", "1", 422, "object" },
        { "/v1/cancel", "{\"reservation\": \"0000000000000001\", \"cost\": 1}", 422, "no `cost`" },
        { "/v1/cancel", "{\"reservation\": \"00000000000000ff\"}", 404, "no such reservation" },
    };
    check_rows(rows, COUNT(rows));
    assert_int_equal(model.decide_calls, 0);
}

ON_STAGE(a_reservation_is_made_and_settled, rules)
{
    static const struct row rows[] = {
        { "/v1/reserve", "{\"user\": \"u\", \"resource\": \"/many\", \"cost\": 500}", 200,
          "{\"reservation\": \"0000000000000001-0d003f0283b253c9\", \"expires_at_us\": 1067000000, "
          "\"allowed\": "
          "true" },
        { "/v1/reserve", "{\"resource\": \"/none\", \"expires_in\": 0.001}", 200,
          "{\"reservation\": null, \"expires_at_us\": null, \"allowed\": true" },
        { "/v1/commit", "{\"reservation\": \"0000000000000001-0d003f0283b253c9\", \"cost\": 320}",
          200,
          "{\"reservation\": \"0000000000000001-0d003f0283b253c9\", \"committed\": true, \"cost\": "
          "320}" },
        { "/v1/commit", "{\"reservation\": \"0000000000000001-0d003f0283b253c9\", \"cost\": 320}",
          404, "detail" },
        { "/v1/check", MANY, 200, "\"remaining\": 99679" },
        { "/v1/reserve", "{\"user\": \"u\", \"resource\": \"/many\", \"expires_in\": null}", 200,
          "\"0000000000000002-f5d37ef7be5b86ab\"" },
        { "/v1/cancel", "{\"reservation\": \"0000000000000002-f5d37ef7be5b86ab\"}", 200,
          "\"cancelled\": true" },
        { "/v1/check", MANY, 200, "\"remaining\": 99678" },
    };
    check_rows(rows, COUNT(rows));
}

ON_STAGE(an_answer_that_cannot_be_held_in_memory_is_a_problem_not_half_an_answer, rules)
{
    struct sl_buffer body = sl_buffer(1 << 20);
    size_t kept = the_round()->scratch.most;
    for (int i = 0; i < 1000; i++)
        sl_buffer_add(&body, i ? SL_TEXT("," MANY) : SL_TEXT("[" MANY));
    sl_buffer_add(&body, SL_TEXT("]\0"));
    the_round()->scratch.most = 65536;
    struct answer *answer = answer_to_post("/v1/check", body.at);
    assert_int_equal(answer->status, 500);
    json_decref(json_of(answer));
    the_round()->scratch.most = kept;
    answer = answer_to_post("/v1/check", body.at);
    assert_int_equal(answer->status, 200);
    json_t *all = json_of(answer);
    assert_int_equal(json_array_size(all), 1000);
    json_decref(all);
    sl_buffer_release(&body);
}

/* Not even a first byte of a body can be printed. */
ON_STAGE(without_memory_for_a_body_every_answer_is_a_problem, rules)
{
    static const char *const rows[][2] = {
        { "/v1/check", MANY },
        { "/v1/check", "[" MANY ", " MANY "]" },
        { "/v1/check", "[" MANY ", {\"user\": \"u\", \"resource\": \"/many\", "
                       "\"explain\": true}]" },
        { "/v1/reserve", MANY },
        { "/v1/check", "{" },
        { "/v1/nothing", "{}" }
    };
    struct sl_buffer *scratch = &the_round()->scratch;
    size_t kept = scratch->most;
    for (size_t i = 0; i < COUNT(rows); i++) {
        sl_buffer_release(scratch);
        scratch->most = 0;
        struct answer *answer = answer_to_post(rows[i][0], rows[i][1]);
        SAME(rows[i][1], answer->status, 500);
        SAME_TEXT(rows[i][1], field_of(answer, "Content-Type"), "application/problem+json");
        json_t *problem = json_of(answer);
        SAME(rows[i][1], json_integer_value(json_object_get(problem, "status")), 500);
        json_decref(problem);
    }
    scratch->most = kept;
}

/* ---- answers that wait ---- */

ON_STAGE(what_is_queued_is_held_and_what_came_before_is_not, rules)
{
    char *one = post("/v1/check", QUEUE), *text;
    assert_true(asprintf(&text, "%s" GET("/healthz") "%s" GET("/readyz") "%s" GET("/metrics"), one,
                         one, one) > 0);
    assert_int_equal(says(text), 2); /* the first passes at once, the second waits a second */
    assert_true(body_has(&answers[0], "\"delay_us\": 0"));
    assert_true(body_has(&answers[1], "ok"));
    assert_false(sl_conn_is_open(visitor.conn));
    assert_true(visitor.conn->has_backlog);
    assert_int_equal(model.decide_calls, 2); /* what comes behind is not decided yet */
    model.now_us += INT64_C(1000000);
    visitor_hold_ends(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 2);
    assert_int_equal(number_in(answers[0].body, "delay_us"), 1000000);
    assert_true(body_has(&answers[1], "ready"));
    visitor_hold_ends(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 2);
    assert_true(body_has(&answers[1], "sluice_rules 4"));
    assert_true(sl_conn_is_open(visitor.conn));
    free(text);
    free(one);
}

ON_STAGE(a_held_answer_waits_at_least_its_delay, rules)
{
    posts("/v1/check", QUEUE);
    assert_int_equal(posts("/v1/check", QUEUE), 0);
    uv_timer_t *hold = visitor.conn->hold;
    assert_non_null(hold);
    assert_true(hold->timeout - uv_now(&stage.workers[0].loop) > 1000);
    visitor_hold_ends(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
}

ON_STAGE(an_array_waits_for_the_longest_of_it, rules)
{
    assert_int_equal(posts("/v1/check", "[" QUEUE ", " QUEUE ", {}, " QUEUE ", " TWO "]"), 0);
    uv_timer_t *hold = visitor.conn->hold;
    assert_non_null(hold);
    assert_true(hold->timeout - uv_now(&stage.workers[0].loop) > 2000);
    visitor_hold_ends(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    json_t *all = json_of(&answers[0]);
    assert_int_equal(json_array_size(all), 5);
    json_decref(all);
}

ON_STAGE(nothing_is_held_without_a_wish_or_a_delay_or_of_what_is_denied, rules)
{
    static const char *const bodies[] = {
        QUEUE,
        "{\"user\": \"u\", \"resource\": \"/queue\"}",
        "{\"user\": \"u\", \"resource\": \"/queue\", \"cost\": 5, \"wait\": true}",
        "{\"resource\": \"/none\", \"wait\": true}",
        "[{\"user\": \"u\", \"resource\": \"/queue\", \"peek\": true}]",
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        SAME(bodies[i], posts("/v1/check", bodies[i]), 1);
        SAME(bodies[i], visitor.conn->hold != NULL, false);
    }
}

ON_STAGE(a_last_message_may_wait_too, rules)
{
    posts("/v1/check", QUEUE);
    char text[256];
    snprintf(text, sizeof text,
             "POST /v1/check HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n" QUEUE,
             strlen(QUEUE));
    assert_int_equal(says(text), 0);
    assert_true(visitor.conn->is_finished);
    visitor_hold_ends(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    assert_true(answers[0].closes);
}

ON_STAGE(while_an_answer_is_held_others_are_served, rules)
{
    struct visitor other = visitor_enter(&stage);
    posts("/v1/check", QUEUE);
    assert_int_equal(posts("/v1/check", QUEUE), 0);
    visitor_says(&other, SL_TEXT(GET("/healthz")));
    assert_int_equal(read_answers_of(&other, NULL), 1);
    visitor_leave(&other);
}
