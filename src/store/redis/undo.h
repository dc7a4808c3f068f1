/* Charges that are changed afterwards, and nobody may do it twice: taken back, because another slot
 * of a cluster has denied the request, or failed; or settled at their real cost.
 *
 * A refund that is run twice would admit more than the limit, so one is asked again only while it
 * is certain that it has not run: refused, sent on, put off, never sent. Where it was sent and no
 * answer came, nobody knows: it is left, and what it held is lost until it drains. All that is
 * bounded: how many are asked again at a time, and for how long each. Every end is counted. */
#ifndef SL_STORE_REDIS_UNDO_H
#define SL_STORE_REDIS_UNDO_H

#include "store/redis/cluster/route.h"
#include "store/store.h"

struct sl_changing;
struct sl_undo;

/* A channel's. All zero but for the first two: there are none. */
struct sl_undos {
    struct sl_link_shared *shared;
    struct sl_cluster_route *route;
    uint32_t count;  /* of all, */
    uint32_t again;  /* and of those that were tried, and are asked again */
    bool is_closing; /* nothing is asked again */
};

/* Who waits until it was tried once. `status`: how that went; if it failed, it may still be done.
 */
struct sl_undo_told {
    void (*tried)(struct sl_undo_told *told, int status);
};

/* Gives back what the bundle's claims were charged (sl_ask_undo). The first try ends by then, or
 * is not waited for; `told` is called once, maybe within this. Nothing of the bundle is needed any
 * more then. */
void sl_undo_charges(struct sl_undos *undos, const struct sl_bundle *bundle, int64_t now_us,
                     int64_t due_us, struct sl_undo_told *told);

/* Settles charges, all of one slot. Nothing of them is needed any more when this returns, and
 * nothing is asked before sl_undo_send, so that many can be prepared out of one reply. `nonce` is
 * as a query's. NULL: no memory, and `told` is not called. */
struct sl_undo *sl_undo_prepare(struct sl_undos *undos, const struct sl_changing *changes,
                                size_t count, uint64_t nonce, struct sl_undo_told *told);
void sl_undo_send(struct sl_undo *undo, bool is_quiet); /* sl_query.is_quiet */

#endif
