#include "limiter/decision.h"

#include "limiter/observe/counts.h"
#include "unit/limiter/decisions.h"

#define S INT64_C(1000000)

static const struct sl_rule rule = { .name = "r" };
static const struct sl_rule *const rules[] = { &rule, &rule };

TEST(a_bundle_of_one_is_summarised_as_its_claim_shows)
{
    for (int i = 0; i < 8; i++) {
        bool allowed = i & 1, charged = i & 2, has_reset = i & 4;
        struct sl_claim claim = {
            .algo = &sl_leaky_bucket,
            .limit = { .capacity = 9, .told_us = 11 * S },
            .allowed = allowed,
            .charged = charged,
            .answer = { .allowed = allowed,
                        .retry_after_us = allowed ? 0 : 3,
                        .delay_us = 4,
                        .as_of_us = 61 * S }, /* its window starts then */
            .figures = { 5, has_reset ? 70 * S : SLUICE_NONE },
        };
        struct sl_bundle bundle = { .now_us = 60 * S,
                                    .cost = 1,
                                    .claims = &claim,
                                    .claim_count = 1,
                                    .allowed = allowed,
                                    .wall_shift_us = -2 * S };
        struct sluice_decision shown, summarised;
        sl_decision_show(&bundle, &claim, "r", &shown);
        sl_decision_summarise(&bundle, rules, SLUICE_REASON_NO_RULE, &summarised);
        assert_int_equal(shown.reason, allowed ? SLUICE_REASON_OK : SLUICE_REASON_LIMITED);
        assert_int_equal(shown.decided_at_us, 58 * S);
        assert_int_equal(shown.reset_at_us, has_reset ? 68 * S : SLUICE_NONE);
        assert_int_equal(shown.charged_at_us, charged ? 61 * S : SLUICE_NONE);
        assert_int_equal(shown.delay_us, allowed ? 4 : 0);
        assert_int_equal(shown.window_us, 11 * S);
        assert_same_decision("one", &shown, &summarised);
    }
}

TEST(a_stores_no_stands)
{
    struct sl_claim claim = { .algo = &sl_fixed_window, .allowed = true };
    struct sl_bundle bundle = { .claims = &claim, .claim_count = 1, .allowed = false };
    struct sluice_decision decision;
    sl_decision_summarise(&bundle, rules, SLUICE_REASON_NO_RULE, &decision);
    assert_false(decision.allowed);
    assert_int_equal(decision.charged, 0);
}

/* Of two enforced rules the store could not be asked about the second, which has most to say. */
TEST(what_was_left_out_says_nothing)
{
    static const struct sl_rule others[] = { { .name = "live" }, { .name = "lost" } };
    static const struct sl_rule *const both[] = { &others[0], &others[1] };
    for (int i = 0; i < 8; i++) {
        bool allowed = i & 1, is_shadow = i & 2, is_degraded = i & 4;
        struct sl_claim claims[2] = {
            { .algo = &sl_fixed_window, .limit = { .capacity = 9 }, .allowed = allowed },
            { .algo = &sl_fixed_window, .limit = { .capacity = 9 }, .allowed = true },
        };
        claims[0].figures.remaining = 5;
        claims[1].figures.remaining = 2;
        claims[1].shadow = is_shadow;
        claims[1].is_lost = true; /* which says nothing of a bundle that is whole */
        struct sl_bundle bundle = { .now_us = 60 * S,
                                    .cost = 1,
                                    .claims = claims,
                                    .claim_count = 2,
                                    .allowed = allowed,
                                    .is_degraded = is_degraded };
        struct sluice_decision decision;
        struct sluice_explained row;
        sl_decision_summarise(&bundle, both, SLUICE_REASON_NO_RULE, &decision);
        bool is_by_policy = allowed && is_degraded && !is_shadow;
        bool is_others = allowed && !is_degraded && !is_shadow;
        assert_int_equal(decision.allowed, allowed);
        assert_string_equal(decision.rule, is_others ? "lost" : "live");
        assert_int_equal(decision.remaining, is_others ? 2 : 5);
        assert_int_equal(decision.reason, is_by_policy ? SLUICE_REASON_STORE
                                          : allowed    ? SLUICE_REASON_OK
                                                       : SLUICE_REASON_LIMITED);
        sl_decision_explain(&bundle, &claims[1], both[1], &row);
        assert_int_equal(row.remaining, is_degraded ? SLUICE_NONE : 2);
        assert_true(row.allowed);
        assert_int_equal(sl_outcome_of(&bundle, &claims[1]),
                         is_degraded ? SL_OUTCOME_STORE_FAILED : SL_OUTCOME_ALLOWED);
    }
}

TEST(a_bit_tells_which_rule_was_charged)
{
    static const struct {
        const char *name;
        uint64_t bits;
        size_t number;
        bool shadow, no_key, charged;
    } rows[] = {
        { "the first", 1, 0, false, false, true },
        { "not the second", 1, 1, false, false, false },
        { "a shadow", 2, 1, true, false, true },
        { "nobody's", 1, 0, false, true, false },
        { "the last with a bit of its own", UINT64_C(1) << 62, 62, true, false, true },
        { "the first without", UINT64_C(1) << 63, 63, false, false, true },
        { "a shadow without", UINT64_C(1) << 63, 63, true, false, false },
        { "far behind", UINT64_C(1) << 63, 1000, false, false, true },
        { "none behind", UINT64_MAX >> 1, 1000, false, false, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_claim claim = { .shadow = rows[i].shadow, .no_key = rows[i].no_key };
        struct sluice_decision decision = { .charged = rows[i].bits };
        SAME(rows[i].name, sl_decision_charged(&decision, &claim, rows[i].number), rows[i].charged);
    }
}

/* In several slots of a cluster, or in a race: each has its own time, as far as there is room. */
TEST(claims_that_were_charged_at_different_times_keep_theirs)
{
    enum { MANY = 10 };
    static const int64_t times_us[MANY] = { 70 * S, 60 * S, 60 * S + 3, 9000 * S, 5,
                                            60 * S, 60 * S, 60 * S + 7, 80 * S,   61 * S };
    static const int64_t told_us[MANY] = { 70 * S, 60 * S, 60 * S + 3, 60 * S, 60 * S,
                                           60 * S, 60 * S, 60 * S + 7, 60 * S, 60 * S };
    struct sl_claim claims[MANY];
    const struct sl_rule *many[MANY];
    struct sluice_decision decision;
    for (size_t i = 0; i < MANY; i++) {
        claims[i] = (struct sl_claim){ .algo = &sl_fixed_window, .allowed = true };
        claims[i].charged = i != 4;
        claims[i].answer.as_of_us = times_us[i];
        many[i] = &rule;
    }
    struct sl_bundle bundle = { .claims = claims, .claim_count = MANY, .allowed = true };
    sl_decision_summarise(&bundle, many, SLUICE_REASON_NO_RULE, &decision);
    assert_int_equal(decision.charged_at_us, 60 * S);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(sl_decision_charged_at_us(&decision, i), told_us[i]);
    decision.charged_after_us[0] = -5; /* a value that no limiter writes */
    assert_int_equal(sl_decision_charged_at_us(&decision, 0), 60 * S);
}
