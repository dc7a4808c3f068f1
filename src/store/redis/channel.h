/* A thread's own way to a store that answers later.
 *
 *   sl_channel_decide(parcel) … sl_channel_flush    what was asked together goes out together
 *   parcel->done                                     in the same thread, once, by the deadline
 *
 * It blocks nowhere. What it needs of the world (a socket watched, a moment to be woken at) its
 * host gives it: a loop, or a poll(2) of one's own. */
#ifndef SL_STORE_REDIS_CHANNEL_H
#define SL_STORE_REDIS_CHANNEL_H

#include "store/cache/answer_cache.h"
#include "store/redis/lease_client.h"
#include "store/redis/link/link.h"
#include "store/redis/undo.h"
#include "store/store.h"

/* Bundles that are asked together, but for those that have their answer (is_near). They, their
 * claims and the claims' names stay until `done` has been called; the names only until
 * sl_channel_decide returns. */
struct sl_parcel {
    struct sl_bundle *bundles;
    size_t count;
    void (*done)(struct sl_parcel *parcel); /* maybe within sl_channel_decide */

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

    int status; /* then */

    /* The channel's: */
    bool is_due; /* its time has come, nobody has settled it */
    struct sl_channel *channel;
    struct sl_redis_query query;
    struct sl_buffer bytes;
    struct sl_undo_told told;
    struct sl_undo **changes; /* until they are sent */
    size_t waiting;
};

/* One call: what was prepared in `query`, out of `bytes`. */
struct sl_channel_call {
    struct sl_redis_query query;
    struct sl_buffer bytes;
    void (*done)(struct sl_channel_call *call);
    void *about;                        /* whoever's it is */
    int status;                         /* then, */
    int64_t said;                       /* the number that Redis said behind its time, */
    const struct sl_redis_reply *reply; /* and within `done` what Redis said; NULL: it failed */
    bool is_done;
};

/* One question; sent with the next flush. */
void sl_channel_ask(struct sl_channel *channel, struct sl_redis_query *query);

/* It is looked after at the latest then, by sl_link_now_us. */
void sl_channel_wake_by(struct sl_channel *channel, int64_t at_us);
void sl_channel_call(struct sl_channel *channel, struct sl_channel_call *call);
void sl_channel_decide(struct sl_channel *channel, struct sl_parcel *parcel);

/* Where a charge cannot be changed now, the settlement fails, and it is tried again for a while by
 * itself; the reservation is gone then. */
void sl_channel_settle(struct sl_channel *channel, struct sl_settlement *settlement);

/* Is anything of a reservation under way, or given back? Who leaves then leaves it half done.
 * `also_again`: that which failed, too, and is tried again later. */
bool sl_channel_settles(const struct sl_channel *channel, bool also_again);

/* About ten times a second: reports what guards have not counted; once a second, gives back what
 * reservations have left whose time has come. */
void sl_channel_tend(struct sl_channel *channel);

/* Calls for leases that run low, and sends them. */
void sl_channel_call_leases(struct sl_channel *channel);

/* Every SL_LEASE_CLIENT_EVERY_US: renews leases, or gives them back. */
void sl_channel_tend_leases(struct sl_channel *channel);

/* Gives back the leases of a claim, or with NULL any from *next on, so many at a time; how many.
 * Under way are still: sl_channel_has_lease_calls. */
size_t sl_channel_give_back(struct sl_channel *channel, const struct sl_hash128 *key, size_t *next);
bool sl_channel_has_lease_calls(const struct sl_channel *channel);

/* Sends what was asked since. */
void sl_channel_flush(struct sl_channel *channel);

/* Connects before anybody asks. */
void sl_channel_open(struct sl_channel *channel);

/* What its host has seen: a socket is ready, the moment has come. */
void sl_channel_on_ready(struct sl_channel *channel, int fd);
void sl_channel_on_time(struct sl_channel *channel);

/* What is still asked fails. */
void sl_channel_free(struct sl_channel *channel);

/* The same after a fork, for one of the parent's. */
void sl_channel_abandon(struct sl_channel *channel);

/* How a store does that is asked over connections. */
struct sl_store_health {
    uint64_t calls[SL_CALL_END_COUNT];
    uint64_t errors[SL_REDIS_ERROR_COUNT];
    uint64_t connects, failed_connects, trips;
    uint64_t master_changes; /* that Sentinels told of */
    uint64_t breakers[SL_BREAKER_COUNT];

    /* Of a cluster: */
    uint64_t redirections[SL_REDIRECTION_COUNT];
    uint64_t undos[SL_UNDO_COUNT];
    uint64_t nodes; /* that have slots; a single Redis is one */
};

#endif
