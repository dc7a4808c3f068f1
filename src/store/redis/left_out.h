/* Claims that the store could not be asked about, where the decision stands without them: those of
 * shadow rules, which never decide, and of rules that do not count while it is away
 * (`on_store_failure: allow`). What the others say counts, and is charged: a node of a cluster that
 * is down switches off its own rules and no others.
 *
 * At least one enforced claim must be answered for. Else the store has failed, and who asked
 * decides by the policy. */
#ifndef SL_STORE_REDIS_LEFT_OUT_H
#define SL_STORE_REDIS_LEFT_OUT_H

#include "store/store.h"

static inline bool sl_claim_may_be_left_out(const struct sl_claim *claim)
{
    return claim->shadow || claim->is_optional;
}

/* As if nothing was counted; bundle->now_us is known. */
void sl_claim_leave_out(struct sl_claim *claim, struct sl_bundle *bundle);

/* When it is, by what was taken from leases; or by our own clock. */
int64_t sl_bundle_time_here_us(const struct sl_bundle *bundle);

/* The store has failed. True: what was taken from leases decides without it, and has. */
bool sl_bundle_decide_without(struct sl_bundle *bundle);

#endif
