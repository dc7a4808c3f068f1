/* HTTP/2 sessions by nghttp2: see h2.h. */
#include "server/grpc/h2.h"

#include <stdlib.h>

#include "base/clock.h"
#include "server/grpc/grpc_call.h"
#include "server/worker.h"

enum {
    CONTINUATIONS_MAX = 4,   /* frames after the first, of one head */
    SMALL_DATA_BYTES = 64,   /* shorter frames are mostly overhead */
    OUTBOUND_ACKS_MAX = 256, /* that a client does not read */
};

/* ---- the frame budget ---- */

static bool spend_budget(struct sl_h2 *h2, int32_t much)
{
    return sl_frame_budget_take(&h2->budget, much, uv_now(&h2->conn->worker->loop));
}

/* A client may reset calls whose answers are late, and all of them if the store is late: those were
 * calls like any other. Streams that never became a call were useless. */
static bool is_reset_bearable(struct sl_h2 *h2, int32_t number)
{
    const struct sl_h2_stream *stream = sl_h2_find(h2, number);
    return (stream && stream->is_whole) || spend_budget(h2, SL_FRAME_BUDGET_RESET);
}

/* Does the budget allow a frame of that kind? */
static bool is_bearable(struct sl_h2 *h2, const nghttp2_frame_hd *head)
{
    switch (head->type) {
    case NGHTTP2_DATA:
        return head->length >= SMALL_DATA_BYTES || head->flags & NGHTTP2_FLAG_END_STREAM ||
               spend_budget(h2, SL_FRAME_BUDGET_FRAME);
    case NGHTTP2_HEADERS:
        h2->continuations = 0;
        return true;
    case NGHTTP2_CONTINUATION:
        return ++h2->continuations <= CONTINUATIONS_MAX;
    case NGHTTP2_RST_STREAM:
        return is_reset_bearable(h2, head->stream_id);
    case NGHTTP2_SETTINGS:
        return head->flags & NGHTTP2_FLAG_ACK || spend_budget(h2, SL_FRAME_BUDGET_SETTINGS);
    default:
        return spend_budget(h2, SL_FRAME_BUDGET_FRAME);
    }
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *about)
{
    struct sl_h2 *h2 = about;
    (void)session;
    h2->is_calm = h2->is_calm || !is_bearable(h2, head);
    if (head->type == NGHTTP2_HEADERS || head->type == NGHTTP2_CONTINUATION)
        h2->is_in_block = !(head->flags & NGHTTP2_FLAG_END_HEADERS);
    return h2->is_calm ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* ---- reading ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *about)
{
    struct sl_h2 *h2 = about;
    int32_t number = frame->hd.stream_id;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) /* trailers, which are dropped */
        return 0;
    struct sl_h2_stream *stream = sl_h2_stream_take(h2, number);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, number, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *about)
{
    struct sl_h2 *h2 = about;
    struct sl_h2_stream *stream = sl_h2_find(h2, frame->hd.stream_id);
    (void)session;
    (void)flags;
    if (!stream)
        return 0;
    h2->is_calm = !sl_h2_stream_field(stream, (struct sluice_text){ (const char *)name, name_len },
                                      (struct sluice_text){ (const char *)value, value_len });
    return h2->is_calm ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t number, const uint8_t *at,
                   size_t len, void *about)
{
    struct sl_h2_stream *stream = sl_h2_find(about, number);
    (void)session;
    (void)flags;
    if (stream && !stream->is_over)
        sl_grpc_hear(stream, (struct sluice_text){ (const char *)at, len });
    return 0;
}

/* A round trip after the first GOAWAY (the PING's answer), every stream that the client has opened
 * is known: the final GOAWAY can name the last one. */
static void end_politely(struct sl_h2 *h2)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(h2->session);
    nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *about)
{
    struct sl_h2 *h2 = about;
    (void)session;
    if (frame->hd.type == NGHTTP2_PING && frame->hd.flags & NGHTTP2_FLAG_ACK && h2->is_draining)
        end_politely(h2);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct sl_h2_stream *stream = sl_h2_find(h2, frame->hd.stream_id);
    if (!stream)
        return 0;
    if (!stream->is_headed) {
        stream->is_headed = true;
        sl_grpc_begin(stream);
    }
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    stream->has_ended = true;
    if (!stream->is_over)
        sl_grpc_end_of(stream);
    return 0;
}

/* ---- writing ---- */

/* A stream that was answered before the client had sent all is reset: the client need not send the
 * rest. A session that ends, by nghttp2 or by us, sends one GOAWAY with the reason. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *about)
{
    const struct sl_h2 *h2 = about;
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
        sl_count_add(&h2->conn->worker->traffic.malformed_sessions, 1);
    bool is_last = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                   frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (!is_last)
        return 0;
    const struct sl_h2_stream *stream = sl_h2_find(about, frame->hd.stream_id);
    if (stream && !stream->has_ended)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->number, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t number, uint32_t error_code,
                           void *about)
{
    struct sl_h2 *h2 = about;
    struct sl_h2_stream *stream = sl_h2_find(h2, number);
    if (!stream)
        return 0;
    if (stream->is_whole || (stream->is_over && error_code == NGHTTP2_NO_ERROR))
        sl_frame_budget_give(&h2->budget, SL_FRAME_BUDGET_CALL);
    nghttp2_session_set_stream_user_data(session, number, NULL);
    sl_h2_stream_give(stream);
    return 0;
}

/* ---- the session ---- */

static bool open_session(struct sl_h2 *h2)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return false;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    if (nghttp2_option_new(&option) == 0) {
        nghttp2_option_set_no_closed_streams(option, 1);
        nghttp2_option_set_max_outbound_ack(option, OUTBOUND_ACKS_MAX);
        /* nghttp2's own limit knows nothing of calls; frame_budget.h does. */
        nghttp2_option_set_stream_reset_rate_limit(option, UINT32_MAX, UINT32_MAX);
        nghttp2_mem memory = sl_h2_memory(&h2->conn->worker->h2_memory);
        if (nghttp2_session_server_new3(&h2->session, callbacks, h2, option, &memory) != 0)
            h2->session = NULL;
        nghttp2_option_del(option);
    }
    nghttp2_session_callbacks_del(callbacks);
    return h2->session;
}

struct sl_h2 *sl_h2_new(struct sl_conn *conn)
{
    static const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, SL_H2_STREAMS_MAX },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SL_H2_FIELDS_MAX_BYTES },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
    };
    struct sl_h2 *h2 = calloc(1, sizeof *h2);
    if (!h2)
        return NULL;
    h2->conn = conn;
    h2->budget = sl_frame_budget(uv_now(&conn->worker->loop));
    /* The window of a connection is wide: its memory is bounded anyhow, and with a narrow window
     * the heads of calls would come without their messages whenever we do not read for a while. */
    if (open_session(h2) &&
        nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings,
                                sizeof settings / sizeof *settings) == 0 &&
        nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0,
                                              SL_H2_HELD_MAX_BYTES) == 0)
        return h2;
    sl_h2_free(h2);
    return NULL;
}

void sl_h2_free(struct sl_h2 *h2)
{
    nghttp2_session_del(h2->session);
    sl_h2_streams_give(h2);
    free(h2);
}

bool sl_h2_read(struct sl_h2 *h2, struct sluice_text bytes)
{
    h2->read_us = sl_boottime_us();
    ssize_t count = nghttp2_session_mem_recv(h2->session, (const uint8_t *)bytes.at, bytes.len);
    if (count >= 0)
        return nghttp2_session_want_read(h2->session);
    bool is_flood = h2->is_calm || count == NGHTTP2_ERR_FLOODED;
    sl_h2_end(h2, is_flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_INTERNAL_ERROR);
    return false;
}

bool sl_h2_serve(struct sl_h2 *h2, struct sl_round *round)
{
    struct sl_h2_stream *stream;
    while ((stream = h2->lists[SL_H2_READY].first)) {
        if (!sl_round_has_room(round, SL_JOINED_MAX))
            return false;
        sl_h2_stream_move(stream, SL_H2_ASKED);
        sl_grpc_ask(stream, round);
    }
    return true;
}

bool sl_h2_write(struct sl_h2 *h2)
{
    struct sl_conn *conn = h2->conn;
    const uint8_t *at;
    ssize_t count = 1;
    while (count > 0 && conn->out.len - conn->sent < SL_CONN_OUT_HIGH_BYTES) {
        count = nghttp2_session_mem_send(h2->session, &at);
        if (count > 0 && !conn->out.at) {
            conn->out.at = sl_block_take(&conn->worker->blocks);
            conn->out.room = conn->out.at ? SL_BLOCK_BYTES : 0;
        }
        if (count > 0)
            sl_buffer_add(&conn->out, (struct sluice_text){ (const char *)at, (size_t)count });
    }
    return count >= 0 &&
           (nghttp2_session_want_read(h2->session) || nghttp2_session_want_write(h2->session));
}

void sl_h2_drain(struct sl_h2 *h2)
{
    h2->is_draining = true;
    nghttp2_submit_shutdown_notice(h2->session);
    nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, NULL);
    if (h2->conn->worker->is_draining)
        sl_grpc_drain(h2);
}

void sl_h2_end(struct sl_h2 *h2, uint32_t error_code)
{
    nghttp2_session_terminate_session(h2->session, error_code);
}
