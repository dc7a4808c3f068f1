/* Peeks at the counts of one identifier in many rules (see look.h). */
#include "limiter/look.h"

#include <stdlib.h>

#include "limiter/decision.h"
#include "limiter/limiter_internal.h"
#include "rules/index.h"

enum { AT_ONCE = 64 };

/* Claims decided together lie in the limiter's scratch, their rules beside them. */
struct rule_walk {
    struct sl_limiter *limiter;
    struct sl_look *look;
    bool matches[AT_ONCE];
};

static void report_rule(const struct rule_walk *walk, const struct sl_bundle *bundle, size_t number)
{
    const struct sl_claim *claim = &bundle->claims[number];
    const struct sl_rule *rule = walk->limiter->matched[number];
    struct sl_looked looked = {
        .rule = rule,
        .matches = walk->matches[number],
        .reason = claim->allowed ? SLUICE_REASON_OK : sl_denial_reason(claim, bundle->cost),
    };
    sl_decision_explain(bundle, claim, rule, &looked.told);
    walk->look->see(walk->look->about, &looked);
}

static int decide_claims(struct rule_walk *walk)
{
    struct sl_limiter *limiter = walk->limiter;
    struct sl_bundle bundle = {
        .now_us = walk->look->request->at_us,
        .cost = walk->look->request->cost,
        .peek = true,
        .max_delay_us = -1,
        .claims = limiter->claims,
        .claim_count = limiter->claim_count,
    };
    int status = bundle.claim_count ? sl_store_decide(limiter->store, &bundle) : SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < bundle.claim_count; i++)
        report_rule(walk, &bundle, i);
    limiter->claim_count = 0;
    return status;
}

/* Adds a claim, if the rule counts by what the request gives. */
static int add_claim(struct rule_walk *walk, const struct sl_rule *rule, bool matches)
{
    struct sl_limiter *limiter = walk->limiter;
    size_t number = limiter->claim_count;
    struct sl_claim *claim = &limiter->claims[number];
    enum sl_applies applies = sl_limiter_apply(limiter, rule, claim);
    if (applies == SL_UNLIMITED && sl_limiter_has_identity(limiter, rule))
        walk->look->see(walk->look->about,
                        &(struct sl_looked){ .rule = rule, .matches = matches, .unlimited = true });
    if (applies != SL_APPLIES || (claim->no_key && !matches))
        return SLUICE_OK;
    limiter->matched[number] = rule;
    walk->matches[number] = matches;
    return ++limiter->claim_count == AT_ONCE ? decide_claims(walk) : SLUICE_OK;
}

static int look_at_all(struct rule_walk *walk, const struct sl_rule *const *matching, size_t count)
{
    const struct sl_ruleset *rules = walk->limiter->rules;
    const char *name = walk->look->name;
    size_t next = 0;
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sl_rule *rule = &rules->rules[i];
        bool matches = next < count && matching[next] == rule;
        next += matches;
        if (name && strcmp(name, rule->name) != 0)
            continue;
        int status = add_claim(walk, rule, matches);
        if (status != SLUICE_OK)
            return status;
    }
    return decide_claims(walk);
}

int sl_limiter_look(struct sl_limiter *limiter, struct sl_look *look)
{
    struct rule_walk walk = { .limiter = limiter, .look = look };
    const struct sl_rule **matching = calloc(limiter->rules->rule_count + 1, sizeof *matching);
    int status = SLUICE_NO_MEMORY;
    sl_limiter_forget(limiter);
    if (matching && sl_limiter_meet(limiter, look->request, &look->is_exempt)) {
        size_t count = sl_index_match(limiter->rules, &limiter->caller.request, matching);
        status = look_at_all(&walk, matching, count);
    }
    sl_limiter_forget(limiter);
    free(matching);
    return status;
}
