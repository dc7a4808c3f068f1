#include "unit/server/h2_visitor.h"

static const char rules[] = "rules: [{ name: many, per: user, limit: 100000/m }]\n";

#define LIMIT "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
/* domain "d", a descriptor of (user, u) */
#define ONE SL_TEXT("\x0a\1d\x12\x0b\x0a\x09\x0a\4user\x12\1u")

enum { ALL_BYTES = 64 << 20 }; /* that a worker's streams may hold */

static const struct h2_call limit = { .path = LIMIT, .message = ONE };

static struct sl_worker *worker(void)
{
    return &stage.workers[0];
}

OVER_H2(what_is_held_is_counted_and_given_back, rules)
{
    static char long_value[6000];
    memset(long_value, 'v', sizeof long_value - 1);
    size_t nothing = worker()->stream_bytes;
    SAME("nothing", nothing, 0);
    struct h2_heard *half = h2_ask(&(struct h2_call){
        .path = LIMIT, .message = ONE, .says_more = true, .fields = { "x-long", long_value } });
    assert_true(worker()->stream_bytes > sizeof long_value);
    SAME("of the session", the_h2()->room_bytes, worker()->stream_bytes);
    half->says_more = false;
    nghttp2_session_resume_data(h2.session, half->stream);
    h2_turn();
    SAME("status", half->status, 0);
    SAME("given back", worker()->stream_bytes, 0);
    assert_true(worker()->spare_streams->fields.room < sizeof long_value);
}

/* A head serves to make the request, which has been made. */
OVER_H2(a_head_is_not_kept_until_its_answer_is_read, rules)
{
    static char long_value[6000];
    static const nghttp2_settings_entry small[] = { { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 } };
    memset(long_value, 'v', sizeof long_value - 1);
    nghttp2_submit_settings(h2.session, NGHTTP2_FLAG_NONE, small, 1);
    h2_ask(&(struct h2_call){ .path = LIMIT, .message = ONE, .fields = { "x-long", long_value } });
    assert_true(the_h2()->unread_bytes > 0);
    assert_true(worker()->stream_bytes < sizeof long_value);
}

OVER_H2(past_the_bound_streams_are_refused_and_within_it_they_are_not, rules)
{
    worker()->stream_bytes = ALL_BYTES - 100;
    struct h2_heard *heard = h2_ask(&limit);
    SAME("status", heard->status, SL_GRPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(heard->why, "Too much is on its way"));
    SAME("decided", model.decide_calls, 0);
    worker()->stream_bytes = ALL_BYTES - 100000;
    SAME("status", h2_ask(&limit)->status, 0);
    worker()->stream_bytes -= ALL_BYTES - 100000;
    SAME("given back", worker()->stream_bytes, 0);
}

/* Connects a caller by a socket, which makes this call so many times. */
static struct caller enter_saying(const struct h2_call *call, size_t times)
{
    static struct h2_visitor other;
    memset(&other, 0, sizeof other);
    h2_open_session(&other);
    nghttp2_submit_settings(other.session, NGHTTP2_FLAG_NONE, NULL, 0);
    for (size_t i = 0; i < times; i++)
        h2_submit(&other, call);
    struct caller caller =
        caller_enter(worker(), (struct sl_arrival){ .front = &sl_front_grpc, .is_local = true });
    const uint8_t *at;
    for (ssize_t count; (count = nghttp2_session_mem_send(other.session, &at)) > 0;)
        assert_int_equal(send(caller.fd, at, (size_t)count, MSG_NOSIGNAL), count);
    for (size_t i = 0; i < times; i++)
        sl_buffer_release(&other.heard[i].said);
    nghttp2_session_del(other.session);
    for (int i = 0; i < 8; i++)
        stage_turn(worker());
    return caller;
}

/* With a message of so many bytes that does not end. */
static struct caller enter_with_half(size_t bytes)
{
    static char half[32768];
    sl_grpc_print_prefix(half, sizeof half);
    return enter_saying(
        &(struct h2_call){
            .path = LIMIT, .message = { half, bytes }, .is_bare = true, .says_more = true },
        1);
}

OVER_H2(a_connection_that_holds_much_memory_is_closed_for_others, rules)
{
    visitor_forgets_time(&h2.visitor);
    struct caller little = enter_with_half(100), much = enter_with_half(30000);
    assert_true(caller_is_here(&little) && caller_is_here(&much));
    assert_true(worker()->stream_bytes > 30000);
    worker()->stream_bytes += ALL_BYTES - 30000;
    SAME("answered", h2_ask(&limit)->status, 0);
    visitor_forgets_time(&h2.visitor);
    SAME("much", caller_is_here(&much), false);
    SAME("little", caller_is_here(&little), true);
    worker()->stream_bytes -= ALL_BYTES - 30000;
    caller_leaves(&little);
    caller_leaves(&much);
    SAME("given back", worker()->stream_bytes, 0);
}

/* A client that watches health may be silent for ever. */
OVER_H2(a_silent_connection_that_holds_much_memory_is_closed_too, rules)
{
    static const struct h2_call watch = { .path = "/grpc.health.v1.Health/Watch" };
    visitor_forgets_time(&h2.visitor);
    struct caller little = enter_saying(&watch, 1), much = enter_saying(&watch, 100);
    assert_true(caller_is_here(&little) && caller_is_here(&much));
    assert_true(worker()->stream_bytes > SL_BLOCK_BYTES);
    size_t others = ALL_BYTES - SL_BLOCK_BYTES;
    worker()->stream_bytes += others;
    SAME("answered", h2_ask(&limit)->status, 0);
    visitor_forgets_time(&h2.visitor);
    SAME("much", caller_is_here(&much), false);
    SAME("little", caller_is_here(&little), true);
    worker()->stream_bytes -= others;
    caller_leaves(&little);
    caller_leaves(&much);
    SAME("given back", worker()->stream_bytes, 0);
}
