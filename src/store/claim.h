/* The steps of deciding and charging one claim, for every store that has the
 * states in memory. */
#ifndef SL_STORE_CLAIM_H
#define SL_STORE_CLAIM_H

#include "store/store.h"

/* Counts the request with the claim's guard, or only peeks if it takes nothing. */
void sl_claim_guard(struct sl_claim *claim, const struct sl_bundle *bundle, struct sl_state *guard);

/* Fills in the claim's answer and whether it allows. */
void sl_claim_decide(struct sl_claim *claim, const struct sl_bundle *bundle,
                     const struct sl_state *state);

/* Sets bundle->allowed from its claims. */
void sl_bundle_judge(struct sl_bundle *bundle);

enum sl_write { SL_WRITE_NOTHING, SL_WRITE_REPAIR, SL_WRITE_CHARGE };

/* Returns what to write into a claim's state once the bundle is judged. */
enum sl_write sl_claim_write(const struct sl_claim *claim, const struct sl_bundle *bundle);

/* Fills in the claim's figures from its state after the charge, blocks included. */
void sl_claim_measure(struct sl_claim *claim, const struct sl_bundle *bundle,
                      const struct sl_state *state);

/* Returns the length of the rings that are allocated for at least `ring_len`. */
uint32_t sl_ring_class(uint32_t ring_len);

#endif
