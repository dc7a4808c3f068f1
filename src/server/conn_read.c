/* Reading a connection's socket into the buffer that the front reads messages from. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "auth/client_address.h"
#include "server/conn.h"
#include "server/front.h"
#include "server/worker.h"
#include "wire/http/proxy_header.h"

enum {
    LARGE_MAX_BYTES = 64 << 20, /* a worker's, in buffers longer than a block */
    LINGER_MAX_BYTES = 4 << 20, /* that are read and dropped */
};

static void move_down(struct sl_conn *conn)
{
    if (conn->in_start == 0)
        return;
    memmove(conn->in, conn->in + conn->in_start, conn->in_end - conn->in_start);
    conn->in_end -= conn->in_start;
    conn->in_start = 0;
}

/* Makes room to read into, without moving what is there. Returns false if there is none now. */
static bool make_room(struct sl_conn *conn)
{
    if (!conn->in) {
        conn->in = sl_block_take(&conn->worker->blocks);
        conn->in_room = conn->in ? SL_BLOCK_BYTES : 0;
    }
    if (conn->in_end == conn->in_room)
        move_down(conn);
    return conn->in_end < conn->in_room;
}

bool sl_conn_expect(struct sl_conn *conn, size_t message_bytes)
{
    struct sl_worker *worker = conn->worker;
    size_t large = worker->large_bytes;
    move_down(conn);
    if (message_bytes <= conn->in_room)
        return true;
    large -= conn->in_room > SL_BLOCK_BYTES ? conn->in_room : 0;
    if (message_bytes > SL_CONN_IN_MAX_BYTES || large + message_bytes > LARGE_MAX_BYTES)
        return false;
    char *larger = realloc(conn->in, message_bytes);
    if (!larger)
        return false;
    conn->in = larger;
    conn->in_room = message_bytes;
    worker->large_bytes = large + message_bytes;
    return true;
}

static void count_received(struct sl_conn *conn, ssize_t count)
{
    if (count > 0)
        sl_count_add(&conn->worker->traffic.received_bytes, (uint64_t)count);
}

static ssize_t read_bytes(struct sl_conn *conn, char *at, size_t room)
{
    if (conn->tls)
        return sl_tls_read(conn->tls, at, room);
    ssize_t count = recv(conn->fd, at, room, 0);
    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EINTR ? SL_IO_WANT_READ : SL_IO_BROKEN;
}

/* Reads and drops what the client sends after our last answer: unread bytes would make the kernel
 * send a reset, and the client would lose the answer. */
static void read_and_drop(struct sl_conn *conn)
{
    char dropped[16384];
    ssize_t count = recv(conn->fd, dropped, sizeof dropped, 0);
    conn->dropped_bytes += count > 0 ? (size_t)count : 0;
    count_received(conn, count);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) ||
        conn->dropped_bytes > LINGER_MAX_BYTES)
        sl_conn_close(conn);
}

static bool start_tls(struct sl_conn *conn)
{
    conn->wants_tls = false;
    if (conn->worker->edition->files->tls)
        conn->tls =
            sl_tls_accept(conn->worker->edition->files->tls, conn->fd, conn->front->protocol);
    return conn->tls;
}

/* Peeks at the PROXY header in the kernel's buffer, and takes no byte more: TLS may follow. While
 * the header is not complete, all bytes belong to it. Returns false if the connection is to be
 * closed. */
static bool read_proxy_header(struct sl_conn *conn)
{
    struct sl_proxy_header header;
    const char *wrong;
    size_t had = conn->in_end;
    if (!make_room(conn))
        return false;
    size_t room = SL_PROXY_HEADER_MAX_BYTES - had;
    ssize_t count = recv(conn->fd, conn->in + had, room, MSG_PEEK);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    struct sluice_text bytes = { conn->in, had + (size_t)count };
    ptrdiff_t len = sl_proxy_header_read(bytes, &header, &wrong);
    size_t taken = len > 0 ? (size_t)len - had : (size_t)count;
    sl_count_add(&conn->worker->traffic.bad_proxy_headers, len < 0);
    if (count == 0 || len < 0 || recv(conn->fd, conn->in + had, taken, 0) != (ssize_t)taken)
        return false;
    conn->in_end = had + taken;
    if (len == 0)
        return conn->in_end < SL_PROXY_HEADER_MAX_BYTES;
    conn->is_opening = false;
    sl_conn_drop_in(conn);
    if (!conn->is_local &&
        !sl_peer_is_trusted(&sl_worker_settings(conn->worker)->identity, &conn->peer)) {
        sl_count_add(&conn->worker->traffic.bad_proxy_headers, 1);
        return false;
    }
    if (header.has_source)
        sl_conn_set_peer(conn, &header.source);
    return true;
}

void sl_conn_read(struct sl_conn *conn)
{
    ssize_t count = SL_IO_WANT_READ;
    bool has_more = false;
    conn->read_again = conn->write_for_read = false;
    do {
        if (!make_room(conn)) {
            conn->read_again = conn->tls;
            count = conn->in ? SL_IO_WANT_READ : SL_IO_BROKEN; /* full, or no memory */
            break;
        }
        count = read_bytes(conn, conn->in + conn->in_end, conn->in_room - conn->in_end);
        conn->in_end += count > 0 ? (size_t)count : 0;
        count_received(conn, count);
        has_more |= count > 0;
    } while (conn->tls && count > 0);
    if (count == SL_IO_BROKEN && !has_more) {
        sl_conn_close(conn);
        return;
    }
    conn->has_ended |= count == SL_IO_CLOSED || count == SL_IO_BROKEN;
    conn->write_for_read = count == SL_IO_WANT_WRITE;
    if (has_more || conn->has_ended)
        sl_worker_ready(conn->worker, conn);
    else
        sl_conn_wait(conn); /* a handshake */
}

static void on_readable(struct sl_conn *conn)
{
    if (conn->is_linger_on) {
        read_and_drop(conn);
        return;
    }
    bool good = !conn->is_opening || read_proxy_header(conn);
    if (good && conn->is_opening)
        return;
    if (good && conn->wants_tls)
        good = start_tls(conn);
    if (good)
        sl_conn_read(conn);
    else
        sl_conn_close(conn);
}

void sl_conn_on_poll(uv_poll_t *poll, int status, int events)
{
    struct sl_conn *conn = poll->data;
    if (conn->is_gone)
        return;
    if (status < 0) {
        sl_conn_close(conn);
        return;
    }
    if (events & UV_READABLE || conn->write_for_read)
        on_readable(conn);
    if (events & UV_WRITABLE && !conn->is_gone && conn->out.len > conn->sent)
        sl_worker_ready(conn->worker, conn);
}
