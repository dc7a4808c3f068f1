#include "limiter/observe/observer.h"

#include <stdlib.h>

struct sl_sight *sl_sight_new(void)
{
    struct sl_sight *sight = calloc(1, sizeof *sight);
    struct sl_notes *notes = sl_notes_new(), *empty = sl_notes_new();
    if (!sight || !notes || !empty) {
        free(sight);
        free(notes);
        free(empty);
        return NULL;
    }
    sight->notes = notes;
    sight->until_met = 1;
    sight->times_next = true;
    atomic_init(&sight->empty, empty);
    return sight;
}

void sl_sight_free(struct sl_sight *sight)
{
    if (!sight)
        return;
    free(sight->notes);
    free(atomic_load(&sight->full));
    free(atomic_load(&sight->empty));
    free(sight);
}

void sl_sight_hand_over(struct sl_sight *sight)
{
    if (!sl_sight_has_notes(sight))
        return;
    struct sl_notes *empty = atomic_exchange(&sight->empty, NULL);
    if (!empty)
        return; /* the last was not given back yet */
    atomic_store_explicit(&sight->has_notes, false, memory_order_relaxed);
    atomic_store_explicit(&sight->full, sight->notes, memory_order_release);
    sight->notes = empty;
    sight->until_met = 1;
}

struct sl_notes *sl_sight_take(struct sl_sight *sight)
{
    return atomic_exchange(&sight->full, NULL);
}

void sl_sight_give(struct sl_sight *sight, struct sl_notes *notes)
{
    sl_notes_clear(notes);
    atomic_store_explicit(&sight->empty, notes, memory_order_release);
}
