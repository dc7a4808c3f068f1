#include "store/open.h"

#include <stdio.h>

/* What the URL leaves out is left out there too. */
_Static_assert(SL_STORE_SIZE_BYTES == SL_MEMORY_SIZE_BYTES, "one standard size");
_Static_assert(SL_STORE_LOG_DEFAULT == SL_LOG_DEFAULT, "one word for the standard share");
_Static_assert(SL_STORE_SYNC_OFF == SL_SYNC_OFF && SL_STORE_SYNC_CLOSE == SL_SYNC_CLOSE,
               "one way to write when");

int sl_store_open(const struct sl_store_url *url, bool logs_wanted, struct sl_store **out,
                  struct sluice_error *error)
{
    error->text[0] = 0;
    if (url->kind != SL_STORE_MEMORY) {
        snprintf(error->text, sizeof error->text,
                 "a Redis store is asked for, which this version does not have; use `memory:`");
        return SLUICE_UNSUPPORTED;
    }
    struct sl_memory_config config = {
        .path = url->path,
        .size_bytes = url->size_bytes,
        .log_bytes = url->log_bytes,
        .logs_wanted = logs_wanted,
        .sync_us = url->sync_us,
    };
    struct sl_store *store = sl_memory_open(&config, error);
    if (!store)
        return SLUICE_BAD_STORE;
    *out = store;
    return SLUICE_OK;
}
