/* Sums for guards: nothing is lost or counted twice, by any number of threads. */
#include "store/cache/guard_backlog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/base/unit.h"

#define S INT64_C(1000000)

static const struct sl_guard guard = { .window_us = 10 * S, .penalty_us = 60 * S, .threshold = 5 };
static const struct sl_guard other = { .window_us = 10 * S, .penalty_us = 60 * S, .threshold = 6 };
static const struct sl_guard quick = { .window_us = S - 1, .penalty_us = 60 * S, .threshold = 5 };
static struct sl_claim_name name = { .guard = { "rl:-:api~guard:{u}", 18 } };
static struct sl_guard_backlog *backlog;
static int64_t boot_us = S;

static int open_backlog(void **unused)
{
    (void)unused;
    backlog = sl_guard_backlog_new();
    return backlog ? 0 : -1;
}

static int close_backlog(void **unused)
{
    (void)unused;
    sl_guard_backlog_free(backlog);
    return 0;
}

#define WITH_BACKLOG(test) TEST_WITH(test, open_backlog, close_backlog)

static struct sl_claim claim_of(uint64_t number)
{
    return (struct sl_claim){ .guard = &guard,
                              .name = &name,
                              .guard_key = { number * UINT64_C(0x9e3779b97f4a7c15), number } };
}

static bool count_one(struct sl_claim claim, int64_t now_us)
{
    bool can = sl_guard_backlog_open(backlog, &claim);
    if (can)
        sl_guard_backlog_add(backlog, &claim, now_us);
    return can;
}

/* The sums of one report. */
static size_t take_all(struct sl_guard_backlog_sum *last)
{
    size_t count = 0;
    boot_us += S;
    if (!sl_guard_backlog_begin(backlog, boot_us))
        return 0;
    while (sl_guard_backlog_take(backlog, last))
        count++;
    return count;
}

WITH_BACKLOG(requests_of_a_window_are_summed_and_taken_once)
{
    struct sl_guard_backlog_sum sum;
    for (int i = 0; i < 7; i++)
        assert_true(count_one(claim_of(1), 1700 * S + i));
    assert_int_equal(take_all(&sum), 1);
    assert_int_equal(sum.count, 7);
    assert_int_equal(sum.start_us, 1700 * S);
    assert_int_equal(sum.guard.threshold, 5);
    assert_int_equal(sum.name_len, name.guard.len);
    assert_memory_equal(sum.name, name.guard.at, name.guard.len);
    assert_int_equal(take_all(&sum), 0);
}

WITH_BACKLOG(what_a_window_left_does_not_count_in_the_next)
{
    struct sl_guard_backlog_sum sum;
    count_one(claim_of(1), 1709 * S);
    count_one(claim_of(1), 1710 * S);
    count_one(claim_of(1), 1719 * S);
    assert_int_equal(take_all(&sum), 1);
    assert_int_equal(sum.count, 2);
    assert_int_equal(sum.start_us, 1710 * S);
}

WITH_BACKLOG(guards_with_other_numbers_have_accounts_of_their_own)
{
    struct sl_guard_backlog_sum sum;
    struct sl_claim claim = claim_of(1);
    claim.guard = &other;
    count_one(claim_of(1), 1700 * S);
    count_one(claim, 1700 * S);
    assert_int_equal(sl_guard_backlog_held(backlog), 2);
    assert_int_equal(take_all(&sum), 2);
    assert_int_equal(sum.count, 1);
}

/* Short windows, and names that do not fit. */
WITH_BACKLOG(some_guards_must_see_every_request)
{
    static char text[SL_GUARD_BACKLOG_NAME_MAX + 1];
    struct sl_claim_name longer = { .guard = { text, sizeof text } };
    struct sl_claim claims[] = { claim_of(1), claim_of(1), claim_of(1) };
    claims[0].guard = &quick;
    claims[1].name = &longer;
    claims[2].name = NULL;
    for (size_t i = 0; i < COUNT(claims); i++)
        assert_false(count_one(claims[i], 1700 * S));
    longer.guard.len--;
    assert_true(count_one(claims[1], 1700 * S));
}

WITH_BACKLOG(a_guard_that_wakes_sees_the_next_request_itself)
{
    struct sl_guard_backlog_sum sum;
    count_one(claim_of(1), 1700 * S);
    assert_int_equal(take_all(&sum), 1);
    sl_guard_backlog_wake(backlog, &sum);
    assert_false(count_one(claim_of(1), 1700 * S));
    assert_true(count_one(claim_of(1), 1700 * S));
}

WITH_BACKLOG(an_account_that_no_thread_uses_is_closed)
{
    struct sl_guard_backlog_sum sum, late;
    count_one(claim_of(1), 1700 * S);
    assert_int_equal(take_all(&sum), 1);
    for (int i = 0; i < 100; i++)
        take_all(&late);
    assert_int_equal(sl_guard_backlog_held(backlog), 0);
    assert_true(count_one(claim_of(1), 1700 * S));
    sl_guard_backlog_wake(backlog, &sum); /* of the one that was closed */
    assert_true(count_one(claim_of(1), 1700 * S));
}

WITH_BACKLOG(it_is_bounded)
{
    struct sl_guard_backlog_sum sum;
    size_t counted = 0, refused = 0;
    for (uint64_t i = 0; i < 4 * SL_GUARD_BACKLOG_MAX; i++) {
        bool can = count_one(claim_of(i), 1700 * S);
        counted += can;
        refused += !can;
    }
    assert_true(counted <= SL_GUARD_BACKLOG_MAX && refused > 0);
    assert_int_equal(sl_guard_backlog_held(backlog), counted);
    assert_int_equal(take_all(&sum), counted);
}

WITH_BACKLOG(it_is_due_ten_times_a_second_and_for_one)
{
    boot_us += S;
    assert_false(sl_guard_backlog_is_due(backlog, boot_us)); /* there is nothing */
    count_one(claim_of(1), 1700 * S);
    assert_true(sl_guard_backlog_is_due(backlog, boot_us));
    assert_true(sl_guard_backlog_begin(backlog, boot_us));
    assert_false(sl_guard_backlog_begin(backlog, boot_us));
    assert_false(sl_guard_backlog_is_due(backlog, boot_us + 50000));
    assert_true(sl_guard_backlog_is_due(backlog, boot_us + 100000));
}

/* What its parent has counted the parent reports. */
WITH_BACKLOG(the_child_of_a_fork_reports_nothing_of_its_parents)
{
    struct sl_guard_backlog_sum sum;
    count_one(claim_of(1), 1700 * S);
    pid_t child = fork();
    if (child == 0) {
        bool good = take_all(&sum) == 0 && sl_guard_backlog_held(backlog) == 0 &&
                    count_one(claim_of(1), 1700 * S) && take_all(&sum) == 1 && sum.count == 1;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(take_all(&sum), 1);
}

/* ---- threads ---- */

enum { ADDS = 50000, THREADS = 3, KEYS = 3 };

static _Atomic uint64_t added, running;

static void *add_many(void *about)
{
    uint64_t seed = (uint64_t)(uintptr_t)about;
    for (size_t i = 0; i < ADDS; i++)
        if (count_one(claim_of(unit_random(&seed) % KEYS), 1700 * S))
            atomic_fetch_add(&added, 1);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Here accounts are closed after some microseconds, not two seconds: a thread that has found one
 * open a moment ago may find it gone, and what it adds is lost. Nothing is counted twice. */
WITH_BACKLOG(sums_of_many_threads_come_to_what_was_added)
{
    struct sl_guard_backlog_sum sum;
    pthread_t threads[THREADS];
    uint64_t taken = 0;
    atomic_store(&running, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, (void *)(i + 1)), 0);
    for (bool more = true; more;) {
        more = atomic_load(&running) > 0;
        boot_us += S;
        if (!sl_guard_backlog_begin(backlog, boot_us))
            continue;
        while (sl_guard_backlog_take(backlog, &sum))
            taken += sum.count;
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    boot_us += S;
    sl_guard_backlog_begin(backlog, boot_us);
    while (sl_guard_backlog_take(backlog, &sum))
        taken += sum.count;
    assert_true(taken <= atomic_load(&added) && taken + 50 > atomic_load(&added));
}
