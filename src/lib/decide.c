/* Decides by a limiter, from any thread: takes scratch out of the pool, calls the limiter's own
 * function, puts the scratch back. */
#include "lib/handles.h"

static bool text_is_good(struct sluice_text text)
{
    return text.at || text.len == 0;
}

static bool texts_are_good(const struct sluice_request *request)
{
    return text_is_good(request->tenant) && text_is_good(request->resource) &&
           text_is_good(request->method) && text_is_good(request->user) &&
           text_is_good(request->ip) && text_is_good(request->client) &&
           text_is_good(request->tier);
}

static bool others_are_good(const struct sluice_request *request)
{
    if (!request->others && request->other_count)
        return false;
    for (size_t i = 0; i < request->other_count; i++)
        if (!text_is_good(request->others[i].name) || !text_is_good(request->others[i].value))
            return false;
    return true;
}

bool sl_request_is_good(const struct sluice_request *request)
{
    return request && texts_are_good(request) && others_are_good(request) &&
           request->at_us >= SLUICE_NOW && request->at_us <= SL_TIME_MAX_US &&
           request->trust_thousandths >= SLUICE_NO_TRUST &&
           request->trust_thousandths <= SL_TRUST_MAX;
}

int sl_answer_no_memory(const struct sluice_limiter *limiter, struct sluice_decision *out)
{
    sl_decision_fail(limiter->rules->settings.on_store_failure, NULL, 0, out);
    return SLUICE_NO_MEMORY;
}

int sluice_decide(struct sluice_limiter *limiter, const struct sluice_request *request,
                  struct sluice_decision *out)
{
    if (!limiter || !sl_request_is_good(request) || !out)
        return SLUICE_INVALID;
    struct sl_limiter *own = sl_pool_take(&limiter->pool);
    if (!own)
        return sl_answer_no_memory(limiter, out);
    int status = sl_limiter_decide(own, request, out);
    sl_pool_put(&limiter->pool, own);
    return status;
}

int sluice_decide_explained(struct sluice_limiter *limiter, const struct sluice_request *request,
                            struct sluice_decision *out, struct sluice_explained *rows, size_t room,
                            size_t *count)
{
    if (!limiter || !sl_request_is_good(request) || !out || (!rows && room) || !count)
        return SLUICE_INVALID;
    struct sl_limiter *own = sl_pool_take(&limiter->pool);
    *count = 0;
    if (!own)
        return sl_answer_no_memory(limiter, out);
    const struct sluice_explained *all;
    struct sluice_request asked = *request;
    asked.explain = true;
    int status = sl_limiter_decide(own, &asked, out);
    *count = sl_limiter_explain(own, &all);
    for (size_t i = 0; i < room && i < *count; i++)
        rows[i] = all[i];
    sl_pool_put(&limiter->pool, own);
    return status;
}

int sluice_decide_batch(struct sluice_limiter *limiter, const struct sluice_request *requests,
                        size_t count, struct sluice_decision *out)
{
    if (!limiter || (count && (!requests || !out)))
        return SLUICE_INVALID;
    for (size_t i = 0; i < count; i++)
        if (!sl_request_is_good(&requests[i]))
            return SLUICE_INVALID;
    struct sl_limiter *own = sl_pool_take(&limiter->pool);
    for (size_t i = 0; !own && i < count; i++)
        sl_answer_no_memory(limiter, &out[i]);
    if (!own)
        return SLUICE_NO_MEMORY;
    int status = sl_limiter_decide_batch(own, requests, count, out);
    sl_pool_put(&limiter->pool, own);
    return status;
}

int sluice_refund(struct sluice_limiter *limiter, const struct sluice_request *request,
                  const struct sluice_decision *decision)
{
    if (!limiter || !sl_request_is_good(request) || !sl_charge_is_good(decision))
        return SLUICE_INVALID;
    struct sl_limiter *own = sl_pool_take(&limiter->pool);
    if (!own)
        return SLUICE_NO_MEMORY;
    int status = sl_limiter_refund(own, request, decision);
    sl_pool_put(&limiter->pool, own);
    return status;
}

int sluice_reset(struct sluice_limiter *limiter, const struct sluice_request *request,
                 const char *rule)
{
    if (!limiter || !sl_request_is_good(request))
        return SLUICE_INVALID;
    struct sl_limiter *own = sl_pool_take(&limiter->pool);
    if (!own)
        return SLUICE_NO_MEMORY;
    int status = sl_limiter_reset(own, request, rule);
    sl_pool_put(&limiter->pool, own);
    return status;
}
