/* Counts in Redis, shared by all who name it: src/store/redis/redis.c. */
#ifndef SL_STORE_REDIS_REDIS_H
#define SL_STORE_REDIS_REDIS_H

#include "base/tls/tls.h"
#include "rules/ruleset.h"
#include "store/redis/channel.h"

struct sl_redis_config {
    const struct sl_store_url *url;
    int64_t deadline_us; /* of a decision */
    struct sl_tls_client tls;
};

/* Opens also where Redis does not answer. NULL: error->text; else it is a note or empty. */
struct sl_store *sl_redis_open(const struct sl_redis_config *config, struct sluice_error *error);

/* A channel that shares these; also `redis.c`'s own. NULL: no memory. */
struct sl_channel *sl_channel_new(struct sl_link_shared *shared, const struct sl_link_host *host);
bool sl_channel_is_up(const struct sl_channel *channel);

#endif
