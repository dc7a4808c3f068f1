/* One request, claim by claim: guard, decide, judge, write, measure.
 *
 * The guard comes first because it counts requests, allowed or not. After that
 * nothing is written until every claim is decided: a denial by one of the
 * enforced claims leaves all the others uncharged. */
#include "store/claim.h"

#include "base/check.h"
#include "base/text/number.h"

void sl_claim_guard(struct sl_claim *claim, const struct sl_bundle *bundle, struct sl_state *guard)
{
    SL_CHECK(claim->guard && bundle->now_us >= 0);
    claim->guard_answer = sl_claim_takes(bundle, claim)
                              ? sl_guard_count(claim->guard, guard, bundle->now_us)
                              : sl_guard_peek(claim->guard, guard, bundle->now_us);
}

/* Returns 0 if there is no block. A shadow rule's guard counts and warns; it never blocks. */
static int64_t blocked_until_us(const struct sl_claim *claim)
{
    return claim->shadow ? 0 : claim->guard_answer.blocked_until_us;
}

/* Denies for at least this long. SL_NEVER stays. */
static void deny_for(struct sl_answer *answer, int64_t wait_us)
{
    answer->allowed = false;
    if (answer->retry_after_us != SL_NEVER)
        answer->retry_after_us = sl_max_i64(answer->retry_after_us, wait_us);
}

static void deny_while_blocked(struct sl_claim *claim, int64_t now_us)
{
    deny_for(&claim->answer, blocked_until_us(claim) - now_us);
}

/* The queue shortens by a microsecond every microsecond. */
static void deny_long_delay(struct sl_answer *answer, int64_t max_delay_us)
{
    if (answer->delay_us > max_delay_us)
        deny_for(answer, answer->delay_us - max_delay_us);
}

void sl_claim_decide(struct sl_claim *claim, const struct sl_bundle *bundle,
                     const struct sl_state *state)
{
    struct sl_answer *answer = &claim->answer;
    struct sl_ask ask = { bundle->now_us, sl_claim_cost(bundle, claim) };
    SL_CHECK(!claim->no_key);
    *answer = claim->algo->decide(&claim->limit, state, ask);
    if (bundle->max_delay_us >= 0 && ask.cost > 0)
        deny_long_delay(answer, bundle->max_delay_us);
    if (blocked_until_us(claim))
        deny_while_blocked(claim, bundle->now_us);
    claim->allowed = answer->allowed;
    SL_CHECK(!answer->allowed || answer->retry_after_us == 0);
}

void sl_bundle_judge(struct sl_bundle *bundle)
{
    SL_CHECK(bundle->claims || bundle->claim_count == 0);
    bundle->allowed = !bundle->is_denied;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].shadow && !bundle->claims[i].allowed)
            bundle->allowed = false;
}

enum sl_write sl_claim_write(const struct sl_claim *claim, const struct sl_bundle *bundle)
{
    if (sl_claim_peeks(bundle, claim))
        return SL_WRITE_NOTHING;
    if (bundle->allowed && claim->allowed && sl_claim_cost(bundle, claim) > 0)
        return SL_WRITE_CHARGE;
    return claim->answer.repair ? SL_WRITE_REPAIR : SL_WRITE_NOTHING;
}

void sl_claim_measure(struct sl_claim *claim, const struct sl_bundle *bundle,
                      const struct sl_state *state)
{
    claim->figures = claim->algo->figures(&claim->limit, state, bundle->now_us);
    int64_t blocked_us = blocked_until_us(claim);
    if (blocked_us) {
        claim->figures.remaining = 0;
        claim->figures.reset_at_us = sl_max_i64(claim->figures.reset_at_us, blocked_us);
    }
    SL_CHECK((uint64_t)claim->figures.remaining <= (uint64_t)claim->limit.capacity);
}

enum { ROUND_BELOW = 64 };

uint32_t sl_ring_class(uint32_t ring_len)
{
    /* Short rings of similar length share extents; long rings are not rounded up. */
    uint32_t class = ring_len < ROUND_BELOW ? (ring_len + 7) & ~7u : ring_len;
    SL_CHECK(class >= ring_len);
    return class;
}
