/* What the streams of gRPC hold, and who has to go when that is too much.
 *
 * A client may send heads and messages that do not end, and let no answer out: each is within its
 * bounds, and each has its time; but there are many streams on a connection, and many connections.
 * So all buffers of a stream that is alive are counted by their room, for its session and for the
 * worker. Past a session's bound its own streams are refused; past the worker's, whoever has been
 * waited for longest and holds much is cut, so that others are not refused for it. */
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

/* Of those who hold much who has not read for the longest time, or else has not gone on, or else
 * has been silent: streams that are told of changes, or hear the next question, may stay. */
static struct sl_conn *slowest(const struct sl_worker *worker)
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
        struct sl_conn *conn = slowest(worker);
        if (!conn || conn == h2->conn) /* whose bytes are being read */
            return false;
        sl_conn_cut(conn);
    }
    return true;
}
