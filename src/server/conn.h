/* A connection: a socket, bytes in, bytes out, and one deadline. The front (front.h) knows what the
 * bytes mean.
 *
 *   in    | consumed | to be read |  room  |     a block while there are bytes
 *   out   | sent | to be sent | held |           held: until its time has come
 */
#ifndef SL_SERVER_CONN_H
#define SL_SERVER_CONN_H

#include <uv.h>

#include "base/tls/tls.h"
#include "rules/address.h"
#include "server/pool/block.h"

enum {
    /* A body, and the longest head before it. */
    SL_CONN_IN_MAX_BYTES = (1 << 20) + 2 * SL_BLOCK_BYTES,
    /* With so much unsent, nothing more is read; a single answer may be longer. */
    SL_CONN_OUT_HIGH_BYTES = 64 << 10,
    SL_CONN_OUT_MAX_BYTES = 16 << 20,
};

/* What a connection waits for, each with its time. */
enum sl_timer {
    SL_TIMER_NONE,
    SL_TIMER_OPENING, /* a PROXY header, a TLS handshake, the first byte after it */
    SL_TIMER_IDLE,
    SL_TIMER_REST, /* the same for clients that stay: it does not end */
    SL_TIMER_HEAD,
    SL_TIMER_BODY,
    SL_TIMER_WRITE,
    SL_TIMER_LINGER, /* for the client to read our last answer */
    SL_TIMER_DRAIN,  /* shutting down: for a last request, */
    SL_TIMER_FLUSH,  /* for the last answer to be read */
    SL_TIMER_COUNT
};

struct sl_flight;
struct sl_front;
struct sl_job;
struct sl_worker;

struct sl_conn {
    uv_poll_t poll; /* first: a handle's data is its connection */
    struct sl_worker *worker;
    const struct sl_front *front;
    struct sl_tls_stream *tls; /* or NULL */
    int fd;
    int events; /* that poll waits for */

    char *in;
    size_t in_start, in_end, in_room;
    struct sl_buffer out;
    size_t sent;
    size_t held_from;     /* SIZE_MAX: nothing is held */
    uv_timer_t *hold;     /* until then */
    size_t dropped_bytes; /* while it lingers */
    size_t unread_bytes;  /* of `out`, as the worker counts them */

    bool is_ready;       /* on the worker's list */
    bool is_refused;     /* the server is full: it is only told that */
    bool is_gone;        /* closed; freed when the loop has let go of it */
    bool is_opening;     /* a PROXY header is still to come */
    bool wants_tls;      /* after that */
    bool has_ended;      /* the client sends nothing more */
    bool is_finished;    /* nothing more is read; closed when all is sent */
    bool lingers;        /* … and then the client's rest is read and dropped */
    bool is_linger_on;   /* which is what is happening */
    bool has_backlog;    /* whole messages may wait: the client must read first, or a hold end */
    bool has_more;       /* its front has more to send, after `out` */
    bool read_again;     /* TLS has bytes that poll does not know of */
    bool write_for_read; /* TLS must write before it can read */

    struct sl_job *job;       /* it is parked until this job is answered; or NULL */
    struct sl_flight *flight; /* the same for a store that answers later; or NULL */
    bool has_asked;           /* it has requests in the round that is being filled */

    bool speaks_proxy; /* its listener has proxy_protocol: there is a proxy */
    bool is_local;     /* through a Unix socket: there is no address */
    struct sl_address peer;
    char peer_text[SL_ADDRESS_PRINT_MAX]; /* the client's address, unless there is a proxy */
    size_t peer_len;

    struct sl_conn *ready_next;
    struct sl_conn *all_prev, *all_next;
    enum sl_timer timer;
    enum sl_timer awaits; /* what the front waits for, while `timer` is SL_TIMER_WRITE */
    uint64_t due_ms;
    struct sl_conn *timer_prev, *timer_next;

    _Alignas(16) char own[]; /* the front's */
};

/* Sets the peer's address, of the socket or out of a PROXY header. */
void sl_conn_set_peer(struct sl_conn *conn, const struct sl_address *peer);

/* An accepted socket and where it comes from: what a connection is made of. */
struct sl_arrival {
    int fd;
    const struct sl_front *front;
    bool wants_tls;
    bool proxy_protocol;
    bool is_local;
    struct sl_address peer;
};

/* Starts serving it on this worker's loop. Takes over the socket: where it returns NULL (no memory,
 * or the loop cannot watch the socket), the socket is closed. */
struct sl_conn *sl_conn_open(struct sl_worker *worker, const struct sl_arrival *arrival);

/* Closes it at once; unsent bytes are lost. */
void sl_conn_close(struct sl_conn *conn);

/* The same for a client that does not read: the kernel drops what it still holds for the client,
 * instead of offering it for minutes, and sends a reset. */
void sl_conn_cut(struct sl_conn *conn);

/* The bytes that were received and not read yet. */
static inline struct sluice_text sl_conn_bytes(const struct sl_conn *conn)
{
    return (struct sluice_text){ conn->in + conn->in_start, conn->in_end - conn->in_start };
}

/* Makes room for a message of so many bytes in all. The bytes may move, so no call of the round may
 * point to them. Returns false if that is too much, or if there is no memory. */
bool sl_conn_expect(struct sl_conn *conn, size_t message_bytes);

/* The buffer that answers are appended to. It begins with a block of the worker's. */
struct sl_buffer *sl_conn_out(struct sl_conn *conn);

/* No message is read off it any more. `lingers`: the client may still be sending. */
void sl_conn_finish(struct sl_conn *conn, bool lingers);

/* Holds back the bytes of `out` from this offset on, for so long. Until then no further message is
 * read. */
void sl_conn_hold_from(struct sl_conn *conn, size_t offset, int64_t delay_us);

/* Stops reading messages until this job is answered. */
void sl_conn_park(struct sl_conn *conn, struct sl_job *job);

/* The job's answer is in `out`: reading goes on. */
void sl_conn_unpark(struct sl_conn *conn);

/* May messages be read off it now? */
static inline bool sl_conn_is_open(const struct sl_conn *conn)
{
    return !conn->is_gone && !conn->is_finished && !conn->job && !conn->flight &&
           conn->held_from == SIZE_MAX && conn->out.len - conn->sent < SL_CONN_OUT_HIGH_BYTES;
}

/* Sends as much as the socket takes, gives memory back, and waits for what is next. */
void sl_conn_settle(struct sl_conn *conn);

/* Starts that timer. If it runs already, only SL_TIMER_IDLE, SL_TIMER_REST and SL_TIMER_WRITE start
 * afresh: a client that sends byte by byte gains no time. */
void sl_conn_set_timer(struct sl_conn *conn, enum sl_timer timer);

/* The front tells what it waits for; `is_new`: for another message than before. While the client
 * does not read an answer, the timer of writing goes on instead. */
void sl_conn_await(struct sl_conn *conn, enum sl_timer timer, bool is_new);

/* Its timer has gone off. */
void sl_conn_late(struct sl_conn *conn);

/* ---- between conn.c and conn_read.c ---- */

void sl_conn_on_poll(uv_poll_t *poll, int status, int events);

/* Reads what there is room for, once. */
void sl_conn_read(struct sl_conn *conn);

/* Lets the loop wait for what can happen next; closes the connection if the loop cannot. */
void sl_conn_wait(struct sl_conn *conn);
void sl_conn_drop_in(struct sl_conn *conn);

#endif
