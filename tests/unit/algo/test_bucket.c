/* The bucket that token and leaky bucket share, as the token bucket shows it. */
#include "algo/bucket.h"

#include "unit/algo/steps.h"

enum { MS = 1000, S = 1000000 }; /* in µs */
enum { NS_PER_MS = 1000000 };    /* a token's time is in ns */

static const struct sl_algo *const bucket = &sl_token_bucket;

static struct sl_limit limit_of(int64_t capacity, int64_t token_ns)
{
    return (struct sl_limit){ .capacity = capacity,
                              .token_ns = token_ns,
                              .token_form = sl_token_short(token_ns) };
}

TEST(spends_what_was_saved_and_refills_evenly)
{
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS); /* 10, and 10 a second */
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        /* now   cost retry remaining reset */
        { 0, 0, 0, 10, 0 },
        { 0, 1, 0, 9, 100 * MS },
        { 0, 9, 0, 0, S },
        { 0, 1, 100 * MS, 0, S },
        { 0, 10, S, 0, S },
        { 0, 0, 0, 0, S },
        { 100 * MS - 1, 1, 1, 0, S },
        { 100 * MS, 1, 0, 0, S + 100 * MS },
        { 350 * MS, 3, 50 * MS, 2, S + 100 * MS }, /* 2.5 are there: not a third one */
        { 350 * MS, 2, 0, 0, S + 300 * MS },
        { 350 * MS, 1, 50 * MS, 0, S + 300 * MS },
        { S + 300 * MS - 1, 10, 1, 9, S + 300 * MS },
        { S + 300 * MS, 10, 0, 0, 2 * S + 300 * MS },
        { 90 * S, 1, 0, 9, 90 * S + 100 * MS }, /* full is full */
    };
    RUN_STEPS(bucket, &limit, &state, steps);
}

TEST(a_cost_above_the_capacity_never_passes)
{
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 7, 11, SL_NEVER, 10, 7 },
        { 7, UINT32_MAX, SL_NEVER, 10, 7 },
        { 7, 10, 0, 0, S + 7 },
        { 7, 11, SL_NEVER, 0, S + 7 },
    };
    RUN_STEPS(bucket, &limit, &state, steps);
}

TEST(waits_are_whole_microseconds_rounded_up)
{
    struct sl_limit limit = limit_of(2, 1500); /* 1.5 µs a token */
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 0, 2, 0, 0, 3 }, { 0, 1, 2, 0, 3 }, { 1, 1, 1, 0, 3 },
        { 2, 1, 0, 0, 5 }, /* 1 µs of debt left, and 1.5: 2.5 µs */
        { 2, 2, 3, 0, 5 }, { 4, 2, 1, 1, 5 }, { 5, 2, 0, 0, 8 },
    };
    RUN_STEPS(bucket, &limit, &state, steps);
}

TEST(a_full_at_up_to_one_span_ahead_is_believed)
{
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5 * S, 4, 0, 6, 5 * S + 400 * MS },
        { 5 * S - 1, 6, 1, 5, 5 * S + 400 * MS }, /* a microsecond less has been paid */
        { 5 * S - 600 * MS, 1, 100 * MS, 0, 5 * S + 400 * MS },
        { 5 * S - 500 * MS, 1, 0, 0, 5 * S + 500 * MS },
        { 5 * S, 5, 0, 0, 6 * S },
    };
    RUN_STEPS(bucket, &limit, &state, steps);
}

TEST(a_full_at_further_ahead_is_replaced_by_an_empty_bucket_at_now)
{
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5 * S, 4, 0, 6, 5 * S + 400 * MS },
        { 4 * S + 400 * MS - 1, 1, 100 * MS, 0, 5 * S + 400 * MS - 1, .repair = true },
        { 4 * S + 400 * MS - 1, 1, 100 * MS, 0, 5 * S + 400 * MS - 1 }, /* was saved */
        { S, 0, 0, 0, 2 * S, .repair = true },
        { S, 11, SL_NEVER, 0, 2 * S },
        { S + 100 * MS, 1, 0, 0, 2 * S + 100 * MS },
    };
    RUN_STEPS(bucket, &limit, &state, steps);
}

/* ---- a change of the rule --------------------------------------------------- */

TEST(a_debt_keeps_its_worth_in_tokens_when_the_rate_changes)
{
    /* `spent` of 100 at 100/s, at once asked under another limit. */
    static const struct {
        uint32_t spent;
        int64_t capacity, token_ns;
        int64_t remaining, reset_us;
        bool repair;
    } rows[] = {
        { 100, 100, 100 * NS_PER_MS, 0, 10 * S, true }, /* a tenth of the rate: not 90 tokens */
        { 50, 100, 100 * NS_PER_MS, 50, 5 * S, true },
        { 50, 100, 1 * NS_PER_MS, 50, 50 * MS, true }, /* ten times the rate */
        { 100, 1000, 1 * NS_PER_MS, 900, 100 * MS, true },
        { 100, 1000, 10 * NS_PER_MS, 900, S, false },   /* the capacity alone */
        { 100, 60, 10 * NS_PER_MS, 0, 600 * MS, true }, /* more than it can hold: empty */
        { 60, 60, 10 * NS_PER_MS, 0, 600 * MS, false }, /* just what it can hold */
        { 61, 60, 10 * NS_PER_MS, 0, 600 * MS, true },
        { 100, 60, 100 * NS_PER_MS, 0, 6 * S, true },
        { 0, 60, 100 * NS_PER_MS, 60, 0, false }, /* nothing owed, nothing to carry */
        { 1, 100, 33333333, 99, 33334, true },    /* rounded up to whole µs */
        { 1, 0, 10 * NS_PER_MS, 0, 0, true },
    };
    struct sl_limit before = limit_of(100, 10 * NS_PER_MS);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_limit after = limit_of(rows[i].capacity, rows[i].token_ns);
        struct sl_state state = { 0 };
        int64_t now_us = 77 * (int64_t)S;
        take(bucket, &before, &state, now_us, rows[i].spent);
        SAME(row, left(bucket, &after, &state, now_us), rows[i].remaining);
        SAME(row, reset_of(bucket, &after, &state, now_us), now_us + rows[i].reset_us);
        SAME(row, ask(bucket, &after, &state, now_us, 1).repair, rows[i].repair);
        take(bucket, &after, &state, now_us, 0); /* carried over, it stays the same */
        SAME(row, left(bucket, &after, &state, now_us), rows[i].remaining);
        SAME(row, reset_of(bucket, &after, &state, now_us), now_us + rows[i].reset_us);
        SAME(row, ask(bucket, &after, &state, now_us, 1).repair, false);
    }
}

TEST(a_carried_debt_drains_at_the_new_rate_even_if_only_denials_see_it)
{
    struct sl_limit before = limit_of(100, 10 * NS_PER_MS);
    struct sl_limit after = limit_of(100, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    take(bucket, &before, &state, 0, 100);
    static const struct step steps[] = {
        { 0, 1, 100 * MS, 0, 10 * S, .repair = true },
        { 99 * MS, 1, MS, 0, 10 * S },
        { 100 * MS, 1, 0, 0, 10 * S + 100 * MS },
    };
    RUN_STEPS(bucket, &after, &state, steps);
}

TEST(a_debt_of_up_to_a_thousand_tokens_is_carried_over_to_the_token)
{
    uint64_t seed = 3;
    for (int i = 0; i < 100000; i++) {
        struct sl_limit before = limit_of(1000, 1 + unit_up_to(&seed, 1000 * NS_PER_MS));
        struct sl_limit after = limit_of(1000, 1 + unit_up_to(&seed, 1000 * NS_PER_MS));
        struct sl_state state = { 0 };
        uint32_t spent = (uint32_t)unit_up_to(&seed, 1000);
        take(bucket, &before, &state, 0, spent);
        int64_t remaining = left(bucket, &after, &state, 0);
        assert_in_range(remaining, spent == 1000 ? 0 : 1000 - spent - 1, 1000 - spent);
    }
}

TEST(a_rate_that_goes_to_and_fro_adds_nothing)
{
    struct sl_limit three = limit_of(100, 333333334); /* 3 a second */
    struct sl_limit seven = limit_of(100, 142857143);
    struct sl_state state = { 0 };
    take(bucket, &three, &state, 0, 50);
    int64_t reset_us = reset_of(bucket, &three, &state, 0);
    for (int i = 0; i < 1000; i++) { /* denied each time; nothing that is rough is saved */
        assert_false(decide_and_charge(bucket, &seven, &state, 0, 60).repair);
        assert_false(decide_and_charge(bucket, &three, &state, 0, 60).repair);
    }
    assert_int_equal(reset_of(bucket, &three, &state, 0), reset_us);
}

/* ---- refunds ---------------------------------------------------------------- */

TEST(a_refund_gives_back_what_time_has_not_paid_yet)
{
    /* 6 of 10 (100 ms each) spent at 5 s, then 2 at 5.1 s. */
    static const struct {
        int64_t charged_at_us, now_us;
        uint32_t cost;
        bool given;
        int64_t reset_us; /* from now */
    } rows[] = {
        { 5 * S, 5 * S + 100 * MS, 6, true, 200 * MS }, /* 5 of 7 */
        { 5 * S, 5 * S + 300 * MS, 6, true, 200 * MS }, /* 3 of 5 */
        { 5 * S, 5 * S + 600 * MS - 1, 6, true, 200 * MS },
        { 5 * S, 5 * S + 600 * MS, 6, false, 200 * MS },
        { 5 * S, 5 * S + 700 * MS, 6, false, 100 * MS },
        { 5 * S + 100 * MS, 5 * S + 100 * MS, 2, true, 500 * MS },
        { 5 * S + 100 * MS, 5 * S + 299 * MS, 2, true, 500 * MS },
        { 5 * S + 100 * MS, 5 * S + 300 * MS, 2, false, 500 * MS },
        { 5 * S, 5 * S + 100 * MS, 1, false, 700 * MS },
        { 5 * S, 5 * S + 100 * MS, 0, false, 700 * MS },
        { 5 * S, 5 * S + 100 * MS, UINT32_MAX, true, 0 }, /* never below nothing */
        { 6 * S, 5 * S + 100 * MS, 2, true, 500 * MS },   /* charged under a later clock */
        { 5 * S, 9 * S, 6, false, 0 },
    };
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        struct sl_state state = { 0 };
        snprintf(row, sizeof row, "row %zu", i);
        take(bucket, &limit, &state, 5 * S, 6);
        take(bucket, &limit, &state, 5 * S + 100 * MS, 2);
        SAME(row,
             give_back(bucket, &limit, &state, rows[i].now_us, rows[i].cost, rows[i].charged_at_us),
             rows[i].given);
        SAME(row, reset_of(bucket, &limit, &state, rows[i].now_us),
             rows[i].now_us + rows[i].reset_us);
        FITS(row, &state);
    }
}

TEST(a_late_refund_never_admits_more_than_the_bound)
{
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    uint64_t seed = 4;
    for (int round = 0; round < 2000; round++) {
        struct sl_state state = { 0 };
        int64_t now_us = 0;
        int64_t kept_ns = 0; /* what was spent for good */
        for (int i = 0; i < 20; i++) {
            int64_t charged_at_us = now_us;
            uint32_t cost = 1 + (uint32_t)unit_up_to(&seed, 9);
            bool allowed = decide_and_charge(bucket, &limit, &state, now_us, cost).allowed;
            kept_ns += allowed ? cost * limit.token_ns : 0;
            now_us += unit_up_to(&seed, S);
            int64_t before_us = reset_of(bucket, &limit, &state, now_us);
            if (allowed && unit_up_to(&seed, 1) &&
                give_back(bucket, &limit, &state, now_us, cost, charged_at_us))
                kept_ns -= (before_us - reset_of(bucket, &limit, &state, now_us)) * 1000;
            /* C + t/T, in time */
            assert_in_range(kept_ns, 0, 10 * limit.token_ns + now_us * 1000);
        }
    }
}

/* 10 and 10 spent at 0 with a token a second; at 9 s, 11 are owed. With a token
 * in 10 s since, the first ten are not worth 91 s. */
TEST(a_refund_across_a_change_of_rate_gives_nothing)
{
    struct sl_limit fast = limit_of(100, INT64_C(1000) * NS_PER_MS);
    struct sl_limit slow = limit_of(100, INT64_C(10000) * NS_PER_MS);
    struct sl_state state = { 0 };
    take(bucket, &fast, &state, 0, 10);
    take(bucket, &fast, &state, 0, 10);
    SAME("not yet converted", give_back(bucket, &slow, &state, 9 * S, 10, 0), false);
    take(bucket, &slow, &state, 9 * S, 1);
    SAME("converted", give_back(bucket, &fast, &state, 9 * S, 10, 0), false);
    SAME("converted", reset_of(bucket, &slow, &state, 9 * S), 9 * S + 120 * S);
}

/* ---- extremes --------------------------------------------------------------- */

/* A reservation's: the rule has other numbers since, and others have asked under these. */
TEST(an_overcharge_by_another_limit_leaves_what_is_owed)
{
    static const struct {
        const char *name;
        int64_t capacity, token_ms, in_force_ms, left;
    } rows[] = {
        { "a lower capacity", 400, 1000, 1000, 500 },
        { "and dearer tokens", 400, 3000, 1000, 500 },
        { "and cheaper tokens", 400, 1, 1000, 500 },
        { "a lower rate", 4000, 3000, 1000, 490 },
        { "a higher rate", 4000, 1, 1000, 490 },
        { "a rate that is not round", 4000, 1, 1009, 490 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sl_limit limit = limit_of(4000, rows[i].in_force_ms * NS_PER_MS);
        struct sl_limit other = limit_of(rows[i].capacity, rows[i].token_ms * NS_PER_MS);
        struct sl_state state = { 0 };
        decide_and_charge(bucket, &limit, &state, 0, 3500);
        bucket->overcharge(&other, &state, (struct sl_ask){ 0, 10 });
        SAME(rows[i].name, left(bucket, &limit, &state, 0), rows[i].left);
        SAME(rows[i].name, ask(bucket, &limit, &state, 0, 0).repair, false);
    }
}

TEST(the_largest_and_smallest_tokens_fit)
{
    static const struct {
        int64_t capacity, token_ns;
    } rows[] = {
        { 1, SL_SPAN_MAX_NS }, { SL_SPAN_MAX_NS, 1 }, { UINT32_MAX, 1810492 }, { 2, 1 }, { 1, 1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_limit limit = limit_of(rows[i].capacity, rows[i].token_ns);
        uint32_t cost = (uint32_t)(rows[i].capacity < UINT32_MAX ? rows[i].capacity : UINT32_MAX);
        int64_t debt_us = (cost * rows[i].token_ns + 999) / 1000;
        int64_t now_us = SL_TIME_MAX_US;
        struct sl_state state = { 0 };
        struct step step = { now_us, cost, 0, rows[i].capacity - cost, now_us + debt_us };
        run_steps(bucket, &limit, &state, &step, 1);
        struct sl_limit smaller = limit_of(1, 1);
        assert_int_equal(left(bucket, &smaller, &state, now_us), 0);
        assert_true(decide_and_charge(bucket, &limit, &state, 0, 1).repair);
        assert_int_equal(left(bucket, &limit, &state, 0), 0);
    }
}

TEST(a_state_that_no_algorithm_wrote_is_an_empty_bucket)
{
    /* full in the year 1970 + 1000 s, written under a token time of zero */
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    uint64_t full_at_ns = UINT64_C(1000000000000);
    state.lo = full_at_ns << 22;
    state.hi = full_at_ns >> 42;
    assert_int_equal(left(bucket, &limit, &state, 0), 0);
    assert_true(ask(bucket, &limit, &state, 0, 1).repair);
}

/* ---- the short form of a token time ------------------------------------------- */

/* Rounded down, by at most a 2^15-th. */
static void check_short(int64_t token_ns)
{
    char row[48];
    snprintf(row, sizeof row, "%" PRId64 " ns", token_ns);
    uint32_t form = sl_token_short(token_ns);
    SAME(row, form >> 22, 0);
    int64_t value_ns = sl_token_value(form);
    SAME(row, value_ns <= token_ns, true);
    SAME(row, (token_ns - value_ns) << 15 <= token_ns, true);
}

TEST(short_token_times_are_exact)
{
    for (int64_t token_ns = 1; token_ns <= 1 << 17; token_ns++)
        assert_int_equal(sl_token_value(sl_token_short(token_ns)), token_ns);
}

TEST(token_times_of_round_rates_are_exact)
{
    int64_t unit_ns = 1;
    for (int k = 0; k <= 11; k++, unit_ns *= 10)
        for (int64_t m = 1; m < 1 << 17 && m * unit_ns <= SL_SPAN_MAX_NS; m += 1 + m / 64)
            assert_int_equal(sl_token_value(sl_token_short(m * unit_ns)), m * unit_ns);
    assert_int_equal(sl_token_value(sl_token_short(INT64_C(131071) * 10000000000)),
                     INT64_C(131071) * 10000000000);
    assert_int_equal(sl_token_value(sl_token_short(SL_SPAN_MAX_NS)), SL_SPAN_MAX_NS);
}

TEST(other_token_times_are_at_most_a_2_15th_short)
{
    for (int bits = 1; bits <= 52; bits++)
        for (int64_t off = -2; off <= 2; off++)
            if ((INT64_C(1) << bits) + off > 0)
                check_short((INT64_C(1) << bits) + off);
    check_short(INT64_C(12048192772)); /* 0.083 a second */
    check_short(SL_SPAN_MAX_NS - 1);
    uint64_t seed = 5;
    for (int i = 0; i < 200000; i++)
        check_short(1 + unit_up_to(&seed, (INT64_C(1) << unit_up_to(&seed, 52)) - 1));
}

TEST(any_22_bits_are_read_without_overflow)
{
    for (uint32_t form = 0; form < 1u << 22; form++)
        assert_true(sl_token_value(form) >= 0);
}
