#include "server/grpc/h2.h"

#include "unit/server/h2_visitor.h"

static const char rules[] = "rules: [{ name: many, per: user, limit: 100000/m }]\n";

#define CHECK "/grpc.health.v1.Health/Check"
#define LIMIT "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
/* domain "d", a descriptor of (user, u) */
#define ONE SL_TEXT("\x0a\1d\x12\x0b\x0a\x09\x0a\4user\x12\1u")

static const struct h2_call health = { .path = CHECK };
static const struct h2_call limit = { .path = LIMIT, .message = ONE };

static void check_end(const struct h2_heard *heard, int http, int status)
{
    SAME("http", heard->http, http);
    SAME("status", heard->status, status);
    SAME("closed", heard->is_closed, true);
}

/* ---- streams ---- */

OVER_H2(as_many_streams_as_may_be_are_answered_each, rules)
{
    for (size_t i = 0; i < SL_H2_STREAMS_MAX; i++)
        h2_submit(&h2, i % 2 ? &health : &limit);
    h2_turn();
    for (size_t i = 0; i < SL_H2_STREAMS_MAX; i++) {
        check_end(&h2.heard[i], 200, 0);
        SAME("error", h2.heard[i].error, NGHTTP2_NO_ERROR);
        SAME("health", h2.heard[i].body.len == 7, i % 2);
    }
    SAME("a batch", model.largest_batch, 64);
    SAME("spare", stage.workers[0].spare_count, 256);
    SAME("counted", the_h2()->room_bytes + the_h2()->unread_bytes, 0);
    SAME("held", the_h2()->held_bytes, 0);
}

OVER_H2(a_head_and_a_message_may_be_cut_anywhere, rules)
{
    for (size_t piece = 1; piece < 40; piece += 3) {
        struct h2_heard *heard = h2_submit(&h2, &limit);
        h2_turn_in(&h2, piece);
        check_end(heard, 200, 0);
    }
    SAME("decided", model.decide_calls, 13);
}

OVER_H2(a_call_that_was_reset_before_its_round_is_not_decided, rules)
{
    struct h2_heard *heard = h2_submit(&h2, &limit);
    const uint8_t *at;
    ssize_t count;
    struct sl_buffer said = sl_buffer(65536);
    while ((count = nghttp2_session_mem_send(h2.session, &at)) > 0)
        sl_buffer_add(&said, (struct sluice_text){ (const char *)at, (size_t)count });
    nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, heard->stream, NGHTTP2_CANCEL);
    while ((count = nghttp2_session_mem_send(h2.session, &at)) > 0)
        sl_buffer_add(&said, (struct sluice_text){ (const char *)at, (size_t)count });
    h2_says((struct sluice_text){ said.at, said.len });
    sl_buffer_release(&said);
    SAME("decided", model.decide_calls, 0);
    SAME("there", sl_h2_find(the_h2(), heard->stream) == NULL, true);
    check_end(h2_ask(&limit), 200, 0);
}

OVER_H2(a_call_that_was_reset_in_its_round_is_not_answered, rules)
{
    struct h2_heard *heard = h2_submit(&h2, &limit);
    const uint8_t *at;
    for (ssize_t count; (count = nghttp2_session_mem_send(h2.session, &at)) > 0;)
        visitor_put(&h2.visitor, (struct sluice_text){ (const char *)at, (size_t)count });
    visitor_read(&h2.visitor);
    SAME("in the round", stage.workers[0].round.call_count, 1);
    nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, heard->stream, NGHTTP2_CANCEL);
    h2_turn();
    SAME("decided", model.decide_calls, 1);
    SAME("http", heard->http, 0);
    SAME("there", sl_h2_find(the_h2(), heard->stream) == NULL, true);
    check_end(h2_ask(&limit), 200, 0);
}

/* ---- what a client makes us hold ---- */

OVER_H2(answers_wait_for_the_clients_window, rules)
{
    static const nghttp2_settings_entry small[] = { { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 } };
    nghttp2_submit_settings(h2.session, NGHTTP2_FLAG_NONE, small, 1);
    struct h2_heard *heard = h2_ask(&health);
    SAME("got", heard->body.len, 0);
    SAME("closed", heard->is_closed, false);
    check_end(h2_ask(&(struct h2_call){ .path = "/none" }), 200, 12); /* needs no window */
    nghttp2_submit_window_update(h2.session, NGHTTP2_FLAG_NONE, heard->stream, 100);
    h2_turn();
    SAME("got", heard->body.len, 7);
    check_end(heard, 200, 0);
}

OVER_H2(long_heads_are_refused_and_longer_ones_end_it, rules)
{
    static char value[4000];
    memset(value, 'a', sizeof value - 1);
    struct h2_call call = { .path = CHECK };
    for (size_t i = 0; i < 3; i++)
        call.fields[2 * i] = "x-a", call.fields[2 * i + 1] = value;
    check_end(h2_ask(&call), 200, 0);
    call.fields[6] = call.fields[8] = "x-b", call.fields[7] = call.fields[9] = value;
    check_end(h2_ask(&call), 200, 8);
    SAME("open", h2.visitor.conn->is_finished, false);
    for (size_t i = 5; i < 17; i++)
        call.fields[2 * i] = "x-a", call.fields[2 * i + 1] = value;
    SAME("answered", h2_ask(&call)->http, 0);
    SAME("goaway", h2.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    SAME("open", h2.visitor.conn->is_finished, true);
}

OVER_H2(more_fields_than_a_head_has_are_refused, rules)
{
    struct h2_call call = { .path = CHECK };
    for (size_t i = 0; i < 94; i++)
        call.fields[2 * i] = "x-a", call.fields[2 * i + 1] = "b";
    check_end(h2_ask(&call), 200, 0);
    call.fields[2 * 94] = "x-a", call.fields[2 * 94 + 1] = "b";
    check_end(h2_ask(&call), 200, 8);
}

OVER_H2(messages_that_are_not_whole_are_held_up_to_a_bound, rules)
{
    static char part[700 << 10];
    sl_grpc_print_prefix(part, SL_GRPC_MESSAGE_MAX_BYTES);
    struct h2_call call = {
        .path = LIMIT, .message = { part, sizeof part }, .is_bare = true, .says_more = true
    };
    for (size_t i = 0; i < 3; i++)
        h2_ask(&call);
    SAME("the first", h2.heard[0].http, 0);
    SAME("the second", h2.heard[1].http, 0);
    check_end(&h2.heard[2], 200, 8);
    assert_true(the_h2()->held_bytes <= SL_H2_HELD_MAX_BYTES);
    check_end(h2_ask(&limit), 200, 0);
    for (size_t i = 0; i < 2; i++)
        nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, h2.heard[i].stream, 8);
    h2_turn();
    SAME("held", the_h2()->held_bytes, 0);
}

/* ---- what a client makes us do ---- */

struct flood {
    const char *name;
    struct sluice_text frame;
    size_t bearable; /* that many are, and twice as many are not */
    bool is_answered;
};

OVER_H2(floods_end_a_connection_and_a_few_do_not, rules)
{
    static const struct flood rows[] = {
        { "ping",
          SL_TEXT("\0\0\x08\6\0\0\0\0\0"
                  "12345678"),
          900 },
        { "settings", SL_TEXT("\0\0\0\4\0\0\0\0\0"), 90, true },
        { "window", SL_TEXT("\0\0\4\x08\0\0\0\0\0\0\0\0\1"), 900 },
        { "priority", SL_TEXT("\0\0\5\2\0\0\0\0\x7f\0\0\0\0\x10"), 900 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        close_h2(NULL);
        void *state = (void *)(uintptr_t)rules;
        open_h2(&state);
        for (size_t n = 0; n < rows[i].bearable; n++)
            h2_says(rows[i].frame);
        SAME(rows[i].name, h2.visitor.conn->is_finished, false);
        if (!rows[i].is_answered) /* which our client did not expect */
            SAME(rows[i].name, h2_ask(&health)->status, 0);
        for (size_t n = 0; n < rows[i].bearable && !h2.visitor.conn->is_finished; n++)
            h2_says(rows[i].frame);
        if (!rows[i].is_answered)
            SAME(rows[i].name, h2.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
        SAME(rows[i].name, h2.visitor.conn->is_finished, true);
    }
}

static void open_and_reset(size_t times)
{
    for (size_t i = 0; i < times && !h2.visitor.conn->is_finished; i++) {
        h2.heard_count = 0;
        struct h2_heard *heard =
            h2_submit(&h2, &(struct h2_call){ .path = LIMIT, .says_more = true });
        h2_turn();
        nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, heard->stream, NGHTTP2_CANCEL);
        h2_turn();
        sl_buffer_release(&heard->said);
    }
    h2.heard_count = 0;
}

OVER_H2(rapid_resets_end_it_and_calls_between_them_do_not, rules)
{
    for (size_t i = 0; i < 20; i++) {
        open_and_reset(30);
        for (size_t n = 0; n < 25; n++)
            check_end(h2_ask(&health), 200, 0);
        for (size_t n = 0; n < h2.heard_count; n++) {
            sl_buffer_release(&h2.heard[n].said);
            sl_buffer_release(&h2.heard[n].body);
        }
    }
    SAME("open", h2.visitor.conn->is_finished, false);
    open_and_reset(600);
    SAME("goaway", h2.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    SAME("open", h2.visitor.conn->is_finished, true);
}

/* In one read, as a client that has waited too long has sent it meanwhile; and a window with it. */
static void ask_and_reset(size_t times, const struct h2_call *call)
{
    for (size_t i = 0; i < times && !h2.visitor.conn->is_finished; i++) {
        h2.heard_count = 0;
        struct h2_heard *heard = h2_submit(&h2, call);
        const uint8_t *at;
        for (ssize_t count; (count = nghttp2_session_mem_send(h2.session, &at)) > 0;)
            visitor_put(&h2.visitor, (struct sluice_text){ (const char *)at, (size_t)count });
        nghttp2_submit_window_update(h2.session, NGHTTP2_FLAG_NONE, 0, 1);
        nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, heard->stream, NGHTTP2_CANCEL);
        h2_turn();
        sl_buffer_release(&heard->said);
        sl_buffer_release(&heard->body);
    }
    h2.heard_count = 0;
}

OVER_H2(a_client_that_gives_up_its_calls_may_make_others, rules)
{
    ask_and_reset(3000, &limit);
    SAME("open", h2.visitor.conn->is_finished, false);
    check_end(h2_ask(&limit), 200, 0);
}

/* Else their heads come alone while we do not read, and what is reset then was no call. */
OVER_H2(messages_of_many_calls_may_come_while_we_do_not_read, rules)
{
    SAME("window", nghttp2_session_get_remote_window_size(h2.session), SL_H2_HELD_MAX_BYTES);
}

OVER_H2(resets_of_what_was_answered_without_a_call_end_it, rules)
{
    ask_and_reset(600, &(struct h2_call){ .path = "/none", .message = ONE });
    SAME("goaway", h2.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    SAME("open", h2.visitor.conn->is_finished, true);
}

OVER_H2(a_head_in_too_many_pieces_ends_it, rules)
{
    h2_says(SL_TEXT("\0\0\0\1\0\0\0\0\1")); /* HEADERS that do not end, of nothing */
    for (size_t i = 0; i < 4; i++)
        h2_says(SL_TEXT("\0\0\0\x09\0\0\0\0\1"));
    SAME("open", h2.visitor.conn->is_finished, false);
    h2_says(SL_TEXT("\0\0\0\x09\0\0\0\0\1"));
    SAME("goaway", h2.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    SAME("open", h2.visitor.conn->is_finished, true);
}

OVER_H2(empty_data_ends_it, rules)
{
    struct h2_heard *heard = h2_ask(&(struct h2_call){ .path = LIMIT, .says_more = true });
    char frame[] = "\0\0\0\0\0\0\0\0\0";
    frame[8] = (char)heard->stream;
    for (size_t i = 0; i < 1100 && !h2.visitor.conn->is_finished; i++)
        h2_says((struct sluice_text){ frame, 9 });
    SAME("goaway", h2.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
}

OVER_H2(what_is_no_http2_ends_it, rules)
{
    h2_says(SL_TEXT("\0\0\1\0\1\0\0\0\x09"
                    "a")); /* DATA on a stream that never was */
    SAME("goaway", h2.goaway, NGHTTP2_PROTOCOL_ERROR);
    SAME("open", h2.visitor.conn->is_finished, true);
}

/* ---- the end ---- */

OVER_H2(calls_under_way_are_answered_while_the_server_drains, rules)
{
    struct h2_heard *half =
        h2_ask(&(struct h2_call){ .path = LIMIT, .says_more = true, .message = ONE });
    stage.workers[0].is_draining = true;
    h2.visitor.conn->front->drain(h2.visitor.conn);
    h2_turn();
    SAME("goaway", h2.goaway, NGHTTP2_NO_ERROR);
    SAME("pings", h2.pings, 1);
    SAME("open", h2.visitor.conn->is_finished, false);
    half->says_more = false;
    nghttp2_session_resume_data(h2.session, half->stream);
    h2_turn();
    check_end(half, 200, 0);
    SAME("decided", model.decide_calls, 1);
    SAME("open", h2.visitor.conn->is_finished, true);
    stage.workers[0].is_draining = false;
}
