/* Decides by the failure policies of rules when the store does not answer (see fallback.h). */
#include "limiter/fallback.h"

#include <stdlib.h>

#include "algo/bucket.h"
#include "limiter/decision.h"

/* For a bucket, capacity and rate are cut; the time it takes to fill stays. */
void sl_limit_share(const struct sl_algo *algo, struct sl_decimal share, struct sl_limit *limit)
{
    int64_t digits = (int64_t)share.digits, unit = (int64_t)sl_power_of_ten(share.places);
    limit->capacity = sl_mul_div_floor(limit->capacity, digits, unit);
    if (!algo->is_bucket || limit->capacity == 0)
        return;
    sl_u128 token_ns = sl_mul_div_ceil(limit->token_ns, unit, digits);
    sl_u128 most_ns = (sl_u128)(SL_SPAN_MAX_NS / limit->capacity);
    limit->token_ns = (int64_t)(token_ns < most_ns ? token_ns : most_ns);
    limit->token_form = sl_token_short(limit->token_ns);
    limit->token_part = 0;
}

static bool is_local(const struct sl_claim *claim, const struct sl_rule *rule)
{
    return !claim->shadow && !claim->no_key && rule->on_store_failure == SL_FAIL_LOCAL;
}

/* The claims that the table decides, with the rules that made them. */
struct stand_in {
    struct sl_bundle bundle;
    const struct sl_rule **rules;
};

static bool copy_local_claims(struct stand_in *in, const struct sl_settings *settings,
                              const struct sl_bundle *bundle, const struct sl_rule *const *rules)
{
    struct sl_claim *claims =
        aligned_alloc(_Alignof(struct sl_claim), (bundle->claim_count + 1) * sizeof *claims);
    in->rules = calloc(bundle->claim_count + 1, sizeof *in->rules);
    in->bundle = (struct sl_bundle){ .now_us = -1,
                                     .cost = bundle->cost,
                                     .peek = bundle->peek,
                                     .is_mixed = bundle->is_mixed,
                                     .max_delay_us = bundle->max_delay_us,
                                     .claims = claims };
    for (size_t i = 0; claims && in->rules && i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!is_local(claim, rules[i]))
            continue;
        struct sl_claim *copy = &claims[in->bundle.claim_count];
        *copy = *claim;
        sl_limit_share(copy->algo, settings->local_share, &copy->limit);
        in->rules[in->bundle.claim_count++] = rules[i];
    }
    return in->bundle.claim_count > 0;
}

/* The decision has no charge: it cannot be given back to the store that failed. */
static bool decide_locally(const struct sl_settings *settings, struct sl_store *local,
                           const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                           struct sluice_decision *out)
{
    struct stand_in in;
    bool is_decided = copy_local_claims(&in, settings, bundle, rules) &&
                      sl_store_decide(local, &in.bundle) == SLUICE_OK;
    if (is_decided) {
        sl_decision_summarise(&in.bundle, in.rules, SLUICE_REASON_STORE, out);
        out->reason = SLUICE_REASON_STORE;
        out->charged = 0;
        out->charged_at_us = SLUICE_NONE;
    }
    free(in.bundle.claims);
    free(in.rules);
    return is_decided;
}

/* Denies a request that lacks an identity which an enforced rule counts by, whatever a store
 * says. */
static bool deny_missing(const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                         struct sluice_decision *out)
{
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        struct sl_bundle denied = { .cost = bundle->cost, .now_us = SLUICE_NONE };
        if (claim->shadow || !claim->no_key)
            continue;
        sl_decision_show(&denied, claim, rules[i]->name, out);
        return true;
    }
    return false;
}

void sl_fallback_decide(const struct sl_settings *settings, struct sl_store *local,
                        const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                        struct sluice_decision *out)
{
    if (deny_missing(bundle, rules, out))
        return;
    sl_decision_fail(settings->on_store_failure, rules, bundle->claim_count, out);
    if (out->allowed && local)
        decide_locally(settings, local, bundle, rules, out);
}
