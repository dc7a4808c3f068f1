/* Decides a request whose claims live in several slots of a cluster, where no one script can.
 *
 *   slots     17        4711       9000       13371 (shadow rules alone)
 *             take  →   take   →   take   →   take                     all allow: allowed
 *             take  →   denied →   look       look                     denied, and the
 *             give back                                                first is given back
 *
 * The claims of each slot are a part, which is one script call as usual. Parts are taken one after
 * another in the order of their slots, the same order for every request: of requests that compete
 * for the last units the first succeeds, whereas two that took in different orders would both fail.
 * What was taken before a denial is given back (undo.h). The parts behind it are looked at, all at
 * once, because the answer names the longest wait of all rules, and burst guards count every
 * request. Shadow rules are charged only if the whole is allowed, so parts that have nothing else
 * come last, together.
 *
 * Why not all at once, and then give back? That is one round trip instead of one for each part, but
 * every denied request would charge all other rules for a moment: a flood over one limit would push
 * other callers over theirs. And of many requests for the same units fewer would get them. */
#ifndef SL_STORE_REDIS_PARTS_H
#define SL_STORE_REDIS_PARTS_H

#include "store/redis/undo.h"

/* Do its claims live in more than one slot, or in one whose keys are moving to another node? While
 * a slot moves, a script with several keys finds some on either node, and Redis refuses it
 * (TRYAGAIN) until the last has moved; a script with one key is always answered by one of the two.
 * So in such a slot each claim is a part of its own. */
bool sl_bundle_is_scattered(const struct sl_bundle *bundle, const struct sl_cluster *cluster);

/* The caller that waits for a decision. */
struct sl_parts_told {
    void (*done)(struct sl_parts_told *told);
};

/* Decides a bundle, and makes a reservation of what it charges if that is asked for; bundle->status
 * has the result. The claims' names may go when this returns. `done` is called once, maybe within
 * this. `nonce` is as in a query. */
void sl_parts_decide(struct sl_undos *undos, struct sl_bundle *bundle, uint64_t nonce,
                     struct sl_parts_told *told);

#endif
