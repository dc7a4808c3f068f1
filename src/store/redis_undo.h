/* Charges that are taken back, because another slot of a cluster has denied the request, or failed.
 *
 * A refund that is run twice would admit more than the limit, so one is asked again only while it
 * is certain that it has not run: refused, sent on, put off, never sent. Where it was sent and no
 * answer came, nobody knows: it is left, and what it held is lost until it drains. All that is
 * bounded: how many there are at a time, and for how long each is tried. Every end is counted. */
#ifndef SL_STORE_REDIS_UNDO_H
#define SL_STORE_REDIS_UNDO_H

#include "store/redis_route.h"
#include "store/store.h"

/* A channel's. All zero but for the first two: there are none. */
struct sl_undos {
    struct sl_link_shared *shared;
    struct sl_route *route;
    uint32_t count;
    bool is_closing; /* nothing is asked again */
};

/* Who waits until it was tried once. */
struct sl_undo_told {
    void (*tried)(struct sl_undo_told *told);
};

/* Gives back what the bundle's claims were charged (sl_ask_undo). The first try ends by then, or
 * is not waited for; `told` is called once, maybe within this. Nothing of the bundle is needed any
 * more then. */
void sl_undo_charges(struct sl_undos *undos, const struct sl_bundle *bundle, int64_t now_us,
                     int64_t due_us, struct sl_undo_told *told);

#endif
