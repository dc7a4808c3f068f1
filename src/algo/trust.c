/* The trust score, computed exactly and floored once:
 *
 *   score = clamp(age + email + success − violations, 0, 1)
 *
 *   age      age_max · min(account age / age_full_days, 1)
 *   success  success · successes / calls
 *
 * Weights are billionths. Age and success are fractions with denominators of
 * their own: each is split into whole billionths and a rest below one, and the
 * two rests together make one more billionth or none. So nothing is rounded
 * before the end, and no product needs more than 128 bits.
 */
#include "algo/trust.h"

#include "base/check.h"
#include "base/text/number.h"

/* whole + rest / parts, rest below parts */
struct share {
    int64_t whole;
    uint64_t rest;
    uint64_t parts;
};

static struct share share_of(int64_t weight, sl_u128 some, uint64_t all)
{
    SL_CHECK(weight >= 0);
    if (all == 0)
        return (struct share){ 0, 0, 1 };
    if (some >= all)
        return (struct share){ weight, 0, 1 };
    sl_u128 product = (sl_u128)(uint64_t)weight * some;
    return (struct share){ (int64_t)(product / all), (uint64_t)(product % all), all };
}

/* age / age_full_days. A day is 86.4 · 10^9 µs and the days are in billionths, which
 * leaves a factor of 86.4 = 432/5: 5 goes to the age, 432 to the days. */
static struct share age_share(const struct sl_trust_weights *weights, int64_t age_us)
{
    SL_CHECK(weights->age_full_days >= 0);
    if (age_us <= 0)
        return (struct share){ 0, 0, 1 };
    return share_of(weights->age_max, (sl_u128)(uint64_t)age_us * 5,
                    (uint64_t)weights->age_full_days * 432);
}

static int64_t add_shares(struct share a, struct share b)
{
    SL_CHECK(a.rest < a.parts && b.rest < b.parts);
    sl_u128 rests = (sl_u128)a.rest * b.parts + (sl_u128)b.rest * a.parts;
    return a.whole + b.whole + (rests >= (sl_u128)a.parts * b.parts);
}

static int64_t violation_cost(const struct sl_trust_weights *weights,
                              const struct sl_trust_facts *facts)
{
    SL_CHECK(weights->violation >= 0 && weights->violation_max >= 0);
    sl_u128 cost = (sl_u128)(uint64_t)weights->violation * facts->violations;
    return cost < (sl_u128)weights->violation_max ? (int64_t)cost : weights->violation_max;
}

int32_t sl_trust_score(const struct sl_trust_weights *weights, const struct sl_trust_facts *facts)
{
    int64_t score = add_shares(age_share(weights, facts->account_age_us),
                               share_of(weights->success, facts->successes, facts->calls));
    SL_CHECK(weights->email >= 0 && score >= 0);
    if (facts->email_verified)
        score += weights->email;
    score -= violation_cost(weights, facts);
    score = sl_min_i64(sl_max_i64(score, 0), SL_TRUST_ONE) / (SL_TRUST_ONE / SL_TRUST_MAX);
    SL_CHECK(score >= 0 && score <= SL_TRUST_MAX);
    return (int32_t)score;
}

void sl_trust_explain(const struct sl_trust_weights *weights, const struct sl_trust_facts *facts,
                      struct sl_trust_parts *out)
{
    *out = (struct sl_trust_parts){
        .age = age_share(weights, facts->account_age_us).whole,
        .email = facts->email_verified ? weights->email : 0,
        .success = share_of(weights->success, facts->successes, facts->calls).whole,
        .violations = violation_cost(weights, facts),
    };
    SL_CHECK(out->age <= weights->age_max && out->success <= weights->success);
    SL_CHECK(out->violations >= 0 && out->violations <= weights->violation_max);
}
