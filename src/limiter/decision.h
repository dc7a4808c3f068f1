/* Makes one decision of the answers to a bundle's claims. */
#ifndef SL_LIMITER_DECISION_H
#define SL_LIMITER_DECISION_H

#include "rules/ruleset.h"
#include "store/store.h"

static inline enum sluice_reason sl_denial_reason(const struct sl_claim *claim, uint32_t cost)
{
    if (claim->no_key)
        return SLUICE_REASON_MISSING;
    if (claim->guard_answer.blocked_until_us)
        return SLUICE_REASON_BURST_BLOCKED;
    return cost > claim->limit.capacity ? SLUICE_REASON_COST : SLUICE_REASON_LIMITED;
}

/* When the claim's figures are all back, as wall time. */
static inline int64_t sl_reset_at_us(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    int64_t reset_at_us = claim->figures.reset_at_us;
    return reset_at_us == SLUICE_NONE ? SLUICE_NONE : reset_at_us + bundle->wall_shift_us;
}

/* Returns how long the request is queued in the enforced claim where it is queued longest; denied,
 * how long it would be. */
int64_t sl_longest_delay_us(const struct sl_bundle *bundle);

/* Makes the decision of one claim, as if it were the only one: all there is to a bundle of one.
 * Inline, because a limit without a rules file has no other step here. */
static inline void sl_decision_show(const struct sl_bundle *bundle, const struct sl_claim *claim,
                                    const char *rule, struct sluice_decision *out)
{
    *out = (struct sluice_decision){
        .allowed = bundle->allowed,
        .reason = bundle->allowed ? SLUICE_REASON_OK : sl_denial_reason(claim, bundle->cost),
        .rule = rule,
        .algorithm = claim->algo->name,
        .limit = claim->limit.capacity,
        .remaining = claim->figures.remaining,
        .reset_at_us = sl_reset_at_us(bundle, claim),
        .retry_after_us = claim->answer.retry_after_us,
        .delay_us = bundle->allowed ? claim->answer.delay_us : 0,
        .decided_at_us = bundle->now_us + bundle->wall_shift_us,
        .window_us = claim->limit.told_us,
        .charged_at_us = claim->charged ? claim->answer.as_of_us : SLUICE_NONE,
        .charged = claim->charged,
    };
}

/* The same for a claim that was decided on the fast path. */
static inline void sl_decision_fast_path(const struct sl_fast_path *once, const char *rule,
                                         struct sluice_decision *out)
{
    const struct sl_answer *answer = &once->taken.answer;
    enum sluice_reason denial =
        answer->retry_after_us == SL_NEVER ? SLUICE_REASON_COST : SLUICE_REASON_LIMITED;
    out->allowed = answer->allowed;
    out->reason = answer->allowed ? SLUICE_REASON_OK : denial;
    out->rule = rule;
    out->algorithm = once->algo->name;
    out->limit = once->limit->capacity;
    out->remaining = once->taken.figures.remaining;
    out->reset_at_us = once->taken.figures.reset_at_us + once->wall_shift_us;
    out->retry_after_us = answer->retry_after_us;
    out->delay_us = answer->allowed ? answer->delay_us : 0;
    out->decided_at_us = once->now_us + once->wall_shift_us;
    out->window_us = once->limit->told_us;
    out->charged_at_us = answer->allowed ? answer->as_of_us : SLUICE_NONE;
    out->charged = answer->allowed;
    memset(out->charged_after_us, 0, sizeof out->charged_after_us);
}

/* Makes a decision that allows, without any rule. */
void sl_decision_nobody(enum sluice_reason reason, struct sluice_decision *out);

/* Makes the decision of all claims; rules[i] made claim i. `nobody` is the reason if none of them
 * is enforced. */
void sl_decision_summarise(const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                           enum sluice_reason nobody, struct sluice_decision *out);

/* Makes the decision for a store that failed: by the policy of the rules that matched, or by the
 * file's if these are not known (count 0). */
void sl_decision_fail(enum sl_failure_policy file_policy, const struct sl_rule *const *rules,
                      size_t count, struct sluice_decision *out);

/* Explains one claim of the decision. */
void sl_decision_explain(const struct sl_bundle *bundle, const struct sl_claim *claim,
                         const struct sl_rule *rule, struct sluice_explained *out);

/* Was the claim of this number, among those that the request makes, charged? `claim` is that claim,
 * made again. */
bool sl_decision_charged(const struct sluice_decision *decision, const struct sl_claim *claim,
                         size_t number);

/* Returns when it was charged, by its store's clock. */
int64_t sl_decision_charged_at_us(const struct sluice_decision *decision, size_t number);

#endif
