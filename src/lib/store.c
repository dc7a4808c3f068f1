/* Opening where counts live. */
#include "lib/handles.h"

#include <stdlib.h>

#include "lib/error.h"
#include "rules/store_url.h"

int sl_store_open(const struct sl_store_url *url, bool logs_wanted, struct sluice_store **out,
                  struct sluice_error *error)
{
    /* Never the URL's text: it may hold a password. */
    if (url->kind != SL_STORE_MEMORY)
        return sl_error_add(error, SLUICE_UNSUPPORTED,
                            "a Redis store is asked for, which this version does not have; use "
                            "`memory:`");
    struct sl_memory_config config = {
        .path = url->path,
        .size_bytes = url->size_bytes,
        .log_bytes = url->log_bytes,
        .logs_wanted = logs_wanted,
        .sync_us = url->sync_us,
    };
    struct sluice_store *handle = calloc(1, sizeof *handle);
    if (!handle)
        return sl_error_add(error, SLUICE_NO_MEMORY, "out of memory");
    handle->store = sl_memory_open(&config, error);
    if (!handle->store) {
        free(handle);
        return SLUICE_BAD_STORE;
    }
    *out = handle;
    return SLUICE_OK;
}

int sluice_open(const char *url, struct sluice_store **out, struct sluice_error *error)
{
    struct sluice_error own;
    struct sl_arena arena = { 0 };
    struct sl_store_url read;
    error = sl_error_start(error, &own);
    if (!url || !out)
        return sl_error_add(error, SLUICE_INVALID, "`%s` is NULL", url ? "out" : "url");
    const char *wrong = sl_store_url_parse(&arena, sl_text(url), SL_TEXT(""), &read);
    int status = wrong ? sl_error_add(error, SLUICE_BAD_STORE, "%s", wrong)
                       : sl_store_open(&read, false, out, error);
    sl_arena_release(&arena);
    return status;
}

void sluice_close(struct sluice_store *store)
{
    if (!store)
        return;
    sl_store_close(store->store);
    free(store);
}

int sluice_sync(struct sluice_store *store)
{
    if (!store)
        return SLUICE_INVALID;
    const struct sl_store_ops *ops = store->store->ops;
    return ops->sync ? ops->sync(store->store) : SLUICE_UNSUPPORTED;
}

int sluice_store_stats(struct sluice_store *store, struct sluice_stats *out)
{
    if (!store || !out)
        return SLUICE_INVALID;
    const struct sl_store_ops *ops = store->store->ops;
    if (!ops->measure)
        return SLUICE_UNSUPPORTED;
    ops->measure(store->store, out);
    return SLUICE_OK;
}
