/* An observer of a limiter, for statistics: which identifiers are denied and which ask most, how
 * long decisions take, how many different callers a rule has.
 *
 * An observer belongs to one deciding thread; its limiters, one after each reload, use the same
 * one. Nothing here waits or locks:
 *
 *   deciding thread                          the thread that sums up
 *   samples, callers' registers ── full ──→  sl_observer_take
 *   goes on with empty ones     ←─ empty ──  sl_observer_give
 *
 * The deciding thread hands over when it is told to (sl_observer_hand_over). On the way of a
 * decision there is a countdown, a look at each claim's answer, and a register of each rule's
 * callers; all else happens for denials, and for a sample of the rest.
 *
 * Rules have numbers that outlive a reload, given by the thread that sums up: numbers[i] is that of
 * the rule of index i. */
#ifndef SL_LIMITER_OBSERVE_OBSERVER_H
#define SL_LIMITER_OBSERVE_OBSERVER_H

#include <stdatomic.h>

#include "base/stats/distinct.h"
#include "limiter/observe/samples.h"

enum { SL_CALLERS_RULES = 1024 }; /* rules of higher numbers have no registers of callers */

#define SL_OBSERVER_EVERY_US 1000 /* batches are timed at most so often */

struct sl_observer {
    struct sl_samples *samples; /* the deciding thread's */
    int64_t until_met;          /* requests until the next one is sampled */
    int64_t timed_us;           /* when a batch was timed last, by the store's clock */
    bool times_next;            /* time the next batch */
    _Atomic bool has_notes;     /* there are samples to hand over */
    _Atomic(struct sl_samples *) full;
    _Atomic(struct sl_samples *) empty;
    /* Registers of the callers that a rule has counted, and of those it has denied; by its
     * number. */
    _Atomic uint8_t callers[SL_CALLERS_RULES][SL_DISTINCT_REGISTERS];
    _Atomic uint8_t limited[SL_CALLERS_RULES][SL_DISTINCT_REGISTERS];
};

/* Returns NULL if there is no memory. */
struct sl_observer *sl_observer_new(void);
void sl_observer_free(struct sl_observer *observer);

/* Called by the deciding thread: hands over its samples, if the last ones were taken. */
void sl_observer_hand_over(struct sl_observer *observer);

/* Called by the other thread: returns the samples handed over, or NULL; give them back cleared. */
struct sl_samples *sl_observer_take(struct sl_observer *observer);
void sl_observer_give(struct sl_observer *observer, struct sl_samples *samples);

/* Are there samples that it could hand over? */
static inline bool sl_observer_has_samples(const struct sl_observer *observer)
{
    return atomic_load_explicit(&observer->has_notes, memory_order_relaxed);
}

#endif
