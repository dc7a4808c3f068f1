/* Makes one decision of the answers to many claims.
 *
 * Every enforced rule must allow. Denied, the decision shows the rule that keeps the caller waiting
 * longest, because that is when it pays to come back; allowed, the rule with the least left,
 * because that is the one to mind. Shadow rules are decided and charged like the others and show in
 * `reason` and `explain` alone. */
#include "limiter/decision.h"

#include "base/text/number.h"

/* A decision has a bit for each of this many claims, and one for all that follow. */
enum { BITS_OWN = 63 };

enum { TIMES_OWN = sizeof((struct sluice_decision *)0)->charged_after_us / sizeof(int32_t) };

void sl_decision_nobody(enum sluice_reason reason, struct sluice_decision *out)
{
    *out = (struct sluice_decision){
        .allowed = true,
        .reason = reason,
        .limit = SLUICE_NONE,
        .remaining = SLUICE_NONE,
        .reset_at_us = SLUICE_NONE,
        .decided_at_us = SLUICE_NONE,
        .window_us = SLUICE_NONE,
        .charged_at_us = SLUICE_NONE,
    };
}

static bool longer_wait(int64_t a_us, int64_t b_us)
{
    if (a_us == SL_NEVER || b_us == SL_NEVER)
        return b_us != SL_NEVER;
    return a_us > b_us;
}

/* Is claim `a` the one to show, rather than `b`? Ties go to the first in the file. */
static bool outranks(const struct sl_claim *a, const struct sl_claim *b, bool allowed)
{
    if (allowed)
        return a->figures.remaining < b->figures.remaining;
    return longer_wait(a->answer.retry_after_us, b->answer.retry_after_us);
}

/* The store could not decide this claim. */
static bool is_left_out(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    return bundle->is_degraded && claim->is_lost;
}

/* Is there such a claim of an enforced rule, which does not count meanwhile? */
static bool lacks_a_rule(const struct sl_bundle *bundle)
{
    for (size_t i = 0; bundle->is_degraded && i < bundle->claim_count; i++)
        if (!bundle->claims[i].shadow && is_left_out(bundle, &bundle->claims[i]))
            return true;
    return false;
}

/* Returns the claim that the decision shows, or claim_count if there is none. */
static size_t find_shown_claim(const struct sl_bundle *bundle)
{
    size_t best = bundle->claim_count;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->shadow || claim->allowed != bundle->allowed || is_left_out(bundle, claim))
            continue;
        if (best == bundle->claim_count || outranks(claim, &bundle->claims[best], bundle->allowed))
            best = i;
    }
    return best;
}

static bool has_shadow_denial(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (bundle->claims[i].shadow && !bundle->claims[i].allowed)
            return true;
    return false;
}

int64_t sl_longest_delay_us(const struct sl_bundle *bundle)
{
    int64_t delay_us = 0;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].shadow)
            delay_us = sl_max_i64(delay_us, bundle->claims[i].answer.delay_us);
    return delay_us;
}

static uint64_t charged_bit(size_t number)
{
    return UINT64_C(1) << (number < BITS_OWN ? number : BITS_OWN);
}

/* Mostly all claims are charged at one time. In a race the times differ a little, and in a cluster
 * by the way from slot to slot: then the first claims have times of their own. The others have the
 * earliest, with which a refund gives back less rather than more. */
static void set_charges(const struct sl_bundle *bundle, struct sluice_decision *out)
{
    int64_t first_us = INT64_MAX, last_us = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        int64_t at_us = bundle->claims[i].answer.as_of_us;
        if (!bundle->claims[i].charged)
            continue;
        bits |= charged_bit(i);
        first_us = sl_min_i64(first_us, at_us);
        last_us = sl_max_i64(last_us, at_us);
    }
    out->charged = bits;
    out->charged_at_us = bits ? first_us : SLUICE_NONE;
    for (size_t i = 0; last_us > first_us && i < bundle->claim_count && i < TIMES_OWN; i++) {
        int64_t after_us = bundle->claims[i].answer.as_of_us - first_us;
        if (bundle->claims[i].charged && after_us <= INT32_MAX)
            out->charged_after_us[i] = (int32_t)after_us;
    }
}

int64_t sl_decision_charged_at_us(const struct sluice_decision *decision, size_t number)
{
    int64_t after_us = number < TIMES_OWN ? decision->charged_after_us[number] : 0;
    return sl_min_i64(decision->charged_at_us + sl_max_i64(after_us, 0), SL_TIME_MAX_US);
}

/* Behind the last bit of one claim the enforced ones were charged all or none, while a shadow may
 * have been left out. Not giving back only admits less. */
bool sl_decision_charged(const struct sluice_decision *decision, const struct sl_claim *claim,
                         size_t number)
{
    if (!(decision->charged & charged_bit(number)) || claim->no_key)
        return false;
    return number < BITS_OWN || !claim->shadow;
}

void sl_decision_summarise(const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                           enum sluice_reason nobody, struct sluice_decision *out)
{
    size_t best = find_shown_claim(bundle);
    bool shadow = bundle->allowed && has_shadow_denial(bundle);
    if (best == bundle->claim_count) {
        sl_decision_nobody(shadow ? SLUICE_REASON_SHADOW : nobody, out);
        out->allowed = bundle->allowed; /* a denial by the store stands, even if no claim has one */
        out->decided_at_us = bundle->now_us + bundle->wall_shift_us;
    } else {
        sl_decision_show(bundle, &bundle->claims[best], rules[best]->name, out);
        if (shadow)
            out->reason = SLUICE_REASON_SHADOW;
        if (bundle->allowed)
            out->delay_us = sl_longest_delay_us(bundle);
    }
    if (bundle->allowed && lacks_a_rule(bundle))
        out->reason = SLUICE_REASON_STORE; /* by its policy; other rules still deny */
    set_charges(bundle, out);
}

/* A rule whose policy is `deny` outweighs those that allow. */
void sl_decision_fail(enum sl_failure_policy file_policy, const struct sl_rule *const *rules,
                      size_t count, struct sluice_decision *out)
{
    sl_decision_nobody(SLUICE_REASON_STORE, out);
    if (count == 0)
        out->allowed = file_policy != SL_FAIL_DENY;
    for (size_t i = 0; i < count; i++) {
        if (rules[i]->shadow || rules[i]->on_store_failure != SL_FAIL_DENY)
            continue;
        out->allowed = false;
        out->rule = rules[i]->name;
        out->algorithm = rules[i]->algo->name;
        return;
    }
}

void sl_decision_explain(const struct sl_bundle *bundle, const struct sl_claim *claim,
                         const struct sl_rule *rule, struct sluice_explained *out)
{
    *out = (struct sluice_explained){
        .rule = rule->name,
        .algorithm = claim->algo->name,
        .shadow = claim->shadow,
        .allowed = claim->allowed,
        .limit = claim->limit.capacity,
        .remaining = claim->figures.remaining,
        .reset_at_us = sl_reset_at_us(bundle, claim),
        .retry_after_us = claim->answer.retry_after_us,
    };
    if (is_left_out(bundle, claim))
        out->remaining = out->reset_at_us = SLUICE_NONE;
}
