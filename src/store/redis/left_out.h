/* Decides without claims that the store did not answer, if the decision stands without them: those
 * of shadow rules, which never decide, and of rules that do not count while the store is away
 * (`on_store_failure: allow`). The other claims decide, and are charged: a node of a cluster that
 * is down switches off its own rules and no others.
 *
 * At least one enforced claim must have an answer. Otherwise the store has failed, and the caller
 * decides by the policy. */
#ifndef SL_STORE_REDIS_LEFT_OUT_H
#define SL_STORE_REDIS_LEFT_OUT_H

#include "store/store.h"

static inline bool sl_claim_may_be_left_out(const struct sl_claim *claim)
{
    return claim->shadow || claim->is_optional;
}

/* Decides the claim as if nothing was counted; bundle->now_us must be set. */
void sl_claim_leave_out(struct sl_claim *claim, struct sl_bundle *bundle);

/* Returns the time of claims that were taken from leases, or else our own clock's. */
int64_t sl_bundle_time_here_us(const struct sl_bundle *bundle);

/* Call when the store has failed. Returns true if claims taken from leases decide without it; then
 * they have. */
bool sl_bundle_decide_without(struct sl_bundle *bundle);

#endif
