/* A channel: a thread's own connections to a store that answers later.
 *
 *   sl_channel_decide(parcel) … sl_channel_flush    sends all questions together
 *   parcel->done                                     in the same thread, once, by the deadline
 *
 * It never blocks. Its host watches sockets for it and wakes it at times: an event loop, or a
 * caller's own poll(2). */
#ifndef SL_STORE_REDIS_CHANNEL_H
#define SL_STORE_REDIS_CHANNEL_H

#include "store/cache/answer_cache.h"
#include "store/redis/lease_client.h"
#include "store/redis/link/link.h"
#include "store/redis/undo.h"
#include "store/store.h"

/* Bundles that are asked together, except those that have their answer already (is_near). Bundles
 * and claims must live until `done` has been called; the claims' names only until sl_channel_decide
 * returns. */
struct sl_parcel {
    struct sl_bundle *bundles;
    size_t count;
    void (*done)(struct sl_parcel *parcel); /* may be called within sl_channel_decide */

    /* The channel's: */
    struct sl_parcel_query *queries;
    struct sl_buffer bytes;
    size_t waiting;
    struct sl_answer_cache *answers;
    struct sl_since since;
};

/* A reservation to be settled at its real cost. */
struct sl_settlement {
    uint64_t id;
    uint32_t cost;
    void (*done)(struct sl_settlement *settlement);

    int status; /* within `done` */

    /* The channel's: */
    bool is_due; /* it has expired without being settled */
    struct sl_channel *channel;
    struct sl_redis_query query;
    struct sl_buffer bytes;
    struct sl_undo_told told;
    struct sl_undo **changes; /* until they are sent */
    size_t waiting;
};

/* One call of a script, prepared in `query`; its words are in `bytes`. */
struct sl_channel_call {
    struct sl_redis_query query;
    struct sl_buffer bytes;
    void (*done)(struct sl_channel_call *call);
    void *about;                        /* the caller's */
    int status;                         /* from `done` on */
    int64_t said;                       /* the reply's number after the time; from `done` on */
    const struct sl_redis_reply *reply; /* within `done`; NULL: the call failed */
    bool is_done;
};

/* Queues one question for the next flush. */
void sl_channel_ask(struct sl_channel *channel, struct sl_redis_query *query);

/* Has the channel woken by then at the latest, by sl_link_now_us. */
void sl_channel_wake_by(struct sl_channel *channel, int64_t at_us);
void sl_channel_call(struct sl_channel *channel, struct sl_channel_call *call);
void sl_channel_decide(struct sl_channel *channel, struct sl_parcel *parcel);

/* If a charge cannot be changed now, the settlement fails, and the reservation is gone; the channel
 * goes on trying to change the charge for a while. */
void sl_channel_settle(struct sl_channel *channel, struct sl_settlement *settlement);

/* Is a settlement or a refund under way? A caller that leaves now leaves it half done.
 * `also_again`: counts those too that failed and are tried again later. */
bool sl_channel_settles(const struct sl_channel *channel, bool also_again);

/* To be called about ten times a second: flushes the guard backlog and, once a second, gives back
 * expired reservations. */
void sl_channel_tend(struct sl_channel *channel);

/* Sends calls for leases that run low. */
void sl_channel_call_leases(struct sl_channel *channel);

/* To be called every SL_LEASE_CLIENT_EVERY_US: renews leases, or gives them back. */
void sl_channel_tend_leases(struct sl_channel *channel);

/* Gives back the leases of a claim, or with NULL any from slot *next on, a limited number at a
 * time. Returns how many. They are under way as long as sl_channel_has_lease_calls. */
size_t sl_channel_give_back(struct sl_channel *channel, const struct sl_hash128 *key, size_t *next);
bool sl_channel_has_lease_calls(const struct sl_channel *channel);

/* Sends the queued questions. */
void sl_channel_flush(struct sl_channel *channel);

/* Connects before the first question. */
void sl_channel_open(struct sl_channel *channel);

/* Called by the host: a socket is ready, or the time to be woken has come. */
void sl_channel_on_ready(struct sl_channel *channel, int fd);
void sl_channel_on_time(struct sl_channel *channel);

/* Questions without an answer fail. */
void sl_channel_free(struct sl_channel *channel);

/* The same after a fork, for a channel of the parent's: says nothing on its sockets. */
void sl_channel_abandon(struct sl_channel *channel);

/* The health of a store that is asked over connections. */
struct sl_store_health {
    uint64_t calls[SL_CALL_END_COUNT];
    uint64_t errors[SL_REDIS_ERROR_COUNT];
    uint64_t connects, failed_connects, trips;
    uint64_t master_changes; /* as Sentinels reported them */
    uint64_t breakers[SL_BREAKER_COUNT];

    /* In a cluster: */
    uint64_t redirections[SL_REDIRECTION_COUNT];
    uint64_t undos[SL_UNDO_COUNT];
    uint64_t nodes; /* nodes with slots; 1 for a single Redis */
};

#endif
