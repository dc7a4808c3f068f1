#include "base/stats/histogram.h"

#include "unit/base/unit.h"

static const uint32_t shares[] = { 500000, 950000, 990000, 999000 };

TEST(an_empty_one_has_nothing)
{
    struct sl_histogram empty = { 0 }, other = { 0 };
    assert_int_equal(sl_histogram_at(&empty, 500000), 0);
    assert_int_equal(sl_histogram_up_to(&empty, UINT64_MAX), 0);
    assert_int_equal(sl_histogram_bytes(&empty), 0);
    assert_true(sl_histogram_merge(&other, &empty));
    assert_true(sl_histogram_add(&other, 7, 0));
    assert_int_equal(sl_histogram_bytes(&other), 0);
    sl_histogram_clear(&empty);
    sl_histogram_release(&empty);
}

TEST(what_is_small_is_exact)
{
    struct sl_histogram seen = { 0 };
    for (uint64_t value = 0; value < 128; value++)
        assert_true(sl_histogram_add(&seen, value, 1));
    for (uint32_t i = 1; i <= 128; i++) {
        assert_int_equal(sl_histogram_at(&seen, i * 1000000 / 128), i - 1);
        assert_int_equal(sl_histogram_up_to(&seen, i - 1), i);
    }
    assert_int_equal(sl_histogram_at(&seen, 0), 0);
    assert_int_equal(seen.count, 128);
    assert_int_equal(seen.sum, 127 * 128 / 2);
    assert_int_equal(seen.max, 127);
    sl_histogram_release(&seen);
}

/* Every edge of a step: the value before it, and itself. The last step has no end. */
TEST(a_step_is_a_sixty_fourth)
{
    for (int power = 7; power < 39; power++) {
        for (uint64_t part = 64; part < 128; part++) {
            uint64_t edge = part << (power - 6), width = UINT64_C(1) << (power - 6);
            struct sl_histogram seen = { 0 };
            assert_true(sl_histogram_add(&seen, edge - 1, 1) && sl_histogram_add(&seen, edge, 1));
            assert_int_equal(sl_histogram_up_to(&seen, edge - 2 + width), 1);
            assert_int_equal(sl_histogram_up_to(&seen, edge - 1 + width), 2);
            assert_in_range(sl_histogram_at(&seen, 500000), edge - 1 - width, edge - 1);
            assert_in_range(sl_histogram_at(&seen, 1000000), edge, edge);
            sl_histogram_release(&seen);
        }
    }
}

TEST(what_is_too_long_is_the_longest)
{
    struct sl_histogram seen = { 0 };
    assert_true(sl_histogram_add(&seen, UINT64_MAX, 1));
    assert_true(sl_histogram_add(&seen, UINT64_C(1) << 40, 1));
    uint64_t told = sl_histogram_at(&seen, 1000000);
    assert_in_range(told, (UINT64_C(1) << 40) - (UINT64_C(1) << 34), UINT64_C(1) << 40);
    assert_int_equal(sl_histogram_up_to(&seen, UINT64_C(1) << 50), 0);
    assert_int_equal(sl_histogram_up_to(&seen, UINT64_MAX), 2);
    assert_int_equal(seen.max, UINT64_MAX);
    sl_histogram_release(&seen);
}

TEST(nothing_told_is_above_the_largest)
{
    struct sl_histogram seen = { 0 };
    assert_true(sl_histogram_add(&seen, 1 << 20, 3));
    for (size_t i = 0; i < COUNT(shares); i++)
        assert_int_equal(sl_histogram_at(&seen, shares[i]), 1 << 20);
    sl_histogram_release(&seen);
}

TEST(memory_is_taken_for_what_is_in_use)
{
    struct sl_histogram seen = { 0 };
    assert_true(sl_histogram_add(&seen, 1000000, 1));
    size_t one = sl_histogram_bytes(&seen);
    assert_in_range(one, 4, 512);
    assert_true(sl_histogram_add(&seen, 1020000, 1));
    assert_true(sl_histogram_bytes(&seen) <= 2 * one);
    assert_true(sl_histogram_add(&seen, 0, 1) && sl_histogram_add(&seen, UINT64_MAX, 1));
    assert_int_equal(sl_histogram_bytes(&seen), SL_HISTOGRAM_STEPS * sizeof(uint32_t));
    assert_int_equal(sl_histogram_up_to(&seen, 1), 1);
    assert_int_equal(sl_histogram_up_to(&seen, 1100000), 3);
    sl_histogram_clear(&seen);
    assert_int_equal(sl_histogram_bytes(&seen), SL_HISTOGRAM_STEPS * sizeof(uint32_t));
    assert_int_equal(seen.count + seen.sum + seen.max, 0);
    assert_int_equal(sl_histogram_up_to(&seen, UINT64_MAX), 0);
    sl_histogram_release(&seen);
    assert_int_equal(sl_histogram_bytes(&seen), 0);
}

/* As `sluice bench` does, whose memory is shared by processes. */
TEST(one_with_all_the_steps_takes_no_memory)
{
    static uint32_t steps[SL_HISTOGRAM_STEPS];
    struct sl_histogram seen = { .end = SL_HISTOGRAM_STEPS, .buckets = steps };
    for (int power = 0; power < 64; power++)
        assert_true(sl_histogram_add(&seen, UINT64_C(1) << power, 1));
    assert_ptr_equal(seen.buckets, steps);
    assert_int_equal(sl_histogram_up_to(&seen, UINT64_MAX), 64);
}

TEST(a_full_step_counts_no_further)
{
    struct sl_histogram seen = { 0 }, more = { 0 };
    assert_true(sl_histogram_add(&seen, 5, UINT32_MAX) && sl_histogram_add(&seen, 5, 2));
    assert_true(sl_histogram_add(&more, 5, 1) && sl_histogram_add(&more, 6, 1));
    assert_true(sl_histogram_merge(&seen, &more));
    assert_int_equal(seen.count, UINT64_C(1) + UINT32_MAX);
    assert_int_equal(sl_histogram_up_to(&seen, 5), UINT32_MAX);
    assert_int_equal(sl_histogram_at(&seen, 1000000), 6);
    sl_histogram_release(&seen);
    sl_histogram_release(&more);
}

/* ---- against the samples themselves ---- */

/* About normal, mean 0 and deviation 1: twelve dice. */
static double normal(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(unit_random(seed) >> 11) / 9007199254740992.0;
    return sum;
}

/* e to the x, |x| < 20: no need of a library for it. */
static double power_of_e(double x)
{
    double term = 1, sum = 1;
    for (int i = 1; i < 80; i++)
        sum += term *= x / i;
    return sum;
}

static uint64_t log_normal(uint64_t *seed)
{
    return (uint64_t)(2000 * power_of_e(normal(seed)));
}

/* A store in memory that now and then waits for a disk. */
static uint64_t bimodal(uint64_t *seed)
{
    double around = unit_up_to(seed, 99) < 97 ? 800 : 4e6;
    return (uint64_t)(around * power_of_e(normal(seed) / 10));
}

static uint64_t constant(uint64_t *seed)
{
    (void)seed;
    return 123457;
}

static uint64_t heavy_tail(uint64_t *seed)
{
    return (uint64_t)(1000.0 * 1e9 / (double)(1 + unit_up_to(seed, 999999999)));
}

static uint64_t even(uint64_t *seed)
{
    return (uint64_t)unit_up_to(seed, 1 << 30);
}

static const struct distribution {
    const char *name;
    uint64_t (*draw)(uint64_t *seed);
} distributions[] = {
    { "log-normal", log_normal }, { "bimodal", bimodal }, { "constant", constant },
    { "heavy tail", heavy_tail }, { "even", even },
};

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void within_a_hundredth(const char *name, const struct sl_histogram *seen,
                               const uint64_t *sorted, size_t count)
{
    for (size_t i = 0; i < COUNT(shares); i++) {
        size_t rank = (count * shares[i] + 999999) / 1000000;
        uint64_t exact = sorted[rank - 1], told = sl_histogram_at(seen, shares[i]);
        uint64_t off = told > exact ? told - exact : exact - told;
        if (off * 100 > exact)
            print_error("%s, %zu samples, share %u: %" PRIu64 ", not %" PRIu64 "\n", name, count,
                        shares[i], told, exact);
        assert_true(off * 100 <= exact);
    }
}

static void never_too_many(const struct sl_histogram *seen, const uint64_t *sorted, size_t count)
{
    static const uint64_t bounds[] = { 1, 100, 1000, 2500, 100000, 1000000, 25000000 };
    for (size_t i = 0; i < COUNT(bounds); i++) {
        size_t exact = 0, surely = 0;
        for (; exact < count && sorted[exact] <= bounds[i]; exact++)
            surely += sorted[exact] <= bounds[i] - bounds[i] / 64;
        assert_in_range(sl_histogram_up_to(seen, bounds[i]), surely, exact);
    }
}

/* Half of the samples into each of two, which are then merged. */
TEST(percentiles_are_within_a_hundredth)
{
    static const size_t counts[] = { 1, 2, 3, 10, 99, 1000, 100000 };
    static uint64_t samples[100000];
    for (size_t d = 0; d < COUNT(distributions); d++) {
        for (size_t c = 0; c < COUNT(counts); c++) {
            uint64_t seed = 1000 * d + c, sum = 0;
            struct sl_histogram halves[2] = { { 0 }, { 0 } };
            for (size_t i = 0; i < counts[c]; i++) {
                samples[i] = distributions[d].draw(&seed);
                sum += samples[i];
                assert_true(sl_histogram_add(&halves[i % 2], samples[i], 1));
            }
            qsort(samples, counts[c], sizeof *samples, ascending);
            assert_true(sl_histogram_merge(&halves[1], &halves[0]));
            assert_int_equal(halves[1].count, counts[c]);
            assert_int_equal(halves[1].sum, sum);
            assert_int_equal(halves[1].max, samples[counts[c] - 1]);
            within_a_hundredth(distributions[d].name, &halves[1], samples, counts[c]);
            never_too_many(&halves[1], samples, counts[c]);
            sl_histogram_release(&halves[0]);
            sl_histogram_release(&halves[1]);
        }
    }
}
