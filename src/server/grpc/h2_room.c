/* Bounds on the memory of gRPC streams, and which stream is reset when it is used up.
 *
 * A client may send heads and messages that do not end, and read no answer. Each stream has bounds
 * and timeouts, but there are many streams on a connection, and many connections. So the buffers of
 * all live streams are counted by their room, for their session and for the worker. Beyond a
 * session's bound its own new streams are refused. Beyond the worker's bound the connection that
 * has been waited for longest, and holds much, is cut, so that other clients are not refused for
 * it. */
#include "server/front.h"
#include "server/grpc/h2.h"
#include "server/worker.h"

enum { HELD_MAX_BYTES = 64 << 20 }; /* a worker's */

static void set_room(struct sl_h2_stream *stream, size_t room_bytes)
{
    struct sl_h2 *h2 = stream->h2;
    h2->room_bytes += room_bytes - stream->room_bytes;
    h2->conn->worker->stream_bytes += room_bytes - stream->room_bytes;
    stream->room_bytes = room_bytes;
}

static void set_unread(struct sl_h2_stream *stream, size_t unread_bytes)
{
    stream->h2->unread_bytes += unread_bytes - stream->unread_bytes;
    stream->unread_bytes = unread_bytes;
}

void sl_h2_stream_count(struct sl_h2_stream *stream)
{
    set_room(stream, sizeof *stream + stream->fields.room + stream->in.room + stream->out.room);
    set_unread(stream, stream->out.len - stream->sent);
}

void sl_h2_stream_uncount(struct sl_h2_stream *stream)
{
    set_room(stream, 0);
    set_unread(stream, 0);
}

static bool holds_much(const struct sl_conn *conn)
{
    const struct sl_h2 *h2 = conn->front == &sl_front_grpc ? *sl_h2_of(conn) : NULL;
    return h2 && h2->room_bytes > SL_BLOCK_BYTES;
}

/* Of the connections that hold much memory, the one that has not read for the longest time; else
 * the one whose message has not gone on for the longest time; else the one that has been silent for
 * the longest time: it may have streams that wait for changes or for the next request. */
static struct sl_conn *slowest_conn(const struct sl_worker *worker)
{
    enum { KINDS = 4 };
    static const enum sl_timer kinds[2][KINDS] = {
        { SL_TIMER_WRITE, SL_TIMER_BODY, SL_TIMER_HEAD, SL_TIMER_REST },
        { SL_TIMER_FLUSH, SL_TIMER_DRAIN },
    };
    for (size_t i = 0; i < KINDS; i++)
        for (struct sl_conn *conn = worker->timers[kinds[worker->is_draining][i]].first; conn;
             conn = conn->timer_next)
            if (holds_much(conn))
                return conn;
    return NULL;
}

bool sl_h2_has_room(const struct sl_h2 *h2)
{
    const struct sl_worker *worker = h2->conn->worker;
    if (h2->room_bytes > SL_H2_ROOM_MAX_BYTES)
        return false;
    while (worker->stream_bytes > HELD_MAX_BYTES) {
        struct sl_conn *conn = slowest_conn(worker);
        if (!conn || conn == h2->conn) /* its bytes are being read */
            return false;
        sl_conn_cut(conn);
    }
    return true;
}
