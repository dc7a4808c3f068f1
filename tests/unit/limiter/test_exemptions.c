/* Exemptions by a key, and for how long. Other exemptions: test_identity.c. */
#include "base/clock.h"
#include "limiter/identity.h"
#include "rules/reading/overlay.h"
#include "unit/base/unit.h"

#define REQUEST(...) ((struct sluice_request){ __VA_ARGS__ })
#define DIGEST       "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER        "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct sl_ruleset *rules;
static struct sl_caller_keys caller;

static int release(void **unused)
{
    (void)unused;
    sl_ruleset_free(rules);
    sl_caller_keys_release(&caller);
    rules = NULL;
    caller = (struct sl_caller_keys){ 0 };
    return 0;
}

static void use_over(const char *yaml, const struct sl_overlay *overlay)
{
    struct sl_report report = { .file = "rules.yaml" };
    release(NULL);
    rules = sl_ruleset_parse_over("rules.yaml", sl_text(yaml), overlay, &report);
    sl_report_release(&report);
    assert_non_null(rules);
}

static bool is_exempt(struct sluice_request request)
{
    assert_true(sl_caller_keys_init(&caller, rules, &request));
    return sl_caller_keys_exempt(&caller, rules->whitelist);
}

TEST(an_exempt_key_is_told_by_its_digest)
{
    const struct sluice_attribute right[] = { { SL_TEXT("plan"), SL_TEXT("a") },
                                              { SL_TEXT("api_key"), SL_TEXT(DIGEST) } };
    const struct sluice_attribute wrong[] = { { SL_TEXT("api_key"), SL_TEXT(OTHER) } };
    const struct sluice_attribute elsewhere[] = { { SL_TEXT("key"), SL_TEXT(DIGEST) } };
    const struct sluice_attribute empty[] = { { SL_TEXT("api_key"), SL_TEXT("") } };
    use_over("exempt: { api_keys: [" DIGEST "] }", NULL);
    assert_true(is_exempt(REQUEST(.others = right, .other_count = 2)));
    assert_false(is_exempt(REQUEST(.others = right, .other_count = 1)));
    assert_false(is_exempt(REQUEST(.others = wrong, .other_count = 1)));
    assert_false(is_exempt(REQUEST(.others = elsewhere, .other_count = 1)));
    assert_false(is_exempt(REQUEST(.others = empty, .other_count = 1)));
    assert_false(is_exempt(REQUEST(.user = SL_TEXT(DIGEST))));
    use_over("{}", NULL);
    assert_false(is_exempt(REQUEST(.others = right, .other_count = 2)));
}

TEST(an_exemption_ends_to_the_microsecond)
{
    enum { END = 1000 };
    static const struct sl_overlay_exemption until[] = {
        { SL_EXEMPT_IP, "192.0.2.0/24", END },   { SL_EXEMPT_CLIENT, "acme/c", END },
        { SL_EXEMPT_API_KEY, DIGEST, END },      { SL_EXEMPT_IP, "198.51.100.1", 0 },
        { SL_EXEMPT_IP, "203.0.113.0/24", END }, { SL_EXEMPT_IP, "203.0.113.7", 0 },
    };
    static const struct sluice_attribute key[] = { { { "api_key", 7 }, { DIGEST, 64 } } };
    struct sluice_request ends[] = {
        { .ip = SL_TEXT("192.0.2.9") },
        { .client = SL_TEXT("c"), .tenant = SL_TEXT("acme") },
        { .others = key, .other_count = 1 },
        { .ip = SL_TEXT("203.0.113.8") },
    };
    use_over("{}", &(struct sl_overlay){ .exemptions = until, .exemption_count = COUNT(until) });
    for (size_t i = 0; i < COUNT(ends); i++) {
        ends[i].at_us = END - 1;
        assert_true(is_exempt(ends[i]));
        ends[i].at_us = END;
        assert_false(is_exempt(ends[i]));
        ends[i].at_us = 0;
        assert_true(is_exempt(ends[i]));
        ends[i].at_us = INT64_MAX;
        assert_false(is_exempt(ends[i]));
    }
    assert_true(is_exempt(REQUEST(.ip = SL_TEXT("198.51.100.1"), .at_us = INT64_MAX)));
    assert_true(is_exempt(REQUEST(.ip = SL_TEXT("203.0.113.7"), .at_us = INT64_MAX)));
    /* one that is over does not hide another that is not */
    assert_true(is_exempt(
        REQUEST(.ip = SL_TEXT("192.0.2.9"), .others = key, .other_count = 1, .at_us = END - 1)));
}

TEST(without_a_time_given_an_exemption_ends_by_the_wall_clock)
{
    int64_t now_us = sl_walltime_us();
    struct sl_overlay_exemption until[] = {
        { SL_EXEMPT_IP, "192.0.2.1", now_us },
        { SL_EXEMPT_IP, "192.0.2.2", now_us + INT64_C(86400) * 1000000 },
    };
    use_over("{}", &(struct sl_overlay){ .exemptions = until, .exemption_count = COUNT(until) });
    assert_false(is_exempt(REQUEST(.ip = SL_TEXT("192.0.2.1"), .at_us = SLUICE_NOW)));
    assert_true(is_exempt(REQUEST(.ip = SL_TEXT("192.0.2.2"), .at_us = SLUICE_NOW)));
}

TESTS_WITH(NULL, release)
