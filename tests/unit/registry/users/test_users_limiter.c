/* Decisions with the real user table, over simulated time. */
#include "limiter/limiter.h"

#include "unit/limiter/rules.h"
#include "unit/registry/crowd.h"

static struct sl_store *store;
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;

static int release(void **unused)
{
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    sl_store_close(store);
    limiter = NULL;
    rules = NULL;
    store = NULL;
    return close_crowd(unused);
}

static void use(const char *yaml)
{
    open_users(0);
    store = sl_heap_open();
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, store);
    assert_non_null(limiter);
    sl_limiter_set_users(limiter, users);
}

#define ASK(...)                                                                                   \
    decide((struct sluice_request){ .at_us = NOON,                                                 \
                                    .cost = 1,                                                     \
                                    .trust_thousandths = SLUICE_NO_TRUST,                          \
                                    .user = SL_TEXT("u"),                                          \
                                    __VA_ARGS__ })

static struct sluice_decision decide(struct sluice_request request)
{
    struct sluice_decision decision;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_OK);
    return decision;
}

static uint64_t violations(const char *id, int64_t at_us)
{
    return knows_at(NULL, id, at_us) ? found.violations : 0;
}

#define WITH_SETUP(name) TEST_WITH(name, NULL, release)

WITH_SETUP(a_record_changes_decisions)
{
    use("tiers: { pro: { scale: 10 } }\n"
        "rules: [{ name: api, algorithm: token_bucket, per: user, capacity: 5, refill_rate: 1,\n"
        "          burst_allowance: 2, adaptive: true }]\n");
    assert_int_equal(ASK().limit, 10);
    PUT(.tier = "pro");
    assert_int_equal(ASK().limit, 100);
    PUT(.tier = "pro", .limits = "{\"api\":{\"capacity\":7,\"refill_rate\":0.5}}");
    assert_int_equal(ASK().limit, 14);
    PUT(.tier = "pro", .has_email_verified = true, .email_verified = true, .has_created_at = true,
        .created_at_us = NOON - 1000 * DAY, .limits = "{\"api\":{\"capacity\":7}}");
    assert_int_equal(ASK().limit, 21); /* 7 · 2 · 1.5 */
    ADD(.calls = 10, .successes = 8);
    assert_int_equal(ASK().limit, 26); /* 7 · 2 · 1.9 = 26.6 */
    assert_int_equal(ASK(.at_us = NOON + 7 * DAY).limit, 21);
    assert_int_equal(ASK(.tenant = SL_TEXT("acme")).limit, 10);
    sl_users_drop(users, "", "u");
    assert_int_equal(ASK().limit, 10);
}

WITH_SETUP(an_exemption_ends_at_its_microsecond)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: global, limit: 1/d }]\n");
    assert_true(ASK(.user = SL_TEXT("v")).allowed);
    assert_false(ASK().allowed);
    EXEMPT({ SL_EXEMPT_USER, "u", NOON + 10, NULL });
    assert_int_equal(ASK(.at_us = NOON + 9).reason, SLUICE_REASON_EXEMPT);
    assert_false(ASK(.at_us = NOON + 10).allowed);
    EXEMPT({ SL_EXEMPT_USER, "acme/u", 0, NULL });
    assert_false(ASK(.at_us = NOON + 9).allowed);
    assert_int_equal(ASK(.tenant = SL_TEXT("acme")).reason, SLUICE_REASON_EXEMPT);
}

WITH_SETUP(denials_count_once_a_minute)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 1/d }]\n");
    assert_true(ASK().allowed);
    for (int64_t at_us = NOON; at_us < NOON + 5 * MINUTE; at_us += 7 * S)
        assert_false(ASK(.at_us = at_us).allowed);
    assert_int_equal(violations("u", NOON), 5);
    struct sluice_request requests[100];
    struct sluice_decision out[100];
    for (size_t i = 0; i < 100; i++) {
        requests[i] = sluice_request();
        requests[i].user = SL_TEXT("u");
        requests[i].at_us = NOON + 5 * MINUTE + (int64_t)i * S;
    }
    assert_int_equal(sl_limiter_decide_batch(limiter, requests, 100, out), SLUICE_OK);
    assert_int_equal(violations("u", NOON), 7);
    struct sl_violation waiting[10];
    size_t count = sl_users_take_violations(users, waiting, 10);
    assert_int_equal(count, 7);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(waiting[i].minute, NOON / MINUTE + (int64_t)i);
        free(waiting[i].tenant);
        free(waiting[i].id);
    }
}

WITH_SETUP(peeks_and_shadows_and_the_exempt_are_no_violations)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 1/d, resource: /a },\n"
        "        { name: s, algorithm: fixed_window, per: user, limit: 1/d, resource: /s, "
        "shadow: true }]\n");
    for (int i = 0; i < 3; i++) {
        ASK(.resource = SL_TEXT("/s"));
        ASK(.resource = SL_TEXT("/none"));
    }
    ASK(.resource = SL_TEXT("/a"));
    assert_false(ASK(.resource = SL_TEXT("/a"), .peek = true).allowed);
    assert_int_equal(users->count, 0);
    EXEMPT({ SL_EXEMPT_USER, "u", NOON + 1, NULL });
    assert_true(ASK(.resource = SL_TEXT("/a")).allowed);
    assert_int_equal(violations("u", NOON), 0);
    assert_false(ASK(.resource = SL_TEXT("/a"), .at_us = NOON + 1).allowed);
    assert_int_equal(violations("u", NOON), 1);
}

WITH_SETUP(violations_lower_the_limit_for_30_days)
{
    static const struct {
        int64_t at_us;
        int64_t limit;
    } rows[] = {
        { 0, 1200 },          { MINUTE, 1150 },
        { 2 * MINUTE, 1100 }, { 3 * MINUTE, 1050 },
        { 4 * MINUTE, 1000 }, { 5 * MINUTE, 1000 }, /* no more than 0.2 */
        { 29 * DAY, 1000 },   { 30 * DAY - DAY / 2 - 1, 1000 },
    };
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 1000/d, adaptive: true "
        "}]\n");
    PUT(.has_email_verified = true, .email_verified = true);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_decision decision = ASK(.at_us = NOON + rows[i].at_us, .cost = 2000);
        assert_int_equal(decision.reason, SLUICE_REASON_COST);
        SAME("limit", decision.limit, rows[i].limit);
    }
    /* 30 days after the first of them, 6 are over, and 2 are left. */
    assert_int_equal(ASK(.at_us = (TODAY + 30) * DAY).limit, 1100);
    assert_int_equal(violations("u", (TODAY + 30) * DAY), 2);
}
