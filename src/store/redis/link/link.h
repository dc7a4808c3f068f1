/* A link: one connection to Redis that is made again when it is lost. Calls go out in one stream,
 * replies come back in the same order, each call has a deadline. A link belongs to one thread,
 * never blocks, and knows neither event loop nor poll: its host watches the socket and the time.
 *
 *            connected, greeted, probed            five late in a row, an error of Redis' own,
 *   down  ------------------------------> closed ------------------------------> open
 *     ^                                      ^                                    |  after a while:
 *     |  cut, refused, silent                |  answered in time                  v  a probe
 *     +--------------------------------------+------------------------------- half open
 *
 * Closed, open and half open are the states of a circuit breaker. While it is not closed, calls
 * fail at once. A probe of the link's own finds out whether Redis is back, so that no request has
 * to be the one that tries. */
#ifndef SL_STORE_REDIS_LINK_LINK_H
#define SL_STORE_REDIS_LINK_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/redis/link/error.h"
#include "store/redis/link/reply.h"
#include "store/redis/link/target.h"
#include "store/redis/lua/scripts.h"

/* How calls end: constant, and the name in metrics. */
#define SL_CALL_ENDS(X)                                                                            \
    X(SL_CALL_OK, "ok")                                                                            \
    X(SL_CALL_ERROR, "error")     /* Redis replied with an error */                                \
    X(SL_CALL_LATE, "late")       /* no reply by the deadline */                                   \
    X(SL_CALL_LOST, "lost")       /* the connection was lost */                                    \
    X(SL_CALL_REFUSED, "refused") /* by the breaker, at once */                                    \
    X(SL_CALL_FULL, "full")       /* too many calls were pending */

enum sl_call_end {
#define SL_ROW(constant, name) constant,
    SL_CALL_ENDS(SL_ROW)
#undef SL_ROW
        SL_CALL_END_COUNT
};

/* How a node of a cluster redirects a call: constant, and the name in metrics. */
#define SL_REDIRECTIONS(X)                                                                         \
    X(SL_REDIRECTION_MOVED, "moved")       /* the slot has moved */                                \
    X(SL_REDIRECTION_ASK, "ask")           /* for this call alone */                               \
    X(SL_REDIRECTION_TRYAGAIN, "tryagain") /* later, to the same node */

enum sl_redirection {
#define SL_ROW(constant, name) constant,
    SL_REDIRECTIONS(SL_ROW)
#undef SL_ROW
        SL_REDIRECTION_COUNT
};

/* How taking back a charge ends (undo.h): constant, and the name in metrics. */
#define SL_UNDOS(X)                                                                                \
    X(SL_UNDO_DONE, "done")                                                                        \
    X(SL_UNDO_UNSURE, "unsure")     /* sent, and no reply came: not sent again */                  \
    X(SL_UNDO_GIVEN_UP, "given_up") /* it could not be sent in time, or there was no room */

enum sl_undo_end {
#define SL_ROW(constant, name) constant,
    SL_UNDOS(SL_ROW)
#undef SL_ROW
        SL_UNDO_COUNT
};

enum sl_breaker { SL_BREAKER_CLOSED, SL_BREAKER_OPEN, SL_BREAKER_HALF_OPEN, SL_BREAKER_COUNT };

struct sl_answer_cache;

/* What all links to one Redis, or to one cluster, share. */
struct sl_link_shared {
    struct sl_target *target;
    struct sl_cluster *cluster; /* NULL: a single Redis */
    struct sl_scripts scripts;
    int64_t deadline_us;
    struct sl_answer_cache *answers; /* or NULL */

    _Atomic uint64_t ends[SL_CALL_END_COUNT];
    _Atomic uint64_t errors[SL_REDIS_ERROR_COUNT];
    _Atomic uint64_t connects, failed_connects, trips;
    _Atomic uint64_t breakers[SL_BREAKER_COUNT]; /* links that are in this state now */
    _Atomic uint64_t redirections[SL_REDIRECTION_COUNT];
    _Atomic uint64_t undos[SL_UNDO_COUNT];

    pthread_mutex_t why_lock;
    char why[256]; /* the latest failure, for messages */
};

struct sl_redis_query;

/* The host of a link: it is called by the link, in the link's thread. */
struct sl_link_host {
    void *about;
    void (*watch)(void *about, int fd, bool reads, bool writes); /* neither: stop watching */
    void (*wake_at)(void *about, int64_t at_us); /* sl_link_now_us; INT64_MAX: never */
    bool is_patient; /* callers block: they wait for a connection rather than fail at once */

    /* For a node of a cluster, else NULL. `redirected` takes over a query that this node does not
     * answer (MOVED, ASK, TRYAGAIN), or returns false, and the query fails. `failed` is called when
     * the connection is lost, or the node cannot answer. */
    bool (*redirected)(void *about, struct sl_redis_query *query, enum sl_redis_error error,
                       struct sluice_text sentence);
    void (*failed)(void *about);
};

/* One call. What it points to must stay until `done`, which is called exactly once, maybe within
 * sl_link_ask. */
struct sl_redis_query {
    uint64_t nonce; /* a number that no other call has; it goes into the call's words */
    void (*done)(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply);
    const struct sl_script *script; /* NULL: a plain command */
    const struct sl_buffer *bytes;  /* has the words behind the script's name: */
    size_t start, len;              /* they are here, */
    uint32_t words;                 /* so many; */
    uint32_t deadline_at; /* SL_DEADLINE_DIGITS digits to fill in, from `start`; 0: none */
    int64_t patience_us;  /* how long to wait for its reply; 0: the store's deadline */
    uint32_t slot;        /* of its keys, in a cluster */
    bool is_quiet;        /* no request waits for it: it is not counted */
    bool is_packed;       /* its reply is a text of 64-bit numbers, the lowest byte first */
    bool in_cluster;      /* its own key names are by shards (ask.c) */
    bool may_have_run;    /* after a failure: it was sent, and no reply says that it did not run */

    /* The link's own: */
    int64_t due_us, sent_us;
    bool is_again;
    struct sl_redis_query *next;

    /* The route's own: */
    int64_t again_us;
    uint32_t redirections, tries;
    bool is_asking; /* ASKING is sent before it: its slot is moving to this node */
};

enum { SL_DEADLINE_DIGITS = 16 };

struct sl_link;

/* Returns NULL if memory is missing. */
struct sl_link *sl_link_new(struct sl_link_shared *shared, const struct sl_link_host *host);

/* The same, to one node of a cluster; `target` must stay as long as the link. */
struct sl_link *sl_link_new_to(struct sl_link_shared *shared, struct sl_target *target,
                               const struct sl_link_host *host);

/* Sets the key that probes delete, which need not exist; "": none. */
void sl_link_probe_with(struct sl_link *link, const char *key);

/* Pending calls fail. */
void sl_link_free(struct sl_link *link);

/* The same in a forked process, for a link of the parent's: the parent goes on using it. */
void sl_link_abandon(struct sl_link *link);

/* Counts how the call ended, and calls `done`. */
void sl_link_finish(struct sl_link_shared *shared, struct sl_redis_query *query,
                    enum sl_call_end how, int status, const struct sl_redis_reply *reply);

/* The clock that all times here are read from. */
int64_t sl_link_now_us(void);

/* Returns the deadline of a call that is made now. */
static inline int64_t sl_redis_query_due_us(const struct sl_redis_query *query,
                                            const struct sl_link_shared *shared)
{
    return sl_link_now_us() + (query->patience_us ? query->patience_us : shared->deadline_us);
}

/* Begins to connect, unless it is connected or connecting. */
void sl_link_open(struct sl_link *link);
bool sl_link_is_up(const struct sl_link *link);

bool sl_link_is_tripped(const struct sl_link *link); /* the breaker is not closed */
bool sl_link_is_idle(const struct sl_link *link);    /* no call is pending */

/* Adds a call; it is sent with the next flush. sl_link_pass keeps the query's `due_us`. */
void sl_link_ask(struct sl_link *link, struct sl_redis_query *query);
void sl_link_pass(struct sl_link *link, struct sl_redis_query *query);
void sl_link_flush(struct sl_link *link);

/* The host calls these: the socket is ready; the time of `wake_at` has come. */
void sl_link_on_ready(struct sl_link *link);
void sl_link_on_time(struct sl_link *link);

#endif
