/* What a limiter sees, for those who watch: who is limited and who asks most, how long it takes,
 * how many different callers a rule has.
 *
 * A sight is one deciding thread's; the limiters that it goes through, reload by reload, use the
 * same one. Nothing here waits or locks:
 *
 *   deciding thread                          the one that sums up
 *   notes, callers' registers   ── full ──→  sl_sight_take
 *   goes on with empty ones     ←─ empty ──  sl_sight_give
 *
 * The first hands over when it is told to (sl_sight_hand_over). On the way of a decision there is
 * a countdown, a look at what each claim says, and a register of each rule's callers; all else
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

#define SL_SIGHT_EVERY_US 1000 /* a batch is timed at most so often */

struct sl_sight {
    struct sl_notes *notes; /* the deciding thread's */
    int64_t until_met;      /* requests until the next one is noted as met */
    int64_t timed_us;       /* when a batch was timed last, by the store's clock */
    bool times_next;        /* the next batch is */
    _Atomic bool has_notes; /* there is something to hand over */
    _Atomic(struct sl_notes *) full;
    _Atomic(struct sl_notes *) empty;
    /* Whom a rule has met, and whom it has denied; by its number. */
    _Atomic uint8_t callers[SL_CALLERS_RULES][SL_DISTINCT_REGISTERS];
    _Atomic uint8_t limited[SL_CALLERS_RULES][SL_DISTINCT_REGISTERS];
};

/* NULL: no memory. */
struct sl_sight *sl_sight_new(void);
void sl_sight_free(struct sl_sight *sight);

/* The deciding thread: hands over what it has noted, if the last was taken. */
void sl_sight_hand_over(struct sl_sight *sight);

/* The other one: what was handed over, or NULL; to be given back cleared. */
struct sl_notes *sl_sight_take(struct sl_sight *sight);
void sl_sight_give(struct sl_sight *sight, struct sl_notes *notes);

/* Is there something that it could hand over, when told to? */
static inline bool sl_sight_has_notes(const struct sl_sight *sight)
{
    return atomic_load_explicit(&sight->has_notes, memory_order_relaxed);
}

#endif
