#include "wire/http/limit_fields.h"

#include "rules/ruleset.h"
#include "unit/base/unit.h"

#define S   INT64_C(1000000)
#define NOW (INT64_C(1700000000) * S)

enum { ALL = SL_HEADER_X_RATELIMIT | SL_HEADER_RATELIMIT | SL_HEADER_RETRY_AFTER };

static const struct sluice_decision allowed = {
    .allowed = true,
    .reason = SLUICE_REASON_OK,
    .rule = "api",
    .algorithm = "token_bucket",
    .limit = 150,
    .remaining = 149,
    .reset_at_us = NOW + 98000,
    .decided_at_us = NOW,
    .window_us = 15 * S,
};

static struct sluice_decision denied(int64_t retry_after_us)
{
    struct sluice_decision decision = allowed;
    decision.allowed = false;
    decision.reason = SLUICE_REASON_LIMITED;
    decision.remaining = 0;
    decision.retry_after_us = retry_after_us;
    decision.reset_at_us = NOW + 15 * S;
    return decision;
}

static void assert_printed(const char *row, const struct sluice_decision *decision,
                           uint32_t headers, const char *wanted)
{
    struct sl_buffer out = sl_buffer(4096);
    sl_buffer_add(&out, SL_TEXT("Before: 1\r\n"));
    sl_limit_fields_print(&out, decision, headers);
    struct sluice_text added = { out.at + 11, out.len - 11 };
    SAME_TEXT(row, added, wanted);
    sl_buffer_release(&out);
}

TEST(an_allowance_has_its_figures_and_no_retry_after)
{
    assert_printed("allowed", &allowed, ALL,
                   "X-RateLimit-Limit: 150\r\n"
                   "X-RateLimit-Remaining: 149\r\n"
                   "X-RateLimit-Reset: 1700000001\r\n"
                   "RateLimit-Policy: \"api\";q=150;w=15\r\n"
                   "RateLimit: \"api\";r=149;t=1\r\n");
}

TEST(a_denial_says_when_to_retry)
{
    struct sluice_decision decision = denied(98000);
    assert_printed("denied", &decision, ALL,
                   "X-RateLimit-Limit: 150\r\n"
                   "X-RateLimit-Remaining: 0\r\n"
                   "X-RateLimit-Reset: 1700000015\r\n"
                   "RateLimit-Policy: \"api\";q=150;w=15\r\n"
                   "RateLimit: \"api\";r=0;t=1\r\n"
                   "Retry-After: 1\r\n");
}

TEST(a_denial_for_ever_has_no_time_to_retry)
{
    struct sluice_decision decision = denied(SLUICE_NEVER);
    assert_printed("never", &decision, ALL,
                   "X-RateLimit-Limit: 150\r\n"
                   "X-RateLimit-Remaining: 0\r\n"
                   "X-RateLimit-Reset: 1700000015\r\n"
                   "RateLimit-Policy: \"api\";q=150;w=15\r\n"
                   "RateLimit: \"api\";r=0\r\n");
}

TEST(each_is_printed_where_it_is_chosen)
{
    static const char *const parts[] = {
        "X-RateLimit-Limit: 150\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1700000015\r\n",
        "RateLimit-Policy: \"api\";q=150;w=15\r\nRateLimit: \"api\";r=0;t=2\r\n",
        "Retry-After: 2\r\n",
    };
    struct sluice_decision decision = denied(1000001);
    for (uint32_t headers = 0; headers <= ALL; headers++) {
        char wanted[512] = "", row[32];
        for (int i = 0; i < 3; i++)
            if (headers & 1u << i)
                strcat(wanted, parts[i]);
        snprintf(row, sizeof row, "headers %u", headers);
        assert_printed(row, &decision, headers, wanted);
    }
}

TEST(nothing_is_printed_where_there_are_no_figures)
{
    struct sluice_decision nobody = { .allowed = true,
                                      .reason = SLUICE_REASON_NO_RULE,
                                      .limit = SLUICE_NONE,
                                      .remaining = SLUICE_NONE,
                                      .reset_at_us = SLUICE_NONE,
                                      .decided_at_us = NOW,
                                      .window_us = SLUICE_NONE };
    assert_printed("no rule", &nobody, ALL, "");
    nobody.rule = "strict"; /* the one whose policy denied, when the store failed */
    nobody.reason = SLUICE_REASON_STORE;
    nobody.allowed = false;
    assert_printed("a failed store", &nobody, ALL, "");
}

TEST(a_line_without_its_figure_is_left_out)
{
    struct sluice_decision missing = denied(SLUICE_NEVER); /* an identity, and that denies */
    missing.reset_at_us = SLUICE_NONE;
    assert_printed("no reset", &missing, ALL,
                   "X-RateLimit-Limit: 150\r\n"
                   "X-RateLimit-Remaining: 0\r\n"
                   "RateLimit-Policy: \"api\";q=150;w=15\r\n"
                   "RateLimit: \"api\";r=0\r\n");
    struct sluice_decision decision = allowed;
    decision.reset_at_us = SLUICE_NONE;
    decision.limit = SLUICE_NONE;
    assert_printed("no limit", &decision, ALL,
                   "X-RateLimit-Remaining: 149\r\n"
                   "RateLimit: \"api\";r=149\r\n");
}

TEST(seconds_are_rounded_up)
{
    static const struct {
        const char *name;
        int64_t reset_us, retry_us; /* from now */
        const char *wanted;
    } rows[] = {
        { "now", 0, 0, "RateLimit: \"api\";r=149;t=0\r\n" },
        { "a microsecond", 1, 0, "RateLimit: \"api\";r=149;t=1\r\n" },
        { "a second", S, 0, "RateLimit: \"api\";r=149;t=1\r\n" },
        { "a bit more", S + 1, 0, "RateLimit: \"api\";r=149;t=2\r\n" },
        { "a clock set back", -5 * S, 0, "RateLimit: \"api\";r=149;t=0\r\n" },
        { "denied for a microsecond", 9 * S, 1, "RateLimit: \"api\";r=149;t=1\r\n" },
        { "denied for two seconds", 9 * S, 2 * S, "RateLimit: \"api\";r=149;t=2\r\n" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_decision decision = allowed;
        decision.limit = SLUICE_NONE; /* then there is no policy's line */
        decision.reset_at_us = NOW + rows[i].reset_us;
        decision.retry_after_us = rows[i].retry_us;
        decision.allowed = rows[i].retry_us == 0;
        assert_printed(rows[i].name, &decision, SL_HEADER_RATELIMIT, rows[i].wanted);
    }
}

TEST(a_window_below_a_second_is_left_out)
{
    static const struct {
        const char *name;
        int64_t window_us;
        const char *wanted;
    } rows[] = {
        { "none", 0, "RateLimit-Policy: \"api\";q=150\r\n" },
        { "almost a second", S - 1, "RateLimit-Policy: \"api\";q=150\r\n" },
        { "a second", S, "RateLimit-Policy: \"api\";q=150;w=1\r\n" },
        { "a bit more", S + 1, "RateLimit-Policy: \"api\";q=150;w=2\r\n" },
        { "a year", INT64_C(31622400) * S, "RateLimit-Policy: \"api\";q=150;w=31622400\r\n" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_decision decision = allowed;
        char wanted[256];
        decision.window_us = rows[i].window_us;
        snprintf(wanted, sizeof wanted, "%sRateLimit: \"api\";r=149;t=1\r\n", rows[i].wanted);
        assert_printed(rows[i].name, &decision, SL_HEADER_RATELIMIT, wanted);
    }
}

TEST(integers_of_structured_fields_have_fifteen_digits)
{
    struct sluice_decision decision = allowed;
    decision.limit = INT64_C(7000000000000000);
    decision.remaining = INT64_C(1000000000000000);
    assert_printed("more", &decision, SL_HEADER_X_RATELIMIT | SL_HEADER_RATELIMIT,
                   "X-RateLimit-Limit: 7000000000000000\r\n"
                   "X-RateLimit-Remaining: 1000000000000000\r\n"
                   "X-RateLimit-Reset: 1700000001\r\n"
                   "RateLimit-Policy: \"api\";q=999999999999999;w=15\r\n"
                   "RateLimit: \"api\";r=999999999999999;t=1\r\n");
    decision.limit = decision.remaining = INT64_C(999999999999999);
    assert_printed("just as many", &decision, SL_HEADER_RATELIMIT,
                   "RateLimit-Policy: \"api\";q=999999999999999;w=15\r\n"
                   "RateLimit: \"api\";r=999999999999999;t=1\r\n");
}

TEST(the_longest_name_is_printed_whole)
{
    char name[65], wanted[512];
    memset(name, 'n', 64);
    name[64] = 0;
    struct sluice_decision decision = allowed;
    decision.rule = name;
    snprintf(wanted, sizeof wanted,
             "RateLimit-Policy: \"%s\";q=150;w=15\r\nRateLimit: \"%s\";r=149;t=1\r\n", name, name);
    assert_printed("64 letters", &decision, SL_HEADER_RATELIMIT, wanted);
}

TEST(what_does_not_fit_is_told_by_the_buffer)
{
    struct sl_buffer out = sl_buffer(30);
    sl_limit_fields_print(&out, &allowed, ALL);
    assert_true(out.failed);
    sl_buffer_release(&out);
}
