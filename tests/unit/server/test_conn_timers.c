/* Time on a connection: which timer runs, from when, and which connection is late first. The
 * loop's clock is moved by hand; nothing here waits. */
#include "unit/server/on_stage.h"

static const char rules[] = "timeouts: { head: 10s, body: 30s, idle: 75s, write: 20s }\n"
                            "rules: [{ name: a, per: user, limit: 100/h }]\n";

enum { HEAD_MS = 10000, BODY_MS = 30000, IDLE_MS = 75000, WRITE_MS = 20000 };

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static struct sl_worker *worker(void)
{
    return &stage.workers[0];
}

static uint64_t now_ms(void)
{
    return uv_now(&worker()->loop);
}

static void pass(uint64_t ms)
{
    worker()->loop.time += ms;
}

/* The worker's own timer goes off. */
static void alarm_rings(void)
{
    uv_timer_t *timer = &worker()->timer;
    assert_true(uv_is_active((uv_handle_t *)timer));
    timer->timer_cb(timer);
}

#define DUE_IN(row, visitor, kind, ms)                                                             \
    do {                                                                                           \
        SAME(row, (visitor).conn->timer, kind);                                                    \
        SAME(row, (visitor).conn->due_ms - now_ms(), ms);                                          \
    } while (0)

/* ---- from when ---- */

ON_STAGE(the_first_byte_has_to_come_and_then_the_head, rules)
{
    DUE_IN("silent", visitor, SL_TIMER_OPENING, HEAD_MS);
    pass(9000);
    says("G");
    DUE_IN("first byte", visitor, SL_TIMER_HEAD, HEAD_MS);
}

ON_STAGE(a_trickle_of_bytes_is_no_excuse, rules)
{
    says("G");
    for (int i = 1; i <= 5; i++) {
        pass(1000);
        says("E");
        DUE_IN("head", visitor, SL_TIMER_HEAD, HEAD_MS - i * 1000);
    }
    start_over();
    says("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    for (int i = 1; i <= 5; i++) {
        pass(1000);
        says("{");
        DUE_IN("body", visitor, SL_TIMER_BODY, BODY_MS - i * 1000);
    }
    start_over();
    says("POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 1; i <= 5; i++) {
        pass(1000);
        says("1\r\n \r\n");
        DUE_IN("chunks", visitor, SL_TIMER_BODY, BODY_MS - i * 1000);
    }
}

ON_STAGE(the_body_has_its_own_time_from_the_end_of_the_head, rules)
{
    says("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n");
    pass(9999);
    says("\r\n");
    DUE_IN("body", visitor, SL_TIMER_BODY, BODY_MS);
}

ON_STAGE(every_message_has_its_own_time, rules)
{
    says("GET /healthz HTTP/1.1\r\nHost: a\r\n");
    pass(9000);
    assert_int_equal(says("\r\nGET /"), 1); /* the next begins in the same packet */
    DUE_IN("next head", visitor, SL_TIMER_HEAD, HEAD_MS);
    pass(9000);
    assert_int_equal(says("healthz HTTP/1.1\r\nHost: a\r\n\r\n"), 1);
    DUE_IN("between", visitor, SL_TIMER_IDLE, IDLE_MS);
    says("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{");
    pass(20000);
    assert_int_equal(says("}POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{"), 1);
    DUE_IN("next body", visitor, SL_TIMER_BODY, BODY_MS);
}

ON_STAGE(idleness_begins_anew_with_every_message, rules)
{
    for (int i = 0; i < 3; i++) {
        says(GET("/healthz"));
        DUE_IN("idle", visitor, SL_TIMER_IDLE, IDLE_MS);
        pass(70000);
    }
}

/* ---- the order of a timer's connections ---- */

/* The connections of one timer, in its order. */
static void check_list(enum sl_timer kind, struct sl_conn *const *wanted, size_t count)
{
    struct sl_conn *prev = NULL, *conn = worker()->timers[kind].first;
    for (size_t i = 0; i < count; i++, prev = conn, conn = conn->timer_next) {
        assert_ptr_equal(conn, wanted[i]);
        assert_ptr_equal(conn->timer_prev, prev);
        assert_int_equal(conn->timer, kind);
    }
    assert_null(conn);
    assert_ptr_equal(worker()->timers[kind].last, prev);
}

ON_STAGE(connections_are_in_the_order_they_began, rules)
{
    struct visitor a = visitor_enter(&stage), b = visitor_enter(&stage), c = visitor_enter(&stage);
    struct sl_conn *v = visitor.conn;
    check_list(SL_TIMER_OPENING, (struct sl_conn *[]){ v, a.conn, b.conn, c.conn }, 4);
    sl_conn_set_timer(a.conn, SL_TIMER_IDLE);
    sl_conn_set_timer(c.conn, SL_TIMER_IDLE);
    check_list(SL_TIMER_OPENING, (struct sl_conn *[]){ v, b.conn }, 2);
    check_list(SL_TIMER_IDLE, (struct sl_conn *[]){ a.conn, c.conn }, 2);
    pass(5);
    sl_conn_set_timer(a.conn, SL_TIMER_IDLE); /* anew: to the end */
    check_list(SL_TIMER_IDLE, (struct sl_conn *[]){ c.conn, a.conn }, 2);
    sl_conn_set_timer(v, SL_TIMER_OPENING); /* the same: where it was */
    check_list(SL_TIMER_OPENING, (struct sl_conn *[]){ v, b.conn }, 2);
    sl_conn_set_timer(v, SL_TIMER_NONE);
    check_list(SL_TIMER_OPENING, (struct sl_conn *[]){ b.conn }, 1);
    check_list(SL_TIMER_NONE, NULL, 0);
    visitor_leave(&a);
    visitor_leave(&b);
    visitor_leave(&c);
    check_list(SL_TIMER_IDLE, NULL, 0);
    check_list(SL_TIMER_OPENING, NULL, 0);
}

ON_STAGE(the_alarm_is_set_for_the_earliest_of_all, rules)
{
    uint64_t start = now_ms();
    struct visitor a = visitor_enter(&stage);
    assert_int_equal(worker()->timer_due_ms, start + HEAD_MS);
    assert_int_equal(worker()->timer.timeout, start + HEAD_MS);
    sl_conn_set_timer(visitor.conn, SL_TIMER_IDLE);
    sl_conn_set_timer(a.conn, SL_TIMER_IDLE);
    assert_int_equal(worker()->timer_due_ms, start + HEAD_MS); /* early is harmless: */
    pass(HEAD_MS);
    alarm_rings();
    assert_int_equal(worker()->timer_due_ms, start + IDLE_MS); /* no connection was late */
    sl_conn_set_timer(a.conn, SL_TIMER_LINGER);
    assert_int_equal(worker()->timer_due_ms, start + HEAD_MS + 2000);
    sl_conn_set_timer(a.conn, SL_TIMER_NONE);
    sl_conn_set_timer(visitor.conn, SL_TIMER_NONE);
    pass(IDLE_MS);
    alarm_rings();
    assert_int_equal(worker()->timer_due_ms, UINT64_MAX);
    visitor_leave(&a);
}

/* ---- late connections ---- */

static struct caller enter(void)
{
    return caller_enter(worker(), (struct sl_arrival){ .is_local = true });
}

/* As late as that, to the millisecond, and not before. */
static void check_late(struct caller *caller, enum sl_timer kind, uint64_t ms, const char *last)
{
    char got[1024];
    assert_true(caller_is_here(caller));
    SAME(last, caller->conn->timer, kind);
    worker()->loop.time = caller->conn->due_ms - 1;
    alarm_rings();
    SAME(last, caller_is_here(caller) && caller->conn->timer == kind, true);
    pass(1);
    alarm_rings();
    caller_reads(caller, got, sizeof got);
    SAME(last, strstr(got, last) != NULL, true);
    SAME(last, sl_worker_timeout_ms(worker(), kind), ms);
}

ON_STAGE(a_late_client_is_told_so_if_there_is_a_message_to_answer, rules)
{
    visitor_forgets_time(&visitor);
    struct caller silent = enter();
    check_late(&silent, SL_TIMER_OPENING, HEAD_MS, "");
    assert_false(caller_is_here(&silent));
    struct caller idle = enter();
    caller_says(&idle, GET("/healthz"));
    check_late(&idle, SL_TIMER_IDLE, IDLE_MS, "200 OK");
    assert_false(caller_is_here(&idle));
    struct caller head = enter();
    caller_says(&head, "GET");
    check_late(&head, SL_TIMER_HEAD, HEAD_MS, "HTTP/1.1 408 Request Timeout\r\n");
    check_late(&head, SL_TIMER_LINGER, 2000, ""); /* for it to see that */
    assert_false(caller_is_here(&head));
    struct caller body = enter();
    caller_says(&body, "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{");
    check_late(&body, SL_TIMER_BODY, BODY_MS, "HTTP/1.1 408 Request Timeout\r\n");
    caller_leaves(&silent);
    caller_leaves(&idle);
    caller_leaves(&head);
    caller_leaves(&body);
}

static size_t unsent(const struct caller *caller)
{
    return caller->conn->out.len - caller->conn->sent;
}

/* A client that sends gets no more time to read. */
ON_STAGE(an_answer_that_is_not_read_has_its_time_whatever_is_said_meanwhile, rules)
{
    static char got[1 << 20];
    visitor_forgets_time(&visitor);
    struct caller caller = enter();
    while (unsent(&caller) == 0)
        caller_says(&caller, GET("/metrics"));
    while (unsent(&caller) >= SL_CONN_OUT_HIGH_BYTES) {
        caller_reads(&caller, got, 4096);
        stage_turn(worker());
    }
    assert_int_equal(caller.conn->timer, SL_TIMER_WRITE);
    uint64_t due_ms = caller.conn->due_ms -= 7; /* as if it were later */
    caller_says(&caller, "GET /healthz HT");
    assert_int_equal(caller.conn->timer, SL_TIMER_WRITE);
    assert_int_equal(caller.conn->due_ms, due_ms);
    while (unsent(&caller) > 0) {
        caller_reads(&caller, got, sizeof got);
        stage_turn(worker());
    }
    assert_int_equal(caller.conn->timer, SL_TIMER_HEAD); /* which is what it owes us now */
    caller_reads(&caller, got, sizeof got);
    caller_says(&caller, "TP/1.1\r\nHost: a\r\n\r\n");
    caller_reads(&caller, got, sizeof got);
    assert_non_null(strstr(got, "{\"status\": \"ok\"}"));
    caller_leaves(&caller);
}

ON_STAGE(shorter_timeouts_hold_for_connections_that_wait_already, rules)
{
    visitor_forgets_time(&visitor);
    struct caller caller = enter();
    caller_says(&caller, GET("/healthz"));
    struct sl_server *server = &stage.server;
    sl_edition_drop(server->edition);
    server->edition = stage_edition("timeouts: { idle: 1s }\nrules: []\n", &model.store, 1);
    atomic_store(&worker()->next, sl_edition_keep(server->edition));
    sl_worker_wake(worker());
    stage_turn(worker());
    assert_true(caller.conn->due_ms <= now_ms() + 1000);
    assert_true(worker()->timer_due_ms <= caller.conn->due_ms);
    caller_leaves(&caller);
}

/* ---- draining ---- */

ON_STAGE(draining_cuts_every_wait_short_and_none_of_them_again, rules)
{
    static const enum sl_timer kinds[] = { SL_TIMER_OPENING, SL_TIMER_IDLE, SL_TIMER_HEAD,
                                           SL_TIMER_BODY };
    worker()->is_draining = true;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        sl_conn_set_timer(visitor.conn, SL_TIMER_NONE);
        sl_conn_set_timer(visitor.conn, kinds[i]);
        DUE_IN("drain", visitor, SL_TIMER_DRAIN, 500);
        pass(100);
        sl_conn_set_timer(visitor.conn, SL_TIMER_IDLE);
        sl_conn_set_timer(visitor.conn, SL_TIMER_HEAD);
        DUE_IN("the same", visitor, SL_TIMER_DRAIN, 400);
    }
    sl_conn_set_timer(visitor.conn, SL_TIMER_WRITE);
    DUE_IN("flush", visitor, SL_TIMER_FLUSH, 5000);
    pass(1000);
    sl_conn_set_timer(visitor.conn, SL_TIMER_WRITE);
    DUE_IN("the same", visitor, SL_TIMER_FLUSH, 4000);
    sl_conn_set_timer(visitor.conn, SL_TIMER_LINGER);
    DUE_IN("linger", visitor, SL_TIMER_LINGER, 2000);
}

/* Told to drain, as the main thread does it. */
ON_STAGE(connections_idle_when_draining_begins_have_a_moment_left, rules)
{
    char got[1024];
    visitor_forgets_time(&visitor);
    struct caller idle = enter(), asking = enter();
    caller_says(&idle, GET("/healthz"));
    caller_says(&asking, "GET /healthz HT");
    assert_int_equal(idle.conn->timer, SL_TIMER_IDLE);
    atomic_store(&stage.server.is_draining, true);
    sl_worker_wake(worker());
    stage_turn(worker());
    assert_true(worker()->is_draining);
    assert_int_equal(idle.conn->timer, SL_TIMER_DRAIN);
    assert_int_equal(asking.conn->timer, SL_TIMER_DRAIN);
    caller_says(&asking, "TP/1.1\r\nHost: a\r\n\r\n");
    caller_reads(&asking, got, sizeof got);
    assert_non_null(strstr(got, "200 OK"));
    assert_non_null(strstr(got, "Connection: close\r\n"));
    assert_int_equal(asking.conn->timer, SL_TIMER_LINGER); /* it may have asked once more */
    worker()->loop.time = idle.conn->due_ms;
    alarm_rings();
    assert_false(caller_is_here(&idle));
    caller_leaves(&idle);
    caller_leaves(&asking);
}
