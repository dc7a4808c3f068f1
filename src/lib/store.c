/* Opens and closes stores. */
#include "lib/handles.h"

#include <stdlib.h>

#include "lib/error.h"
#include "rules/store_url.h"
#include "store/open.h"

int sl_handle_open(const struct sl_store_url *url, const struct sl_ruleset *rules,
                   struct sluice_store **out, struct sluice_error *error)
{
    struct sluice_store *handle = calloc(1, sizeof *handle);
    if (!handle)
        return sl_error_add(error, SLUICE_NO_MEMORY, "out of memory");
    int status = sl_store_open(url, rules, &handle->store, error);
    if (status == SLUICE_OK)
        *out = handle;
    else
        free(handle);
    return status;
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
                       : sl_handle_open(&read, NULL, out, error);
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
