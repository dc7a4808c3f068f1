/* The Redis store: counts that all instances with the same `store` share. */
#ifndef SL_STORE_REDIS_REDIS_H
#define SL_STORE_REDIS_REDIS_H

#include "base/tls/tls.h"
#include "rules/ruleset.h"
#include "store/redis/channel.h"

struct sl_redis_config {
    const struct sl_store_url *url;
    int64_t deadline_us; /* of a decision; 0: the default */
    struct sl_tls_client tls;
};

/* Opens the store also if Redis does not answer. Returns NULL on failure, and error->text says why;
 * else that is a note or empty. */
struct sl_store *sl_redis_open(const struct sl_redis_config *config, struct sluice_error *error);

/* Makes a channel of a store that shares `shared`. Returns NULL if there is no memory. */
struct sl_channel *sl_channel_new(struct sl_link_shared *shared, const struct sl_link_host *host);
bool sl_channel_is_up(const struct sl_channel *channel);

#endif
