/* A connection to Redis: questions out in one stream, answers in the same order, each by its
 * deadline. It belongs to one thread, blocks nowhere, and knows neither loop nor poll: who has
 * one of these is its host.
 *
 *            connected, greeted, probed            five late in a row, an error of Redis' own,
 *   down  ------------------------------> closed ------------------------------> open
 *     ^                                      ^                                    |  after a while:
 *     |  cut, refused, silent                |  answered in time                  v  a probe
 *     +--------------------------------------+------------------------------- half open
 *
 * Closed, open and half open are those of a circuit breaker. While it is not closed, questions
 * are answered at once, with a failure; what finds out whether Redis is back is a probe of our
 * own, so that nobody's request is the one to try. */
#ifndef SL_STORE_REDIS_LINK_LINK_H
#define SL_STORE_REDIS_LINK_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/redis/link/error.h"
#include "store/redis/link/reply.h"
#include "store/redis/link/target.h"
#include "store/redis/lua/scripts.h"

/* How questions end: constant and the name people see. */
#define SL_CALL_ENDS(X)                                                                            \
    X(SL_CALL_OK, "ok")                                                                            \
    X(SL_CALL_ERROR, "error")     /* Redis said no */                                              \
    X(SL_CALL_LATE, "late")       /* not by the deadline */                                        \
    X(SL_CALL_LOST, "lost")       /* the connection was */                                         \
    X(SL_CALL_REFUSED, "refused") /* by the breaker, at once */                                    \
    X(SL_CALL_FULL, "full")       /* too many were waiting */

enum sl_call_end {
#define SL_ROW(constant, name) constant,
    SL_CALL_ENDS(SL_ROW)
#undef SL_ROW
        SL_CALL_END_COUNT
};

/* How a node of a cluster sends a question on, and the name people see. */
#define SL_REDIRECTIONS(X)                                                                         \
    X(SL_REDIRECTION_MOVED, "moved")       /* for good */                                          \
    X(SL_REDIRECTION_ASK, "ask")           /* this once */                                         \
    X(SL_REDIRECTION_TRYAGAIN, "tryagain") /* into the future */

enum sl_redirection {
#define SL_ROW(constant, name) constant,
    SL_REDIRECTIONS(SL_ROW)
#undef SL_ROW
        SL_REDIRECTION_COUNT
};

/* How it ends when a charge is taken back (undo.h): constant and the name people see. */
#define SL_UNDOS(X)                                                                                \
    X(SL_UNDO_DONE, "done")                                                                        \
    X(SL_UNDO_UNSURE, "unsure")     /* sent, and no answer came: not asked again */                \
    X(SL_UNDO_GIVEN_UP, "given_up") /* it could not be asked in time, or there was no room */

enum sl_undo_end {
#define SL_ROW(constant, name) constant,
    SL_UNDOS(SL_ROW)
#undef SL_ROW
        SL_UNDO_COUNT
};

enum sl_breaker { SL_BREAKER_CLOSED, SL_BREAKER_OPEN, SL_BREAKER_HALF_OPEN, SL_BREAKER_COUNT };

struct sl_answer_cache;

/* What all links to one Redis share, or to one cluster. */
struct sl_link_shared {
    struct sl_target *target;
    struct sl_cluster *cluster; /* NULL: there is one Redis */
    struct sl_scripts scripts;
    int64_t deadline_us;
    struct sl_answer_cache *answers; /* or NULL */

    _Atomic uint64_t ends[SL_CALL_END_COUNT];
    _Atomic uint64_t errors[SL_REDIS_ERROR_COUNT];
    _Atomic uint64_t connects, failed_connects, trips;
    _Atomic uint64_t breakers[SL_BREAKER_COUNT]; /* links in that state now */
    _Atomic uint64_t redirections[SL_REDIRECTION_COUNT];
    _Atomic uint64_t undos[SL_UNDO_COUNT];

    pthread_mutex_t why_lock;
    char why[256]; /* the latest failure, for people */
};

struct sl_redis_query;

/* Called by the link in its own thread. */
struct sl_link_host {
    void *about;
    void (*watch)(void *about, int fd, bool reads, bool writes); /* neither: not any more */
    void (*wake_at)(void *about, int64_t at_us); /* sl_link_now_us; INT64_MAX: never */
    bool is_patient; /* who asks would rather wait for a connection than be refused at once */

    /* Of a node of a cluster, else NULL. `redirected` is asked what becomes of a query that this
     * node does not answer (MOVED, ASK, TRYAGAIN); false: it fails. `failed`: the connection is
     * lost, or the node cannot. */
    bool (*redirected)(void *about, struct sl_redis_query *query, enum sl_redis_error error,
                       struct sluice_text sentence);
    void (*failed)(void *about);
};

/* A call on its way. What it points to stays until `done`, which is called once, maybe within
 * sl_link_ask. */
struct sl_redis_query {
    uint64_t nonce; /* a number that no other call has, for whoever writes its words */
    void (*done)(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply);
    const struct sl_script *script; /* NULL: its words are a command's */
    const struct sl_buffer *bytes;  /* the call's words behind the script's name, */
    size_t start, len;              /* there, */
    uint32_t words;                 /* so many, */
    uint32_t deadline_at;           /* and in them SL_DEADLINE_DIGITS digits to fill in; 0: none */
    int64_t patience_us;            /* how long to wait for its answer; 0: the store's deadline */
    uint32_t slot;                  /* of its keys, in a cluster */
    bool is_quiet;                  /* nobody waits for it: not counted */
    bool is_packed;    /* its reply is a text of 64-bit numbers, the lowest byte first */
    bool in_cluster;   /* for who writes its words: names of its own are by shards (ask.c) */
    bool may_have_run; /* when it has failed: was it sent, and nobody said that it did not run? */

    /* The link's own: */
    int64_t due_us, sent_us;
    bool is_again;
    struct sl_redis_query *next;

    /* The route's own: */
    int64_t again_us;
    uint32_t redirections, tries;
    bool is_asking; /* says ASKING before it: the slot is on its way to this node */
};

enum { SL_DEADLINE_DIGITS = 16 };

struct sl_link;

struct sl_link *sl_link_new(struct sl_link_shared *shared, const struct sl_link_host *host);

/* To one of many; `target` stays as long as the link. */
struct sl_link *sl_link_new_to(struct sl_link_shared *shared, struct sl_target *target,
                               const struct sl_link_host *host);

/* The key that probes delete, which need not be there; "": none. */
void sl_link_probe_with(struct sl_link *link, const char *key);

/* Questions that are still there fail. */
void sl_link_free(struct sl_link *link);

/* The same after a fork, for one of the parent's, who goes on with it. */
void sl_link_abandon(struct sl_link *link);

/* Counts how it ended, and says so. */
void sl_link_finish(struct sl_link_shared *shared, struct sl_redis_query *query,
                    enum sl_call_end how, int status, const struct sl_redis_reply *reply);

/* The clock of everything here. */
int64_t sl_link_now_us(void);

/* By when it is to be answered, if it is asked now. */
static inline int64_t sl_redis_query_due_us(const struct sl_redis_query *query,
                                            const struct sl_link_shared *shared)
{
    return sl_link_now_us() + (query->patience_us ? query->patience_us : shared->deadline_us);
}

/* Starts to connect, if it is not. */
void sl_link_open(struct sl_link *link);
bool sl_link_is_up(const struct sl_link *link);

bool sl_link_is_tripped(const struct sl_link *link); /* its breaker is not closed */
bool sl_link_is_idle(const struct sl_link *link);    /* nobody waits for it */

/* Asks; sent with the next flush. The other has its `due_us` already. */
void sl_link_ask(struct sl_link *link, struct sl_redis_query *query);
void sl_link_pass(struct sl_link *link, struct sl_redis_query *query);
void sl_link_flush(struct sl_link *link);

/* What its host has seen. */
void sl_link_on_ready(struct sl_link *link);
void sl_link_on_time(struct sl_link *link);

#endif
