/* Counts of what a limiter has decided, for statistics.
 *
 * One thread writes a limiter's counts: the one that decides. Any thread reads them while it does.
 * So adding is a load and a store, without a locked instruction, and a count is never torn; counts
 * read one after another may be a few decisions apart. They lie on cache lines of their own:
 * readers do not slow down the writer.
 *
 * Peeks are not counted: they decide nothing. */
#ifndef SL_LIMITER_OBSERVE_COUNTS_H
#define SL_LIMITER_OBSERVE_COUNTS_H

#include <stdatomic.h>

#include "base/check.h"
#include "rules/ruleset.h"
#include "store/store.h"

/* A rule's own outcome, whatever the others decided: constant and the name that users see. */
#define SL_OUTCOMES(X)                                                                             \
    X(SL_OUTCOME_ALLOWED, "allowed")                                                               \
    X(SL_OUTCOME_DENIED, "denied")                                                                 \
    X(SL_OUTCOME_SHADOW_DENIED, "shadow_denied") /* would deny if it were enforced */              \
    X(SL_OUTCOME_STORE_FAILED, "store_failed")

enum sl_outcome {
#define SL_OUTCOME_ROW(constant, name) constant,
    SL_OUTCOMES(SL_OUTCOME_ROW)
#undef SL_OUTCOME_ROW
};

#define SL_ONE_MORE(constant, name) +1
enum { SL_OUTCOME_COUNT = SL_OUTCOMES(SL_ONE_MORE), SL_REASON_COUNT = SLUICE_REASONS(SL_ONE_MORE) };
#undef SL_ONE_MORE

/* Trust scores by tenths: up to 0.1, up to 0.2, … up to 1. */
enum { SL_TRUST_TENTHS = 10 };

/* After the rules: limits that requests brought, by their kind (limiter.h). */
enum { SL_COUNTS_DIRECT = 2 };

struct sl_counts {
    const struct sl_ruleset *rules;
    _Atomic uint64_t decisions[SL_REASON_COUNT][2]; /* [reason][allowed] */
    /* Trust scores used by adaptive rules, by tenths, and their sum. */
    _Atomic uint64_t trust[SL_TRUST_TENTHS];
    _Atomic uint64_t trust_thousandths;
    _Atomic uint64_t answers[2]; /* [allowed]: without asking the store */
    /* By the rule's index; every rule that took part. One rule's counts are on one cache line. */
    _Alignas(32) _Atomic uint64_t by_rule[][SL_OUTCOME_COUNT];
};

/* Keeps the pointer to the rules. Returns NULL if there is no memory. */
struct sl_counts *sl_counts_new(const struct sl_ruleset *rules);
void sl_counts_free(struct sl_counts *counts);

/* Called by any thread. */
static inline uint64_t sl_count_read(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Called by the one thread that writes. */
static inline void sl_count_add(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, sl_count_read(count) + more, memory_order_relaxed);
}

static inline void sl_counts_decision(struct sl_counts *counts,
                                      const struct sluice_decision *decision)
{
    sl_count_add(&counts->decisions[decision->reason][decision->allowed], 1);
}

/* 0 to SL_TRUST_MAX. */
static inline void sl_counts_trust(struct sl_counts *counts, int32_t thousandths)
{
    uint32_t score = (uint32_t)thousandths;
    enum { TENTH = SL_TRUST_MAX / SL_TRUST_TENTHS };
    SL_CHECK(score <= SL_TRUST_MAX);
    sl_count_add(&counts->trust[score ? (score - 1) / TENTH : 0], 1);
    sl_count_add(&counts->trust_thousandths, score);
}

static inline enum sl_outcome sl_outcome_of(const struct sl_bundle *bundle,
                                            const struct sl_claim *claim)
{
    if (bundle->status != SLUICE_OK || (bundle->is_degraded && claim->is_lost))
        return SL_OUTCOME_STORE_FAILED;
    if (claim->allowed)
        return SL_OUTCOME_ALLOWED;
    return claim->shadow ? SL_OUTCOME_SHADOW_DENIED : SL_OUTCOME_DENIED;
}

static inline void sl_counts_answer_cache(struct sl_counts *counts, const struct sl_bundle *bundle)
{
    if (__builtin_expect(bundle->is_near, 0))
        sl_count_add(&counts->answers[bundle->allowed], 1);
}

/* Counts every claim of a decided bundle; rules[i] made claim i. A rule that was not decided,
 * because another's denial was known, has no outcome. */
static inline void sl_counts_bundle(struct sl_counts *counts, const struct sl_bundle *bundle,
                                    const struct sl_rule *const *rules)
{
    const struct sl_claim *end = bundle->claims + bundle->claim_count;
    sl_counts_answer_cache(counts, bundle);
    for (const struct sl_claim *claim = bundle->claims; claim < end; claim++, rules++)
        if (!claim->is_unseen)
            sl_count_add(&counts->by_rule[(*rules)->index][sl_outcome_of(bundle, claim)], 1);
}

/* Moves the counts of `from`, rules by their names; counts of a rule that is gone are lost. */
void sl_counts_inherit(struct sl_counts *to, struct sl_counts *from);

#endif
