/* Leaky bucket: a queue of C units that drains one unit every T.
 *
 * The token bucket's arithmetic seen from the other side: the debt is the work
 * queued. An admitted request waits behind it, and who sends it on after that
 * delay sends evenly spaced. Who only polices ignores the delay. */
#include "algo/bucket.h"
#include "base/number.h"

static struct sl_answer decide(const struct sl_limit *limit, const struct sl_state *state,
                               struct sl_ask ask)
{
    bool repair;
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, ask.now_us, &repair);
    struct sl_answer answer = sl_bucket_answer(limit, debt_ns, ask.cost);
    answer.repair = repair;
    answer.delay_us = sl_div_ceil(debt_ns, 1000);
    return answer;
}

const struct sl_algo sl_leaky_bucket = {
    .name = "leaky_bucket",
    .is_bucket = true,
    .decide = decide,
    .charge = sl_bucket_charge,
    .figures = sl_bucket_figures,
    .refund = sl_bucket_refund,
};
