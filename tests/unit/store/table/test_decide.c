#include "store/table/decide.h"

#include "unit/store/claims.h"
#include "unit/store/hand_clock.h"

TESTS_ALONE;

static void fill_with_limiting(uint64_t line)
{
    for (uint32_t n = 0; n < WINDOW_SLOTS; n++) {
        struct sl_claim claim = fixed_at(line, 1000 + n, 1);
        decide(&claim, 1, NOW_US, 1);
        assert_false(decide(&claim, 1, NOW_US, 1));
    }
}

/* ---- several claims --------------------------------------------------------------- */

WITH_LOGS(all_claims_are_charged_or_none)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claims[] = { claim_at(sl_algos[i], 3, i, 10),
                                     claim_at(&sl_token_bucket, 4, i, 10),
                                     claim_at(sl_algos[i], 5, i, 2) };
        assert_true(decide(claims, 3, NOW_US, 2));
        assert_true(claims[0].charged && claims[1].charged && claims[2].charged);
        assert_false(decide(claims, 3, NOW_US, 1));
        assert_true(claims[0].allowed && claims[1].allowed && !claims[2].allowed);
        assert_false(claims[0].charged || claims[1].charged || claims[2].charged);
        SAME(sl_algos[i]->name, claims[0].figures.remaining, 8);
        SAME(sl_algos[i]->name, left(claims[0], NOW_US), 8);
        SAME(sl_algos[i]->name, left(claims[1], NOW_US), 8);
        SAME(sl_algos[i]->name, left(claims[2], NOW_US), 0);
    }
}

WITH_LOGS(a_denial_leaves_no_trace_of_keys_that_were_not_there)
{
    struct sl_claim claims[] = { fixed_at(3, 1, 10), claim_at(slog, 3, 1, 10), fixed_at(4, 1, 0) };
    assert_false(decide(claims, 3, NOW_US, 1));
    assert_int_equal(measured(NOW_US).insertions, 0);
    assert_int_equal(claims[0].figures.remaining, 10);
}

/* Two claims on one key: the second finds it changed, as a thread that lost a race does. */
WITH_LOGS(what_was_charged_before_a_late_denial_is_given_back)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        const struct sl_algo *algo = sl_algos[i];
        struct sl_claim first = claim_at(algo, 3, i, 10), twice = claim_at(algo, 4, i, 5);
        struct sl_claim claims[] = { first, twice, twice };
        assert_true(decide(claims, 3, NOW_US, 2)); /* nothing was there */
        SAME(algo->name, left(first, NOW_US), 8);
        SAME(algo->name, left(twice, NOW_US), 1);
        claims[1].limit.capacity = claims[2].limit.capacity = 7;
        assert_false(decide(claims, 3, NOW_US, 2)); /* 2 more would do, not 4 */
        SAME(algo->name, claims[0].charged || claims[1].charged || claims[2].charged, false);
        SAME(algo->name, left(first, NOW_US), 8);
        SAME(algo->name, left(claims[1], NOW_US), 3);
    }
}

/* ---- another thread was faster -------------------------------------------------------- */

static struct sl_claim contested;
static uint32_t readings;

/* Takes all of the contested claim when the clock is read for the n-th time: a
 * bundle has its seats by then, and has swapped nothing yet. */
static void take_all_at_the_second_reading(void)
{
    if (++readings != 2)
        return;
    struct sl_claim other = contested;
    assert_true(decide(&other, 1, sl_boottime_us() + (int64_t)table.header->clock.hi, 10));
}

static struct sl_bundle decide_by_its_own_clock(struct sl_claim *claims, size_t count,
                                                uint32_t cost)
{
    struct sl_bundle bundle = bundle_of(claims, count, sl_table_now_us(&table), cost);
    sl_table_decide(&table, &bundle, true);
    before_reading = NULL;
    return bundle;
}

WITH_LOGS(a_thread_overtaken_while_inserting_decides_again)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claims[] = { claim_at(sl_algos[i], 3, i, 10),
                                     claim_at(sl_algos[i], 4, i, 10) };
        contested = claims[1];
        readings = 0;
        sl_table_wall_shift_us(&table, sl_table_now_us(&table)); /* not for this, now */
        before_reading = take_all_at_the_second_reading;
        struct sl_bundle bundle = decide_by_its_own_clock(claims, 2, 4);
        assert_int_equal(bundle.status, SLUICE_OK);
        SAME(sl_algos[i]->name, readings >= 2, true);
        SAME(sl_algos[i]->name, bundle.allowed, false);
        SAME(sl_algos[i]->name, claims[1].answer.retry_after_us > 0, true);
        SAME(sl_algos[i]->name, claims[0].charged || claims[1].charged, false);
        SAME(sl_algos[i]->name, left(claims[0], bundle.now_us), 10);
        SAME(sl_algos[i]->name, left(claims[1], bundle.now_us), 0);
        SAME(sl_algos[i]->name, measured(bundle.now_us).evictions, 0);
        pass_us(3 * SPAN_US);
    }
}

static void tick(void)
{
    boot_us += 1000;
}

WITH_LOGS(a_key_that_is_not_there_is_decided_at_a_later_reading_of_the_clock)
{
    for (size_t i = 0; sl_algos[i]; i++) { /* T8 */
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        int64_t now_us = sl_table_now_us(&table);
        sl_table_wall_shift_us(&table, now_us);
        struct sl_bundle bundle = bundle_of(&claim, 1, now_us, 1);
        before_reading = tick;
        sl_table_decide(&table, &bundle, true);
        SAME(sl_algos[i]->name, bundle.now_us >= now_us + 2000, true); /* after the last scan */
        int64_t charged_at_us = bundle.now_us;
        sl_table_decide(&table, &bundle, true);
        before_reading = NULL;
        SAME(sl_algos[i]->name, bundle.now_us, charged_at_us); /* it is there: no reading */
        SAME(sl_algos[i]->name, claim.figures.remaining, 8);
    }
}

static void sleep_for_five_spans(void)
{
    boot_us += 5 * SPAN_US;
    before_reading = NULL;
}

WITH_LOGS(to_a_thread_that_was_stopped_states_are_not_too_far_ahead)
{
    for (size_t i = 0; sl_algos[i]; i++) { /* T8 */
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        int64_t now_us = sl_table_now_us(&table);
        sl_table_wall_shift_us(&table, now_us);
        assert_true(decide(&claim, 1, now_us + 5 * SPAN_US, 4)); /* while the thread was stopped */
        struct sl_bundle bundle = bundle_of(&claim, 1, now_us, 1);
        before_reading = sleep_for_five_spans;
        sl_table_decide(&table, &bundle, true);
        SAME(sl_algos[i]->name, bundle.now_us, now_us + 5 * SPAN_US);
        SAME(sl_algos[i]->name, bundle.allowed, true);
        SAME(sl_algos[i]->name, left(claim, bundle.now_us), 5);
    }
}

WITH_LOGS(a_state_that_is_too_far_ahead_is_repaired_and_saved)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        assert_true(decide(&claim, 1, NOW_US + 50 * SPAN_US, 1));
        assert_false(decide(&claim, 1, NOW_US, 1));
        SAME(sl_algos[i]->name, claim.answer.repair, true);
        SAME(sl_algos[i]->name, left(claim, NOW_US + 2 * SPAN_US), 10);
    }
}

/* ---- what the killed leave ------------------------------------------------------------- */

WITH_LOGS(the_next_one_finishes_what_a_killed_inserter_began)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        struct sl_place left_there = leave_tentative(&claim, NOW_US);
        assert_true(decide(&claim, 1, NOW_US, 4));
        assert_ptr_equal(place_of(&claim).slot, left_there.slot);
        SAME(sl_algos[i]->name, left(claim, NOW_US), 6);
    }
}

WITH_LOGS(a_killed_inserters_ring_may_be_too_short_by_now)
{
    struct sl_claim smaller = claim_at(slog, 3, 1, 5), claim = claim_at(slog, 3, 1, 100);
    leave_tentative(&smaller, NOW_US);
    assert_true(decide(&claim, 1, NOW_US, 60));
    assert_int_equal(left(claim, NOW_US), 40);
    assert_int_equal(place_of(&claim).ring_len, 100);
}

WITH_LOGS(the_next_charge_moves_a_frozen_log)
{
    struct sl_claim claim = claim_at(slog, 3, 1, 10);
    assert_true(decide(&claim, 1, NOW_US, 4));
    freeze(&claim);
    struct sl_place frozen = place_of(&claim);
    assert_int_equal(left(claim, NOW_US), 6); /* a peek and a denial only read it: T12 */
    assert_false(decide(&claim, 1, NOW_US, 9));
    assert_true(sl_word_equal(place_of(&claim).word, frozen.word));
    assert_true(decide(&claim, 1, NOW_US, 2));
    assert_int_equal(claim.figures.remaining, 4);
    assert_int_equal(sl_slot_kind(place_of(&claim).word.hi), SL_DATED_RING);
    assert_true(sl_word_equal(*frozen.slot, sl_slot_dead()));
    assert_int_equal(left(claim, NOW_US), 4);
}

/* ---- logs ------------------------------------------------------------------------------ */

WITH_LOGS(a_log_follows_its_limit_up_and_down)
{
    struct sl_claim claim = claim_at(slog, 3, 1, 3);
    assert_true(decide(&claim, 1, NOW_US, 3));
    struct sl_claim larger = claim_at(slog, 3, 1, 40);
    assert_int_equal(left(larger, NOW_US), 37); /* reading needs no longer ring */
    assert_int_equal(place_of(&claim).ring_len, 8);
    assert_true(decide(&larger, 1, NOW_US, 30));
    assert_int_equal(larger.figures.remaining, 7);
    assert_int_equal(place_of(&claim).ring_len, 40);
    assert_false(decide(&claim, 1, NOW_US + S, 1));
    assert_int_equal(measured(NOW_US).log_live, 1);
}

WITH_LOGS(a_new_log_counts_nothing_of_what_its_ring_held)
{
    struct sl_claim other = claim_at(slog, 3, 1, 2), claim = claim_at(slog, 3, 2, 2);
    for (int i = 0; i < 9; i++) /* by a caller's clock that is far ahead */
        decide(&other, 1, NOW_US + (100 + i) * SPAN_US, 1);
    struct sl_word *slot = place_of(&other).slot;
    sl_adjust_forget(&table, &other);
    assert_true(decide(&claim, 1, NOW_US, 1));
    assert_ptr_equal(place_of(&claim).slot, slot);
    assert_true(decide(&claim, 1, NOW_US + S, 1));
    assert_false(decide(&claim, 1, NOW_US + 2 * S, 1));
    assert_int_equal(claim.answer.retry_after_us, SPAN_US - 2 * S);
}

WITH_LOGS(a_charge_too_large_to_be_pending_is_written_into_a_ring_of_its_own)
{
    enum { LARGE = 1 << 16 };
    close_table(fixture);
    open_table_of(64 << 20, 48 << 20);
    assert_true(LARGE > slog->charge_most(LARGE));
    struct sl_claim claim = claim_at(slog, 3, 1, LARGE);
    assert_true(decide(&claim, 1, NOW_US, LARGE - 9)); /* new */
    assert_int_equal(left(claim, NOW_US), 9);
    assert_true(decide(&claim, 1, NOW_US + S, 9));
    assert_false(decide(&claim, 1, NOW_US + SPAN_US - 1, LARGE - 9));
    assert_true(decide(&claim, 1, NOW_US + SPAN_US, LARGE - 9)); /* known */
    assert_int_equal(left(claim, NOW_US + SPAN_US), 0);
    assert_int_equal(measured(NOW_US).log_live, 1);
}

/* ---- full ------------------------------------------------------------------------------ */

WITH_LOGS(a_bundle_that_finds_no_room_has_charged_nothing)
{
    fill_with_limiting(10);
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim known = claim_at(sl_algos[i], 3, i, 10);
        assert_true(decide(&known, 1, NOW_US, 2));
        struct sl_claim claims[] = { known, claim_at(sl_algos[i], 4, i, 10), fixed_at(10, 1, 10) };
        assert_int_equal(status_of(claims, 3, NOW_US, 1), SLUICE_STORE_FULL);
        SAME(sl_algos[i]->name, left(claims[0], NOW_US), 8);
        assert_null(place_of(&claims[1]).slot);
        SAME(sl_algos[i]->name, claims[0].charged || claims[1].charged, false);
    }
    assert_int_equal(measured(NOW_US).evictions, 0);
}

WITH_LOGS(a_log_that_has_no_room_to_grow_gives_back_what_came_before_it)
{
    struct sl_claim claims[] = { fixed_at(3, 1, 10), claim_at(slog, 3, 1, 8) };
    assert_true(decide(claims, 2, NOW_US, 2));
    claims[1] = claim_at(slog, 3, 1, LOG_BYTES / 32);
    assert_int_equal(status_of(claims, 2, NOW_US, 3), SLUICE_STORE_FULL);
    assert_int_equal(left(claims[0], NOW_US), 8);
    assert_int_equal(left(claims[1], NOW_US), LOG_BYTES / 32 - 2);
    assert_false(claims[0].charged);
}

WITH_LOGS(a_guard_that_warned_or_blocked_is_limiting)
{
    static const struct sl_guard guard = { .window_us = S, .penalty_us = 60 * S, .threshold = 2 };
    struct sl_claim claim = fixed_at(3, 1, 1000), counted = claim;
    claim.guard = &guard;
    claim.guard_key = counted.key = key_at(4, 1);
    for (int i = 0; i < 5; i++) {
        decide(&claim, 1, NOW_US, 1);
        assert_int_equal(is_limiting(&counted), i >= 2); /* the third one is warned */
        assert_int_equal(claim.guard_answer.event, i == 2 ? SL_GUARD_WARNED : SL_GUARD_QUIET);
    }
    for (int i = 0; i < 3; i++)
        decide(&claim, 1, NOW_US + 2 * S, 1);
    assert_int_equal(claim.guard_answer.event, SL_GUARD_BLOCKED);
    assert_true(is_limiting(&counted));
    assert_false(is_limiting(&claim) && claim.allowed);
    decide(&claim, 1, NOW_US + 500 * S, 1); /* a clean slate */
    assert_false(is_limiting(&counted));
}

WITH_LOGS(a_guard_without_room_fails_the_bundle)
{
    static const struct sl_guard guard = { .window_us = S, .penalty_us = S, .threshold = 5 };
    fill_with_limiting(10);
    struct sl_claim claim = fixed_at(3, 1, 10);
    claim.guard = &guard;
    claim.guard_key = key_at(10, 1);
    assert_int_equal(status_of(&claim, 1, NOW_US, 1), SLUICE_STORE_FULL);
    assert_null(place_of(&claim).slot);
    assert_int_equal(status_of(&claim, 1, NOW_US, 0), SLUICE_OK); /* which counts nothing */
}
