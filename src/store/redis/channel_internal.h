/* The inside of a channel: for channel.c, which asks parcels, and settlement.c, which settles
 * reservations. */
#ifndef SL_STORE_REDIS_CHANNEL_INTERNAL_H
#define SL_STORE_REDIS_CHANNEL_INTERNAL_H

#include "store/redis/channel.h"

struct sl_channel {
    struct sl_link_shared *shared;
    struct sl_cluster_route *route;
    struct sl_undos undos;
    struct sl_lease_client lease_client;
    int64_t tended_us;
    size_t sweeping; /* expired reservations that are being given back */
    uint64_t seed, calls;
};

/* Returns a nonce for the next call: sl_redis_query.nonce. */
uint64_t sl_channel_nonce(struct sl_channel *channel);

/* Asks for expired reservations, and gives back their charges. */
void sl_channel_sweep(struct sl_channel *channel);

#endif
