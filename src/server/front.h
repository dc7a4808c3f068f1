/* The front seam: a protocol on a connection.
 *
 * A front reads messages out of a connection's bytes and adds a call for each to the worker's
 * round; when the round has been decided, each call's `reply` appends the answer to the
 * connection's output. A front touches no socket and decides nothing. */
#ifndef SL_SERVER_FRONT_H
#define SL_SERVER_FRONT_H

#include "server/conn.h"
#include "server/round.h"

/* Why reading stopped. */
enum sl_front_end {
    SL_FRONT_MORE, /* all whole messages have been read */
    SL_FRONT_FULL, /* the round is full: to be called again when it is decided */
};

struct sl_front {
    const char *schemes[2]; /* of its addresses: without TLS and with it */
    const char *protocol;   /* over TLS, by ALPN: SL_TLS_…; NULL: not negotiated */
    size_t state_bytes;     /* of conn->own, zeroed at the start */
    bool stays;             /* clients may be silent for hours: TCP keep-alive finds dead ones */

    /* Reads messages off conn->in while there are whole ones, the connection is not held or
     * finished, and the client reads the answers. */
    enum sl_front_end (*read)(struct sl_conn *conn, struct sl_round *round);

    /* conn->timer has gone off. May append a last answer to conn->out; the connection is closed
     * afterwards. */
    void (*late)(struct sl_conn *conn);

    /* The same for a connection beyond `max_connections`. */
    void (*refuse)(struct sl_conn *conn);

    /* Appends call->status, an HTTP status, and call->detail as this protocol tells errors. */
    sl_reply *problem;

    /* From here on a front may leave out what it does not need (NULL). Called before bytes are
     * sent: appends what the front has queued by itself to conn->out, up to SL_CONN_OUT_HIGH_BYTES.
     * Returns true if there is more. */
    bool (*flush)(struct sl_conn *conn);

    /* Are there messages that were read and are not in a round yet? They wait as if they were still
     * in conn->in. */
    bool (*waits)(const struct sl_conn *conn);

    /* Bytes of answers that the client's flow control holds back: SL_TIMER_WRITE runs for them, as
     * if they were in conn->out. */
    size_t (*unread)(const struct sl_conn *conn);

    /* The server is shutting down: tells the client, if the protocol can. */
    void (*drain)(struct sl_conn *conn);

    /* Frees what its state holds. */
    void (*close)(struct sl_conn *conn);

    /* The worker ends: frees what it kept for this protocol's next connections. */
    void (*release)(struct sl_worker *worker);
};

/* May there be whole messages that are not in a round yet? */
static inline bool sl_front_waits(const struct sl_conn *conn)
{
    return conn->in_start < conn->in_end || (conn->front->waits && conn->front->waits(conn));
}

extern const struct sl_front sl_front_http;
extern const struct sl_front sl_front_grpc;
extern const struct sl_front sl_front_resp;

#endif
