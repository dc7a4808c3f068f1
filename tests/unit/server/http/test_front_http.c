/* HTTP on a connection, without one: which answers come, and in which order. Where
 * bytes are cut is test_front_http_splits.c's, long bodies are _bodies.c's. */
#include "server/front.h"

#include "unit/server/on_stage.h"

static const char rules[] = "rules: [{ name: all, per: global, limit: 1000000/h },\n"
                            "        { name: few, resource: /few, per: user, limit: 1/h }]\n";

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define HEAD(path) "HEAD " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* ---- one message ---- */

ON_STAGE(a_message_is_answered_and_the_connection_stays, rules)
{
    struct answer *answer = answer_to(GET("/healthz"));
    assert_int_equal(answer->status, 200);
    SAME_TEXT("body", answer->body, "{\"status\": \"ok\"}");
    assert_false(answer->closes);
    assert_true(sl_conn_is_open(visitor.conn));
    assert_null(visitor.conn->in); /* no memory without bytes */
    assert_null(visitor.conn->out.at);
    assert_int_equal(answer_to(GET("/readyz"))->status, 200);
}

ON_STAGE(an_incomplete_message_is_not_answered, rules)
{
    assert_int_equal(says("GET /healthz HTTP/1.1\r\nHost: a\r\n"), 0);
    assert_int_equal(visitor.conn->timer, SL_TIMER_HEAD);
    assert_int_equal(says("\r\n"), 1);
    assert_int_equal(says("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{"), 0);
    assert_int_equal(visitor.conn->timer, SL_TIMER_BODY);
    assert_int_equal(says("}"), 1);
    assert_int_equal(answers[0].status, 200);
    assert_int_equal(visitor.conn->timer, SL_TIMER_IDLE);
}

ON_STAGE(a_client_that_asks_to_close_is_answered_and_closed, rules)
{
    static const struct {
        const char *message;
        bool closes, keeps_1_0;
    } rows[] = {
        { "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", true },
        { "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", true },
        { "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", false },
        { "GET /healthz HTTP/1.0\r\n\r\n", true },
        { "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false, true },
        { "GET /healthz HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer *answer = answer_to(rows[i].message);
        SAME(rows[i].message, answer->status, 200);
        SAME(rows[i].message, answer->closes, rows[i].closes);
        SAME(rows[i].message, visitor.conn->is_finished, rows[i].closes);
        SAME(rows[i].message, visitor.conn->lingers, false);
        SAME(rows[i].message, sl_text_is(field_of(answer, "Connection"), "keep-alive"),
             rows[i].keeps_1_0);
        start_over();
    }
}

/* These bytes belong to no message. */
ON_STAGE(nothing_behind_a_last_message_is_answered, rules)
{
    assert_int_equal(
        says("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/healthz")), 1);
    assert_true(visitor.conn->is_finished && visitor.conn->lingers);
    assert_int_equal(says(GET("/healthz")), 0);
    start_over();
    assert_int_equal(says(GET("/healthz") "nonsense\r\n\r\n" GET("/healthz")), 2);
    assert_string_equal(statuses(), "200 400");
    assert_false(answers[0].closes);
    assert_true(answers[1].closes);
    assert_true(visitor.conn->is_finished && visitor.conn->lingers);
}

ON_STAGE(head_is_answered_like_get_without_the_body, rules)
{
    static const char *const paths[] = { "/healthz", "/readyz", "/metrics", "/openapi.json" };
    for (size_t i = 0; i < COUNT(paths); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "HEAD %s HTTP/1.1\r\nHost: a\r\n\r\nGET %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i],
                 paths[i]);
        visitor_says(&visitor, sl_text(text));
        SAME(paths[i], read_answers_of(&visitor, "H-"), 2);
        SAME(paths[i], answers[0].status, 200);
        SAME(paths[i], answers[0].length > 10, true);
        if (strcmp(paths[i], "/metrics") == 0)
            continue; /* its figures move on between the two */
        SAME(paths[i], answers[0].length, answers[1].body.len);
        SAME(paths[i], sl_text_equal(answers[0].head, answers[1].head), true);
    }
    visitor_says(&visitor, sl_text(HEAD("/v1/check") HEAD("/nowhere") HEAD("/v1/authorize")));
    read_answers_of(&visitor, "HHH");
    assert_string_equal(statuses(), "405 404 200");
}

ON_STAGE(while_draining_the_last_answer_is_a_goodbye, rules)
{
    stage.workers[0].is_draining = true;
    assert_int_equal(says(GET("/healthz") GET("/v1/authorize") GET("/openapi.json") GET("/readyz")),
                     4);
    assert_string_equal(statuses(), "200 200 200 503");
    for (size_t i = 0; i < 4; i++)
        SAME("closes", answers[i].closes, i == 3);
    assert_true(visitor.conn->is_finished && visitor.conn->lingers);
    start_over();
    assert_int_equal(says(GET("/healthz") GET("/healthz")), 2); /* answered in one go */
    assert_false(answers[0].closes);
    assert_true(answers[1].closes);
    start_over();
    assert_false(answer_to(GET("/healthz") "GET /hea")->closes); /* it is in the middle of one */
    struct answer *answer = answer_to("lthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(answer->closes && visitor.conn->is_finished);
}

/* ---- order ---- */

struct question {
    int kind;
    int64_t remaining; /* that the answer must tell; -1: none */
};

/* One of each kind; what it charges is told by the remaining room. */
static void add_question(struct sl_buffer *out, struct question *question, int64_t *room)
{
    static const struct {
        const char *path, *body;
        int64_t cost;
    } kinds[] = {
        { "/v1/check", "{\"cost\": 3}", 3 },
        { "/v1/check", "{\"cost\": 5, \"explain\": true}", 5 },
        { "/v1/check", "{\"cost\": 7, \"peek\": true}", 0 },
        { "/v1/check", "[{\"cost\": 11}]", 11 },
        { "/v1/check", "[{\"cost\": 13, \"explain\": true}]", 13 },
        { "/v1/reserve", "{\"cost\": 17}", 17 },
        { "/v1/authorize", "", 1 },
        { "/v1/check", "{", -1 },
        { "/v1/check", "[{}, 1]", -1 },
        { "/v1/cancel", "{\"reservation\": \"00000000000f0000\"}", -1 },
        { "/nowhere", "", -1 },
    };
    char *text = post(kinds[question->kind].path, kinds[question->kind].body);
    sl_buffer_add(out, sl_text(text));
    free(text);
    *room -= kinds[question->kind].cost > 0 ? kinds[question->kind].cost : 0;
    question->remaining = kinds[question->kind].cost < 0 ? -1 : *room;
}

static void check_question(const struct question *question, const struct answer *answer, size_t i)
{
    static const uint32_t wanted[] = { 200, 200, 200, 200, 200, 200, 200, 400, 422, 404, 404 };
    char row[32];
    snprintf(row, sizeof row, "answer %zu", i);
    SAME(row, answer->status, wanted[question->kind]);
    if (question->kind == 6)
        SAME(row, number_of(field_of(answer, "X-RateLimit-Remaining")), question->remaining);
    else
        SAME(row, number_in(answer->body, "remaining"), question->remaining);
    SAME(row, body_has(answer, "\"rules\""), question->kind == 1 || question->kind == 4);
    SAME(row, body_has(answer, "\"reservation\""), question->kind == 5);
    SAME(row, answer->body.len && answer->body.at[0] == '[',
         question->kind == 3 || question->kind == 4);
}

ON_STAGE(answers_come_and_are_decided_in_the_order_of_the_questions, rules)
{
    uint64_t seed = 7;
    struct question questions[40];
    for (int run = 0; run < 30; run++) {
        struct sl_buffer text = sl_buffer(1 << 20);
        int64_t room = 1000000;
        start_over();
        for (size_t i = 0; i < COUNT(questions); i++) {
            questions[i].kind = (int)unit_up_to(&seed, 10);
            add_question(&text, &questions[i], &room);
        }
        sl_buffer_add(&text, SL_TEXT("\0"));
        SAME("answers", says(text.at), COUNT(questions));
        for (size_t i = 0; i < COUNT(questions); i++)
            check_question(&questions[i], &answers[i], i);
        sl_buffer_release(&text);
    }
}

ON_STAGE(long_answers_keep_their_place, rules)
{
    assert_int_equal(says(GET("/healthz") GET("/openapi.json") GET("/healthz") GET("/metrics")
                              GET("/nowhere") GET("/openapi.json") GET("/readyz")),
                     7);
    assert_string_equal(statuses(), "200 200 200 200 404 200 200");
    assert_true(body_has(&answers[1], "openapi") && body_has(&answers[5], "openapi"));
    assert_true(body_has(&answers[3], "sluice_build_info"));
    assert_true(body_has(&answers[6], "ready"));
}

/* Decided before them, though they were read first in the same round. */
ON_STAGE(what_is_decided_alone_does_not_overtake_other_connections, rules)
{
    struct visitor other = visitor_enter(&stage);
    char *first = post("/v1/check", "{\"cost\": 10}");
    char *second = post("/v1/check", "{\"cost\": 100, \"explain\": true}");
    visitor_put(&visitor, sl_text(first));
    visitor_put(&other, sl_text(second));
    visitor_read(&visitor);
    visitor_read(&other);
    sl_round_finish(the_round());
    visitor_settle(&visitor);
    visitor_settle(&other);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    assert_int_equal(number_in(answers[0].body, "remaining"), 1000000 - 10);
    assert_int_equal(read_answers_of(&other, NULL), 1);
    assert_int_equal(number_in(answers[0].body, "remaining"), 1000000 - 110);
    visitor_leave(&other);
    free(first);
    free(second);
}

/* ---- many ---- */

static char *repeated(const char *text, size_t times)
{
    size_t len = strlen(text);
    char *all = malloc(len * times + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(all + i * len, text, len);
    all[len * times] = 0;
    return all;
}

ON_STAGE(after_so_many_messages_their_answers_are_made_first, rules)
{
    char *text = repeated(GET("/healthz"), 300);
    assert_int_equal(visitor_put(&visitor, sl_text(text)), strlen(text));
    assert_int_equal(sl_front_http.read(visitor.conn, the_round()), SL_FRONT_FULL);
    assert_int_equal(the_round()->call_count, 256);
    assert_null(visitor.conn->out.at);
    sl_round_finish(the_round());
    assert_int_equal(sl_front_http.read(visitor.conn, the_round()), SL_FRONT_MORE);
    assert_int_equal(the_round()->call_count, 44);
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 300);
    free(text);
}

ON_STAGE(thousands_of_messages_at_once_are_all_answered, rules)
{
    char *text = repeated(GET("/v1/authorize/x"), 3000);
    assert_int_equal(says(text), 3000);
    for (int64_t i = 0; i < 3000; i++)
        SAME("remaining", number_of(field_of(&answers[i], "X-RateLimit-Remaining")), 999999 - i);
    assert_true(model.largest_batch <= SL_ROUND_REQUESTS);
    free(text);
}

ON_STAGE(a_round_that_many_connections_fill_is_finished_and_goes_on, rules)
{
    enum { VISITORS = 6, EACH = 250 };
    static struct visitor visitors[VISITORS];
    char *text = repeated(GET("/v1/authorize/x"), EACH);
    for (size_t i = 0; i < VISITORS; i++) {
        visitors[i] = visitor_enter(&stage);
        assert_int_equal(visitor_put(&visitors[i], sl_text(text)), strlen(text));
        visitor_read(&visitors[i]);
        assert_true(the_round()->call_count <= SL_ROUND_CALLS);
    }
    assert_true(model.decide_calls > 0); /* it was full on the way */
    sl_round_finish(the_round());
    for (size_t i = 0; i < VISITORS; i++) {
        visitor_settle(&visitors[i]);
        SAME("answers", read_answers_of(&visitors[i], NULL), EACH);
        for (int64_t j = 0; j < EACH; j++)
            SAME("remaining", number_of(field_of(&answers[j], "X-RateLimit-Remaining")),
                 999999 - (int64_t)i * EACH - j);
        visitor_leave(&visitors[i]);
    }
    free(text);
}

/* It has 64 KiB to read; more is made when it has. */
ON_STAGE(a_client_that_does_not_read_is_not_read_from, rules)
{
    char *text = repeated(GET("/openapi.json"), 50);
    visitor_put(&visitor, sl_text(text));
    visitor_read(&visitor);
    size_t made = visitor.conn->out.len;
    assert_true(made >= SL_CONN_OUT_HIGH_BYTES && made < 4 * SL_CONN_OUT_HIGH_BYTES);
    assert_true(visitor.conn->has_backlog);
    visitor_read(&visitor);
    assert_int_equal(visitor.conn->out.len, made);
    visitor_settle(&visitor);
    assert_true(sl_conn_is_open(visitor.conn));
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 50);
    free(text);
}

/* ---- late ---- */

ON_STAGE(a_late_client_is_told_which_part_was_late, rules)
{
    static const struct {
        const char *message, *part;
    } rows[] = {
        { "GET /healthz HT", "head" },
        { "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{", "body" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(says(rows[i].message), 0);
        sl_front_http.late(visitor.conn);
        visitor_settle(&visitor);
        assert_int_equal(read_answers_of(&visitor, NULL), 1);
        SAME(rows[i].part, answers[0].status, 408);
        SAME(rows[i].part, answers[0].closes, true);
        SAME(rows[i].part, body_has(&answers[0], rows[i].part), true);
        start_over();
    }
}
