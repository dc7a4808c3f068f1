/* A connection that waits for the main thread: nothing more is read off it, answers stay
 * in order, and it may be gone when its answer comes. */
#include "unit/server/at_control.h"

static const char yaml[] = "timeouts: { idle: 75s, drain: 1s }\n"
                           "tiers: { pro: { scale: 10 } }\n"
                           "rules: [{ name: all, per: global, limit: 1000000/h }]\n";

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define LAST(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
#define CHECK                                                                                      \
    "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"                      \
    "{}"
#define PUT_TIGHT                                                                                  \
    "PUT /v1/rules/tight HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"        \
    "Content-Length: 35\r\n\r\n{\"per\": \"global\", \"limit\": \"1/1h\"} "

static struct sl_worker *worker(void)
{
    return &stage.workers[0];
}

/* The control plane is back, and `visitor` has its answers. */
static size_t comes_back(void)
{
    desk.is_away = false;
    visitor_turn(&visitor);
    return read_answers_of(&visitor, NULL);
}

/* Connects a local caller by a socket that the loop serves. */
static struct caller enter(void)
{
    struct sl_arrival arrival = { .is_local = true };
    visitor_forgets_time(&visitor);
    return caller_enter(worker(), arrival);
}

static char got[1 << 16];

/* The statuses of all that has come; the last answer is answers[answer_count - 1]. */
static const char *heard(const struct caller *caller)
{
    struct sluice_text rest = { got, caller_reads(caller, got, sizeof got) };
    answer_count = 0;
    while (rest.len)
        if (!next_answer(&rest, false, &answers[answer_count++]))
            fail_msg("no whole answer: %s", got);
    return statuses();
}

static void works(void)
{
    desk.is_away = false;
    assert_true(desk_work(&stage));
    stage_turn(worker());
}

/* ---- order ---- */

AT_CONTROL(what_comes_behind_waits_and_is_answered_in_its_order, yaml)
{
    desk.is_away = true;
    assert_int_equal(says(GET("/v1/rules") GET("/healthz") GET("/v1/tiers") GET("/v1/nothing")), 0);
    assert_non_null(visitor.conn->job);
    assert_true(visitor.conn->has_backlog);
    assert_int_equal(stage.server.jobs.count, 1); /* and not the second call */
    assert_int_equal(comes_back(), 4);
    assert_string_equal(statuses(), "200 200 200 404");
    assert_true(body_has(&answers[0], "\"rules\": ["));
    assert_true(body_has(&answers[1], "\"ok\""));
    assert_true(body_has(&answers[2], "\"tiers\": ["));
    assert_null(visitor.conn->job);
    assert_int_equal(desk.done, 2);
}

AT_CONTROL(what_came_before_is_answered_at_once, yaml)
{
    desk.is_away = true;
    assert_int_equal(says(CHECK CHECK GET("/v1/rules") CHECK), 2);
    assert_string_equal(statuses(), "200 200");
    assert_int_equal(comes_back(), 2);
    assert_true(body_has(&answers[0], "\"rules\": ["));
    assert_true(body_has(&answers[1], "\"allowed\": true"));
}

AT_CONTROL(while_it_waits_nothing_more_is_read, yaml)
{
    desk.is_away = true;
    says(GET("/v1/rules"));
    size_t calls = model.decide_calls;
    for (int i = 0; i < 10; i++)
        assert_int_equal(says(CHECK), 0);
    assert_int_equal(model.decide_calls, calls);
    assert_int_equal(comes_back(), 11);
    assert_int_equal(answers[10].status, 200);
}

/* The rest stays in the kernel, and the client's sending stops in turn. */
AT_CONTROL(a_client_that_goes_on_sending_fills_a_block_and_no_more, yaml)
{
    desk.is_away = true;
    says(GET("/v1/rules"));
    size_t taken = 0, count;
    while ((count = visitor_put(&visitor, SL_TEXT(GET("/healthz")))) > 0) {
        taken += count;
        visitor_turn(&visitor);
        assert_true(taken <= SL_BLOCK_BYTES);
    }
    assert_int_equal(visitor.conn->in_room, SL_BLOCK_BYTES);
    assert_int_equal(comes_back(), 1 + taken / strlen(GET("/healthz")));
}

AT_CONTROL(others_are_served_meanwhile_and_each_gets_their_own_answer, yaml)
{
    struct visitor other = visitor_enter(&stage), third = visitor_enter(&stage);
    visitor_comes_from(&other, "127.0.0.1");
    desk.is_away = true;
    says(GET("/v1/rules"));
    visitor_says(&other, SL_TEXT(GET("/v1/tiers")));
    visitor_says(&third, SL_TEXT(CHECK));
    assert_int_equal(read_answers_of(&third, NULL), 1);
    assert_int_equal(answers[0].status, 200);
    assert_int_equal(comes_back(), 1);
    assert_true(body_has(&answers[0], "\"rules\": ["));
    visitor_turn(&other);
    assert_int_equal(read_answers_of(&other, NULL), 1);
    assert_true(body_has(&answers[0], "\"tiers\": ["));
    visitor_leave(&other);
    visitor_leave(&third);
}

/* In every worker, before the next request that arrives after the answer. */
AT_CONTROL(a_change_is_in_force_for_the_very_next_message, yaml)
{
    assert_int_equal(says(PUT_TIGHT CHECK CHECK), 3);
    assert_string_equal(statuses(), "201 200 429");
    assert_true(body_has(&answers[2], "\"rule\": \"tight\""));
}

/* ---- the end of a connection ---- */

AT_CONTROL(the_answer_of_a_connection_that_is_gone_goes_nowhere, yaml)
{
    struct caller caller = enter();
    desk.is_away = true;
    caller_says(&caller, PUT_TIGHT);
    assert_int_equal(stage.server.jobs.count, 1);
    sl_conn_close(caller.conn);
    assert_null(stage.server.jobs.first->conn);
    stage_turn(worker());
    works();
    assert_int_equal(desk.done, 1); /* what was asked for is done */
    assert_string_equal(heard(&caller), "");
    assert_null(worker()->all);
    caller_leaves(&caller);
    assert_int_equal(status_of("GET /v1/rules/tight", NULL), 200);
}

AT_CONTROL(a_client_that_has_hung_up_is_let_go_when_its_answer_comes, yaml)
{
    struct caller caller = enter();
    desk.is_away = true;
    caller_says(&caller, GET("/v1/rules"));
    close(caller.fd);
    stage_turn(worker());
    assert_true(caller_is_here(&caller));
    works();
    assert_false(caller_is_here(&caller));
    assert_int_equal(atomic_load(&worker()->open), 0);
}

AT_CONTROL(a_client_that_sends_nothing_more_still_gets_its_answers, yaml)
{
    struct caller caller = enter();
    desk.is_away = true;
    caller_puts(&caller, GET("/v1/rules") GET("/healthz") GET("/v1/tiers"));
    shutdown(caller.fd, SHUT_WR);
    stage_turn(worker());
    assert_true(caller_is_here(&caller));
    works();
    stage_turn(worker());
    assert_string_equal(heard(&caller), "200 200 200");
    assert_false(caller_is_here(&caller));
    close(caller.fd);
}

AT_CONTROL(the_last_message_is_answered_and_then_the_connection_ends, yaml)
{
    static const struct {
        const char *text;
        bool closes;
        const char *connection; /* NULL: the field is not there */
    } rows[] = {
        { GET("/v1/rules"), false, NULL },
        { LAST("/v1/rules"), true, "close" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct caller caller = enter();
        desk.is_away = true;
        caller_says(&caller, rows[i].text);
        SAME(rows[i].text, caller_is_here(&caller), true);
        works();
        assert_string_equal(heard(&caller), "200");
        SAME(rows[i].text, answers[0].closes, rows[i].closes);
        SAME_TEXT(rows[i].text, field_of(&answers[0], "Connection"),
                  rows[i].connection ? rows[i].connection : "");
        SAME(rows[i].text, caller_is_here(&caller), !rows[i].closes);
        caller_leaves(&caller);
    }
}

/* ---- time ---- */

AT_CONTROL(a_connection_that_waits_for_us_has_no_timeout, yaml)
{
    struct caller caller = enter();
    desk.is_away = true;
    caller_says(&caller, GET("/v1/rules"));
    assert_int_equal(caller.conn->timer, SL_TIMER_NONE);
    works();
    assert_string_equal(heard(&caller), "200");
    assert_int_equal(caller.conn->timer, SL_TIMER_IDLE);
    caller_leaves(&caller);
}

/* ---- draining ---- */

static void drain(void)
{
    atomic_store(&stage.server.is_draining, true);
    sl_worker_wake(worker());
    stage_turn(worker());
    assert_true(worker()->is_draining);
}

AT_CONTROL(draining_waits_for_the_answer_which_is_the_last, yaml)
{
    struct caller caller = enter();
    desk.is_away = true;
    caller_says(&caller, GET("/v1/rules"));
    drain();
    assert_true(caller_is_here(&caller));
    assert_int_equal(caller.conn->timer, SL_TIMER_NONE);
    works();
    assert_string_equal(heard(&caller), "200");
    assert_true(answers[0].closes);
    caller_leaves(&caller);
}

AT_CONTROL(draining_answers_what_had_come_already, yaml)
{
    struct caller caller = enter();
    desk.is_away = true;
    caller_says(&caller, GET("/v1/rules") GET("/v1/tiers"));
    drain();
    works();
    stage_turn(worker());
    assert_string_equal(heard(&caller), "200 200");
    assert_false(answers[0].closes);
    assert_true(answers[1].closes);
    caller_leaves(&caller);
}

/* ---- many ---- */

/* More than a queue of jobs holds may wait for a worker that is busy: each of them has a
 * connection, and none is forgotten. */
AT_CONTROL(no_answer_is_lost_however_many_wait_for_the_worker, yaml)
{
    desk.is_away = true;
    says(GET("/v1/rules"));
    for (int i = 0; i < SL_JOBS_MAX; i++)
        assert_true(sl_jobs_add(&worker()->answers, calloc(1, sizeof(struct sl_job)), SIZE_MAX));
    assert_int_equal(comes_back(), 1);
    assert_int_equal(answers[0].status, 200);
}
