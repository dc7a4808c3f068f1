/* Notes go from the thread that decides to the one that sums up, and back empty. */
#include "limiter/observe/observer.h"

#include <pthread.h>

#include "unit/base/unit.h"

static bool are_empty(const struct sl_samples *samples)
{
    return samples->count + samples->sample_count + samples->missed_denials + samples->missed_met ==
           0;
}

static struct sl_observer *observer;

static int open_observer(void **unused)
{
    (void)unused;
    observer = sl_observer_new();
    return observer ? 0 : -1;
}

static int close_observer(void **unused)
{
    (void)unused;
    sl_observer_free(observer);
    return 0;
}

#define WITH_OBSERVER(name) TEST_WITH(name, open_observer, close_observer)

/* As deciding does it. */
static void add_sample(uint64_t number)
{
    struct sl_hash128 key = { .low = number };
    struct sl_noted *noted = sl_samples_find(observer->samples, key);
    if (!noted)
        noted = sl_samples_add(observer->samples, key);
    if (noted)
        noted->met++;
    else
        observer->samples->missed_met++;
    atomic_store_explicit(&observer->has_notes, true, memory_order_relaxed);
}

WITH_OBSERVER(nothing_is_not_handed_over)
{
    const struct sl_samples *own = observer->samples;
    assert_false(sl_observer_has_samples(observer));
    sl_observer_hand_over(observer);
    assert_ptr_equal(observer->samples, own);
    assert_null(sl_observer_take(observer));
}

WITH_OBSERVER(what_was_noted_is_taken_once)
{
    const struct sl_samples *own = observer->samples;
    add_sample(5);
    assert_true(sl_observer_has_samples(observer));
    assert_null(sl_observer_take(observer)); /* not before it was handed over */
    observer->until_met = -3;
    sl_observer_hand_over(observer);
    assert_false(sl_observer_has_samples(observer));
    assert_ptr_not_equal(observer->samples, own);
    assert_true(are_empty(observer->samples));
    assert_int_equal(observer->until_met, 1); /* the next one is noted again */
    struct sl_samples *taken = sl_observer_take(observer);
    assert_ptr_equal(taken, own);
    assert_int_equal(taken->noted[0].key.low, 5);
    assert_null(sl_observer_take(observer));
    sl_observer_give(observer, taken);
    assert_true(are_empty(taken));
}

WITH_OBSERVER(until_the_last_is_given_back_noting_goes_on)
{
    add_sample(1);
    sl_observer_hand_over(observer);
    const struct sl_samples *second = observer->samples;
    add_sample(2);
    sl_observer_hand_over(observer); /* not taken yet */
    assert_ptr_equal(observer->samples, second);
    struct sl_samples *taken = sl_observer_take(observer);
    sl_observer_hand_over(observer); /* taken, and not given back */
    assert_ptr_equal(observer->samples, second);
    assert_true(sl_observer_has_samples(observer));
    add_sample(2);
    sl_observer_give(observer, taken);
    sl_observer_hand_over(observer);
    taken = sl_observer_take(observer);
    assert_ptr_equal(taken, second);
    assert_int_equal(taken->count, 1);
    assert_int_equal(taken->noted[0].met, 2);
    sl_observer_give(observer, taken);
}

/* Wherever they are at the time. */
WITH_OBSERVER(freeing_finds_all_of_them)
{
    add_sample(1);
    sl_observer_hand_over(observer); /* one lies there full, none empty */
    sl_observer_free(NULL);
}

/* ---- two threads ---- */

enum { TAKEN = 300, KEYS = 700 }; /* more than there is room for */

static _Atomic bool is_enough;
static _Atomic bool is_told; /* to hand over, as a worker that is woken */
static uint64_t noted;

static void *decide(void *unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (; !atomic_load(&is_enough); noted++) {
        add_sample(noted % KEYS);
        sl_distinct_see(observer->callers[3], unit_random(&seed));
        if (atomic_exchange_explicit(&is_told, false, memory_order_relaxed))
            sl_observer_hand_over(observer);
    }
    return NULL;
}

/* What was met, in all; clears it away. */
static uint64_t sum_up(struct sl_distinct *callers)
{
    struct sl_samples *taken = sl_observer_take(observer);
    sl_distinct_take(callers, observer->callers[3]);
    if (!taken)
        return 0;
    uint64_t sum = taken->missed_met;
    for (size_t i = 0; i < taken->count; i++)
        sum += taken->noted[i].met;
    sl_observer_give(observer, taken);
    return sum;
}

WITH_OBSERVER(between_two_threads_nothing_is_lost_and_nothing_twice)
{
    pthread_t decider;
    struct sl_distinct callers = { { 0 } };
    uint64_t sum = 0;
    assert_int_equal(pthread_create(&decider, NULL, decide, NULL), 0);
    for (int taken = 0; taken < TAKEN;) {
        uint64_t more = sum_up(&callers);
        sum += more;
        taken += more > 0;
        if (sl_observer_has_samples(observer))
            atomic_store_explicit(&is_told, true, memory_order_relaxed);
    }
    atomic_store(&is_enough, true);
    pthread_join(decider, NULL);
    sum += sum_up(&callers);
    sl_observer_hand_over(observer);
    sum += sum_up(&callers);
    assert_int_equal(sum, noted);
    assert_in_range(sl_distinct_count(&callers), noted * 3 / 4, noted * 5 / 4);
}
