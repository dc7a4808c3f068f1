/* The arithmetic that the token bucket and the leaky bucket share: a debt that time pays. */
#ifndef SL_ALGO_BUCKET_H
#define SL_ALGO_BUCKET_H

#include "algo/algo.h"
#include "base/check.h"
#include "base/text/number.h"

/* Returns the debt at `now_us` under this limit, 0 to capacity · token_ns. Sets
 * *repair if the stored debt had to be converted or clamped and should be saved. */
int64_t sl_bucket_debt_ns(const struct sl_limit *limit, const struct sl_state *state,
                          int64_t now_us, bool *repair);

/* Decides whether the cost fits on top of this debt. Leaves `repair` to the caller. */
static inline struct sl_answer sl_bucket_answer(const struct sl_limit *limit, int64_t debt_ns,
                                                struct sl_ask ask)
{
    struct sl_answer answer = { .as_of_us = ask.now_us };
    if (ask.cost > limit->capacity) {
        answer.retry_after_us = SL_NEVER;
        return answer;
    }
    int64_t over_ns = debt_ns + (ask.cost - limit->capacity) * limit->token_ns;
    answer.allowed = over_ns <= 0;
    if (over_ns > 0) {
        answer.retry_after_us = sl_div_ceil(over_ns, 1000);
        SL_CHECK(answer.retry_after_us > 0);
    }
    return answer;
}

struct sl_answer sl_bucket_decide(const struct sl_limit *limit, const struct sl_state *state,
                                  struct sl_ask ask);
void sl_bucket_charge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask);
struct sl_figures sl_bucket_figures(const struct sl_limit *limit, const struct sl_state *state,
                                    int64_t now_us);
bool sl_bucket_refund(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                      int64_t charged_at_us);
bool sl_bucket_take(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                    struct sl_taken *out);
void sl_bucket_overcharge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask);
void sl_bucket_load(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out);

/* Returns 2^64 / token_ns, rounded down: multiplying by it divides by the token
 * time, just as exactly. */
uint64_t sl_token_part(int64_t token_ns);

/* Convert a token time to 22 bits, and back. Exact for every m·10^k with m below
 * 2^17, as rates in rules files are; else rounded down by less than 2^-15. Equal
 * times have equal forms. */
uint32_t sl_token_short(int64_t token_ns);
int64_t sl_token_value(uint32_t form);

#endif
