#include "base/stats/distinct.h"

#include <pthread.h>
#include <sched.h>

#include "unit/base/unit.h"

TEST(an_empty_set_counts_zero)
{
    struct sl_distinct none = { { 0 } };
    assert_int_equal(sl_distinct_count(&none), 0);
}

TEST(a_value_added_again_is_not_counted_again)
{
    struct sl_distinct seen = { { 0 } };
    for (int i = 0; i < 1000; i++)
        sl_distinct_add(&seen, UINT64_C(0x1234567890abcdef));
    assert_int_equal(sl_distinct_count(&seen), 1);
}

/* No 1 above the register's number: the highest rank there is. */
TEST(every_hash_is_counted)
{
    static const uint64_t hashes[] = { 0, 255, UINT64_MAX, UINT64_C(1) << 63, 256 };
    for (size_t i = 0; i < COUNT(hashes); i++) {
        struct sl_distinct seen = { { 0 } };
        sl_distinct_add(&seen, hashes[i]);
        assert_int_equal(sl_distinct_count(&seen), 1);
    }
    assert_int_equal(sl_distinct_rank(0), SL_DISTINCT_RANK_MAX);
    assert_int_equal(sl_distinct_rank(255), SL_DISTINCT_RANK_MAX);
    assert_int_equal(sl_distinct_rank(256), 1);
    assert_int_equal(sl_distinct_rank(UINT64_C(1) << 63), 56);
}

static uint64_t count_of(uint64_t many, uint64_t seed)
{
    struct sl_distinct seen = { { 0 } };
    for (uint64_t i = 0; i < many; i++)
        sl_distinct_add(&seen, unit_random(&seed));
    return sl_distinct_count(&seen);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Those that share a register are counted by less than they are. */
TEST(few_are_told_nearly_exactly)
{
    enum { SEEDS = 200 };
    for (uint64_t many = 1; many <= 50; many++) {
        uint64_t far = 0, sum = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            uint64_t told = count_of(many, seed * 1000);
            sum += told;
            far += difference(told, many) > 1 + many / 10;
        }
        assert_true(far <= SEEDS / 20);
        assert_in_range(sum * 100, many * SEEDS * 97, many * SEEDS * 103);
    }
}

/* Of the mean of sixty, three standard errors are 2.6 %. */
TEST(many_are_told_within_three_standard_errors)
{
    enum { SEEDS = 60 };
    static const uint64_t sizes[] = { 100, 300, 500, 640, 700, 1000, 3000, 20000, 100000 };
    uint64_t far = 0;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        uint64_t sum = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            uint64_t told = count_of(sizes[i], seed * 77777);
            far += difference(told, sizes[i]) * 1000 > sizes[i] * 195;
            assert_true(difference(told, sizes[i]) * 1000 <= sizes[i] * 260);
            sum += told;
        }
        assert_in_range(sum * 1000, sizes[i] * SEEDS * 974, sizes[i] * SEEDS * 1026);
    }
    assert_true(far * 100 <= SEEDS * COUNT(sizes));
}

TEST(merging_is_seeing_both)
{
    struct sl_distinct all = { { 0 } }, parts[2] = { { { 0 } }, { { 0 } } };
    uint64_t seed = 9;
    for (int i = 0; i < 5000; i++) {
        uint64_t hash = unit_random(&seed);
        sl_distinct_add(&all, hash);
        sl_distinct_add(&parts[i % 2], hash);
        sl_distinct_add(&parts[i % 3 == 0], hash);
    }
    sl_distinct_merge(&parts[0], &parts[1]);
    assert_memory_equal(&parts[0], &all, sizeof all);
}

TEST(taking_empties_what_was_seen)
{
    _Atomic uint8_t registers[SL_DISTINCT_REGISTERS] = { 0 };
    struct sl_distinct wanted = { { 0 } }, taken = { { 0 } }, again = { { 0 } };
    uint64_t seed = 3;
    for (int i = 0; i < 100; i++) {
        uint64_t hash = unit_random(&seed);
        sl_distinct_see(registers, hash);
        sl_distinct_add(&wanted, hash);
    }
    sl_distinct_take(&taken, registers);
    assert_memory_equal(&taken, &wanted, sizeof wanted);
    sl_distinct_take(&again, registers);
    assert_int_equal(sl_distinct_count(&again), 0);
    sl_distinct_take(&taken, registers);
    assert_memory_equal(&taken, &wanted, sizeof wanted);
}

enum { ROUNDS = 20000 };

static _Atomic uint8_t shared[SL_DISTINCT_REGISTERS];
static atomic_int begun, ended;

/* Each register is raised twice, the second time while the other may be taking the first. */
static void *see_all_ranks(void *unused)
{
    (void)unused;
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&begun) < round)
            sched_yield();
        for (uint64_t i = 0; i < SL_DISTINCT_REGISTERS; i++) {
            sl_distinct_see(shared, i | 1 << 8);
            sl_distinct_see(shared, i);
        }
        atomic_store(&ended, round);
    }
    return NULL;
}

TEST(nothing_is_lost_while_another_takes)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, see_all_ranks, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        struct sl_distinct taken = { { 0 } };
        atomic_store(&begun, round);
        while (atomic_load(&ended) < round)
            sl_distinct_take(&taken, shared);
        sl_distinct_take(&taken, shared);
        for (int i = 0; i < SL_DISTINCT_REGISTERS; i++)
            assert_int_equal(taken.registers[i], SL_DISTINCT_RANK_MAX);
    }
    pthread_join(thread, NULL);
}
