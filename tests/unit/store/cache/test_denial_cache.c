/* Recent denials, found again by claim and limit, by any number of threads. */
#include "store/cache/denial_cache.h"

#include <pthread.h>

#include "unit/base/unit.h"

#define S INT64_C(1000000)

static struct sl_denial_cache *denied;

static int open_denied(void **unused)
{
    (void)unused;
    denied = sl_denial_cache_new();
    return denied ? 0 : -1;
}

static int close_denied(void **unused)
{
    (void)unused;
    sl_denial_cache_free(denied);
    return 0;
}

#define WITH_DENIAL_CACHE(name) TEST_WITH(name, open_denied, close_denied)

static struct sl_claim claim_of(uint64_t number)
{
    return (struct sl_claim){ .algo = &sl_fixed_window,
                              .key = { number * UINT64_C(0x9e3779b97f4a7c15), ~number },
                              .limit = { .capacity = 10, .window_us = 60 * S } };
}

static struct sl_denial denial_of(uint32_t cost, int64_t until_us)
{
    return (struct sl_denial){ .asked_us = until_us - S,
                               .heard_us = until_us - S + 5,
                               .now_us = 1700 * S,
                               .until_us = until_us,
                               .generation = sl_denial_cache_generation(denied),
                               .cost = cost,
                               .state = { 11, 12, 13 } };
}

static void put(struct sl_claim claim, uint32_t cost, int64_t until_us)
{
    struct sl_denial denial = denial_of(cost, until_us);
    sl_denial_cache_put(denied, &claim, &denial);
}

static bool is_there(struct sl_claim claim, uint32_t cost, int64_t now_us)
{
    struct sl_denial denial;
    return sl_denial_cache_find(denied, &claim, (struct sl_ask){ now_us, cost }, &denial);
}

WITH_DENIAL_CACHE(what_was_put_is_found_until_it_is_over)
{
    struct sl_claim claim = claim_of(1);
    struct sl_denial wanted = denial_of(3, 9 * S), got;
    assert_false(is_there(claim, 3, 0));
    wanted.blocked_until_us = 1800 * S;
    sl_denial_cache_put(denied, &claim, &wanted);
    assert_true(sl_denial_cache_find(denied, &claim, (struct sl_ask){ 9 * S - 1, 3 }, &got));
    assert_memory_equal(&got, &wanted, sizeof got);
    assert_false(is_there(claim, 3, 9 * S));
    assert_int_equal(sl_denial_cache_count(denied, 9 * S - 1), 1);
    assert_int_equal(sl_denial_cache_count(denied, 9 * S), 0);
}

WITH_DENIAL_CACHE(a_denial_is_one_for_every_larger_cost)
{
    put(claim_of(1), 3, 9 * S);
    assert_false(is_there(claim_of(1), 2, S));
    assert_true(is_there(claim_of(1), 4, S));
    assert_true(is_there(claim_of(1), UINT32_MAX, S));
}

WITH_DENIAL_CACHE(one_is_dropped_and_no_other)
{
    struct sl_claim claim = claim_of(1);
    put(claim, 1, 9 * S);
    put(claim_of(2), 1, 9 * S);
    sl_denial_cache_drop(denied, &claim);
    assert_false(is_there(claim, 1, S));
    assert_true(is_there(claim_of(2), 1, S));
    assert_int_equal(sl_denial_cache_count(denied, S), 1);
    put(claim, 1, 9 * S);
    assert_true(is_there(claim, 1, S));
}

WITH_DENIAL_CACHE(another_limit_is_another_claim)
{
    struct sl_claim others[] = { claim_of(1), claim_of(1), claim_of(1), claim_of(1), claim_of(2) };
    others[0].limit.capacity++;
    others[1].limit.window_us++;
    others[2].limit.first_request = true;
    others[3].algo = &sl_sliding_window_counter;
    put(claim_of(1), 1, 9 * S);
    assert_true(is_there(claim_of(1), 1, S));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(is_there(others[i], 1, S));
    struct sl_claim bucket = claim_of(3), faster;
    bucket.algo = &sl_token_bucket;
    bucket.limit.token_ns = 1000;
    faster = bucket;
    faster.limit.token_ns--;
    put(bucket, 1, 9 * S);
    assert_true(is_there(bucket, 1, S));
    assert_false(is_there(faster, 1, S));
}

WITH_DENIAL_CACHE(what_is_forgotten_is_gone_also_if_it_was_on_its_way)
{
    struct sl_claim claim = claim_of(2);
    struct sl_denial late = denial_of(1, 9 * S);
    put(claim_of(1), 1, 9 * S);
    sl_denial_cache_forget(denied);
    sl_denial_cache_put(denied, &claim, &late);
    assert_false(is_there(claim_of(1), 1, S) || is_there(claim, 1, S));
    assert_int_equal(sl_denial_cache_count(denied, S), 0);
    put(claim_of(1), 1, 9 * S);
    assert_true(is_there(claim_of(1), 1, S));
}

WITH_DENIAL_CACHE(a_lower_cost_is_not_written_over_while_it_holds)
{
    put(claim_of(1), 1, 9 * S);
    put(claim_of(1), 5, 9 * S + 1);
    assert_true(is_there(claim_of(1), 1, S));
    put(claim_of(1), 5, 11 * S); /* asked at 10 s: the other is over */
    assert_false(is_there(claim_of(1), 1, S));
    assert_true(is_there(claim_of(1), 5, 10 * S));
}

/* Four times as many as it holds: it stays as large as it is, and what is over latest stays. */
WITH_DENIAL_CACHE(it_is_bounded_and_what_is_over_soonest_gives_way)
{
    size_t held = 0;
    for (uint64_t i = 0; i < 4 * SL_DENIAL_CACHE_MAX; i++)
        put(claim_of(i), 1, 9 * S + (int64_t)i);
    for (uint64_t i = 3 * SL_DENIAL_CACHE_MAX; i < 4 * SL_DENIAL_CACHE_MAX; i++)
        held += is_there(claim_of(i), 1, S);
    assert_true(sl_denial_cache_count(denied, S) <= SL_DENIAL_CACHE_MAX);
    assert_true(sl_denial_cache_count(denied, S) > SL_DENIAL_CACHE_MAX * 99 / 100);
    assert_true(held > SL_DENIAL_CACHE_MAX * 3 / 4);
    put(claim_of(UINT64_MAX), 1, S); /* is over before all others */
    assert_false(is_there(claim_of(UINT64_MAX), 1, 0));
}

/* ---- threads ---- */

enum { ROUNDS = 20000, KEYS = 24, THREADS = 4 };

/* What belongs together in it. */
static void *write_and_read(void *about)
{
    uint64_t seed = (uint64_t)(uintptr_t)about;
    for (size_t i = 0; i < ROUNDS; i++) {
        uint64_t number = unit_random(&seed) % KEYS;
        struct sl_claim claim = claim_of(number);
        int64_t mark = (int64_t)(unit_random(&seed) >> 8);
        struct sl_denial denial = denial_of(1, INT64_MAX - (int64_t)number);
        struct sl_denial got;
        denial.asked_us = denial.now_us = denial.state[0] = denial.state[2] = mark;
        denial.state[1] = (int64_t)number;
        sl_denial_cache_put(denied, &claim, &denial);
        if (i % 1000 == 999)
            sl_denial_cache_forget(denied);
        if (i % 10 == 9)
            sl_denial_cache_drop(denied, &claim);
        claim = claim_of(unit_random(&seed) % KEYS);
        if (!sl_denial_cache_find(denied, &claim, (struct sl_ask){ S, 1 }, &got))
            continue;
        bool is_whole = got.asked_us == got.now_us && got.now_us == got.state[0] &&
                        got.state[0] == got.state[2] && got.until_us == INT64_MAX - got.state[1] &&
                        claim_of((uint64_t)got.state[1]).key.low == claim.key.low;
        if (!is_whole)
            return (void *)1;
    }
    return NULL;
}

WITH_DENIAL_CACHE(threads_find_whole_denials_or_none)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}
