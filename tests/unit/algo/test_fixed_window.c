/* Fixed window: 10 per second, aligned to the epoch unless a test says else. */
#include "unit/algo/shortcuts.h"

enum { S = 1000000 };

static const struct sl_algo *const fixed = &sl_fixed_window;
static const struct sl_limit ten_a_second = { .capacity = 10, .window_us = S };
static const struct sl_limit from_first = { .capacity = 10, .window_us = S, .first_request = true };

TEST(counts_up_to_the_limit_and_starts_again_with_the_window)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        /* now      cost retry remaining reset */
        { 0, 0, 0, 10, 0 },
        { 0, 1, 0, 9, S },
        { 0, 8, 0, 1, S },
        { 500000, 2, 500000, 1, S },
        { 500000, 1, 0, 0, S },
        { 500000, 1, 500000, 0, S },
        { 500000, 0, 0, 0, S },
        { S - 1, 1, 1, 0, S },
        { S - 1, 10, 1, 0, S },
        { S, 10, 0, 0, 2 * S },
        { S, 1, S, 0, 2 * S },
        { 2 * S - 1, 1, 1, 0, 2 * S },
        { 7 * S + 1, 9, 0, 1, 8 * S },
    };
    RUN_STEPS(fixed, &ten_a_second, &state, steps);
}

TEST(a_cost_above_the_limit_never_passes)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5, 11, SL_NEVER, 10, 5 },
        { 5, UINT32_MAX, SL_NEVER, 10, 5 },
        { 5, 10, 0, 0, S },
        { 5, 11, SL_NEVER, 0, S },
    };
    RUN_STEPS(fixed, &ten_a_second, &state, steps);
}

TEST(a_window_can_start_at_the_first_charge)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 100, 0, 0, 10, 100 }, /* asking starts nothing */
        { 100, 11, SL_NEVER, 10, 100 },
        { 300, 9, 0, 1, S + 300 },
        { S, 1, 0, 0, S + 300 }, /* the epoch's edge means nothing */
        { S + 299, 1, 1, 0, S + 300 },
        { S + 300, 1, 0, 9, 2 * S + 300 },
        { 2 * S + 300, 0, 0, 10, 2 * S + 300 }, /* over, and none starts */
        { 9 * S + 7, 1, 0, 9, 10 * S + 7 },
    };
    RUN_STEPS(fixed, &from_first, &state, steps);
}

TEST(a_window_up_to_one_span_ahead_is_believed)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5 * S, 9, 0, 1, 6 * S },     { 5 * S - 1, 2, S + 1, 1, 6 * S },
        { 4 * S, 1, 0, 0, 6 * S }, /* counted in the window that lies ahead */
        { 4 * S, 1, 2 * S, 0, 6 * S }, { 5 * S, 1, S, 0, 6 * S },
        { 6 * S, 1, 0, 9, 7 * S },
    };
    RUN_STEPS(fixed, &ten_a_second, &state, steps);
}

TEST(a_window_further_ahead_is_replaced_by_a_full_one_at_now)
{
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5 * S, 1, 0, 9, 6 * S },
        { 4 * S - 1, 1, 1, 0, 4 * S, .repair = true },
        { 4 * S - 1, 1, 1, 0, 4 * S }, /* the repair was saved with the denial */
        { 4 * S, 10, 0, 0, 5 * S },
    };
    RUN_STEPS(fixed, &ten_a_second, &state, steps);

    state = (struct sl_state){ 0 };
    static const struct step unaligned[] = {
        { 5 * S + 7, 1, 0, 9, 6 * S + 7 },
        { 4 * S + 7, 1, 0, 8, 6 * S + 7 },
        { 4 * S + 6, 0, 0, 0, 5 * S + 6, .repair = true }, /* asking saves it too */
        { 5 * S + 5, 1, 1, 0, 5 * S + 6 },
        { 5 * S + 6, 1, 0, 9, 6 * S + 6 },
    };
    RUN_STEPS(fixed, &from_first, &state, unaligned);
}

TEST(what_was_counted_carries_over_to_another_limit)
{
    struct sl_state state = { 0 };
    struct sl_limit limit = ten_a_second;
    take(fixed, &limit, &state, 3 * S, 8);
    limit.capacity = 20;
    assert_int_equal(left(fixed, &limit, &state, 3 * S), 12);
    limit.capacity = 8;
    assert_int_equal(left(fixed, &limit, &state, 3 * S), 0);
    limit.capacity = 5;
    assert_int_equal(left(fixed, &limit, &state, 3 * S), 0);
    assert_int_equal(ask(fixed, &limit, &state, 3 * S + 1, 1).retry_after_us, S - 1);
    assert_int_equal(ask(fixed, &limit, &state, 3 * S + 1, 6).retry_after_us, SL_NEVER);
}

TEST(a_refund_comes_back_in_the_window_it_was_counted_in)
{
    static const struct {
        int64_t charged_at_us, now_us;
        uint32_t cost;
        bool given;
        int64_t remaining;
    } rows[] = {
        { 3 * S, 3 * S, 4, true, 9 },          { 3 * S, 4 * S - 1, 4, true, 9 },
        { 4 * S - 1, 4 * S - 1, 5, true, 10 }, { 3 * S, 3 * S, UINT32_MAX, true, 10 },
        { 3 * S - 1, 3 * S, 4, false, 5 },     { 3 * S, 4 * S, 4, false, 10 },
        { 4 * S, 3 * S, 4, false, 5 },         { 3 * S, 2 * S, 4, true, 9 }, /* believed */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        struct sl_state state = { 0 };
        snprintf(row, sizeof row, "row %zu", i);
        take(fixed, &ten_a_second, &state, 3 * S, 5);
        SAME(row,
             give_back(fixed, &ten_a_second, &state, rows[i].now_us, rows[i].cost,
                       rows[i].charged_at_us),
             rows[i].given);
        SAME(row, left(fixed, &ten_a_second, &state, rows[i].now_us), rows[i].remaining);
        FITS(row, &state);
    }
}

TEST(a_refund_from_a_full_window_that_was_made_up_gives_nothing)
{
    struct sl_state state = { 0 };
    take(fixed, &ten_a_second, &state, 9 * S, 5);
    assert_false(give_back(fixed, &ten_a_second, &state, 2 * S, 5, 2 * S));
    assert_int_equal(left(fixed, &ten_a_second, &state, 2 * S), 0);
}

TEST(a_window_refunded_to_nothing_is_fresh)
{
    struct sl_state state = { 0 };
    take(fixed, &from_first, &state, 3 * S + 5, 2);
    assert_true(give_back(fixed, &from_first, &state, 3 * S + 6, 2, 3 * S + 5));
    assert_int_equal(reset_of(fixed, &from_first, &state, 3 * S + 6), 3 * S + 6);
    take(fixed, &from_first, &state, 3 * S + 9, 1);
    assert_int_equal(reset_of(fixed, &from_first, &state, 3 * S + 9), 4 * S + 9);
}

TEST(the_largest_numbers_fit)
{
    static const int64_t windows_us[] = { SL_WINDOW_MIN_US, S, SL_WINDOW_MAX_US };
    for (size_t i = 0; i < COUNT(windows_us); i++) {
        struct sl_limit limit = { .capacity = fixed->capacity_max(windows_us[i]),
                                  .window_us = windows_us[i],
                                  .first_request = true };
        struct sl_state state = { 0 };
        int64_t now_us = SL_TIME_MAX_US;
        struct step steps[] = {
            { now_us, UINT32_MAX - 1, 0, 1, now_us + windows_us[i] },
            { now_us, 2, windows_us[i], 1, now_us + windows_us[i] },
            { now_us, 1, 0, 0, now_us + windows_us[i] },
            { now_us, 1, windows_us[i], 0, now_us + windows_us[i] },
        };
        assert_int_equal(limit.capacity, UINT32_MAX);
        RUN_STEPS(fixed, &limit, &state, steps);
    }
}

/* ---- take and overcharge --------------------------------------------------- */

static struct sl_limit any_limit(uint64_t *seed, uint64_t key)
{
    return (struct sl_limit){ .capacity = unit_up_to(seed, SHORTCUT_RING),
                              .window_us = SL_WINDOW_MIN_US << key % 30,
                              .first_request = key >> 40 & 1 };
}

static int64_t window_of(const struct sl_limit *limit)
{
    return limit->window_us;
}

TEST(taking_and_overcharging_say_what_deciding_and_charging_do)
{
    static const struct shortcut shortcut = { &sl_fixed_window, any_limit, window_of };
    check_shortcuts(&shortcut);
}
