#include "server/front.h"

#include "unit/server/h2_visitor.h"

static const char rules[] =
    "timeouts: { head: 1s, body: 1s }\nrules: [{ name: many, per: user, limit: 100000/m }]\n";

#define LIMIT   "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
#define REFLECT "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define ONE     SL_TEXT("\x0a\1d\x12\x0b\x0a\x09\x0a\4user\x12\1u")
#define MAGIC   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* A connection on which nothing was said yet. */
static void enter_anew(void)
{
    h2_leave(&h2);
    h2_enter(&h2);
}

static struct sluice_text got_by(struct visitor *visitor)
{
    visitor_read(visitor);
    visitor->conn->front->flush(visitor->conn);
    visitor_settle(visitor);
    return (struct sluice_text){ visitor->got.at, visitor->got.len };
}

OVER_H2(nothing_is_kept_before_a_client_says_that_it_speaks_http2, rules)
{
    enter_anew();
    struct visitor *visitor = &h2.visitor;
    for (size_t i = 0; i + 1 < sizeof MAGIC - 1; i++) {
        visitor_put(visitor, (struct sluice_text){ MAGIC + i, 1 });
        SAME("answer", got_by(visitor).len, 0);
        SAME("session", the_h2() == NULL, true);
        SAME("timer", visitor->conn->timer, SL_TIMER_HEAD);
    }
    visitor_put(visitor, SL_TEXT("\n"));
    assert_true(got_by(visitor).len > 9); /* SETTINGS */
    assert_non_null(the_h2());
    visitor->got.len = 0;
}

OVER_H2(a_client_that_speaks_http1_is_told_so, rules)
{
    enter_anew();
    visitor_put(&h2.visitor, SL_TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    struct sluice_text got = got_by(&h2.visitor);
    assert_non_null(memmem(got.at, got.len, "HTTP/1.1 505 ", 13));
    assert_non_null(memmem(got.at, got.len, "HTTP/2 with prior knowledge", 27));
    SAME("session", the_h2() == NULL, true);
    SAME("open", h2.visitor.conn->is_finished, true);
    h2.visitor.got.len = 0;
}

OVER_H2(what_is_nothing_is_not_answered, rules)
{
    enter_anew();
    visitor_put(&h2.visitor, SL_TEXT("\x16\3\1\0\xa0"));
    SAME("answer", got_by(&h2.visitor).len, 0);
    SAME("open", h2.visitor.conn->is_finished, true);
}

OVER_H2(time_runs_for_what_is_not_whole_and_not_for_silence, rules)
{
    struct sl_conn *conn = h2.visitor.conn;
    SAME("silent", conn->timer, SL_TIMER_REST);
    struct h2_heard *first = h2_ask(&(struct h2_call){ LIMIT, ONE, .says_more = true });
    SAME("a message", conn->timer, SL_TIMER_BODY);
    SAME("awaited", the_h2()->awaited, first->stream);
    struct h2_heard *second = h2_ask(&(struct h2_call){ LIMIT, ONE, .says_more = true });
    SAME("awaited", the_h2()->awaited, first->stream);
    first->says_more = false;
    nghttp2_session_resume_data(h2.session, first->stream);
    h2_turn();
    SAME("status", first->status, 0);
    SAME("awaited", the_h2()->awaited, second->stream);
    SAME("a message", conn->timer, SL_TIMER_BODY);
    second->says_more = false;
    nghttp2_session_resume_data(h2.session, second->stream);
    h2_turn();
    SAME("silent", conn->timer, SL_TIMER_REST);
    h2_says(SL_TEXT("\0\0\0\1\0\0\0\0\x0f")); /* HEADERS that do not end */
    SAME("a head", conn->timer, SL_TIMER_HEAD);
    h2.visitor.conn->is_finished = true; /* our client knows nothing of it */
}

OVER_H2(a_slow_call_is_told_and_the_others_are_answered, rules)
{
    struct h2_heard *slow = h2_ask(&(struct h2_call){ LIMIT, ONE, .says_more = true });
    struct h2_heard *good = h2_ask(&(struct h2_call){ LIMIT, ONE });
    h2.visitor.conn->front->late(h2.visitor.conn);
    h2_turn();
    SAME("good", good->status, 0);
    SAME("slow", slow->status, SL_GRPC_DEADLINE_EXCEEDED);
    SAME("goaway", h2.goaway, NGHTTP2_NO_ERROR);
}

/* A store that answers later stops the timer for every call that is made meanwhile. */
OVER_H2(half_a_message_is_late_whatever_else_is_asked, rules)
{
    uint64_t *now_ms = &stage.workers[0].loop.time;
    struct h2_heard *half = h2_ask(&(struct h2_call){ LIMIT, ONE, .says_more = true });
    *now_ms += 999;
    SAME("asked", h2_ask(&(struct h2_call){ LIMIT, ONE })->status, 0);
    SAME("half", half->status, -1);
    *now_ms += 1;
    SAME("asked", h2_ask(&(struct h2_call){ LIMIT, ONE })->status, 0);
    SAME("half", half->status, SL_GRPC_DEADLINE_EXCEEDED);
    SAME("open", h2.visitor.conn->is_finished, true);
    SAME("counted", sl_count_read(&stage.workers[0].traffic.late[SL_TIMER_BODY]), 1);
}

OVER_H2(between_two_messages_there_is_any_time_and_each_has_its_own, rules)
{
    uint64_t *now_ms = &stage.workers[0].loop.time;
    struct h2_heard *heard = h2_ask(&(struct h2_call){ REFLECT, SL_TEXT(""), .says_more = true });
    *now_ms += 5000;
    sl_buffer_add(&heard->said, SL_TEXT("\0\0"));
    nghttp2_session_resume_data(h2.session, heard->stream);
    h2_turn();
    *now_ms += 999;
    SAME("asked", h2_ask(&(struct h2_call){ LIMIT, ONE })->status, 0);
    SAME("open", h2.visitor.conn->is_finished, false);
    *now_ms += 1;
    SAME("asked", h2_ask(&(struct h2_call){ LIMIT, ONE })->status, 0);
    SAME("late", heard->status, SL_GRPC_DEADLINE_EXCEEDED);
}

OVER_H2(one_too_many_hears_it_in_frames, rules)
{
    enter_anew();
    struct sl_conn *conn = h2.visitor.conn;
    conn->front->refuse(conn);
    sl_conn_finish(conn, true);
    visitor_settle(&h2.visitor);
    struct sl_buffer *got = &h2.visitor.got;
    SAME("read", nghttp2_session_mem_recv(h2.session, (const uint8_t *)got->at, got->len),
         got->len);
    SAME("goaway", h2.goaway, NGHTTP2_NO_ERROR);
    got->len = 0;
}

/* More than a round holds. */
static void submit_forty(void)
{
    static char message[64 * 13 + 3] = "\x0a\1d";
    for (size_t i = 0; i < 64; i++)
        memcpy(message + 3 + 13 * i, ONE.at + 3, 13);
    for (size_t i = 0; i < 40; i++)
        h2_submit(&h2, &(struct h2_call){ LIMIT, { message, sizeof message } });
}

/* Their bytes have been read, but they are not forgotten when the client has to read first. */
OVER_H2(what_a_round_has_no_room_for_waits, rules)
{
    struct sl_conn *conn = h2.visitor.conn;
    struct sl_round *round = &conn->worker->round;
    const uint8_t *at;
    submit_forty();
    ssize_t count = nghttp2_session_mem_send(h2.session, &at);
    enum sl_front_end end = SL_FRONT_MORE;
    for (; count > 0 && end == SL_FRONT_MORE; count = nghttp2_session_mem_send(h2.session, &at)) {
        visitor_put(&h2.visitor, (struct sluice_text){ (const char *)at, (size_t)count });
        end = conn->front->read(conn, round);
    }
    SAME("full", end, SL_FRONT_FULL);
    SAME("all is read", conn->in_start, conn->in_end);
    SAME("waits", sl_front_waits(conn), true);
    sl_round_finish(round);
    SAME("read", conn->front->read(conn, round), SL_FRONT_MORE);
    SAME("waits", sl_front_waits(conn), false);
}

OVER_H2(calls_of_many_descriptors_go_over_several_rounds, rules)
{
    submit_forty();
    h2_turn();
    for (size_t i = 0; i < 40; i++)
        SAME("status", h2.heard[i].status, 0);
}
