/* Sliding window counter: 10 per second unless a test says else.
 *
 * A count of 10 in the previous window weighs 10 at the window's start, 9 from
 * 1 µs on, 8 from 100 001 µs on, …, 0 from 900 001 µs on. */
#include "unit/algo/shortcuts.h"

enum { S = 1000000 };

static const struct sl_algo *const counter = &sl_sliding_window_counter;
static const struct sl_limit ten_a_second = { .capacity = 10, .window_us = S };

TEST(the_previous_window_fades_while_the_current_one_fills)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        /* now          cost retry remaining reset */
        { 0, 0, 0, 10, 0 },
        { 0, 1, 0, 9, S + 1 },
        { 0, 9, 0, 0, S + 900001 },
        { 0, 1, S + 1, 0, S + 900001 },
        { 999999, 1, 2, 0, S + 900001 },
        { S, 1, 1, 0, S + 900001 },
        { S, 2, 100001, 0, S + 900001 },
        { S, 10, 900001, 0, S + 900001 },
        { S + 1, 1, 0, 0, 2 * S + 1 },           /* 9 + 1 */
        { S + 500000, 4, 0, 0, 2 * S + 800001 }, /* 5 + 5 */
        { S + 500000, 1, 1, 0, 2 * S + 800001 },
        { S + 500000, 5, 400001, 0, 2 * S + 800001 },
        /* Six never fit beside this window's five, which weigh 4 from 2 s + 1 µs on. */
        { S + 500000, 6, 500001, 0, 2 * S + 800001 },
        { S + 999999, 5, 0, 0, 2 * S + 900001 }, /* 0 + 10 */
        { 2 * S, 1, 1, 0, 2 * S + 900001 },
        { 2 * S + 900000, 10, 1, 9, 2 * S + 900001 },
        { 2 * S + 900001, 10, 0, 0, 3 * S + 900001 },
    };
    RUN_STEPS(counter, &ten_a_second, &state, steps);
}

TEST(two_windows_later_all_is_forgotten)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5 * S + 999999, 10, 0, 0, 6 * S + 900001 },
        { 7 * S - 1, 0, 0, 10, 7 * S - 1 }, /* weight 0.00001 */
        { 7 * S, 10, 0, 0, 8 * S + 900001 },
        { 10 * S, 10, 0, 0, 11 * S + 900001 },
    };
    RUN_STEPS(counter, &ten_a_second, &state, steps);
}

TEST(a_cost_above_the_limit_never_passes)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 7, 11, SL_NEVER, 10, 7 },  { 7, UINT32_MAX, SL_NEVER, 10, 7 },
        { 7, 10, 0, 0, S + 900001 }, { 7, 11, SL_NEVER, 0, S + 900001 },
        { 7, 0, 0, 0, S + 900001 },
    };
    RUN_STEPS(counter, &ten_a_second, &state, steps);
}

TEST(windows_up_to_two_spans_ahead_are_believed_as_of_their_start)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 9 * S + 500000, 4, 0, 6, 10 * S + 750001 },
        { 10 * S + 500000, 4, 0, 4, 11 * S + 750001 }, /* 2 + 4 */
        { 10 * S - 1, 0, 0, 2, 11 * S + 750001 },      /* 4 + 4: as of the start */
        { 10 * S - 1, 3, 2, 2, 11 * S + 750001 },
        { 8 * S, 3, 2 * S + 1, 2, 11 * S + 750001 },
        { 8 * S, 2, 0, 0, 11 * S + 833334 }, /* counted in the window ahead: n = 6 */
        { 10 * S + 500000, 3, 1, 2, 11 * S + 833334 },
    };
    RUN_STEPS(counter, &ten_a_second, &state, steps);
}

TEST(windows_further_ahead_are_replaced_by_full_ones_at_now)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 10 * S + 5, 1, 0, 9, 11 * S + 1 },
        { 8 * S - 1, 1, 2, 0, 8 * S + 900001, .repair = true },
        { 8 * S - 1, 1, 2, 0, 8 * S + 900001 }, /* the repair was saved with the denial */
        { 8 * S, 1, 1, 0, 8 * S + 900001 },
        { 8 * S + 1, 1, 0, 0, 9 * S + 1 },
    };
    RUN_STEPS(counter, &ten_a_second, &state, steps);

    state = (struct sl_state){ 0 };
    static const struct step asked[] = {
        { 10 * S, 10, 0, 0, 11 * S + 900001 },
        { S, 0, 0, 0, 2 * S + 900001, .repair = true },
        { S, 1, S + 1, 0, 2 * S + 900001 },
    };
    RUN_STEPS(counter, &ten_a_second, &state, asked);
}

TEST(full_windows_that_were_made_up_are_both_full)
{
    struct sl_state state = { 0 };
    struct sl_limit wider = { .capacity = 30, .window_us = S };
    take(counter, &ten_a_second, &state, 10 * S, 1);
    decide_and_charge(counter, &ten_a_second, &state, 5 * S + 250000, 1);
    assert_int_equal(left(counter, &wider, &state, 5 * S + 250000), 13); /* 7 + 10 of 30 */
}

TEST(what_was_counted_carries_over_to_another_limit)
{
    struct sl_state state = { 0 };
    struct sl_limit limit = ten_a_second;
    take(counter, &limit, &state, 3 * S, 8);
    take(counter, &limit, &state, 4 * S + 500000, 2); /* 4 + 2 */
    limit.capacity = 20;
    assert_int_equal(left(counter, &limit, &state, 4 * S + 500000), 14);
    limit.capacity = 6;
    assert_int_equal(left(counter, &limit, &state, 4 * S + 500000), 0);
    assert_int_equal(ask(counter, &limit, &state, 4 * S + 500000, 1).retry_after_us, 1);
    limit.capacity = 1; /* 2 > 1: only once they have become the previous window */
    assert_int_equal(left(counter, &limit, &state, 4 * S + 500000), 0);
    assert_int_equal(ask(counter, &limit, &state, 4 * S + 500000, 1).retry_after_us,
                     S + 1); /* 2·(W − e)/W is below 1 at e = 500 001 */
}

TEST(a_refund_comes_back_in_the_window_it_was_counted_in)
{
    /* 8 at 3 s, 2 at 4.5 s; refunded at 4.5 s, where the 8 weigh 4, or else. */
    static const struct {
        int64_t charged_at_us, now_us;
        uint32_t cost;
        bool given;
        int64_t remaining;
    } rows[] = {
        { 4 * S + 500000, 4 * S + 500000, 2, true, 6 },
        { 4 * S, 4 * S + 500000, 1, true, 5 },
        { 4 * S + 500000, 4 * S + 500000, UINT32_MAX, true, 6 },
        { 3 * S, 4 * S + 500000, 4, true, 6 }, /* 4 of 8 weigh 2 */
        { 4 * S - 1, 4 * S + 500000, 8, true, 8 },
        { 3 * S, 4 * S + 500000, 9, true, 8 },
        { 3 * S - 1, 4 * S + 500000, 8, false, 4 },
        { 5 * S, 4 * S + 500000, 8, false, 4 },
        { 3 * S, 5 * S, 8, false, 8 },
        { 4 * S + 500000, 5 * S, 2, true, 10 },
        { 4 * S + 500000, 6 * S, 2, false, 10 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        struct sl_state state = { 0 };
        snprintf(row, sizeof row, "row %zu", i);
        take(counter, &ten_a_second, &state, 3 * S, 8);
        take(counter, &ten_a_second, &state, 4 * S + 500000, 2);
        SAME(row,
             give_back(counter, &ten_a_second, &state, rows[i].now_us, rows[i].cost,
                       rows[i].charged_at_us),
             rows[i].given);
        SAME(row, left(counter, &ten_a_second, &state, rows[i].now_us), rows[i].remaining);
        FITS(row, &state);
    }
}

TEST(a_refund_from_full_windows_that_were_made_up_gives_nothing)
{
    struct sl_state state = { 0 };
    take(counter, &ten_a_second, &state, 9 * S, 5);
    assert_false(give_back(counter, &ten_a_second, &state, 2 * S, 5, 2 * S));
    assert_int_equal(left(counter, &ten_a_second, &state, 2 * S), 0);
}

TEST(a_window_holds_what_its_length_promises)
{
    static const struct {
        int64_t window_us, most;
    } rows[] = {
        { SL_WINDOW_MIN_US, 1 << 20 }, { 999999, 1 << 20 },   { S, 1 << 25 },
        { 59999999, 1 << 25 },         { 60000000, 1 << 28 }, { SL_WINDOW_MAX_US, 1 << 28 },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(counter->capacity_max(rows[i].window_us), rows[i].most);
}

/* p in one window, n in the next, read back through a limit wide enough to
 * show both: p + n at the second window's start, n at the third's. */
static void check_packing(int64_t window_us, int64_t start_us, uint32_t p, uint32_t n)
{
    enum { WIDE = 1 << 30 };
    struct sl_limit limit = { .capacity = WIDE, .window_us = window_us };
    struct sl_state state = { 0 };
    char row[128];
    snprintf(row, sizeof row, "window %" PRId64 " at %" PRId64 ", p %u, n %u", window_us, start_us,
             p, n);
    take(counter, &limit, &state, start_us, p);
    FITS(row, &state);
    take(counter, &limit, &state, start_us + 2 * window_us - 1, n);
    FITS(row, &state);
    SAME(row, left(counter, &limit, &state, start_us + window_us), WIDE - (int64_t)p - n);
    SAME(row, left(counter, &limit, &state, start_us + 2 * window_us), WIDE - (int64_t)n);
    SAME(row, left(counter, &limit, &state, start_us + 3 * window_us), WIDE);
    SAME(row, ask(counter, &limit, &state, start_us + window_us, 0).repair, false);
}

TEST(both_counts_survive_packing_at_every_edge)
{
    static const int64_t windows_us[] = {
        SL_WINDOW_MIN_US, 1023, 1024, 999999, S, 59999999, 60000000, SL_WINDOW_MAX_US
    };
    for (size_t i = 0; i < COUNT(windows_us); i++) {
        int64_t window_us = windows_us[i];
        uint32_t most = (uint32_t)counter->capacity_max(window_us);
        uint32_t counts[] = { 0, 1, most - 1, most };
        int64_t last_us = SL_TIME_MAX_US - 2 * window_us;
        int64_t starts_us[] = { 0, window_us, last_us - last_us % window_us };
        for (size_t k = 0; k < COUNT(counts) * COUNT(counts) * COUNT(starts_us); k++)
            check_packing(window_us, starts_us[k / 16], counts[k % 4], counts[k / 4 % 4]);
    }
}

TEST(both_counts_survive_packing_at_any_time)
{
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        /* Lengths of every order of magnitude, from 2^10 µs on. */
        int64_t window_us = INT64_C(1) << (10 + unit_up_to(&seed, 33));
        window_us += unit_up_to(&seed, window_us);
        window_us = window_us < SL_WINDOW_MAX_US ? window_us : SL_WINDOW_MAX_US;
        int64_t most = counter->capacity_max(window_us);
        int64_t start_us = unit_up_to(&seed, SL_TIME_MAX_US - 2 * window_us);
        check_packing(window_us, start_us - start_us % window_us, (uint32_t)unit_up_to(&seed, most),
                      (uint32_t)unit_up_to(&seed, most));
    }
}

TEST(the_largest_numbers_are_decided_exactly)
{
    enum { MOST = 1 << 28 };
    struct sl_limit limit = { .capacity = MOST, .window_us = SL_WINDOW_MAX_US };
    int64_t start_us = SL_TIME_MAX_US - SL_TIME_MAX_US % SL_WINDOW_MAX_US;
    int64_t next_us = start_us + SL_WINDOW_MAX_US;
    /* A 2^28-th of 366 days is 117 802.6 µs: a weight below 1 from 117 802 µs
     * before the end on. */
    int64_t reset_us = next_us + SL_WINDOW_MAX_US - 117802;
    struct sl_state state = { 0 };
    struct step steps[] = {
        { SL_TIME_MAX_US, MOST, 0, 0, reset_us },
        { SL_TIME_MAX_US, 1, next_us + 1 - SL_TIME_MAX_US, 0, reset_us },
        { SL_TIME_MAX_US, MOST, reset_us - SL_TIME_MAX_US, 0, reset_us },
    };
    RUN_STEPS(counter, &limit, &state, steps);
}

/* ---- take and overcharge --------------------------------------------------- */

static struct sl_limit any_limit(uint64_t *seed, uint64_t key)
{
    return (struct sl_limit){ .capacity = unit_up_to(seed, SHORTCUT_RING),
                              .window_us = SL_WINDOW_MIN_US << key % 30 };
}

static int64_t window_of(const struct sl_limit *limit)
{
    return limit->window_us;
}

TEST(an_overcharge_counts_twice_the_limit_at_the_most)
{
    struct sl_limit limit = { .capacity = 10, .window_us = 1000000 };
    struct sl_state state = { 0 };
    for (int i = 0; i < 3; i++)
        counter->overcharge(&limit, &state, (struct sl_ask){ 0, UINT32_MAX });
    /* 20 weigh less than 10 from the middle of the next window on. */
    assert_int_equal(ask(counter, &limit, &state, 0, 1).retry_after_us, 1500001);
    limit.capacity = 5; /* a lower limit takes nothing of it away */
    counter->overcharge(&limit, &state, (struct sl_ask){ 0, 1 });
    limit.capacity = 10;
    assert_int_equal(ask(counter, &limit, &state, 0, 1).retry_after_us, 1500001);
}

TEST(taking_and_overcharging_say_what_deciding_and_charging_do)
{
    static const struct shortcut shortcut = { &sl_sliding_window_counter, any_limit, window_of };
    check_shortcuts(&shortcut);
}
