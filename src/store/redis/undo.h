/* Changes charges afterwards, each at most once: takes them back, because another slot of a cluster
 * has denied the request, or failed; or settles them at their real cost.
 *
 * A refund that ran twice would admit more than the limit. So it is sent again only while it is
 * certain that it has not run: refused, redirected, delayed, never sent. If it was sent and no
 * reply came, that is uncertain: it is given up, and what it held is lost until it drains. How many
 * are sent again at a time, and for how long, is bounded. Every end is counted. */
#ifndef SL_STORE_REDIS_UNDO_H
#define SL_STORE_REDIS_UNDO_H

#include "store/redis/cluster/route.h"
#include "store/store.h"

struct sl_changing;
struct sl_undo;

/* The undos of a channel. With all but the first two members zero there are none. */
struct sl_undos {
    struct sl_link_shared *shared;
    struct sl_cluster_route *route;
    uint32_t count;  /* of all undos */
    uint32_t again;  /* of those that have failed once, and are sent again */
    bool is_closing; /* nothing is sent again */
};

/* The caller that waits for the first try. `status` is its result; after a failure it may still be
 * done later. */
struct sl_undo_told {
    void (*tried)(struct sl_undo_told *told, int status);
};

/* Gives back what the bundle's claims were charged (sl_ask_undo). The caller waits for the first
 * try until `due_us` at most; `told` is called once, maybe within this. The bundle may go then. */
void sl_undo_charges(struct sl_undos *undos, const struct sl_bundle *bundle, int64_t now_us,
                     int64_t due_us, struct sl_undo_told *told);

/* Settles charges, all of one slot. `changes` may go when this returns. Nothing is sent before
 * sl_undo_send, so that many can be prepared out of one reply. `nonce` is as in a query. Returns
 * NULL if memory is missing; `told` is not called then. */
struct sl_undo *sl_undo_prepare(struct sl_undos *undos, const struct sl_changing *changes,
                                size_t count, uint64_t nonce, struct sl_undo_told *told);
void sl_undo_send(struct sl_undo *undo, bool is_quiet); /* sl_query.is_quiet */

#endif
