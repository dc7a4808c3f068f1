/* The gRPC front: HTTP/2 from the first byte (with prior knowledge, or by ALPN over TLS). A client
 * that is silent may stay connected. */
#include "base/clock.h"
#include "server/front.h"
#include "server/grpc/grpc_call.h"
#include "server/worker.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* ---- opening a session ---- */

/* Answers a client that speaks HTTP/1, by hand perhaps, in HTTP/1. */
static void refuse_foreigner(struct sl_conn *conn, struct sluice_text bytes)
{
    sl_count_add(&conn->worker->traffic.malformed_sessions, 1);
    if (memchr(bytes.at, '/', bytes.len))
        sl_buffer_add(&conn->out,
                      SL_TEXT("HTTP/1.1 505 HTTP Version Not Supported\r\n"
                              "Content-Type: text/plain\r\nConnection: close\r\n\r\n"
                              "This port speaks gRPC, over HTTP/2 with prior knowledge.\n"));
    conn->in_start = conn->in_end;
    sl_conn_finish(conn, true);
}

/* Opens the session. Returns false if the preface is not whole yet, or wrong. */
static bool open_h2(struct sl_conn *conn)
{
    if (conn->in_start == conn->in_end)
        return false;
    struct sluice_text bytes = sl_conn_bytes(conn), preface = SL_TEXT(PREFACE);
    size_t len = bytes.len < preface.len ? bytes.len : preface.len;
    if (memcmp(bytes.at, preface.at, len) != 0) {
        refuse_foreigner(conn, bytes);
        return false;
    }
    if (len < preface.len) {
        sl_conn_await(conn, SL_TIMER_HEAD, false);
        return false;
    }
    *sl_h2_of(conn) = sl_h2_new(conn);
    if (!*sl_h2_of(conn)) {
        conn->in_start = conn->in_end;
        sl_conn_finish(conn, false);
        return false;
    }
    return true;
}

/* ---- reading ---- */

/* Fails the streams whose messages did not come in time, and ends the connection. */
static void fail_late_streams(struct sl_conn *conn)
{
    struct sl_h2 *h2 = *sl_h2_of(conn);
    struct sl_h2_stream *stream;
    if (!h2)
        return;
    while ((stream = h2->lists[SL_H2_OPEN].first)) {
        if (stream->is_headed)
            sl_grpc_fail(stream, SL_GRPC_DEADLINE_EXCEEDED,
                         "The message did not arrive in time; send it faster.");
        else
            sl_h2_stream_move(stream, SL_H2_ASKED);
    }
    sl_h2_drain(h2);
}

/* Is a message late? The connection's timer alone cannot tell: it stands while the store decides
 * other calls of the connection, and begins anew then, so a client that keeps making calls would
 * never be late. */
static bool is_late(const struct sl_conn *conn, const struct sl_h2_stream *oldest)
{
    uint64_t most_ms = (uint64_t)sl_worker_timeout_ms(conn->worker, SL_TIMER_BODY);
    return oldest && uv_now(&conn->worker->loop) - oldest->since_ms >= most_ms;
}

/* Chooses the timer: a head that has begun has a timeout, and so has a message; else the client may
 * be silent. The oldest message that is not whole sets the time; when it is another one, time
 * begins anew. */
static void await_next(struct sl_conn *conn, struct sl_h2 *h2)
{
    const struct sl_h2_stream *oldest = sl_grpc_oldest_unfinished(h2);
    int32_t number = oldest ? oldest->number : 0;
    if (sl_conn_is_open(conn) && is_late(conn, oldest)) { /* all that has come is read */
        sl_count_add(&conn->worker->traffic.late[SL_TIMER_BODY], 1);
        fail_late_streams(conn);
        sl_conn_finish(conn, true);
        return;
    }
    if (h2->is_in_block)
        sl_conn_await(conn, SL_TIMER_HEAD, false);
    else if (oldest)
        sl_conn_await(conn, SL_TIMER_BODY, number != h2->awaited);
    else
        sl_conn_await(conn, SL_TIMER_REST, false);
    h2->awaited = number;
}

static enum sl_front_end read_frames(struct sl_conn *conn, struct sl_round *round)
{
    if (!sl_conn_is_open(conn) || (!*sl_h2_of(conn) && !open_h2(conn)))
        return SL_FRONT_MORE;
    struct sl_h2 *h2 = *sl_h2_of(conn);
    if (h2->lists[SL_H2_READY].first) /* they wait since an earlier turn */
        h2->read_us = sl_boottime_us();
    while (sl_conn_is_open(conn)) {
        if (!sl_h2_serve(h2, round))
            return SL_FRONT_FULL;
        if (conn->in_start == conn->in_end)
            break;
        struct sluice_text bytes = sl_conn_bytes(conn);
        conn->in_start = conn->in_end;
        if (!sl_h2_read(h2, bytes))
            sl_conn_finish(conn, true);
    }
    await_next(conn, h2);
    return SL_FRONT_MORE;
}

/* ---- writing ---- */

static bool write_frames(struct sl_conn *conn)
{
    struct sl_h2 *h2 = *sl_h2_of(conn);
    if (h2 && !sl_h2_write(h2))
        sl_conn_finish(conn, true);
    return h2 && conn->out.len - conn->sent >= SL_CONN_OUT_HIGH_BYTES;
}

/* Streams that found the round full, or whose connection waited for the store or for its client. */
static bool has_ready(const struct sl_conn *conn)
{
    const struct sl_h2 *h2 = *sl_h2_of(conn);
    return h2 && h2->lists[SL_H2_READY].first;
}

static size_t unread_bytes(const struct sl_conn *conn)
{
    const struct sl_h2 *h2 = *sl_h2_of(conn);
    return h2 ? h2->unread_bytes : 0;
}

/* SETTINGS, which has to be the first frame, and GOAWAY: no stream was read. */
static void print_full(struct sl_conn *conn)
{
#define WHY "There are too many connections; close some first"
    static const char frames[] = "\0\0\0\4\0\0\0\0\0"
                                 "\0\0\x38\7\0\0\0\0\0\0\0\0\0\0\0\0\0" WHY;
    _Static_assert(sizeof WHY - 1 + 8 == 0x38, "the frame's length is right");
#undef WHY
    sl_buffer_add(&conn->out, (struct sluice_text){ frames, sizeof frames - 1 });
}

static void fail_stream(struct sl_round *round, struct sl_call *call)
{
    struct sl_h2_stream *stream = sl_grpc_stream_of(call);
    (void)round;
    if (stream)
        sl_grpc_fail(stream, sl_grpc_status_of_http(call->status),
                     call->detail ? call->detail : "Out of memory; try again.");
}

static void drain_session(struct sl_conn *conn)
{
    if (*sl_h2_of(conn))
        sl_h2_drain(*sl_h2_of(conn));
}

static void close_session(struct sl_conn *conn)
{
    if (*sl_h2_of(conn))
        sl_h2_free(*sl_h2_of(conn));
    *sl_h2_of(conn) = NULL;
}

const struct sl_front sl_front_grpc = {
    .release = sl_h2_spares_free,
    .schemes = { "grpc", "grpcs" },
    .protocol = SL_TLS_HTTP2,
    .state_bytes = sizeof(struct sl_h2_own),
    .stays = true,
    .read = read_frames,
    .late = fail_late_streams,
    .refuse = print_full,
    .problem = fail_stream,
    .flush = write_frames,
    .waits = has_ready,
    .unread = unread_bytes,
    .drain = drain_session,
    .close = close_session,
};
