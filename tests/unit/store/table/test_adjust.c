#include "store/table/adjust.h"

#include "unit/store/claims.h"

static int refund(const struct sl_claim *claim, uint32_t cost, int64_t now_us)
{
    return sl_adjust_refund(&table, claim, (struct sl_charge){ cost, NOW_US }, now_us);
}

WITH_LOGS(a_claim_is_looked_for_where_its_algorithm_and_window_say)
{
    static const struct {
        const struct sl_algo *algo;
        int64_t window_us;
        enum sl_dating kind;
    } rows[] = {
        { &sl_fixed_window, S, SL_DATED_US },
        { &sl_sliding_window_counter, 60 * S, SL_DATED_FROM_1M },
        { &sl_sliding_window_counter, 60 * S - 1, SL_DATED_FROM_1S },
        { &sl_sliding_window_counter, S, SL_DATED_FROM_1S },
        { &sl_sliding_window_counter, S - 1, SL_DATED_FROM_1MS },
        { &sl_token_bucket, 0, SL_DATED_NS },
        { &sl_leaky_bucket, 0, SL_DATED_NS },
        { &sl_sliding_window_log, S, SL_DATED_RING },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_claim claim = claim_at(rows[i].algo, 3, 7, 10);
        claim.limit.window_us = rows[i].window_us;
        struct sl_probe probe = sl_claim_probe(&table, &claim);
        SAME(row, probe.want >> SL_SLOT_KIND_SHIFT & 7, rows[i].kind);
        SAME(row, probe.want >> SL_SLOT_KEY_SHIFT, 3 << 16 | 7);
        SAME(row, probe.spread, claim.key.low);
        SAME(row, probe.ring_len, rows[i].kind == SL_DATED_RING ? 16 : 0);
    }
    static const struct {
        int64_t capacity;
        uint32_t ring_len, class;
    } rings[] = { { 10, 20, 24 }, { 100, 20, 100 }, { 0, 0, 8 } };
    for (size_t i = 0; i < COUNT(rings); i++) {
        struct sl_claim claim = claim_at(slog, 3, 7, rings[i].capacity);
        claim.ring_len = rings[i].ring_len;
        assert_int_equal(sl_claim_probe(&table, &claim).ring_len, rings[i].class);
    }
}

WITH_LOGS(a_refund_comes_back_as_far_as_it_counts)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        assert_true(decide(&claim, 1, NOW_US, 6));
        assert_int_equal(refund(&claim, 2, NOW_US), SLUICE_OK);
        SAME(sl_algos[i]->name, left(claim, NOW_US), 6);
        assert_int_equal(refund(&claim, 99, NOW_US), SLUICE_OK);
        SAME(sl_algos[i]->name, left(claim, NOW_US), 10);
        assert_int_equal(refund(&claim, 1, NOW_US), SLUICE_OK); /* nothing more to give */
        SAME(sl_algos[i]->name, left(claim, NOW_US), 10);
        assert_true(decide(&claim, 1, NOW_US, 10));
        assert_false(decide(&claim, 1, NOW_US, 1));
        assert_int_equal(refund(&claim, 10, NOW_US + 2 * SPAN_US), SLUICE_OK); /* too late */
        SAME(sl_algos[i]->name, left(claim, NOW_US), 0);
        assert_int_equal(refund(&claim, 3, NOW_US), SLUICE_OK);
        SAME(sl_algos[i]->name, left(claim, NOW_US), 3);
        assert_true(is_limiting(&claim)); /* it has denied a request all the same */
        SAME(sl_algos[i]->name, place_of(&claim).slot != NULL, true);
    }
}

WITH_LOGS(an_overcharge_counts_past_the_limit_for_one_more_span_at_the_most)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        const struct sl_algo *algo = sl_algos[i];
        struct sl_claim claim = claim_at(algo, 3, i, 10);
        assert_true(decide(&claim, 1, NOW_US, 4));
        assert_int_equal(sl_adjust_overcharge(&table, &claim, 3, NOW_US), SLUICE_OK);
        SAME(algo->name, left(claim, NOW_US), 3);
        assert_int_equal(sl_adjust_overcharge(&table, &claim, UINT32_MAX, NOW_US), SLUICE_OK);
        SAME(algo->name, left(claim, NOW_US), 0);
        assert_false(decide(&claim, 1, NOW_US, 1));
        SAME(algo->name, claim.answer.retry_after_us <= 2 * SPAN_US, true);
        SAME(algo->name, left(claim, NOW_US + 2 * SPAN_US), 10);
    }
}

WITH_LOGS(what_was_used_is_charged_also_where_nothing_is_counted_any_more)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        assert_int_equal(sl_adjust_overcharge(&table, &claim, 2, NOW_US), SLUICE_OK);
        SAME(sl_algos[i]->name, left(claim, NOW_US), 8);
    }
}

WITH_LOGS(where_nothing_is_counted_nothing_changes)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10);
        assert_int_equal(refund(&claim, 2, NOW_US), SLUICE_OK);
        sl_adjust_forget(&table, &claim);
        assert_null(place_of(&claim).slot);
    }
    assert_int_equal(measured(NOW_US).insertions, 0);
}

WITH_LOGS(a_shorter_log_is_refunded_where_its_limit_has_grown)
{
    struct sl_claim claim = claim_at(slog, 3, 1, 6), larger = claim_at(slog, 3, 1, 30);
    assert_true(decide(&claim, 1, NOW_US, 5));
    assert_int_equal(refund(&larger, 2, NOW_US), SLUICE_OK);
    assert_int_equal(place_of(&claim).ring_len, 32);
    assert_int_equal(left(claim, NOW_US), 3);
    assert_int_equal(refund(&claim, 1, NOW_US), SLUICE_OK); /* and shrunk again */
    assert_int_equal(place_of(&claim).ring_len, 32);
    assert_int_equal(left(larger, NOW_US), 28);
}

WITH_LOGS(a_frozen_log_is_changed_on_its_way)
{
    struct sl_claim claim = claim_at(slog, 3, 1, 10);
    assert_true(decide(&claim, 1, NOW_US, 5));
    freeze(&claim);
    assert_int_equal(refund(&claim, 2, NOW_US), SLUICE_OK);
    assert_int_equal(sl_slot_kind(place_of(&claim).word.hi), SL_DATED_RING);
    freeze(&claim);
    leave_tentative(&claim, NOW_US); /* of a process killed in the middle */
    assert_int_equal(sl_adjust_overcharge(&table, &claim, 4, NOW_US), SLUICE_OK);
    assert_int_equal(left(claim, NOW_US), 3);
    assert_int_equal(measured(NOW_US).log_live, 1);
}

WITH_LOGS(a_log_that_cannot_be_moved_is_full_and_stays)
{
    table.log_bytes = group_bytes(16); /* four slots */
    struct sl_claim claims[4];
    for (uint64_t i = 0; i < 4; i++) {
        claims[i] = claim_at(slog, 3, i, 10);
        assert_true(decide(&claims[i], 1, NOW_US, 10));
        assert_false(decide(&claims[i], 1, NOW_US, 1)); /* limiting */
    }
    struct sl_word before = place_of(&claims[2]).word;
    assert_int_equal(refund(&claims[2], 2, NOW_US), SLUICE_STORE_FULL);
    assert_int_equal(sl_adjust_overcharge(&table, &claims[2], 2, NOW_US), SLUICE_STORE_FULL);
    assert_true(sl_word_equal(place_of(&claims[2]).word, before));
    sl_adjust_forget(&table, &claims[0]);
    assert_int_equal(refund(&claims[2], 2, NOW_US), SLUICE_OK);
    assert_int_equal(left(claims[2], NOW_US), 2);
}

WITH_LOGS(forgetting_a_claim_forgets_its_guard_and_no_other_claim)
{
    static const struct sl_guard guard = { .window_us = S, .penalty_us = 60 * S, .threshold = 1 };
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_at(sl_algos[i], 3, i, 10), other = claim;
        other.key = key_at(3, 50 + i);
        claim.guard = &guard;
        claim.guard_key = key_at(4, i);
        decide(&other, 1, NOW_US, 2);
        for (int k = 0; k < 3; k++)
            decide(&claim, 1, NOW_US, 1);
        struct sl_probe probe = fixed_probe(claim.guard_key);
        struct sl_place place;
        assert_true(sl_table_find(&probe, &place));
        sl_adjust_forget(&table, &claim);
        assert_false(sl_table_find(&probe, &place));
        SAME(sl_algos[i]->name, left(claim, NOW_US), 10);
        SAME(sl_algos[i]->name, left(other, NOW_US), 8);
    }
}
