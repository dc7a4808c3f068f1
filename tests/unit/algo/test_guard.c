/* The burst guard: more than 3 in 10 s warns for 1 min, again blocks for 2. */
#include "algo/guard.h"

#include "unit/base/unit.h"

#define S INT64_C(1000000)

static const struct sl_guard guard = { .window_us = 10 * S, .penalty_us = 60 * S, .threshold = 3 };

enum { Q = SL_GUARD_QUIET, W = SL_GUARD_WARNED, B = SL_GUARD_BLOCKED };

struct step {
    int64_t now_us;
    uint32_t times; /* requests at this instant; the last one's answer: */
    int event;
    uint32_t count;
    int64_t blocked_until_us;
};

static void run_steps(struct sl_state *state, const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i];
        struct sl_guard_answer answer = { 0 };
        char row[48];
        snprintf(row, sizeof row, "row %zu, at %" PRId64, i, step->now_us);
        for (uint32_t n = 0; n < step->times; n++) {
            SAME(row, answer.event, Q); /* all before the last are quiet */
            answer = sl_guard_count(&guard, state, step->now_us);
        }
        SAME(row, answer.event, step->event);
        SAME(row, answer.request_count, step->count);
        SAME(row, answer.blocked_until_us, step->blocked_until_us);
        SAME(row, state->hi >> 20, 0);
        SAME(row, sl_guard_peek(&guard, state, step->now_us).blocked_until_us,
             step->blocked_until_us);
    }
}

#define RUN_STEPS(steps)                                                                           \
    do {                                                                                           \
        struct sl_state fresh = { 0 };                                                             \
        run_steps(&fresh, steps, COUNT(steps));                                                    \
    } while (0)

TEST(over_the_threshold_it_warns_once_a_window)
{
    static const struct step steps[] = {
        { 0, 3, Q, 3, 0 },          { 0, 1, W, 4, 0 },
        { 0, 100, Q, 5, 0 }, /* beside a warning 4 are kept, whatever came */
        { 10 * S - 1, 1, Q, 5, 0 }, { 10 * S, 3, Q, 3, 0 },
    };
    RUN_STEPS(steps);
}

TEST(windows_end_at_the_epochs_multiples)
{
    static const struct step steps[] = {
        { 9 * S, 3, Q, 3, 0 },
        { 10 * S, 3, Q, 3, 0 },
        { 20 * S - 1, 1, W, 4, 0 },
    };
    RUN_STEPS(steps);
}

TEST(over_the_threshold_in_a_later_window_it_blocks)
{
    static const struct step steps[] = {
        { 5 * S, 4, W, 4, 0 },        { 10 * S, 3, Q, 3, 0 },
        { 11 * S, 1, B, 4, 131 * S }, { 11 * S, 50, Q, 0, 131 * S }, /* asking does not extend it */
        { 60 * S, 1, Q, 0, 131 * S }, { 131 * S - 1, 9, Q, 0, 131 * S },
    };
    RUN_STEPS(steps);
}

TEST(a_block_leaves_a_clean_slate)
{
    static const struct step steps[] = {
        { 5 * S, 4, W, 4, 0 },   { 11 * S, 4, B, 4, 131 * S },  { 131 * S, 3, Q, 3, 0 },
        { 131 * S, 1, W, 4, 0 }, { 140 * S, 4, B, 4, 260 * S },
    };
    RUN_STEPS(steps);
}

TEST(a_warning_lasts_for_the_penalty)
{
    static const struct step in_force[] = {
        { 5 * S, 4, W, 4, 0 },
        { 65 * S - 1, 4, B, 4, 185 * S - 1 },
    };
    static const struct step over[] = {
        { 5 * S, 4, W, 4, 0 },
        { 65 * S, 4, W, 4, 0 },
        { 70 * S, 4, B, 4, 190 * S },
    };
    static const struct step over_within_a_burst[] = {
        { 5 * S, 4, W, 4, 0 },
        { 60 * S, 3, Q, 3, 0 },
        { 65 * S, 1, W, 4, 0 },
    };
    RUN_STEPS(in_force);
    RUN_STEPS(over);
    RUN_STEPS(over_within_a_burst);
}

TEST(quiet_windows_do_not_end_a_warning)
{
    static const struct step steps[] = {
        { 0, 4, W, 4, 0 },
        { 10 * S, 1, Q, 1, 0 },
        { 30 * S, 3, Q, 3, 0 },
        { 50 * S, 4, B, 4, 170 * S },
    };
    RUN_STEPS(steps);
}

TEST(peeking_counts_nothing)
{
    struct sl_state state = { 0 };
    for (int i = 0; i < 10; i++)
        assert_int_equal(sl_guard_peek(&guard, &state, 5 * S).blocked_until_us, 0);
    assert_int_equal(state.lo | state.hi, 0);
    assert_int_equal(sl_guard_count(&guard, &state, 5 * S).request_count, 1);
}

TEST(a_window_up_to_its_length_ahead_goes_on_counting)
{
    static const struct step steps[] = {
        { 50 * S, 3, Q, 3, 0 },
        { 40 * S, 1, W, 4, 0 }, /* warned as of 50 s, hence until 110 s */
        { 40 * S, 1, Q, 5, 0 },
        { 100 * S, 4, B, 4, 220 * S },
    };
    RUN_STEPS(steps);
}

TEST(a_window_further_ahead_counts_as_full)
{
    static const struct step quiet[] = {
        { 50 * S, 1, Q, 1, 0 },
        { 40 * S - 1, 1, W, 4, 0 },
        { 40 * S, 4, B, 4, 160 * S },
    };
    static const struct step warned[] = {
        /* A warning from further ahead than it lasts is one given just now. */
        { 500 * S, 4, W, 4, 0 },
        { 5 * S, 1, Q, 4, 0 },
        { 10 * S, 4, B, 4, 130 * S },
    };
    RUN_STEPS(quiet);
    RUN_STEPS(warned);
}

TEST(a_block_reaches_no_further_than_it_was_given_for)
{
    static const struct step steps[] = {
        { 505 * S, 4, W, 4, 0 },
        { 511 * S, 4, B, 4, 631 * S },
        { 511 * S - 1, 1, Q, 0, 631 * S - 1 },
        { 5 * S, 1, Q, 0, 125 * S },
        { 125 * S - 1, 1, Q, 0, 125 * S },
        { 125 * S, 3, Q, 3, 0 },
    };
    RUN_STEPS(steps);
}

TEST(a_guard_fits_up_to_thirty_bits_of_windows_times_counts)
{
    static const struct {
        int64_t window_us, penalty_us;
        uint32_t threshold;
        bool fits;
    } rows[] = {
        { 10 * S, 300 * S, 50, true },
        { S, S, 1, true },
        /* A warning can see penalty/window + 2 windows, each counted to threshold + 1. */
        { S, S, (1 << 28) - 2, true },
        { S, S, 357913940, false },
        { S, 1021 * S, (1 << 20) - 2, true },
        { S, 1023 * S, (1 << 20) - 2, false },
        { 1000, 366 * 86400 * S, 1, false },
        { 366 * 86400 * S, 366 * 86400 * S, 1u << 27, true },
        { S, S, 1u << 30, false },
        { S, S, UINT32_MAX, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_guard one = { rows[i].window_us, rows[i].penalty_us, rows[i].threshold };
        SAME(row, sl_guard_fits(&one), rows[i].fits);
    }
}

TEST(the_largest_guard_survives_its_last_window)
{
    struct sl_guard large = { .window_us = S, .penalty_us = 119300 * S, .threshold = 2998 };
    assert_true(sl_guard_fits(&large));
    struct sl_state state = { 0 };
    int64_t start_us = SL_TIME_MAX_US - 400000 * S;
    for (uint32_t i = 0; i < large.threshold; i++)
        assert_int_equal(sl_guard_count(&large, &state, start_us + S - 1).event, Q);
    assert_int_equal(sl_guard_count(&large, &state, start_us + S - 1).event, W);
    int64_t last_us = start_us + S - 1 + large.penalty_us - 1;
    for (uint32_t i = 1; i <= large.threshold; i++) {
        struct sl_guard_answer answer = sl_guard_count(&large, &state, last_us);
        assert_int_equal(answer.event, Q);
        assert_int_equal(answer.request_count, i);
        assert_int_equal(state.hi >> 20, 0);
    }
    assert_int_equal(sl_guard_count(&large, &state, last_us).event, B);
}

TEST(the_latest_block_of_the_longest_penalty_fits)
{
    struct sl_guard longest = { SL_WINDOW_MAX_US, SL_WINDOW_MAX_US, 1 };
    struct sl_state state = { 0 };
    int64_t early_us = SL_TIME_MAX_US - SL_WINDOW_MAX_US + 1;
    sl_guard_count(&longest, &state, early_us);
    assert_int_equal(sl_guard_count(&longest, &state, early_us).event, W);
    sl_guard_count(&longest, &state, SL_TIME_MAX_US);
    struct sl_guard_answer answer = sl_guard_count(&longest, &state, SL_TIME_MAX_US);
    assert_int_equal(answer.event, B);
    assert_int_equal(answer.blocked_until_us, SL_TIME_MAX_US + 2 * SL_WINDOW_MAX_US);
    assert_int_equal(state.hi >> 20, 0);
    assert_int_equal(sl_guard_peek(&longest, &state, SL_TIME_MAX_US).blocked_until_us,
                     SL_TIME_MAX_US + 2 * SL_WINDOW_MAX_US);
}
