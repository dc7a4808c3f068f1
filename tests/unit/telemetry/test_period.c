#include "telemetry/period.h"

#include "unit/base/unit.h"

enum { DAY_S = 86400, NOON = 5 * DAY_S + DAY_S / 2 }; /* by a clock that began days ago */

static struct sl_figure figure;

static int set_up(void **unused)
{
    (void)unused;
    figure = (struct sl_figure){ 0 };
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_figure_release(&figure);
    return 0;
}

#define WITH_FIGURE(name) TEST_WITH(name, set_up, tear_down)

static void count(uint64_t allowed, int64_t now_s)
{
    sl_figure_count(&figure, &(struct sl_sums){ .outcomes[SL_OUTCOME_ALLOWED] = allowed }, now_s);
}

static uint64_t sum_of(enum sl_period period, int64_t now_s)
{
    struct sl_sums sum;
    sl_figure_sum(&figure, period, now_s, &sum);
    return sum.outcomes[SL_OUTCOME_ALLOWED];
}

WITH_FIGURE(an_empty_one_has_nothing)
{
    struct sl_measures measures;
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        assert_int_equal(sum_of(period, NOON), 0);
        assert_true(sl_figure_measure(&figure, period, NOON, &measures));
        assert_int_equal(measures.latency.count + measures.in_use_times, 0);
        sl_measures_release(&measures);
    }
    assert_false(sl_figure_is_busy(&figure, NOON));
}

WITH_FIGURE(everything_that_is_counted_adds_up_in_all_three)
{
    struct sl_sums more = { .warned = 1, .blocked = 2 };
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        more.outcomes[i] = 10 + i;
    sl_figure_count(&figure, &more, NOON);
    sl_figure_count(&figure, &more, NOON + 1);
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_sums sum;
        sl_figure_sum(&figure, period, NOON + 1, &sum);
        for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
            assert_int_equal(sum.outcomes[i], 2 * (10 + i));
        assert_int_equal(sum.warned, 2);
        assert_int_equal(sum.blocked, 4);
    }
}

/* The last step that still shows it, and the first that does not, of each period. */
WITH_FIGURE(a_count_leaves_when_its_step_is_over)
{
    static const struct {
        enum sl_period period;
        int64_t since, last, gone;
    } rows[] = {
        { SL_PERIOD_MINUTE, NOON, 59, 60 },
        { SL_PERIOD_HOUR, NOON, 3599, 3600 },
        { SL_PERIOD_HOUR, NOON + 59, 3540, 3541 }, /* by whole minutes */
        { SL_PERIOD_DAY, NOON, DAY_S - 1, DAY_S },
        { SL_PERIOD_DAY, NOON + 3599, DAY_S - 3600, DAY_S - 3599 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[16];
        snprintf(row, sizeof row, "row %zu", i);
        figure = (struct sl_figure){ 0 };
        count(7, rows[i].since);
        SAME(row, sum_of(rows[i].period, rows[i].since), 7);
        SAME(row, sum_of(rows[i].period, rows[i].since + rows[i].last), 7);
        SAME(row, sum_of(rows[i].period, rows[i].since + rows[i].gone), 0);
        count(1, rows[i].since + rows[i].gone); /* and its place is empty */
        SAME(row, sum_of(rows[i].period, rows[i].since + rows[i].gone), 1);
    }
}

/* Second by second over several rounds, against all that ever was. */
WITH_FIGURE(a_ring_that_goes_round_holds_the_last_of_it)
{
    enum { SECONDS = 3 * 3600 };
    static uint64_t was[SECONDS];
    uint64_t seed = 7;
    for (int64_t s = 0; s < SECONDS; s++) {
        if (unit_up_to(&seed, 300) == 0)
            s += unit_up_to(&seed, 900); /* no request came for a while */
        if (s >= SECONDS)
            break;
        was[s] = (uint64_t)unit_up_to(&seed, 9);
        count(was[s], NOON + s);
        uint64_t minute = 0, hour = 0;
        for (int64_t back = 0; back < 60 && back <= s; back++)
            minute += was[s - back];
        for (int64_t t = s; t >= 0 && (NOON + s) / 60 - (NOON + t) / 60 < 60; t--)
            hour += was[t];
        assert_int_equal(sum_of(SL_PERIOD_MINUTE, NOON + s), minute);
        assert_int_equal(sum_of(SL_PERIOD_HOUR, NOON + s), hour);
    }
}

WITH_FIGURE(steps_are_told_one_by_one_the_newest_first)
{
    for (int64_t s = 0; s < 70; s++)
        count((uint64_t)s + 1, NOON + s);
    for (uint32_t back = 0; back < 60; back++) {
        const struct sl_sums *step = sl_figure_step(&figure, SL_PERIOD_MINUTE, NOON + 69, back);
        assert_int_equal(step->outcomes[SL_OUTCOME_ALLOWED], 70 - back);
    }
    assert_null(sl_figure_step(&figure, SL_PERIOD_MINUTE, NOON + 70, 0)); /* not there yet */
    assert_non_null(sl_figure_step(&figure, SL_PERIOD_MINUTE, NOON + 70, 1));
    assert_null(sl_figure_step(&figure, SL_PERIOD_MINUTE, NOON + 69, 60));
    assert_null(sl_figure_step(&figure, SL_PERIOD_MINUTE, 3, 5)); /* before the clock began */
}

/* Exactly as long as the ring, once more, and a thousand times as long. */
WITH_FIGURE(after_a_long_gap_nothing_old_is_left)
{
    static const int64_t gaps[] = { 60, 61, 119, 120, 3600, 86400, 90000, 86400000 };
    for (size_t i = 0; i < COUNT(gaps); i++) {
        figure = (struct sl_figure){ 0 };
        for (int64_t s = 0; s < 60; s++)
            count(1, NOON + s);
        int64_t now = NOON + 59 + gaps[i];
        count(5, now);
        assert_int_equal(sum_of(SL_PERIOD_MINUTE, now), 5);
        assert_int_equal(sum_of(SL_PERIOD_DAY, now), gaps[i] < DAY_S ? 65 : 5);
    }
}

/* Time does not go back by the clock it is read from; if it did, nothing would be lost or out of
 * place. */
WITH_FIGURE(what_comes_late_counts_for_the_newest_step)
{
    count(1, NOON);
    count(2, NOON - 30);
    count(4, NOON - 3 * DAY_S);
    assert_int_equal(sum_of(SL_PERIOD_MINUTE, NOON), 7);
    assert_int_equal(sl_figure_step(&figure, SL_PERIOD_MINUTE, NOON, 0)->outcomes[0], 7);
    assert_int_equal(sl_figure_step(&figure, SL_PERIOD_MINUTE, NOON, 30)->outcomes[0], 0);
    struct sl_measures *measures = sl_figure_measures(&figure, SL_PERIOD_MINUTE, NOON);
    assert_ptr_equal(sl_figure_measures(&figure, SL_PERIOD_MINUTE, NOON - 30), measures);
}

WITH_FIGURE(it_is_busy_for_this_second_and_the_next)
{
    count(1, NOON);
    assert_true(sl_figure_is_busy(&figure, NOON));
    assert_true(sl_figure_is_busy(&figure, NOON + 1));
    assert_false(sl_figure_is_busy(&figure, NOON + 2));
}

/* ---- measures ---- */

static void measure(uint64_t ns, uint32_t in_use, int64_t now_s)
{
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_measures *now = sl_figure_measures(&figure, period, now_s);
        assert_non_null(now);
        assert_true(sl_histogram_add(&now->latency, ns, 1));
        sl_distinct_add(&now->callers, ns * UINT64_C(0x9e3779b97f4a7c15));
        now->in_use_sum += in_use;
        now->in_use_times++;
        if (in_use > now->in_use_max)
            now->in_use_max = in_use;
    }
}

WITH_FIGURE(measures_are_merged_over_the_period)
{
    struct sl_measures all;
    for (int64_t s = 0; s < 60; s++)
        measure(100 + (uint64_t)s % 20, (uint32_t)s, NOON + s);
    assert_true(sl_figure_measure(&figure, SL_PERIOD_MINUTE, NOON + 59, &all));
    assert_int_equal(all.latency.count, 60);
    assert_int_equal(all.in_use_times, 60);
    assert_int_equal(all.in_use_sum, 59 * 60 / 2);
    assert_int_equal(all.in_use_max, 59);
    assert_in_range(sl_distinct_count(&all.callers), 18, 22); /* in every step the same ones */
    assert_int_equal(sl_histogram_at(&all.latency, 1000000), 119);
    sl_measures_release(&all);
}

/* By steps of 10 seconds, 10 minutes and 4 hours. */
WITH_FIGURE(measures_leave_step_by_step)
{
    static const int64_t steps_s[] = { 10, 600, 14400 };
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_measures all;
        int64_t start = NOON / 14400 * 14400;
        sl_figure_release(&figure);
        for (int64_t i = 0; i < 6; i++)
            measure(1000, 1, start + i * steps_s[period]);
        for (int64_t i = 0; i <= 6; i++) {
            int64_t now = start + (5 + i) * steps_s[period];
            assert_true(sl_figure_measure(&figure, period, now, &all));
            assert_int_equal(all.latency.count, 6 - i);
            sl_measures_release(&all);
        }
    }
}

WITH_FIGURE(a_step_that_comes_round_again_is_empty_and_its_memory_used)
{
    struct sl_measures *first, *again, all;
    measure(1000, 900, NOON);
    first = sl_figure_measures(&figure, SL_PERIOD_MINUTE, NOON);
    again = sl_figure_measures(&figure, SL_PERIOD_MINUTE, NOON + 60);
    assert_ptr_equal(again, first);
    assert_int_equal(again->latency.count + again->in_use_times + again->in_use_max, 0);
    assert_int_equal(sl_distinct_count(&again->callers), 0);
    measure(2000, 100, NOON + 60 + 3 * 60); /* several rounds on, all are empty but this */
    assert_true(sl_figure_measure(&figure, SL_PERIOD_MINUTE, NOON + 240, &all));
    assert_int_equal(all.latency.count, 1);
    assert_int_equal(all.in_use_max, 100);
    sl_measures_release(&all);
}
