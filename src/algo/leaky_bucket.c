/* Leaky bucket: a queue of C units that drains one unit every T.
 *
 * The token bucket's arithmetic seen from the other side: the debt is the work
 * queued. An admitted request waits behind it: a caller that forwards it after
 * that delay forwards evenly spaced. A caller that only polices ignores the
 * delay. */
#include "algo/bucket.h"
#include "base/check.h"
#include "base/text/number.h"

static struct sl_answer decide_leaky_bucket(const struct sl_limit *limit,
                                            const struct sl_state *state, struct sl_ask ask)
{
    bool repair;
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, ask.now_us, &repair);
    struct sl_answer answer = sl_bucket_answer(limit, debt_ns, ask);
    answer.repair = repair;
    answer.delay_us = sl_div_ceil(debt_ns, 1000);
    SL_CHECK(answer.delay_us >= 0);
    return answer;
}

static bool take_from_leaky_bucket(const struct sl_limit *limit, struct sl_state *state,
                                   struct sl_ask ask, struct sl_taken *out)
{
    bool repair;
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, ask.now_us, &repair);
    if (repair || !sl_bucket_take(limit, state, ask, out))
        return false;
    out->answer.delay_us = sl_div_ceil(debt_ns, 1000);
    return true;
}

const struct sl_algo sl_leaky_bucket = {
    .name = "leaky_bucket",
    .number = 5,
    .dating = SL_DATED_NS,
    .is_bucket = true,
    .decide = decide_leaky_bucket,
    .charge = sl_bucket_charge,
    .figures = sl_bucket_figures,
    .take = take_from_leaky_bucket,
    .refund = sl_bucket_refund,
    .overcharge = sl_bucket_overcharge,
    .load = sl_bucket_load,
};
