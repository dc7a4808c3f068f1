/* A request whose claims live in several slots of a cluster, so that no one script can decide them.
 *
 *   slots     17        4711       9000       13371 (shadow rules alone)
 *             take  →   take   →   take   →   take                     all allow: allowed
 *             take  →   denied →   look       look                     denied, and the
 *             give back                                                first is given back
 *
 * The claims of each slot are a part, one script call as ever. Parts are taken one after another in
 * the order of their slots, which is the same for everybody: of those who compete for the last
 * units the first comes through, where two who took in different orders would both fail. What came
 * before a denial is given back (undo.h); the parts behind it are looked at, all at once,
 * because the answer names the longest wait of all rules, and their burst guards count who asks.
 * Shadow rules are charged only where the whole is allowed, so parts of nothing else come last,
 * together.
 *
 * Why not all at once, and then give back? It would be one round trip instead of one for each part,
 * but every denied request would charge all other rules for a moment: who floods one limit
 * would push others over theirs. And of many who compete for the same units fewer would get them.
 */
#ifndef SL_STORE_REDIS_PARTS_H
#define SL_STORE_REDIS_PARTS_H

#include "store/redis/undo.h"

/* Do its claims live in more than one slot; or in one whose keys are on their way to another node?
 * There a script with several keys finds some of them here and some there, and Redis refuses it
 * (TRYAGAIN) until the last has moved, while one with one key is always answered by somebody. So
 * in such a slot each claim is a part of its own. */
bool sl_bundle_is_scattered(const struct sl_bundle *bundle, const struct sl_cluster *cluster);

/* Who waits for a decision. */
struct sl_parts_told {
    void (*done)(struct sl_parts_told *told);
};

/* Decides it, and holds what it charges where that is asked for; bundle->status says how it went.
 * The claims' names are not needed any more when this returns. `done` is called once, maybe within
 * this. `nonce` is as a query's. */
void sl_parts_decide(struct sl_undos *undos, struct sl_bundle *bundle, uint64_t nonce,
                     struct sl_parts_told *told);

#endif
