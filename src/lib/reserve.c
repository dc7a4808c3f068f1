/* Reservations, for costs known only afterwards: a charge now, settled later by any program that
 * has the store open. */
#include "lib/handles.h"

#define EXPIRY_MAX_US (INT64_C(24) * 3600 * 1000000)

static bool expiry_is_good(int64_t expiry_us)
{
    return expiry_us >= 1 && expiry_us <= EXPIRY_MAX_US;
}

int sluice_limit_reserve(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                         int64_t expiry_us, struct sluice_decision *out, uint64_t *id)
{
    struct sl_limit_call call;
    if (!limit || !sl_key_is_good(key) || !expiry_is_good(expiry_us) || !out || !id)
        return SLUICE_INVALID;
    const struct sl_store_ops *ops = limit->store->ops;
    if (!ops->hold)
        return SLUICE_UNSUPPORTED;
    struct sluice_decision decision;
    uint64_t held = 0;
    int status = sl_limit_begin(limit, key, &call);
    call.bundle.cost = cost;
    call.bundle.hold_us = expiry_us;
    if (status == SLUICE_OK)
        status = sl_limit_decide(limit, &call.bundle, &decision);
    if (status == SLUICE_OK && call.claim.charged)
        status = ops->hold(limit->store, &call.bundle, expiry_us, &held);
    sl_limit_end(&call);
    if (status != SLUICE_OK)
        return status;
    *out = decision;
    *id = held;
    return SLUICE_OK;
}

int sluice_reserve(struct sluice_limiter *limiter, const struct sluice_request *request,
                   int64_t expiry_us, struct sluice_decision *out, uint64_t *id)
{
    if (!limiter || !sl_request_is_good(request) || !expiry_is_good(expiry_us) || !out || !id)
        return SLUICE_INVALID;
    struct sl_limiter *own = sl_pool_take(&limiter->pool);
    if (!own) {
        *id = 0;
        return sl_answer_no_memory(limiter, out);
    }
    int status = sl_limiter_reserve(own, request, expiry_us, out, id);
    sl_pool_put(&limiter->pool, own);
    return status;
}

/* Id 0, of a reservation that charged nothing, has nothing to settle: callers need not check. */
static int settle_reservation(struct sluice_store *store, uint64_t id, uint32_t cost)
{
    if (!store)
        return SLUICE_INVALID;
    const struct sl_store_ops *ops = store->store->ops;
    if (!ops->settle)
        return SLUICE_UNSUPPORTED;
    return id ? ops->settle(store->store, id, cost) : SLUICE_OK;
}

int sluice_commit(struct sluice_store *store, uint64_t id, uint32_t cost)
{
    return settle_reservation(store, id, cost);
}

int sluice_cancel(struct sluice_store *store, uint64_t id)
{
    return settle_reservation(store, id, 0);
}
