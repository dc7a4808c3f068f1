/* Waits until a request may pass.
 *
 *   decide, willing to be held for as long as there is time left
 *     allowed                  → sleep the delay, done
 *     denied, wait ≤ time left → sleep the wait, decide again
 *     denied otherwise         → that is the answer
 *
 * A queue that is longer than the time left stays so while both pass: then there is nothing to wait
 * for.
 *
 * A wait is exact, but another caller may have come first: then there is another wait, and less
 * time. So the loop ends, whatever others do. Time is that of the stores' clocks, which goes on
 * while the machine sleeps. */
#include "lib/handles.h"

#include "base/clock.h"

/* One attempt: `decide` knows the limit or the request. */
struct attempt {
    int (*decide)(struct attempt *self, int64_t max_delay_us, struct sluice_decision *out);
    int64_t queue_us; /* filled in: how long it would be queued, allowed or not */
};

static int decide_until_allowed(struct attempt *attempt, int64_t timeout_us,
                                struct sluice_decision *out)
{
    int64_t start_us = sl_boottime_us(), passed_us = 0;
    for (;;) {
        int64_t left_us = passed_us < timeout_us ? timeout_us - passed_us : 0;
        int status = attempt->decide(attempt, left_us, out);
        if (status != SLUICE_OK)
            return status;
        int64_t wait_us = out->allowed ? out->delay_us : out->retry_after_us;
        if (!out->allowed && (wait_us == SLUICE_NEVER || wait_us > left_us || left_us == 0 ||
                              attempt->queue_us > left_us))
            return SLUICE_OK;
        sl_sleep_us(wait_us);
        if (out->allowed)
            return SLUICE_OK;
        passed_us = sl_boottime_us() - start_us;
    }
}

struct limit_attempt {
    struct attempt attempt;
    const struct sluice_limit *limit;
    struct sluice_text key;
    uint32_t cost;
};

static int decide_limit(struct attempt *self, int64_t max_delay_us, struct sluice_decision *out)
{
    const struct limit_attempt *own = (const struct limit_attempt *)self;
    struct sl_limit_call call;
    int status = sl_limit_begin(own->limit, own->key, &call);
    call.bundle.cost = own->cost;
    call.bundle.max_delay_us = max_delay_us;
    if (status == SLUICE_OK)
        status = sl_limit_decide(own->limit, &call.bundle, out);
    if (status == SLUICE_OK)
        self->queue_us = call.claim.answer.delay_us;
    sl_limit_end(&call);
    return status;
}

int sluice_limit_acquire(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                         int64_t timeout_us, struct sluice_decision *out)
{
    if (!limit || !sl_key_is_good(key) || timeout_us < 0 || !out)
        return SLUICE_INVALID;
    struct limit_attempt own = { { decide_limit, 0 }, limit, key, cost };
    struct sluice_decision decision;
    int status = decide_until_allowed(&own.attempt, timeout_us, &decision);
    if (status == SLUICE_OK)
        *out = decision;
    return status;
}

struct request_attempt {
    struct attempt attempt;
    struct sluice_limiter *limiter;
    const struct sluice_request *request;
};

/* Gives the scratch back before sleeping. */
static int decide_request(struct attempt *self, int64_t max_delay_us, struct sluice_decision *out)
{
    const struct request_attempt *own = (const struct request_attempt *)self;
    struct sl_limiter *scratch = sl_pool_take(&own->limiter->pool);
    if (!scratch)
        return sl_answer_no_memory(own->limiter, out);
    int status = sl_limiter_decide_within(scratch, own->request, max_delay_us, out);
    self->queue_us = sl_limiter_queue_us(scratch);
    sl_pool_put(&own->limiter->pool, scratch);
    return status;
}

/* At a time given by the caller, waiting would change nothing. */
int sluice_acquire(struct sluice_limiter *limiter, const struct sluice_request *request,
                   int64_t timeout_us, struct sluice_decision *out)
{
    if (!limiter || !sl_request_is_good(request) || request->at_us != SLUICE_NOW ||
        timeout_us < 0 || !out)
        return SLUICE_INVALID;
    struct request_attempt own = { { decide_request, 0 }, limiter, request };
    return decide_until_allowed(&own.attempt, timeout_us, out);
}
