/* Hands samples from the deciding thread to the one that sums them up (see observer.h). */
#include "limiter/observe/observer.h"

#include <stdlib.h>

struct sl_observer *sl_observer_new(void)
{
    struct sl_observer *observer = calloc(1, sizeof *observer);
    struct sl_samples *samples = sl_samples_new(), *empty = sl_samples_new();
    if (!observer || !samples || !empty) {
        free(observer);
        free(samples);
        free(empty);
        return NULL;
    }
    observer->samples = samples;
    observer->until_met = 1;
    observer->times_next = true;
    atomic_init(&observer->empty, empty);
    return observer;
}

void sl_observer_free(struct sl_observer *observer)
{
    if (!observer)
        return;
    free(observer->samples);
    free(atomic_load(&observer->full));
    free(atomic_load(&observer->empty));
    free(observer);
}

void sl_observer_hand_over(struct sl_observer *observer)
{
    if (!sl_observer_has_samples(observer))
        return;
    struct sl_samples *empty = atomic_exchange(&observer->empty, NULL);
    if (!empty)
        return; /* the samples handed over last are not back yet */
    atomic_store_explicit(&observer->has_notes, false, memory_order_relaxed);
    atomic_store_explicit(&observer->full, observer->samples, memory_order_release);
    observer->samples = empty;
    observer->until_met = 1;
}

struct sl_samples *sl_observer_take(struct sl_observer *observer)
{
    return atomic_exchange(&observer->full, NULL);
}

void sl_observer_give(struct sl_observer *observer, struct sl_samples *samples)
{
    sl_samples_clear(samples);
    atomic_store_explicit(&observer->empty, samples, memory_order_release);
}
