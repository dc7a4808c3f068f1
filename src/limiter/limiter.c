/* From the answers of many claims to one decision.
 *
 * Every enforced rule must allow. Denied, the decision shows the rule that
 * keeps the caller waiting longest, because that is when it pays to come back;
 * allowed, the rule with the least left, because that is the one to mind.
 * Shadow rules are decided and charged like the others and show in `reason`
 * and `explain` alone. */
#include "limiter/limiter.h"

#include <stdlib.h>

#include "limiter/identity.h"
#include "rules/index.h"

struct sl_limiter {
    const struct sl_ruleset *rules;
    struct sl_store *store;
    struct sl_asker asker;
    /* One entry per rule of the ruleset, by its index: */
    struct sl_rule_seeds *seeds;
    /* Room for as many as the ruleset has rules, the first claim_count in use: */
    const struct sl_rule **matched; /* matched[i] made claims[i] */
    struct sl_claim *claims;
    struct sluice_explained *explained;
    size_t claim_count;
    bool unlimited; /* a rule fell away because the tier has no limit */
};

struct sl_limiter *sl_limiter_new(const struct sl_ruleset *rules, struct sl_store *store)
{
    size_t count = rules->rule_count + 1;
    struct sl_limiter *limiter = calloc(1, sizeof *limiter);
    if (!limiter)
        return NULL;
    limiter->rules = rules;
    limiter->store = store;
    limiter->seeds = calloc(count, sizeof *limiter->seeds);
    limiter->matched = calloc(count, sizeof *limiter->matched);
    limiter->claims = calloc(count, sizeof *limiter->claims);
    limiter->explained = calloc(count, sizeof *limiter->explained);
    if (!limiter->seeds || !limiter->matched || !limiter->claims || !limiter->explained) {
        sl_limiter_free(limiter);
        return NULL;
    }
    for (size_t i = 0; i < rules->rule_count; i++)
        limiter->seeds[i] = sl_rule_seeds(&rules->rules[i], store->secret);
    return limiter;
}

void sl_limiter_free(struct sl_limiter *limiter)
{
    if (!limiter)
        return;
    sl_asker_release(&limiter->asker);
    free(limiter->seeds);
    free(limiter->matched);
    free(limiter->claims);
    free(limiter->explained);
    free(limiter);
}

/* False: the rule does not apply to this asker after all. */
static bool make_claim(struct sl_limiter *limiter, const struct sl_rule *rule,
                       struct sl_claim *claim)
{
    const struct sl_asker *asker = &limiter->asker;
    *claim =
        (struct sl_claim){ .algo = rule->algo, .ring_len = rule->ring_len, .shadow = rule->shadow };
    if (!sl_rule_limit(rule, asker->tier, asker->request.trust_thousandths, &claim->limit)) {
        limiter->unlimited |= !rule->shadow;
        return false;
    }
    if (!sl_asker_keys(asker, rule, &limiter->seeds[rule->index], &claim->key, &claim->guard_key)) {
        claim->no_key = true;
        claim->answer.retry_after_us = SL_NEVER;
        claim->figures = (struct sl_figures){ 0, SLUICE_NONE };
        return rule->deny_missing;
    }
    if (rule->guard.window_us)
        claim->guard = &rule->guard;
    return true;
}

static void make_claims(struct sl_limiter *limiter)
{
    size_t matched = sl_index_match(limiter->rules, &limiter->asker.request, limiter->matched);
    limiter->unlimited = false;
    for (size_t i = 0; i < matched; i++) {
        const struct sl_rule *rule = limiter->matched[i];
        if (make_claim(limiter, rule, &limiter->claims[limiter->claim_count]))
            limiter->matched[limiter->claim_count++] = rule;
    }
}

static bool longer_wait(int64_t a_us, int64_t b_us)
{
    if (a_us == SL_NEVER || b_us == SL_NEVER)
        return b_us != SL_NEVER;
    return a_us > b_us;
}

/* Does `a` say more than `b`? Ties go to the first in the file. */
static bool outranks(const struct sl_claim *a, const struct sl_claim *b, bool allowed)
{
    if (allowed)
        return a->figures.remaining < b->figures.remaining;
    return longer_wait(a->answer.retry_after_us, b->answer.retry_after_us);
}

/* The claim that the decision shows, or claim_count: there is none. */
static size_t spokesman(const struct sl_limiter *limiter, bool allowed)
{
    size_t best = limiter->claim_count;
    for (size_t i = 0; i < limiter->claim_count; i++) {
        const struct sl_claim *claim = &limiter->claims[i];
        if (claim->shadow || claim->allowed != allowed)
            continue;
        if (best == limiter->claim_count || outranks(claim, &limiter->claims[best], allowed))
            best = i;
    }
    return best;
}

static enum sluice_reason denial_reason(const struct sl_claim *claim, uint32_t cost)
{
    if (claim->no_key)
        return SLUICE_REASON_MISSING;
    if (claim->guard_answer.blocked_until_us)
        return SLUICE_REASON_BURST_BLOCKED;
    return cost > claim->limit.capacity ? SLUICE_REASON_COST : SLUICE_REASON_LIMITED;
}

static bool shadow_denied(const struct sl_limiter *limiter)
{
    for (size_t i = 0; i < limiter->claim_count; i++)
        if (limiter->claims[i].shadow && !limiter->claims[i].allowed)
            return true;
    return false;
}

static int64_t longest_delay_us(const struct sl_limiter *limiter)
{
    int64_t delay_us = 0;
    for (size_t i = 0; i < limiter->claim_count; i++)
        if (!limiter->claims[i].shadow)
            delay_us = sl_max_i64(delay_us, limiter->claims[i].answer.delay_us);
    return delay_us;
}

static void nobody_decided(enum sluice_reason reason, struct sluice_decision *out)
{
    *out = (struct sluice_decision){
        .allowed = true,
        .reason = reason,
        .limit = SLUICE_NONE,
        .remaining = SLUICE_NONE,
        .reset_at_us = SLUICE_NONE,
        .decided_at_us = SLUICE_NONE,
    };
}

static void summarise(const struct sl_limiter *limiter, const struct sl_bundle *bundle,
                      struct sluice_decision *out)
{
    enum sluice_reason nobody = limiter->unlimited ? SLUICE_REASON_EXEMPT : SLUICE_REASON_NO_RULE;
    enum sluice_reason reason = SLUICE_REASON_OK;
    size_t best = spokesman(limiter, bundle->allowed);
    if (bundle->allowed && shadow_denied(limiter))
        reason = nobody = SLUICE_REASON_SHADOW;
    if (best == limiter->claim_count) {
        nobody_decided(nobody, out);
        out->decided_at_us = bundle->now_us;
        return;
    }
    const struct sl_claim *claim = &limiter->claims[best];
    *out = (struct sluice_decision){
        .allowed = bundle->allowed,
        .reason = bundle->allowed ? reason : denial_reason(claim, bundle->cost),
        .rule = limiter->matched[best]->name,
        .algorithm = claim->algo->name,
        .limit = claim->limit.capacity,
        .remaining = claim->figures.remaining,
        .reset_at_us = claim->figures.reset_at_us,
        .retry_after_us = claim->answer.retry_after_us,
        .delay_us = bundle->allowed ? longest_delay_us(limiter) : 0,
        .decided_at_us = bundle->now_us,
    };
}

/* The store failed. A rule that says deny outweighs those that allow; where it is
 * not even known which rules match, the file's own policy speaks. */
static void answer_failure(const struct sl_limiter *limiter, struct sluice_decision *out)
{
    nobody_decided(SLUICE_REASON_STORE, out);
    if (limiter->claim_count == 0)
        out->allowed = limiter->rules->settings.on_store_failure != SL_FAIL_DENY;
    for (size_t i = 0; i < limiter->claim_count; i++) {
        const struct sl_rule *rule = limiter->matched[i];
        if (rule->shadow || rule->on_store_failure != SL_FAIL_DENY)
            continue;
        out->allowed = false;
        out->rule = rule->name;
        out->algorithm = rule->algo->name;
        return;
    }
}

int sl_limiter_decide(struct sl_limiter *limiter, const struct sluice_request *request,
                      struct sluice_decision *out)
{
    limiter->claim_count = 0;
    if (!sl_asker_init(&limiter->asker, limiter->rules, request)) {
        answer_failure(limiter, out);
        return SLUICE_NO_MEMORY;
    }
    if (sl_asker_exempt(&limiter->asker, limiter->rules->whitelist)) {
        nobody_decided(SLUICE_REASON_EXEMPT, out);
        return SLUICE_OK;
    }
    make_claims(limiter);
    struct sl_bundle bundle = {
        .now_us = request->at_us,
        .cost = request->cost,
        .peek = request->peek,
        .max_delay_us = request->wait ? limiter->rules->settings.max_wait_us : -1,
        .claims = limiter->claims,
        .claim_count = limiter->claim_count,
    };
    int status = sl_store_decide(limiter->store, &bundle);
    if (status == SLUICE_OK) {
        summarise(limiter, &bundle, out);
    } else {
        answer_failure(limiter, out);
        limiter->claim_count = 0; /* there is nothing to explain */
    }
    return status;
}

size_t sl_limiter_matched(const struct sl_limiter *limiter, const struct sl_rule *const **rules)
{
    *rules = limiter->matched;
    return limiter->claim_count;
}

size_t sl_limiter_explain(struct sl_limiter *limiter, const struct sluice_explained **rows)
{
    for (size_t i = 0; i < limiter->claim_count; i++) {
        const struct sl_claim *claim = &limiter->claims[i];
        limiter->explained[i] = (struct sluice_explained){
            .rule = limiter->matched[i]->name,
            .algorithm = claim->algo->name,
            .shadow = claim->shadow,
            .allowed = claim->allowed,
            .limit = claim->limit.capacity,
            .remaining = claim->figures.remaining,
            .reset_at_us = claim->figures.reset_at_us,
            .retry_after_us = claim->answer.retry_after_us,
        };
    }
    *rows = limiter->explained;
    return limiter->claim_count;
}
