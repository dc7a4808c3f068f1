/* The trust score of facts. */
#include "limiter/users/users.h"

#include "unit/base/unit.h"

#define S   INT64_C(1000000)
#define DAY (86400 * S)

/* ---- the score ---- */

static const struct sl_trust_weights standard = SL_TRUST_DEFAULTS;

#define NOW (20000 * DAY + 43200 * S) /* at noon */

struct score {
    const char *row;
    bool has_age;
    int64_t age_us;
    bool verified;
    uint64_t calls, successes, violations;
    int32_t score;
};

TEST(the_score_is_exact_and_floored_once)
{
    /* 0.3 of 109.5 days is a thousandth of 0.365 days: 31 536 s. */
    static const struct score rows[] = {
        { "nothing", .score = 0 },
        { "age 0", true, 0, .score = 0 },
        { "born tomorrow", true, -DAY, .score = 0 },
        { "just short of a thousandth", true, 31536 * S - 1, .score = 0 },
        { "a thousandth", true, 31536 * S, .score = 1 },
        { "a day", true, DAY, .score = 2 },
        { "36.5 days", true, 73 * DAY / 2, .score = 100 },
        { "36.5 days less 1 us", true, 73 * DAY / 2 - 1, .score = 99 },
        { "109.4999 days", true, 1094999 * (DAY / 10000), .score = 299 },
        { "109.5 days less 1 us", true, 219 * DAY / 2 - 1, .score = 299 },
        { "109.5 days", true, 219 * DAY / 2, .score = 300 },
        { "ten years", true, 3650 * DAY, .score = 300 },
        { "verified", .verified = true, .score = 200 },
        { "no success", .calls = 9, .score = 0 },
        { "all successes", .calls = 9, .successes = 9, .score = 500 },
        { "two of three", .calls = 3, .successes = 2, .score = 333 },
        { "one of 501", .calls = 501, .successes = 1, .score = 0 },
        { "one of 500", .calls = 500, .successes = 1, .score = 1 },
        { "more successes than calls", .calls = 1, .successes = 7, .score = 500 },
        { "successes without calls", .successes = 7, .score = 0 },
        { "everything", true, 999 * DAY, true, 1, 1, 0, 1000 },
        { "rests of two parts", true, 31536 * S - 1, .calls = 501, .successes = 1, .score = 1 },
        { "a violation", .verified = true, .violations = 1, .score = 150 },
        { "three", .verified = true, .violations = 3, .score = 50 },
        { "four", .verified = true, .violations = 4, .score = 0 },
        { "five cost no more", true, 999 * DAY, true, 1, 1, 5, 800 },
        { "four of a thousand", true, 999 * DAY, true, 1, 1, 4, 800 },
        { "three of a thousand", true, 999 * DAY, true, 1, 1, 3, 850 },
        { "never below 0", .violations = 9, .score = 0 },
        { "the example", true, 319 * DAY, true, 100, 80, 1, 850 },
    };
    struct sluice_request request = sluice_request();
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct score *row = &rows[i];
        struct sl_user user = { .has_created_at = row->has_age,
                                .created_at_us = NOW - row->age_us,
                                .has_email_verified = true,
                                .email_verified = row->verified,
                                .calls = row->calls,
                                .successes = row->successes,
                                .violations = row->violations };
        SAME(row->row, sl_user_trust(&standard, &request, &user, NOW), row->score);
        SAME(row->row, sl_user_trust(&standard, NULL, &user, NOW), row->score);
    }
}

TEST(weights_of_the_file_count)
{
    struct sl_trust_weights a_year = standard;
    a_year.age_full_days = INT64_C(365000000000);
    struct sl_user user = { .has_created_at = true, .created_at_us = NOW - 73 * DAY };
    assert_int_equal(sl_user_trust(&a_year, NULL, &user, NOW), 60);
    a_year.age_max = 0;
    assert_int_equal(sl_user_trust(&a_year, NULL, &user, NOW), 0);
}

TEST(a_record_of_any_moment_is_safe)
{
    struct sl_user user = { .has_created_at = true, .created_at_us = INT64_MIN };
    assert_int_equal(sl_user_trust(&standard, NULL, &user, NOW), 300);
    user.created_at_us = INT64_MAX;
    assert_int_equal(sl_user_trust(&standard, NULL, &user, NOW), 0);
    user.has_created_at = false;
    assert_int_equal(sl_user_trust(&standard, NULL, &user, NOW), 0);
    user.email_verified = true; /* but the fact is not set */
    assert_int_equal(sl_user_trust(&standard, NULL, &user, NOW), 0);
}

static int32_t said(const char *name, const char *value, const struct sl_user *user)
{
    struct sluice_attribute others[] = { { SL_TEXT("color"), SL_TEXT("true") },
                                         { sl_text(name), sl_text(value) } };
    struct sluice_request request = sluice_request();
    request.others = others;
    request.other_count = COUNT(others);
    return sl_user_trust(&standard, &request, user, NOW);
}

TEST(what_the_request_says_goes_before_the_record)
{
    struct sl_user verified = { .has_email_verified = true, .email_verified = true };
    struct sl_user refuted = { .has_email_verified = true };
    struct sl_user old = { .has_created_at = true, .created_at_us = 0 };
    assert_int_equal(said("email_verified", "true", NULL), 200);
    assert_int_equal(said("email_verified", "true", &refuted), 200);
    assert_int_equal(said("email_verified", "false", NULL), 0);
    assert_int_equal(said("email_verified", "false", &verified), 0);
    assert_int_equal(said("created_at", "0", NULL), 300);
    assert_int_equal(said("created_at", "1970-01-01T00:00:00Z", NULL), 300);
    assert_int_equal(said("created_at", "1728043200", &old), 0); /* today */
    assert_int_equal(said("created_at", "1728043200", NULL), 0);
}

TEST(what_cannot_be_read_counts_as_not_said)
{
    struct sl_user user = { .has_email_verified = true,
                            .email_verified = true,
                            .has_created_at = true,
                            .created_at_us = 0 };
    static const char *const verified[] = { "", "TRUE", "1", "yes", "null", "true " };
    static const char *const created[] = { "", "yesterday", "1e9", "-5", "true" };
    for (size_t i = 0; i < COUNT(verified); i++) {
        SAME(verified[i], said("email_verified", verified[i], &user), 500);
        SAME(verified[i], said("email_verified", verified[i], NULL), 0);
    }
    for (size_t i = 0; i < COUNT(created); i++) {
        SAME(created[i], said("created_at", created[i], &user), 500);
        SAME(created[i], said("created_at", created[i], NULL), 0);
    }
}

TEST(an_unknown_user_has_none)
{
    struct sluice_request request = sluice_request();
    assert_int_equal(sl_user_trust(&standard, &request, NULL, NOW), 0);
    assert_int_equal(sl_user_trust(&standard, NULL, NULL, NOW), 0);
    assert_int_equal(said("color", "red", NULL), 0);
}
