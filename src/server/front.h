/* The front seam: a protocol on a connection.
 *
 * A front reads messages out of a connection's bytes and adds what they ask to
 * the worker's round; when the round has been decided, each call's `reply` appends
 * its answer to the connection's. It touches no socket and decides nothing. */
#ifndef SL_SERVER_FRONT_H
#define SL_SERVER_FRONT_H

#include "server/conn.h"
#include "server/round.h"

/* Why reading stopped. */
enum sl_front_end {
    SL_FRONT_MORE, /* all that is there has been read, as far as it goes */
    SL_FRONT_FULL, /* the round is full: again when it is decided */
};

struct sl_front {
    const char *schemes[2]; /* of its addresses: without TLS and with it */
    const char *protocol;   /* over TLS: SL_TLS_…; NULL: not said */
    size_t state_bytes;     /* of conn->own, zeroed at the start */
    bool stays;             /* clients are silent for hours: TCP asks whether they are there */

    /* Takes messages off conn->in while there are whole ones, the connection is
     * not held or finished, and its client reads the answers. */
    enum sl_front_end (*read)(struct sl_conn *conn, struct sl_round *round);

    /* What conn->timer runs out for, or nothing to say: the connection is closed
     * afterwards. May append a last word to conn->out. */
    void (*late)(struct sl_conn *conn);

    /* The same for a connection too many. */
    void (*refuse)(struct sl_conn *conn);

    /* Appends call->status, an HTTP status, and call->detail in this protocol's words. */
    sl_reply *problem;

    /* What a front may do without; NULL then. Appends what it has queued by itself to conn->out,
     * up to SL_CONN_OUT_HIGH_BYTES: before bytes are sent. True: there is more behind that. */
    bool (*flush)(struct sl_conn *conn);

    /* Are there messages that were read and not asked yet? They wait as if they were still in
     * conn->in. */
    bool (*waits)(const struct sl_conn *conn);

    /* Bytes of answers that its client lets nobody send: it has SL_TIMER_WRITE for them, as if
     * they were in conn->out. */
    size_t (*unread)(const struct sl_conn *conn);

    /* The server ends: says goodbye, where the protocol has a word for it. */
    void (*drain)(struct sl_conn *conn);

    /* Gives back what its state holds. */
    void (*close)(struct sl_conn *conn);
    /* The worker ends: gives back what it kept for this protocol's next connections. */
    void (*release)(struct sl_worker *worker);
};

/* May there be whole messages that nobody has asked yet? */
static inline bool sl_front_waits(const struct sl_conn *conn)
{
    return conn->in_start < conn->in_end || (conn->front->waits && conn->front->waits(conn));
}

extern const struct sl_front sl_front_http;
extern const struct sl_front sl_front_grpc;
extern const struct sl_front sl_front_resp;

#endif
