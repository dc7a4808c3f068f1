/* Notes go from the thread that decides to the one that sums up, and back empty. */
#include "limiter/observe/observer.h"

#include <pthread.h>

#include "unit/base/unit.h"

static bool are_empty(const struct sl_notes *notes)
{
    return notes->count + notes->sample_count + notes->missed_denials + notes->missed_met == 0;
}

static struct sl_sight *sight;

static int open_sight(void **unused)
{
    (void)unused;
    sight = sl_sight_new();
    return sight ? 0 : -1;
}

static int close_sight(void **unused)
{
    (void)unused;
    sl_sight_free(sight);
    return 0;
}

#define WITH_SIGHT(name) cmocka_unit_test_setup_teardown(name, open_sight, close_sight)

/* As deciding does it. */
static void note(uint64_t number)
{
    struct sl_hash128 key = { .low = number };
    struct sl_noted *noted = sl_notes_find(sight->notes, key);
    if (!noted)
        noted = sl_notes_add(sight->notes, key);
    if (noted)
        noted->met++;
    else
        sight->notes->missed_met++;
    atomic_store_explicit(&sight->has_notes, true, memory_order_relaxed);
}

static void nothing_is_not_handed_over(void **unused)
{
    (void)unused;
    const struct sl_notes *own = sight->notes;
    assert_false(sl_sight_has_notes(sight));
    sl_sight_hand_over(sight);
    assert_ptr_equal(sight->notes, own);
    assert_null(sl_sight_take(sight));
}

static void what_was_noted_is_taken_once(void **unused)
{
    (void)unused;
    const struct sl_notes *own = sight->notes;
    note(5);
    assert_true(sl_sight_has_notes(sight));
    assert_null(sl_sight_take(sight)); /* not before it was handed over */
    sight->until_met = -3;
    sl_sight_hand_over(sight);
    assert_false(sl_sight_has_notes(sight));
    assert_ptr_not_equal(sight->notes, own);
    assert_true(are_empty(sight->notes));
    assert_int_equal(sight->until_met, 1); /* the next one is noted again */
    struct sl_notes *taken = sl_sight_take(sight);
    assert_ptr_equal(taken, own);
    assert_int_equal(taken->noted[0].key.low, 5);
    assert_null(sl_sight_take(sight));
    sl_sight_give(sight, taken);
    assert_true(are_empty(taken));
}

static void until_the_last_is_given_back_noting_goes_on(void **unused)
{
    (void)unused;
    note(1);
    sl_sight_hand_over(sight);
    const struct sl_notes *second = sight->notes;
    note(2);
    sl_sight_hand_over(sight); /* not taken yet */
    assert_ptr_equal(sight->notes, second);
    struct sl_notes *taken = sl_sight_take(sight);
    sl_sight_hand_over(sight); /* taken, and not given back */
    assert_ptr_equal(sight->notes, second);
    assert_true(sl_sight_has_notes(sight));
    note(2);
    sl_sight_give(sight, taken);
    sl_sight_hand_over(sight);
    taken = sl_sight_take(sight);
    assert_ptr_equal(taken, second);
    assert_int_equal(taken->count, 1);
    assert_int_equal(taken->noted[0].met, 2);
    sl_sight_give(sight, taken);
}

/* Wherever they are at the time. */
static void freeing_finds_all_of_them(void **unused)
{
    (void)unused;
    note(1);
    sl_sight_hand_over(sight); /* one lies there full, none empty */
    sl_sight_free(NULL);
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
        note(noted % KEYS);
        sl_distinct_see(sight->callers[3], unit_random(&seed));
        if (atomic_exchange_explicit(&is_told, false, memory_order_relaxed))
            sl_sight_hand_over(sight);
    }
    return NULL;
}

/* What was met, in all; clears it away. */
static uint64_t sum_up(struct sl_distinct *callers)
{
    struct sl_notes *taken = sl_sight_take(sight);
    sl_distinct_take(callers, sight->callers[3]);
    if (!taken)
        return 0;
    uint64_t sum = taken->missed_met;
    for (size_t i = 0; i < taken->count; i++)
        sum += taken->noted[i].met;
    sl_sight_give(sight, taken);
    return sum;
}

static void between_two_threads_nothing_is_lost_and_nothing_twice(void **unused)
{
    (void)unused;
    pthread_t decider;
    struct sl_distinct callers = { { 0 } };
    uint64_t sum = 0;
    assert_int_equal(pthread_create(&decider, NULL, decide, NULL), 0);
    for (int taken = 0; taken < TAKEN;) {
        uint64_t more = sum_up(&callers);
        sum += more;
        taken += more > 0;
        if (sl_sight_has_notes(sight))
            atomic_store_explicit(&is_told, true, memory_order_relaxed);
    }
    atomic_store(&is_enough, true);
    pthread_join(decider, NULL);
    sum += sum_up(&callers);
    sl_sight_hand_over(sight);
    sum += sum_up(&callers);
    assert_int_equal(sum, noted);
    assert_in_range(sl_distinct_count(&callers), noted * 3 / 4, noted * 5 / 4);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_SIGHT(nothing_is_not_handed_over),
        WITH_SIGHT(what_was_noted_is_taken_once),
        WITH_SIGHT(until_the_last_is_given_back_noting_goes_on),
        WITH_SIGHT(freeing_finds_all_of_them),
        WITH_SIGHT(between_two_threads_nothing_is_lost_and_nothing_twice),
    };
    return RUN(tests);
}
