/* A channel from the inside: channel.c is parcels, and what it does by itself; settlement.c is
 * settlements and sweeps. */
#ifndef SL_STORE_REDIS_CHANNEL_INTERNAL_H
#define SL_STORE_REDIS_CHANNEL_INTERNAL_H

#include "store/redis/channel.h"

struct sl_channel {
    struct sl_link_shared *shared;
    struct sl_cluster_route *route;
    struct sl_undos undos;
    struct sl_lease_client lease_client;
    int64_t tended_us;
    size_t sweeping; /* reservations whose time has come, until they are given back */
    uint64_t seed, calls;
};

/* For the next call: sl_query.nonce. */
uint64_t sl_channel_nonce(struct sl_channel *channel);

/* Asks for reservations whose time has come, and gives back what they have left. */
void sl_channel_sweep(struct sl_channel *channel);

#endif
