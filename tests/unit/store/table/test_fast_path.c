#include "store/table/fast_path.h"

#include "unit/store/claims.h"

static struct sl_fast_path once_of(const struct sl_claim *claim, int64_t now_us, uint32_t cost)
{
    return (struct sl_fast_path){ .algo = claim->algo,
                                  .limit = &claim->limit,
                                  .key = claim->key,
                                  .cost = cost,
                                  .now_us = now_us };
}

WITH_LOGS(what_is_out_of_the_ordinary_is_not_done_and_nothing_written)
{
    struct sl_claim known = fixed_at(3, 1, 10), log = claim_at(slog, 3, 1, 10);
    struct sl_claim ahead = fixed_at(4, 1, 10), unknown = fixed_at(3, 2, 10);
    decide(&known, 1, NOW_US, 1);
    decide(&log, 1, NOW_US, 1);
    decide(&ahead, 1, NOW_US + 9 * SPAN_US, 1); /* to be repaired */
    for (uint64_t i = 0; i < SL_LINE_SLOTS; i++) {
        struct sl_claim neighbour = fixed_at(5, i, 10);
        decide(&neighbour, 1, NOW_US, 1);
    }
    struct sl_claim displaced = fixed_at(5, 99, 10);
    decide(&displaced, 1, NOW_US, 1);
    const struct {
        const char *row;
        const struct sl_claim *claim;
        uint32_t cost;
        bool done;
    } rows[] = { { "known", &known, 1, true },
                 { "cost 0", &known, 0, false },
                 { "log", &log, 1, false },
                 { "too far ahead", &ahead, 1, false },
                 { "not there", &unknown, 1, false },
                 { "not at home", &displaced, 1, false },
                 { "known, denied", &known, 10, true } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_place place = place_of(rows[i].claim);
        struct sl_fast_path once = once_of(rows[i].claim, NOW_US, rows[i].cost);
        SAME(rows[i].row, sl_table_fast_path(&table, &once), rows[i].done);
        if (!rows[i].done && place.slot)
            SAME(rows[i].row, sl_word_equal(*place.slot, place.word), true);
    }
    assert_int_equal(left(known, NOW_US), 8);
    assert_null(place_of(&unknown).slot);
}

WITH_LOGS(a_state_that_denied_is_limiting_until_it_starts_afresh)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        for (int way = 0; way < 2; way++) {
            struct sl_claim claim = claim_at(sl_algos[i], 3, 2 * i + (uint64_t)way, 10);
            struct sl_bundle bundle = bundle_of(&claim, 1, NOW_US, 6);
            bundle.max_delay_us = way ? INT64_MAX : -1; /* which goes the long way */
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, bundle.allowed && !is_limiting(&claim), true);
            bundle.cost = 11; /* never: that is no sign of a hurry */
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, is_limiting(&claim), false);
            bundle.cost = 6;
            bundle.peek = true;
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, !bundle.allowed && !is_limiting(&claim), true);
            bundle.peek = false;
            claim.shadow = true;
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, bundle.allowed && !is_limiting(&claim), true);
            SAME(claim.algo->name, claim.allowed || claim.charged, false);
            claim.shadow = false;
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, !bundle.allowed && is_limiting(&claim), true);
            bundle.cost = 1; /* what it still allows changes nothing about that */
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, bundle.allowed && is_limiting(&claim), true);
            bundle.now_us += 4 * SPAN_US;
            sl_table_decide(&table, &bundle, false);
            SAME(claim.algo->name, bundle.allowed && !is_limiting(&claim), true);
        }
    }
}

/* ---- the short way and the long one --------------------------------------------------- */

static void same_answers(const struct sl_claim *one, const struct sl_claim *other)
{
    const char *name = one->algo->name;
    SAME(name, one->allowed, other->allowed);
    SAME(name, one->charged, other->charged);
    SAME(name, one->answer.allowed, other->answer.allowed);
    SAME(name, one->answer.repair, other->answer.repair);
    SAME(name, one->answer.retry_after_us, other->answer.retry_after_us);
    SAME(name, one->answer.delay_us, other->answer.delay_us);
    SAME(name, one->figures.remaining, other->figures.remaining);
    SAME(name, one->figures.reset_at_us, other->figures.reset_at_us);
}

/* On the same word both ways, which must then be the same word again. */
static void decide_both_ways(struct sl_claim claim, int64_t now_us, uint32_t cost)
{
    struct sl_claim by_long = claim;
    struct sl_bundle bundle = bundle_of(&claim, 1, now_us, cost);
    struct sl_bundle longer = bundle_of(&by_long, 1, now_us, cost);
    longer.max_delay_us = INT64_MAX;
    struct sl_place before = place_of(&claim);
    sl_table_decide(&table, &bundle, false);
    struct sl_place after = place_of(&claim);
    if (!before.slot || before.slot != after.slot)
        return; /* it was inserted, or its ring moved: the long way anyhow */
    *after.slot = before.word;
    sl_table_decide(&table, &longer, false);
    same_answers(&claim, &by_long);
    SAME(claim.algo->name, bundle.allowed, longer.allowed);
    SAME(claim.algo->name, bundle.status, longer.status);
    SAME(claim.algo->name, sl_word_equal(place_of(&claim).word, after.word), true);
}

WITH_LOGS(the_short_way_and_the_long_one_agree)
{
    uint64_t seed = 7;
    for (size_t i = 0; sl_algos[i]; i++) {
        int64_t now_us = NOW_US;
        for (int round = 0; round < 20000; round++) {
            int64_t capacity = unit_up_to(&seed, 12);
            struct sl_claim claim = claim_at(sl_algos[i], 3, i, capacity);
            claim.shadow = unit_up_to(&seed, 9) == 0;
            claim.limit.first_request = sl_algos[i]->takes_align && unit_up_to(&seed, 1);
            int64_t step_us = unit_up_to(&seed, SPAN_US) >> unit_up_to(&seed, 8);
            now_us += unit_up_to(&seed, 19) == 0 ? -2 * step_us : step_us;
            now_us = sl_max_i64(now_us, 0);
            decide_both_ways(claim, now_us, (uint32_t)unit_up_to(&seed, 5));
        }
    }
    assert_int_equal(measured(NOW_US).evictions, 0);
}
