/* A thread's own way to a store that answers later.
 *
 *   sl_channel_decide(parcel) … sl_channel_flush    what was asked together goes out together
 *   parcel->done                                     in the same thread, once, by the deadline
 *
 * It blocks nowhere. What it needs of the world (a socket watched, a moment to be woken at) its
 * host gives it: a loop, or a poll(2) of one's own. */
#ifndef SL_STORE_CHANNEL_H
#define SL_STORE_CHANNEL_H

#include "store/redis_link.h"
#include "store/store.h"

/* Bundles that are asked together. They, their claims and the claims' names stay until `done`
 * has been called; the names only until sl_channel_decide returns. */
struct sl_parcel {
    struct sl_bundle *bundles;
    size_t count;
    void (*done)(struct sl_parcel *parcel); /* maybe within sl_channel_decide */

    /* The channel's: */
    struct sl_parcel_query *queries;
    struct sl_buffer bytes;
    size_t waiting;
};

/* A reservation to be settled at its real cost. */
struct sl_settlement {
    uint64_t id;
    uint32_t cost;
    void (*done)(struct sl_settlement *settlement);

    int status; /* then */

    /* The channel's: */
    bool is_due; /* its time has come, nobody has settled it */
    struct sl_link *link;
    struct sl_link_shared *shared;
    struct sl_query query;
    struct sl_buffer bytes;
};

/* One call: what was prepared in `query`, out of `bytes`. */
struct sl_channel_call {
    struct sl_query query;
    struct sl_buffer bytes;
    void (*done)(struct sl_channel_call *call);
    int status; /* then */
};

void sl_channel_call(struct sl_channel *channel, struct sl_channel_call *call);
void sl_channel_decide(struct sl_channel *channel, struct sl_parcel *parcel);
void sl_channel_settle(struct sl_channel *channel, struct sl_settlement *settlement);

/* About once a second: gives back what reservations have left whose time has come. */
void sl_channel_tend(struct sl_channel *channel);

/* Sends what was asked since. */
void sl_channel_flush(struct sl_channel *channel);

/* Connects before anybody asks. */
void sl_channel_open(struct sl_channel *channel);

/* What its host has seen: the socket is ready, the moment has come. */
void sl_channel_on_ready(struct sl_channel *channel);
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
    uint64_t breakers[SL_BREAKER_COUNT];
};

#endif
