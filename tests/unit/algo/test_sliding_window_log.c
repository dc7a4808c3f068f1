/* Sliding window log: 4 per millisecond unless a test says else. */
#include "unit/algo/steps.h"

enum { MS = 1000 };

static const struct sl_algo *const slog = &sl_sliding_window_log;
static const struct sl_limit four_a_ms = { .capacity = 4, .window_us = MS };

static uint64_t ring[16];

static struct sl_state fresh(uint32_t ring_len)
{
    memset(ring, 0, sizeof ring);
    return (struct sl_state){ .ring = ring, .ring_len = ring_len };
}

TEST(a_unit_counts_for_exactly_one_window)
{
    struct sl_state state = fresh(4);
    static const struct step steps[] = {
        /* now cost retry remaining reset */
        { 0, 0, 0, 4, 0 },        { 100, 1, 0, 3, 1100 },    { 200, 1, 0, 2, 1200 },
        { 300, 1, 0, 1, 1300 },   { 300, 2, 800, 1, 1300 },  { 400, 1, 0, 0, 1400 },
        { 400, 1, 700, 0, 1400 }, { 400, 2, 800, 0, 1400 },  { 400, 4, 1000, 0, 1400 },
        { 400, 0, 0, 0, 1400 },   { 1099, 1, 1, 0, 1400 },   { 1100, 1, 0, 0, 2100 },
        { 1199, 1, 1, 0, 2100 },  { 1399, 3, 1, 2, 2100 },   { 1400, 3, 0, 0, 2400 },
        { 2100, 1, 0, 0, 3100 },  { 2399, 4, 701, 0, 3100 }, { 3100, 4, 0, 0, 4100 },
        { 9999, 4, 0, 0, 10999 },
    };
    RUN_STEPS(slog, &four_a_ms, &state, steps);
}

TEST(a_cost_above_the_limit_never_passes)
{
    struct sl_state state = fresh(4);
    static const struct step steps[] = {
        { 7, 5, SL_NEVER, 4, 7 },
        { 7, UINT32_MAX, SL_NEVER, 4, 7 },
        { 7, 4, 0, 0, 1007 },
        { 7, 5, SL_NEVER, 0, 1007 },
    };
    RUN_STEPS(slog, &four_a_ms, &state, steps);
}

TEST(an_untouched_log_needs_no_ring)
{
    struct sl_state state = { 0 };
    assert_true(ask(slog, &four_a_ms, &state, 0, 4).allowed);
    assert_true(ask(slog, &four_a_ms, &state, SL_TIME_MAX_US, 1).allowed);
    assert_int_equal(ask(slog, &four_a_ms, &state, 0, 5).retry_after_us, SL_NEVER);
    assert_int_equal(left(slog, &four_a_ms, &state, 0), 4);
    assert_int_equal(reset_of(slog, &four_a_ms, &state, 55), 55);
    assert_false(give_back(slog, &four_a_ms, &state, 0, 1, 0));
}

TEST(a_log_up_to_one_span_ahead_is_believed_as_of_its_newest_entry)
{
    struct sl_state state = fresh(4);
    static const struct step steps[] = {
        { 4500, 1, 0, 3, 5500 },    { 5000, 2, 0, 1, 6000 },
        { 4999, 2, 501, 1, 6000 },                           /* 4500 leaves at 5500 */
        { 4000, 2, 1500, 1, 6000 }, { 4000, 1, 0, 0, 6000 }, /* stamped 5000 */
        { 4000, 1, 1500, 0, 6000 }, { 5499, 1, 1, 0, 6000 },
        { 5500, 1, 0, 0, 6500 },    { 5999, 3, 1, 0, 6500 },
        { 6000, 3, 0, 0, 7000 },
    };
    RUN_STEPS(slog, &four_a_ms, &state, steps);
}

TEST(a_log_further_ahead_is_replaced_by_a_full_one_at_now)
{
    struct sl_state state = fresh(6); /* longer than the limit: the rest must be blank */
    static const struct step steps[] = {
        { 5000, 1, 0, 3, 6000 },        { 3999, 1, 1000, 0, 4999, .repair = true },
        { 3999, 1, 1000, 0, 4999 }, /* the repair was saved with the denial */
        { 3999, 5, SL_NEVER, 0, 4999 }, { 4998, 4, 1, 0, 4999 },
        { 4999, 4, 0, 0, 5999 },        { 500, 0, 0, 0, 1500, .repair = true },
        { 500, 1, 1000, 0, 1500 },
    };
    RUN_STEPS(slog, &four_a_ms, &state, steps);
}

TEST(a_full_log_that_was_made_up_has_no_other_entries)
{
    struct sl_state state = fresh(6);
    struct sl_limit six = { .capacity = 6, .window_us = MS };
    take(slog, &six, &state, 5000, 6);
    decide_and_charge(slog, &four_a_ms, &state, 100, 1);
    assert_int_equal(left(slog, &four_a_ms, &state, 100), 0);
    assert_int_equal(left(slog, &six, &state, 100), 2);
}

TEST(what_was_counted_carries_over_to_another_limit)
{
    struct sl_state state = fresh(8);
    struct sl_limit limit = four_a_ms;
    for (int64_t at_us = 100; at_us <= 400; at_us += 100)
        take(slog, &limit, &state, at_us, 1);
    limit.capacity = 8;
    assert_int_equal(left(slog, &limit, &state, 400), 4);
    assert_true(ask(slog, &limit, &state, 400, 4).allowed);
    assert_int_equal(ask(slog, &limit, &state, 400, 5).retry_after_us, 700);
    limit.capacity = 2; /* three of the four must leave */
    assert_int_equal(left(slog, &limit, &state, 400), 0);
    assert_int_equal(ask(slog, &limit, &state, 400, 1).retry_after_us, 900);
    assert_int_equal(ask(slog, &limit, &state, 400, 2).retry_after_us, 1000);
}

TEST(a_limit_of_zero_in_a_used_ring_lets_nothing_pass)
{
    struct sl_state state = fresh(4);
    struct sl_limit nothing = { .capacity = 0, .window_us = MS };
    take(slog, &four_a_ms, &state, 5000, 2);
    assert_int_equal(ask(slog, &nothing, &state, 5000, 1).retry_after_us, SL_NEVER);
    assert_int_equal(left(slog, &nothing, &state, 5000), 0);
    assert_true(decide_and_charge(slog, &nothing, &state, 100, 0).repair); /* too far ahead */
    assert_false(ask(slog, &nothing, &state, 100, 0).repair);
    assert_int_equal(left(slog, &four_a_ms, &state, 100), 4);
}

TEST(a_refund_takes_its_entries_out_and_closes_ranks)
{
    /* 100 100 200 300, then one refund at 500. */
    static const struct {
        int64_t charged_at_us;
        uint32_t cost;
        bool given;
        int64_t remaining, wait_for_all_us, reset_at_us;
    } rows[] = {
        { 100, 1, true, 1, 800, 1300 },  { 100, 2, true, 2, 800, 1300 },
        { 100, 9, true, 2, 800, 1300 },  { 200, 1, true, 1, 800, 1300 },
        { 300, 1, true, 1, 700, 1200 },  { 150, 1, false, 0, 800, 1300 },
        { 200, 0, false, 0, 800, 1300 }, { 500, 1, false, 0, 800, 1300 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        struct sl_state state = fresh(4);
        snprintf(row, sizeof row, "row %zu", i);
        take(slog, &four_a_ms, &state, 100, 2);
        take(slog, &four_a_ms, &state, 200, 1);
        take(slog, &four_a_ms, &state, 300, 1);
        SAME(row, give_back(slog, &four_a_ms, &state, 500, rows[i].cost, rows[i].charged_at_us),
             rows[i].given);
        SAME(row, left(slog, &four_a_ms, &state, 500), rows[i].remaining);
        SAME(row, reset_of(slog, &four_a_ms, &state, 500), rows[i].reset_at_us);
        SAME(row, ask(slog, &four_a_ms, &state, 500, 4).retry_after_us, rows[i].wait_for_all_us);
        FITS(row, &state);
    }
}

TEST(a_refund_of_what_has_left_gives_nothing)
{
    struct sl_state state = fresh(4);
    take(slog, &four_a_ms, &state, 100, 4);
    assert_false(give_back(slog, &four_a_ms, &state, 1100, 4, 100));
    take(slog, &four_a_ms, &state, 1100, 4);
    assert_false(give_back(slog, &four_a_ms, &state, 1100, 4, 100));
    assert_int_equal(left(slog, &four_a_ms, &state, 1100), 0);
    assert_true(give_back(slog, &four_a_ms, &state, 2099, 4, 1100));
    assert_int_equal(left(slog, &four_a_ms, &state, 2099), 4);
    assert_int_equal(reset_of(slog, &four_a_ms, &state, 2099), 2099);
}

TEST(a_refund_from_a_full_log_that_was_made_up_gives_nothing)
{
    struct sl_state state = fresh(4);
    take(slog, &four_a_ms, &state, 5000, 2);
    assert_false(give_back(slog, &four_a_ms, &state, 100, 2, 5000));
    assert_int_equal(left(slog, &four_a_ms, &state, 100), 0);
}

TEST(a_longer_ring_keeps_the_entries_wherever_the_head_stood)
{
    for (uint32_t charges = 0; charges <= 9; charges++) {
        uint64_t longer[7] = { 0 };
        char row[32];
        struct sl_state state = fresh(4);
        snprintf(row, sizeof row, "%u charges", charges);
        for (uint32_t i = 0; i < charges; i++)
            take(slog, &four_a_ms, &state, 1000 + 10 * i, 1);
        int64_t now_us = 1000 + 10 * charges;
        int64_t live = charges < 4 ? charges : 4;
        slog->move_ring(&state, longer, 7);
        SAME(row, state.ring == longer && state.ring_len == 7, true);
        FITS(row, &state);
        SAME(row, left(slog, &four_a_ms, &state, now_us), 4 - live);
        struct sl_limit seven = { .capacity = 7, .window_us = MS };
        SAME(row, left(slog, &seven, &state, now_us), 7 - live);
        take(slog, &seven, &state, now_us, (uint32_t)(7 - live));
        SAME(row, left(slog, &seven, &state, now_us), 0);
        if (live) /* the oldest entry leaves first */
            SAME(row, ask(slog, &seven, &state, now_us, 1).retry_after_us,
                 1000 + 10 * ((int64_t)charges - live) + MS - now_us);
    }
}

TEST(a_ring_can_be_made_for_a_fresh_key)
{
    struct sl_state state = { 0 };
    memset(ring, 0, sizeof ring);
    slog->move_ring(&state, ring, 4);
    struct step steps[] = { { 0, 3, 0, 1, MS }, { 0, 1, 0, 0, MS }, { 0, 1, MS, 0, MS } };
    RUN_STEPS(slog, &four_a_ms, &state, steps);
}

TEST(the_latest_time_and_the_longest_window_fit)
{
    struct sl_state state = fresh(16);
    struct sl_limit limit = { .capacity = 16, .window_us = SL_WINDOW_MAX_US };
    struct step steps[] = {
        { SL_TIME_MAX_US, 15, 0, 1, SL_TIME_MAX_US + SL_WINDOW_MAX_US },
        { SL_TIME_MAX_US, 2, SL_WINDOW_MAX_US, 1, SL_TIME_MAX_US + SL_WINDOW_MAX_US },
        { SL_TIME_MAX_US, 1, 0, 0, SL_TIME_MAX_US + SL_WINDOW_MAX_US },
    };
    assert_int_equal(slog->capacity_max(MS), 1 << 24);
    RUN_STEPS(slog, &limit, &state, steps);
}

/* The log holds just these times, oldest first, all of them live at now_us. */
static void holds(const char *row, const struct sl_state *state, int64_t now_us,
                  const int64_t *at_us, uint32_t count)
{
    struct sl_limit limit = { .capacity = state->ring_len, .window_us = MS };
    uint32_t room = state->ring_len - count;
    SAME(row, left(slog, &limit, state, now_us), room);
    SAME(row, reset_of(slog, &limit, state, now_us), count ? at_us[count - 1] + MS : now_us);
    for (uint32_t k = 0; k < count; k++)
        SAME(row, ask(slog, &limit, state, now_us, room + k + 1).retry_after_us,
             at_us[k] + MS - now_us);
    FITS(row, state);
}

/* 5100 twice, 5200 and 5300 twice in a ring of 6 through which `before` others
 * have gone. The newest are pending, or (as after a refund) nothing is. */
static struct sl_state five(uint32_t before, bool pending)
{
    struct sl_limit six = { .capacity = 6, .window_us = MS };
    struct sl_state state = fresh(6);
    for (uint32_t i = 0; i < before; i++)
        take(slog, &six, &state, 10 * i, 1);
    take(slog, &six, &state, 5100, 2);
    take(slog, &six, &state, 5200, 1);
    take(slog, &six, &state, 5300, 2);
    if (pending)
        return state;
    take(slog, &six, &state, 5350, 1);
    assert_true(give_back(slog, &six, &state, 5350, 1, 5350));
    return state;
}

TEST(a_refund_leaves_the_rest_wherever_the_head_stood)
{
    static const struct {
        int64_t charged_at_us;
        uint32_t cost, kept;
        int64_t at_us[6]; /* then one more is charged */
    } rows[] = {
        { 5300, 2, 3, { 5100, 5100, 5200, 5400 } },
        { 5300, 1, 4, { 5100, 5100, 5200, 5300, 5400 } },
        { 5200, 1, 4, { 5100, 5100, 5300, 5300, 5400 } },
        { 5100, 2, 3, { 5200, 5300, 5300, 5400 } },
        { 5100, 1, 4, { 5100, 5200, 5300, 5300, 5400 } },
        { 5400, 1, 5, { 5100, 5100, 5200, 5300, 5300, 5400 } },
    };
    struct sl_limit six = { .capacity = 6, .window_us = MS };
    for (uint32_t i = 0; i < 26 * COUNT(rows); i++) {
        uint32_t at = i / 26;
        struct sl_state state = five(i % 13, i / 13 % 2);
        char row[64];
        snprintf(row, sizeof row, "row %u, %u before, pending %u", at, i % 13, i / 13 % 2);
        SAME(row, give_back(slog, &six, &state, 5400, rows[at].cost, rows[at].charged_at_us),
             rows[at].kept < 5);
        holds(row, &state, 5400, rows[at].at_us, rows[at].kept);
        take(slog, &six, &state, 5400, 1);
        holds(row, &state, 5400, rows[at].at_us, rows[at].kept + 1);
    }
}

TEST(a_log_can_be_refunded_to_the_last_unit)
{
    struct sl_limit six = { .capacity = 6, .window_us = MS };
    for (uint32_t i = 0; i < 26; i++) {
        struct sl_state state = five(i % 13, i < 13);
        assert_true(give_back(slog, &six, &state, 5400, 1, 5200));
        assert_true(give_back(slog, &six, &state, 5400, 2, 5300));
        assert_true(give_back(slog, &six, &state, 5400, 2, 5100));
        assert_false(give_back(slog, &six, &state, 5400, 1, 5100));
        holds("nothing left", &state, 5400, NULL, 0);
        take(slog, &six, &state, 5000, 6); /* earlier than what was there */
        holds("full", &state, 5000, (int64_t[]){ 5000, 5000, 5000, 5000, 5000, 5000 }, 6);
    }
}

TEST(a_refund_of_what_is_not_there_touches_nothing)
{
    struct sl_limit six = { .capacity = 6, .window_us = MS };
    struct sl_state state = five(3, true);
    struct sl_state before = state;
    uint64_t ring_before[16];
    memcpy(ring_before, ring, sizeof ring);
    assert_false(give_back(slog, &six, &state, 5400, 1, 5250));
    assert_false(give_back(slog, &six, &state, 5400, 0, 5200));
    assert_false(give_back(slog, &six, &state, 5400, 1, INT64_MAX));
    assert_false(give_back(slog, &six, &state, 5400, 1, INT64_MIN));
    assert_memory_equal(&state, &before, sizeof state);
    assert_memory_equal(ring, ring_before, sizeof ring);
}

TEST(another_ring_takes_over_what_is_there)
{
    for (uint32_t i = 0; i < 26; i++) {
        for (uint32_t ring_len = 6; ring_len <= 9; ring_len++) {
            struct sl_limit limit = { .capacity = ring_len, .window_us = MS };
            struct sl_state state = five(i % 13, i < 13);
            uint64_t ring_before[16], other[9] = { 0 };
            memcpy(ring_before, ring, sizeof ring);
            slog->move_ring(&state, other, ring_len);
            assert_memory_equal(ring, ring_before, sizeof ring);
            assert_ptr_equal(state.ring, other);
            memset(ring, 0xff, sizeof ring); /* the caller's again */
            holds("moved", &state, 5400, (int64_t[]){ 5100, 5100, 5200, 5300, 5300 }, 5);
            take(slog, &limit, &state, 5400, 1);
            holds("used", &state, 5400, (int64_t[]){ 5100, 5100, 5200, 5300, 5300, 5400 }, 6);
        }
    }
}
