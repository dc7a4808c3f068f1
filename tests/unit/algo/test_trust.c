#include "algo/trust.h"

#include "base/text/number.h"
#include "unit/base/unit.h"

#define DAY_US INT64_C(86400000000)

static const struct sl_trust_weights weights = SL_TRUST_DEFAULTS;

TEST(a_score_is_the_sum_of_its_parts_floored_once)
{
    static const struct {
        const char *who;
        struct sl_trust_facts facts;
        int32_t thousandths;
    } rows[] = {
        /*                              age           email   calls  well violations */
        { "nobody known", { 0 }, 0 },
        { "all there is", { 365 * DAY_US, true, 100, 100, 0 }, 1000 },
        { "all but the mail", { 365 * DAY_US, false, 100, 100, 0 }, 800 },
        { "the mail alone", { 0, true, 0, 0, 0 }, 200 },
        { "age at its cap", { 109 * DAY_US + DAY_US / 2, false, 0, 0, 0 }, 300 },
        { "a µs below the cap", { 109 * DAY_US + DAY_US / 2 - 1, false, 0, 0, 0 }, 299 },
        { "30 days: 0.0821…", { 30 * DAY_US, false, 0, 0, 0 }, 82 },
        { "1 day: 0.00273…", { DAY_US, false, 0, 0, 0 }, 2 },
        { "73 days are a fifth", { 73 * DAY_US, false, 0, 0, 0 }, 200 },
        { "and a µs less is not", { 73 * DAY_US - 1, false, 0, 0, 0 }, 199 },
        { "age before it began", { -5 * DAY_US, false, 0, 0, 0 }, 0 },
        { "the oldest account", { INT64_MAX, false, 0, 0, 0 }, 300 },
        { "no calls", { 0, false, 0, 0, 0 }, 0 },
        { "half went well", { 0, false, 2, 1, 0 }, 250 },
        { "1/3: 0.1666…", { 0, false, 3, 1, 0 }, 166 },
        { "2/3: 0.3333…", { 0, false, 3, 2, 0 }, 333 },
        { "499/500: 0.499", { 0, false, 500, 499, 0 }, 499 },
        { "998/999: 0.4994…", { 0, false, 999, 998, 0 }, 499 },
        { "more good than calls", { 0, false, 1, 2, 0 }, 500 },
        { "as many as can be", { 0, false, UINT64_MAX, UINT64_MAX - 1, 0 }, 499 },
        { "one violation", { 0, true, 0, 0, 1 }, 150 },
        { "four violations", { 0, true, 0, 0, 4 }, 0 },
        { "violations are capped", { 0, true, 2, 1, 1000 }, 250 },
        { "however many", { 0, true, 2, 1, UINT64_MAX }, 250 },
        { "never below zero", { 0, false, 0, 0, 4 }, 0 },
        { "a day, and one of three", { DAY_US, true, 3, 1, 1 }, 319 }, /* 0.31940… */
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].who, sl_trust_score(&weights, &rows[i].facts), rows[i].thousandths);
}

TEST(two_fractions_that_make_a_whole_together_do)
{
    /* 1/3 + 2/3 of a billionth each way: 73 days are 0.2, a third of them
     * 0.0666…, and 13/15 of the calls 0.4333…: 0.5 together. */
    struct sl_trust_facts facts = { 73 * DAY_US / 3, false, 15, 13, 0 };
    assert_int_equal(facts.account_age_us * 3, 73 * DAY_US);
    assert_int_equal(sl_trust_score(&weights, &facts), 500);
    facts.account_age_us--;
    assert_int_equal(sl_trust_score(&weights, &facts), 499);
}

TEST(the_weights_of_the_file_are_exact)
{
    struct sl_trust_weights own = weights;
    own.age_full_days = 365 * SL_TRUST_ONE;
    struct sl_trust_facts year = { .account_age_us = 365 * DAY_US };
    struct sl_trust_facts half = { .account_age_us = 365 * DAY_US / 2 };
    assert_int_equal(sl_trust_score(&own, &year), 300);
    assert_int_equal(sl_trust_score(&own, &half), 150);
    half.account_age_us--;
    assert_int_equal(sl_trust_score(&own, &half), 149);

    own.age_max = SL_TRUST_ONE;
    own.email = SL_TRUST_ONE;
    struct sl_trust_facts verified = { .account_age_us = 365 * DAY_US, .email_verified = true };
    assert_int_equal(sl_trust_score(&own, &verified), 1000); /* never above one */

    own.email = 1; /* a billionth */
    own.age_max = 999999999;
    assert_int_equal(sl_trust_score(&own, &verified), 1000);
    verified.email_verified = false;
    assert_int_equal(sl_trust_score(&own, &verified), 999);

    own = (struct sl_trust_weights){ 0 };
    assert_int_equal(sl_trust_score(&own, &verified), 0);
}

/* The same over one common denominator. */
static int64_t oracle(const struct sl_trust_facts *facts)
{
    __extension__ typedef __int128 wide;
    int64_t full_us = 109 * DAY_US + DAY_US / 2;
    int64_t age_us = sl_min_i64(facts->account_age_us, full_us);
    int64_t calls = facts->calls ? (int64_t)facts->calls : 1;
    int64_t flat =
        (facts->email_verified ? 200 : 0) - sl_min_i64(50 * (int64_t)facts->violations, 200);
    wide n = (wide)300 * age_us * calls + (wide)500 * (int64_t)facts->successes * full_us +
             (wide)flat * full_us * calls;
    wide d = (wide)full_us * calls;
    if (n < 0)
        return 0;
    return n >= 1000 * d ? 1000 : (int64_t)(n / d);
}

TEST(random_facts_agree_with_one_common_denominator)
{
    uint64_t seed = 7;
    for (int i = 0; i < 200000; i++) {
        int64_t calls = unit_up_to(&seed, INT64_C(1) << unit_up_to(&seed, 20));
        struct sl_trust_facts facts = {
            .account_age_us = unit_up_to(&seed, 1) ? unit_up_to(&seed, 120) * DAY_US
                                                   : unit_up_to(&seed, 120 * DAY_US),
            .email_verified = unit_up_to(&seed, 1),
            .calls = (uint64_t)calls,
            .successes = (uint64_t)unit_up_to(&seed, calls),
            .violations = (uint64_t)unit_up_to(&seed, 6),
        };
        assert_int_equal(sl_trust_score(&weights, &facts), oracle(&facts));
    }
}
