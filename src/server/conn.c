/* The life of a connection:
 *
 *   open → [PROXY header] → [TLS] → bytes … → finished → all sent → [linger] → gone
 *
 * A socket is read once a turn, into whatever room there is, and written once a
 * turn. Only when a write falls short does it wait to be writable. Reading stops
 * when its client does not read, or when there is no room left because an answer
 * is held; then bytes stay in the kernel, and the client's sending stops in turn.
 *
 * Why poll handles and not libuv's streams: with the socket in our own hands TLS
 * needs no second pair of buffers, a connection can be handed to another worker
 * before its first byte, and a turn is one recv and one send. */
#include "server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "server/flight.h"
#include "server/front.h"
#include "server/job.h"
#include "server/worker.h"

enum {
    UNREAD_MAX_BYTES = 64 << 20, /* a worker's, in answers longer than a block */
    FLUSHES_MAX = 16             /* in one turn, of one connection */
};

/* ---- opening and closing ---- */

void sl_conn_set_peer(struct sl_conn *conn, const struct sl_address *peer)
{
    conn->is_local = false;
    conn->peer = *peer;
    conn->peer_len = sl_address_print(peer, conn->peer_text);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* Lets the loop wait for the first bytes. Returns false, and frees the connection, if it cannot. */
static bool watch_socket(struct sl_worker *worker, struct sl_conn *conn, int fd)
{
    if (uv_poll_init_socket(&worker->loop, &conn->poll, fd) != 0) {
        free(conn);
        return false;
    }
    conn->poll.data = conn;
    conn->events = UV_READABLE;
    if (uv_poll_start(&conn->poll, conn->events, sl_conn_on_poll) == 0)
        return true;
    conn->is_gone = true;
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    return false;
}

struct sl_conn *sl_conn_open(struct sl_worker *worker, const struct sl_arrival *arrival)
{
    struct sl_conn *conn = calloc(1, sizeof *conn + arrival->front->state_bytes);
    if (!conn || !watch_socket(worker, conn, arrival->fd)) {
        close(arrival->fd);
        return NULL;
    }
    conn->worker = worker;
    conn->front = arrival->front;
    conn->fd = arrival->fd;
    conn->held_from = SIZE_MAX;
    conn->out = sl_buffer(SL_CONN_OUT_MAX_BYTES);
    conn->is_opening = conn->speaks_proxy = arrival->proxy_protocol;
    conn->wants_tls = arrival->wants_tls;
    sl_conn_set_peer(conn, &arrival->peer);
    conn->is_local = arrival->is_local;
    conn->all_next = worker->all;
    if (worker->all)
        worker->all->all_prev = conn;
    worker->all = conn;
    sl_conn_set_timer(conn, SL_TIMER_OPENING);
    return conn;
}

static void on_hold_closed(uv_handle_t *handle)
{
    free(handle);
}

static void drop_hold(struct sl_conn *conn)
{
    if (conn->hold)
        uv_close((uv_handle_t *)conn->hold, on_hold_closed);
    conn->hold = NULL;
    conn->held_from = SIZE_MAX;
}

void sl_conn_drop_in(struct sl_conn *conn)
{
    if (conn->in_room > SL_BLOCK_BYTES)
        conn->worker->large_bytes -= conn->in_room;
    sl_block_give(&conn->worker->blocks, conn->in, conn->in_room);
    conn->in = NULL;
    conn->in_start = conn->in_end = conn->in_room = 0;
}

/* Counts the memory beyond a block that an unread answer takes. */
static void count_unread(struct sl_conn *conn, size_t bytes)
{
    conn->worker->unread_bytes += bytes - conn->unread_bytes;
    conn->unread_bytes = bytes;
}

static void drop_out(struct sl_conn *conn)
{
    count_unread(conn, 0);
    sl_block_give(&conn->worker->blocks, conn->out.at, conn->out.room);
    conn->out = sl_buffer(SL_CONN_OUT_MAX_BYTES);
    conn->sent = 0;
}

void sl_conn_close(struct sl_conn *conn)
{
    struct sl_worker *worker = conn->worker;
    if (conn->is_gone)
        return;
    conn->is_gone = true;
    sl_conn_set_timer(conn, SL_TIMER_NONE);
    drop_hold(conn);
    if (conn->job)
        conn->job->conn = NULL;
    conn->job = NULL;
    if (conn->flight)
        sl_flight_forget(conn->flight, conn);
    conn->flight = NULL;
    if (conn->tls) {
        sl_count_add(&worker->traffic.failed_handshakes, sl_tls_is_unfinished(conn->tls));
        sl_tls_finish(conn->tls);
        sl_tls_stream_free(conn->tls);
    }
    conn->tls = NULL;
    if (conn->front->close)
        conn->front->close(conn);
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    close(conn->fd);
    if (conn->all_prev)
        conn->all_prev->all_next = conn->all_next;
    else
        worker->all = conn->all_next;
    if (conn->all_next)
        conn->all_next->all_prev = conn->all_prev;
    count_unread(conn, 0);
    /* Calls of this round may still point into its bytes: see sl_conn_settle. */
    if (!conn->is_ready) {
        sl_conn_drop_in(conn);
        drop_out(conn);
    }
    if (conn->is_refused)
        worker->refusing--;
    else
        sl_worker_forget(worker);
}

void sl_conn_cut(struct sl_conn *conn)
{
    struct linger none = { .l_onoff = 1 };
    if (!conn->is_gone)
        setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    sl_conn_close(conn);
}

void sl_conn_finish(struct sl_conn *conn, bool lingers)
{
    conn->is_finished = true;
    conn->lingers |= lingers;
}

/* ---- time ---- */

static void unlink_timer(struct sl_conn *conn)
{
    struct sl_timers *timers = &conn->worker->timers[conn->timer];
    if (conn->timer_prev)
        conn->timer_prev->timer_next = conn->timer_next;
    else
        timers->first = conn->timer_next;
    if (conn->timer_next)
        conn->timer_next->timer_prev = conn->timer_prev;
    else
        timers->last = conn->timer_prev;
    conn->timer_prev = conn->timer_next = NULL;
}

void sl_conn_set_timer(struct sl_conn *conn, enum sl_timer timer)
{
    struct sl_worker *worker = conn->worker;
    if (worker->is_draining && timer >= SL_TIMER_OPENING && timer <= SL_TIMER_BODY)
        timer = SL_TIMER_DRAIN;
    else if (worker->is_draining && timer == SL_TIMER_WRITE)
        timer = SL_TIMER_FLUSH;
    bool starts_afresh =
        timer == SL_TIMER_IDLE || timer == SL_TIMER_REST || timer == SL_TIMER_WRITE;
    if (timer == conn->timer && !starts_afresh)
        return;
    if (conn->timer != SL_TIMER_NONE)
        unlink_timer(conn);
    conn->timer = timer;
    if (timer == SL_TIMER_NONE)
        return;
    struct sl_timers *timers = &worker->timers[timer];
    conn->due_ms = uv_now(&worker->loop) + (uint64_t)sl_worker_timeout_ms(worker, timer);
    conn->timer_prev = timers->last;
    if (timers->last)
        timers->last->timer_next = conn;
    else
        timers->first = conn;
    timers->last = conn;
    if (conn->due_ms < worker->timer_due_ms)
        sl_worker_arm(worker, conn->due_ms);
}

/* Is the timer of an unread answer running? What the client sends does not prolong it. */
static bool is_writing(const struct sl_conn *conn)
{
    return conn->timer == SL_TIMER_WRITE || conn->timer == SL_TIMER_FLUSH;
}

void sl_conn_await(struct sl_conn *conn, enum sl_timer timer, bool is_new)
{
    conn->awaits = timer;
    if (is_writing(conn))
        return;
    if (is_new && conn->timer == timer)
        sl_conn_set_timer(conn, SL_TIMER_NONE);
    sl_conn_set_timer(conn, timer);
}

void sl_conn_late(struct sl_conn *conn)
{
    sl_count_add(&conn->worker->traffic.late[conn->timer], 1);
    if (is_writing(conn)) {
        sl_conn_cut(conn);
        return;
    }
    bool may_speak = conn->timer == SL_TIMER_HEAD || conn->timer == SL_TIMER_BODY;
    if (!may_speak || conn->is_opening) {
        sl_conn_close(conn);
        return;
    }
    conn->front->late(conn);
    sl_conn_finish(conn, true);
    sl_conn_settle(conn);
}

static void on_hold(uv_timer_t *timer)
{
    struct sl_conn *conn = timer->data;
    drop_hold(conn);
    sl_worker_ready_later(conn->worker, conn); /* messages may wait behind the answer */
}

void sl_conn_hold_from(struct sl_conn *conn, size_t offset, int64_t delay_us)
{
    uv_loop_t *loop = &conn->worker->loop;
    SL_CHECK(!conn->hold && conn->held_from == SIZE_MAX);
    conn->hold = malloc(sizeof *conn->hold);
    if (!conn->hold)
        return; /* no memory: the answer goes out early */
    uv_update_time(loop);
    uv_timer_init(loop, conn->hold);
    conn->hold->data = conn;
    conn->held_from = offset;
    /* The loop's time is cut off to a millisecond, and the answer must never be early. */
    uv_timer_start(conn->hold, on_hold, (uint64_t)(delay_us + 999) / 1000 + 1, 0);
}

void sl_conn_park(struct sl_conn *conn, struct sl_job *job)
{
    SL_CHECK(!conn->job);
    conn->job = job;
}

void sl_conn_unpark(struct sl_conn *conn)
{
    conn->job = NULL;
    sl_worker_ready_later(conn->worker, conn); /* messages may wait behind the answer */
}

/* ---- bytes out ---- */

struct sl_buffer *sl_conn_out(struct sl_conn *conn)
{
    struct sl_buffer *out = &conn->out;
    if (!out->at) {
        out->at = sl_block_take(&conn->worker->blocks);
        out->room = out->at ? SL_BLOCK_BYTES : 0;
    }
    return out;
}

static ssize_t write_bytes(struct sl_conn *conn, const char *at, size_t len)
{
    if (conn->tls)
        return sl_tls_write(conn->tls, at, len);
    ssize_t count = send(conn->fd, at, len, MSG_NOSIGNAL);
    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EINTR ? SL_IO_WANT_WRITE : SL_IO_BROKEN;
}

static size_t unsent_bytes(const struct sl_conn *conn)
{
    size_t end = conn->held_from < conn->out.len ? conn->held_from : conn->out.len;
    return end - conn->sent;
}

/* Drops sent bytes, so that they do not pile up where a client never catches up. */
static void move_out_down(struct sl_conn *conn)
{
    memmove(conn->out.at, conn->out.at + conn->sent, conn->out.len - conn->sent);
    conn->out.len -= conn->sent;
    if (conn->held_from != SIZE_MAX)
        conn->held_from -= conn->sent;
    conn->sent = 0;
}

/* Returns false if the connection is broken. Sets *has_moved if something was sent. */
static bool send_some(struct sl_conn *conn, bool *has_moved)
{
    size_t before = conn->sent;
    while (unsent_bytes(conn) > 0) {
        ssize_t count = write_bytes(conn, conn->out.at + conn->sent, unsent_bytes(conn));
        if (count == SL_IO_BROKEN)
            return false;
        if (count < 0)
            break;
        conn->sent += (size_t)count;
    }
    *has_moved |= conn->sent > before;
    sl_count_add(&conn->worker->traffic.sent_bytes, conn->sent - before);
    if (conn->sent == conn->out.len)
        drop_out(conn);
    else if (conn->sent >= SL_CONN_OUT_HIGH_BYTES)
        move_out_down(conn);
    return true;
}

/* Fetches what the front has queued piece by piece, as long as the kernel takes it. */
static bool flush_and_send(struct sl_conn *conn, bool *has_moved)
{
    for (int i = 0; i < FLUSHES_MAX; i++) {
        conn->has_more = conn->front->flush && conn->front->flush(conn);
        if (conn->out.failed || !send_some(conn, has_moved))
            return false;
        if (!conn->has_more || unsent_bytes(conn) > 0)
            break;
    }
    return true;
}

/* All is sent: closes the connection, or lingers until the client has stopped sending. */
static void close_or_linger(struct sl_conn *conn)
{
    if (conn->tls)
        sl_tls_finish(conn->tls);
    if (!conn->lingers || conn->has_ended) {
        sl_conn_close(conn);
        return;
    }
    shutdown(conn->fd, SHUT_WR);
    conn->is_linger_on = true;
    conn->read_again = conn->write_for_read = false;
    sl_conn_drop_in(conn);
    sl_conn_set_timer(conn, SL_TIMER_LINGER);
}

static int wanted_events(const struct sl_conn *conn)
{
    bool is_full = conn->in && conn->in_end == conn->in_room && conn->in_start == 0;
    bool reads = conn->is_linger_on || (!conn->has_ended && !conn->is_finished && !is_full &&
                                        conn->out.len - conn->sent < SL_CONN_OUT_HIGH_BYTES);
    bool writes = unsent_bytes(conn) > 0 || conn->write_for_read;
    return (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0);
}

static enum sl_timer idle_timer(const struct sl_conn *conn)
{
    return conn->front->stays ? SL_TIMER_REST : SL_TIMER_IDLE;
}

/* Bytes of answers that the front holds, because the client's flow control does not let them out.
 */
static size_t bytes_held_by_front(const struct sl_conn *conn)
{
    return conn->front->unread ? conn->front->unread(conn) : 0;
}

/* While messages are incomplete, the front has set the timer already. */
static void choose_timer(struct sl_conn *conn, bool has_moved)
{
    if (unsent_bytes(conn) > 0 || bytes_held_by_front(conn) > 0) {
        if (has_moved || !is_writing(conn))
            sl_conn_set_timer(conn, SL_TIMER_WRITE);
    } else if (conn->held_from != SIZE_MAX || conn->job || conn->flight)
        sl_conn_set_timer(conn, SL_TIMER_NONE);
    else if (is_writing(conn) || conn->timer == SL_TIMER_NONE)
        sl_conn_set_timer(conn, conn->awaits ? conn->awaits : idle_timer(conn));
}

/* Closes the connection that has read nothing for the longest time; if all output is held back, the
 * one that was served last. */
static void close_slowest_reader(struct sl_conn *last)
{
    struct sl_worker *worker = last->worker;
    enum sl_timer kind = worker->is_draining ? SL_TIMER_FLUSH : SL_TIMER_WRITE;
    struct sl_conn *conn = worker->timers[kind].first;
    while (conn && !conn->unread_bytes)
        conn = conn->timer_next;
    if (conn || last->unread_bytes)
        sl_conn_cut(conn ? conn : last);
}

static bool is_done(const struct sl_conn *conn)
{
    if (conn->out.len > 0 || conn->has_more || conn->job || conn->flight)
        return false;
    return conn->is_finished || (conn->has_ended && !conn->has_backlog);
}

static bool watch_for(struct sl_conn *conn, int events)
{
    conn->events = events;
    if (events)
        return uv_poll_start(&conn->poll, events, sl_conn_on_poll) == 0;
    return uv_poll_stop(&conn->poll) == 0;
}

void sl_conn_wait(struct sl_conn *conn)
{
    int events = wanted_events(conn);
    if (events != conn->events && !watch_for(conn, events)) {
        sl_conn_close(conn); /* the loop would never call us for it again */
        return;
    }
    bool reads_again = conn->read_again && events & UV_READABLE;
    if (reads_again)
        sl_conn_read(conn);
    bool flushes_again = conn->has_more && unsent_bytes(conn) == 0;
    if (reads_again || flushes_again || (conn->has_backlog && sl_conn_is_open(conn)))
        sl_worker_ready_later(conn->worker, conn);
}

void sl_conn_settle(struct sl_conn *conn)
{
    if (conn->is_gone) {
        sl_conn_drop_in(conn);
        drop_out(conn);
        return;
    }
    if (conn->is_linger_on)
        return;
    bool has_moved = false;
    size_t before = bytes_held_by_front(conn);
    if (!flush_and_send(conn, &has_moved)) {
        sl_conn_close(conn);
        return;
    }
    if (conn->in_start == conn->in_end)
        sl_conn_drop_in(conn);
    if (is_done(conn))
        close_or_linger(conn);
    else
        choose_timer(conn, unsent_bytes(conn) > 0 ? has_moved : bytes_held_by_front(conn) < before);
    count_unread(conn, conn->out.room > SL_BLOCK_BYTES ? conn->out.room : 0);
    if (conn->worker->unread_bytes > UNREAD_MAX_BYTES)
        close_slowest_reader(conn);
    if (!conn->is_gone)
        sl_conn_wait(conn);
}
