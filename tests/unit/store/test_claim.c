/* One request, claim by claim, without a store around it. */
#include "store/claim.h"

#include "algo/bucket.h"
#include "unit/base/unit.h"

#define S INT64_C(1000000)

static const struct sl_guard one_in_10s = { .window_us = 10 * S,
                                            .penalty_us = 60 * S,
                                            .threshold = 1 };

static struct sl_claim fixed_claim(int64_t capacity)
{
    return (struct sl_claim){ .algo = &sl_fixed_window,
                              .limit = { .capacity = capacity, .window_us = S } };
}

static struct sl_claim leaky_claim(int64_t capacity, int64_t token_ns)
{
    return (struct sl_claim){ .algo = &sl_leaky_bucket,
                              .limit = { .capacity = capacity,
                                         .token_ns = token_ns,
                                         .token_form = sl_token_short(token_ns) } };
}

static struct sl_bundle bundle_at(int64_t now_us, uint32_t cost)
{
    return (struct sl_bundle){ .now_us = now_us, .cost = cost, .max_delay_us = -1 };
}

TEST(a_guard_counts_what_asks_and_would_take)
{
    static const struct {
        bool peek;
        uint32_t cost;
        bool counts;
    } rows[] = { { false, 1, true }, { false, 9, true }, { false, 0, false }, { true, 1, false } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_claim claim = { .guard = &one_in_10s };
        struct sl_bundle bundle = bundle_at(5 * S, rows[i].cost);
        bundle.peek = rows[i].peek;
        struct sl_state guard = { 0 };
        sl_claim_guard(&claim, &bundle, &guard);
        assert_int_equal(claim.guard_answer.request_count, rows[i].counts);
        assert_int_equal((guard.lo | guard.hi) != 0, rows[i].counts);
    }
}

TEST(a_block_denies_until_the_later_of_its_end_and_the_limits_own)
{
    static const struct {
        int64_t capacity;
        uint32_t taken, cost;
        int64_t blocked_until_us, retry_us, reset_us;
    } rows[] = {
        /* at 5.25 s; the window ends at 6 s */
        { 10, 0, 1, 9 * S, 3750000, 9 * S },   { 10, 10, 1, 9 * S, 3750000, 9 * S },
        { 10, 10, 1, 5500000, 750000, 6 * S }, { 10, 0, 1, 5500000, 250000, 5500000 },
        { 10, 0, 11, 9 * S, SL_NEVER, 9 * S }, { 10, 0, 0, 9 * S, 3750000, 9 * S },
        { 10, 1, 1, 5250001, 1, 6 * S },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_claim claim = fixed_claim(rows[i].capacity);
        struct sl_bundle bundle = bundle_at(5250000, rows[i].cost);
        struct sl_state state = { 0 };
        claim.algo->charge(&claim.limit, &state, (struct sl_ask){ 5 * S, rows[i].taken });
        claim.guard_answer.blocked_until_us = rows[i].blocked_until_us;
        sl_claim_decide(&claim, &bundle, &state);
        SAME(row, claim.allowed, false);
        SAME(row, claim.answer.retry_after_us, rows[i].retry_us);
        sl_claim_measure(&claim, &bundle, &state);
        SAME(row, claim.figures.remaining, 0);
        SAME(row, claim.figures.reset_at_us, rows[i].reset_us);
    }
}

TEST(a_delay_longer_than_the_caller_waits_is_a_denial)
{
    /* A queue of 10 units of 100 ms each. */
    static const struct {
        uint32_t queued, cost;
        int64_t max_delay_us;
        int64_t retry_us; /* 0: allowed */
    } rows[] = {
        { 5, 1, -1, 0 },           { 5, 1, 500000, 0 },
        { 5, 1, 499999, 1 },       { 5, 1, 100000, 400000 },
        { 5, 1, 0, 500000 },       { 5, 0, 0, 0 },            /* a cost of 0 waits for nothing */
        { 5, 6, 0, 500000 },       { 5, 10, 400000, 500000 }, /* the longer of the two waits */
        { 5, 11, 0, SL_NEVER },    { 10, 1, -1, 100000 },
        { 10, 1, 950000, 100000 }, { 10, 1, 850000, 150000 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_claim claim = leaky_claim(10, 100000000);
        struct sl_bundle bundle = bundle_at(7 * S, rows[i].cost);
        struct sl_state state = { 0 };
        claim.algo->charge(&claim.limit, &state, (struct sl_ask){ 7 * S, rows[i].queued });
        bundle.max_delay_us = rows[i].max_delay_us;
        sl_claim_decide(&claim, &bundle, &state);
        SAME(row, claim.allowed, rows[i].retry_us == 0);
        SAME(row, claim.answer.retry_after_us, rows[i].retry_us);
        if (rows[i].retry_us > 0) { /* exact: not a microsecond earlier */
            bundle.now_us = 7 * S + rows[i].retry_us - 1;
            sl_claim_decide(&claim, &bundle, &state);
            SAME(row, claim.allowed, false);
            bundle.now_us++;
            sl_claim_decide(&claim, &bundle, &state);
            SAME(row, claim.allowed, true);
        }
    }
}

TEST(the_guard_of_a_shadow_never_blocks)
{
    struct sl_claim claim = fixed_claim(10);
    struct sl_bundle bundle = bundle_at(5 * S, 1);
    struct sl_state state = { 0 };
    claim.shadow = true;
    claim.guard_answer.blocked_until_us = 9 * S;
    sl_claim_decide(&claim, &bundle, &state);
    assert_true(claim.allowed);
    sl_claim_measure(&claim, &bundle, &state);
    assert_int_equal(claim.figures.remaining, 10);
    assert_int_equal(claim.figures.reset_at_us, 5 * S);
}

TEST(every_claim_but_a_shadow_must_allow)
{
    static const struct {
        bool allowed[3], shadow[3];
        bool judged;
    } rows[] = {
        { { true, true, true }, { false, false, false }, true },
        { { true, false, true }, { false, false, false }, false },
        { { true, false, true }, { false, true, false }, true },
        { { true, true, false }, { true, true, false }, false },
        { { false, false, false }, { true, true, true }, true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_claim claims[3] = { 0 };
        for (size_t k = 0; k < 3; k++) {
            claims[k].allowed = rows[i].allowed[k];
            claims[k].shadow = rows[i].shadow[k];
        }
        struct sl_bundle bundle = { .claims = claims, .claim_count = 3 };
        sl_bundle_judge(&bundle);
        assert_int_equal(bundle.allowed, rows[i].judged);
    }
    struct sl_bundle nobody = { 0 };
    sl_bundle_judge(&nobody);
    assert_true(nobody.allowed);
}

TEST(what_is_written_follows_from_the_verdict)
{
    static const struct {
        bool bundle_allowed, claim_allowed, repair, peek;
        uint32_t cost;
        enum sl_write write;
    } rows[] = {
        { true, true, false, false, 1, SL_WRITE_CHARGE },
        { true, true, true, false, 1, SL_WRITE_CHARGE },
        { true, true, false, false, 0, SL_WRITE_NOTHING },
        { true, true, true, false, 0, SL_WRITE_REPAIR },
        { true, false, false, false, 1, SL_WRITE_NOTHING }, /* a shadow that denies */
        { true, false, true, false, 1, SL_WRITE_REPAIR },
        { false, true, false, false, 1, SL_WRITE_NOTHING }, /* another one denied */
        { false, true, true, false, 1, SL_WRITE_REPAIR },
        { false, false, false, false, 1, SL_WRITE_NOTHING },
        { false, false, true, false, 1, SL_WRITE_REPAIR },
        { true, true, false, true, 1, SL_WRITE_NOTHING },
        { true, true, true, true, 1, SL_WRITE_NOTHING },
        { false, false, true, true, 1, SL_WRITE_NOTHING },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_claim claim = { .allowed = rows[i].claim_allowed,
                                  .answer.repair = rows[i].repair };
        struct sl_bundle bundle = { .allowed = rows[i].bundle_allowed,
                                    .peek = rows[i].peek,
                                    .cost = rows[i].cost };
        SAME(row, sl_claim_write(&claim, &bundle), rows[i].write);
    }
}
