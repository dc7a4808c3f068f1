/* What a limiter sees, for those who watch: who is limited and who asks most, how long it takes,
 * how many different callers a rule has.
 *
 * A sight is one deciding thread's; the limiters that it goes through, reload by reload, use the
 * same one. Nothing here waits or locks:
 *
 *   deciding thread                          the one that sums up
 *   notes, callers' registers   ── full ──→  sl_observer_take
 *   goes on with empty ones     ←─ empty ──  sl_observer_give
 *
 * The first hands over when it is told to (sl_observer_hand_over). On the way of a decision there
 * is a countdown, a look at what each claim says, and a register of each rule's callers; all else
 * happens for denials, and for a sample of the rest.
 *
 * Rules go by numbers that outlive a reload, from whoever sums up: numbers[i] is that of the
 * rule of index i. */
#ifndef SL_LIMITER_OBSERVE_OBSERVER_H
#define SL_LIMITER_OBSERVE_OBSERVER_H

#include <stdatomic.h>

#include "base/stats/distinct.h"
#include "limiter/observe/samples.h"

enum { SL_CALLERS_RULES = 1024 }; /* rules of higher numbers have no callers' registers */

#define SL_OBSERVER_EVERY_US 1000 /* a batch is timed at most so often */

struct sl_observer {
    struct sl_samples *samples; /* the deciding thread's */
    int64_t until_met;          /* requests until the next one is noted as met */
    int64_t timed_us;           /* when a batch was timed last, by the store's clock */
    bool times_next;            /* the next batch is */
    _Atomic bool has_notes;     /* there is something to hand over */
    _Atomic(struct sl_samples *) full;
    _Atomic(struct sl_samples *) empty;
    /* Whom a rule has met, and whom it has denied; by its number. */
    _Atomic uint8_t callers[SL_CALLERS_RULES][SL_DISTINCT_REGISTERS];
    _Atomic uint8_t limited[SL_CALLERS_RULES][SL_DISTINCT_REGISTERS];
};

/* NULL: no memory. */
struct sl_observer *sl_observer_new(void);
void sl_observer_free(struct sl_observer *observer);

/* The deciding thread: hands over what it has noted, if the last was taken. */
void sl_observer_hand_over(struct sl_observer *observer);

/* The other one: what was handed over, or NULL; to be given back cleared. */
struct sl_samples *sl_observer_take(struct sl_observer *observer);
void sl_observer_give(struct sl_observer *observer, struct sl_samples *samples);

/* Is there something that it could hand over, when told to? */
static inline bool sl_observer_has_samples(const struct sl_observer *observer)
{
    return atomic_load_explicit(&observer->has_notes, memory_order_relaxed);
}

#endif
