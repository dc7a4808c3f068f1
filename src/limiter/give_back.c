/* Refunds and resets. Claims are made again for them, as for a decision: they are not kept. */
#include "limiter/decision.h"
#include "limiter/limiter_internal.h"
#include "rules/index.h"

/* Makes the claims again that the decision was made of. */
static void claim_again(struct sl_limiter *limiter, const struct sluice_request *request)
{
    sl_limiter_make_claims(limiter);
    limiter->asks[limiter->ask_count++] = (struct sl_asking){ .rules = limiter->matched,
                                                              .request = request,
                                                              .claims = limiter->claims,
                                                              .claim_count = limiter->claim_count };
    sl_limiter_replace(limiter, 0);
}

int sl_limiter_refund(struct sl_limiter *limiter, const struct sluice_request *request,
                      const struct sluice_decision *decision)
{
    const struct sl_store_ops *ops = limiter->store->ops;
    int first_bad = SLUICE_OK;
    if (!decision->charged || request->cost == 0)
        return SLUICE_OK;
    if (!ops->refund)
        return SLUICE_UNSUPPORTED;
    sl_limiter_forget(limiter);
    limiter->context.wall_us = decision->decided_at_us; /* trust as of then */
    limiter->context.wall_is_read = true;
    if (!sl_limiter_take_asker(limiter, request))
        return SLUICE_NO_MEMORY;
    claim_again(limiter, request);
    for (size_t i = 0; i < limiter->claim_count; i++) {
        struct sl_charge charge = { request->cost, sl_decision_charged_at_us(decision, i) };
        if (!sl_decision_charged(decision, &limiter->claims[i], i))
            continue;
        int status = ops->refund(limiter->store, &limiter->claims[i], charge);
        first_bad = first_bad ? first_bad : status;
    }
    sl_limiter_forget(limiter);
    return first_bad;
}

/* The key is the same for every tier, so any limit of the rule will do. */
static int reset_rule(struct sl_limiter *limiter, const struct sl_rule *rule)
{
    struct sl_claim claim;
    if (!sl_limiter_make_claim(limiter, rule, &limiter->seeds[rule->index], &claim))
        return SLUICE_INVALID;
    claim.limit = rule->numbers[0].limit;
    return limiter->store->ops->reset(limiter->store, &claim);
}

static int reset_named(struct sl_limiter *limiter, const char *name)
{
    const struct sl_rule *rule = sl_ruleset_rule(limiter->rules, name);
    return rule ? reset_rule(limiter, rule) : SLUICE_INVALID;
}

/* A rule that does not apply because an identity is missing has no counts to forget. */
static int reset_matching(struct sl_limiter *limiter)
{
    int first_bad = SLUICE_OK;
    size_t count = sl_index_match(limiter->rules, &limiter->caller.request, limiter->matched);
    for (size_t i = 0; i < count; i++) {
        int status = reset_rule(limiter, limiter->matched[i]);
        if (status != SLUICE_INVALID)
            first_bad = first_bad ? first_bad : status;
    }
    return first_bad;
}

int sl_limiter_reset(struct sl_limiter *limiter, const struct sluice_request *request,
                     const char *rule)
{
    if (!limiter->store->ops->reset)
        return SLUICE_UNSUPPORTED;
    sl_limiter_forget(limiter);
    if (!sl_limiter_take_asker(limiter, request))
        return SLUICE_NO_MEMORY;
    return rule ? reset_named(limiter, rule) : reset_matching(limiter);
}
