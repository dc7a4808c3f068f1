/* Opens a memory store or a Redis store, by the kind of its URL. */
#include "store/open.h"

#include <stdio.h>

#include "base/check.h"
#include "store/redis/redis.h"

/* The defaults of a URL are the defaults of a memory store. */
_Static_assert(SL_STORE_SIZE_BYTES == SL_MEMORY_SIZE_BYTES, "one standard size");
_Static_assert(SL_STORE_LOG_DEFAULT == SL_LOG_DEFAULT, "one word for the standard share");
_Static_assert(SL_STORE_SYNC_OFF == SL_SYNC_OFF && SL_STORE_SYNC_CLOSE == SL_SYNC_CLOSE,
               "one way to write when");

static struct sl_store *open_memory(const struct sl_store_url *url, const struct sl_ruleset *rules,
                                    struct sluice_error *error)
{
    struct sl_memory_config config = {
        .path = url->path,
        .size_bytes = url->size_bytes,
        .log_bytes = url->log_bytes,
        .logs_wanted = rules && sl_ruleset_keeps_rings(rules),
        .sync_us = url->sync_us,
    };
    return sl_memory_open(&config, error);
}

static struct sl_store *open_redis(const struct sl_store_url *url, const struct sl_ruleset *rules,
                                   struct sluice_error *error)
{
    struct sl_redis_config config = { .url = url };
    if (rules) {
        const struct sl_settings *settings = &rules->settings;
        config.deadline_us = settings->store_deadline_us;
        config.tls =
            (struct sl_tls_client){ settings->store_tls.ca, settings->store_tls.certificate,
                                    settings->store_tls.key };
    }
    return sl_redis_open(&config, error);
}

int sl_store_open(const struct sl_store_url *url, const struct sl_ruleset *rules,
                  struct sl_store **out, struct sluice_error *error)
{
    struct sl_store *store = NULL;
    SL_CHECK(url && out && error);
    error->text[0] = 0;
    switch (url->kind) {
    case SL_STORE_MEMORY:
        store = open_memory(url, rules, error);
        break;
    case SL_STORE_REDIS:
    case SL_STORE_REDIS_UNIX:
    case SL_STORE_REDIS_SENTINEL:
    case SL_STORE_REDIS_CLUSTER:
        store = open_redis(url, rules, error);
        break;
    }
    if (!store)
        return SLUICE_BAD_STORE;
    SL_CHECK(store->ops && store->ops->decide && store->ops->close);
    *out = store;
    return SLUICE_OK;
}
