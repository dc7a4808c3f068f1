/* Users' own limits, in decisions. */
#include "unit/limiter/with_users.h"

WITH_SETUP(own_limits_replace_a_tiers)
{
    use("tiers: { pro: { scale: 10 }, admin: { unlimited: true } }\n"
        "rules: [{ name: api, " FIXED "limit: 4/s },\n"
        "        { name: wide, " FIXED "limit: 1000/s }]\n");
    struct sl_user *user = few_add(&few, NULL, "u");
    few_own(user, "api", 7, (struct sl_decimal){ 0, 0 });
    assert_int_equal(ASK().limit, 7);
    assert_int_equal(ASK(.tier = SL_TEXT("pro")).limit, 7);
    assert_int_equal(ASK(.tier = SL_TEXT("admin")).limit, 7); /* more precise than the tier */
    assert_int_equal(ASK(.user = SL_TEXT("v")).limit, 4);
    for (int i = 0; i < 4; i++)
        assert_true(ASK().allowed);
    assert_false(ASK().allowed);
    const struct sluice_explained *rows;
    assert_int_equal(sl_limiter_explain(limiter, &rows), 2);
    assert_int_equal(rows[0].limit, 7);
    assert_int_equal(rows[1].limit, 1000);
    user->own_count = 0;
    assert_int_equal(ASK().limit, 4);
    assert_int_equal(ASK(.tier = SL_TEXT("admin")).reason, SLUICE_REASON_EXEMPT);
}

WITH_SETUP(own_limits_of_others_are_not_ours)
{
    use("rules: [{ name: api, " FIXED "limit: 4/s }]\n");
    few_own(few_add(&few, NULL, "u"), "api", 7, (struct sl_decimal){ 0, 0 });
    struct sl_user *user = few_add(&few, NULL, "v");
    few_own(user, "api", 8, (struct sl_decimal){ 0, 0 });
    assert_int_equal(ASK().limit, 7);
    assert_int_equal(ASK(.user = SL_TEXT("v")).limit, 8);
    assert_int_equal(ASK().limit, 7);
    user->own_count = 0;
    few_own(user, "api", 9, (struct sl_decimal){ 0, 0 }); /* another revision */
    assert_int_equal(ASK(.user = SL_TEXT("v")).limit, 9);
    struct few others;
    few_open(&others);
    few_own(few_add(&others, NULL, "u"), "api", 5, (struct sl_decimal){ 0, 0 });
    others.persons[0].own_revision = few.persons[0].own_revision; /* of another user table */
    sl_limiter_set_users(limiter, &others.seam);
    assert_int_equal(ASK().limit, 5);
}

static struct sl_store *open_memory(void)
{
    struct sl_memory_config config = { .log_bytes = SL_LOG_DEFAULT,
                                       .logs_wanted = true,
                                       .sync_us = SL_SYNC_OFF };
    struct sluice_error error;
    struct sl_store *opened = sl_memory_open(&config, &error);
    assert_non_null(opened);
    return opened;
}

/* How many pass at once. */
static int64_t pass(int64_t at_us)
{
    int64_t passed = 0;
    while (ASK(.at_us = at_us).allowed)
        passed++;
    return passed;
}

/* Given more than all tiers have, then less; what was counted stays. */
static void own_limits_hold_for(const char *algorithm, bool in_memory)
{
    char yaml[256];
    int64_t at_us = 86400 * S;
    release(NULL);
    snprintf(yaml, sizeof yaml,
             "tiers: { pro: { scale: 2 } }\n"
             "rules: [{ name: a, algorithm: %s, per: user, limit: 10/h }]\n",
             algorithm);
    store = in_memory ? open_memory() : sl_heap_open();
    use_on(store, yaml);
    struct sl_user *user = few_add(&few, NULL, "u");
    SAME(algorithm, pass(at_us), 10);
    few_own(user, "a", 300, (struct sl_decimal){ 0, 0 });
    SAME(algorithm, pass(at_us), 290);
    struct sluice_decision decision = ASK(.at_us = at_us);
    SAME(algorithm, decision.limit, 300);
    SAME(algorithm, decision.remaining, 0);
    at_us += decision.retry_after_us;
    SAME(algorithm, ASK(.at_us = at_us - 1).allowed, false);
    SAME(algorithm, ASK(.at_us = at_us).allowed, true);
    user->own_count = 0;
    SAME(algorithm, ASK(.at_us = at_us).limit, 10);
    SAME(algorithm, ASK(.at_us = at_us, .tier = SL_TEXT("pro")).limit, 20);
    at_us += 7200 * S;
    SAME(algorithm, pass(at_us), 10);
}

WITH_SETUP(own_limits_hold_for_every_algorithm_on_both_stores)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        own_limits_hold_for(sl_algos[i]->name, false);
        own_limits_hold_for(sl_algos[i]->name, true);
    }
}

WITH_SETUP(an_own_rate_is_exact)
{
    use("rules: [{ name: a, " BUCKET "capacity: 2, refill_rate: 1, window: 7s }]\n");
    few_own(few_add(&few, NULL, "u"), "a", 3, (struct sl_decimal){ 83, 3 });
    assert_int_equal(ASK().limit, 3);
    assert_true(ASK().allowed && ASK().allowed);
    struct sluice_decision decision = ASK();
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_us, 12048193); /* 1/0.083 s */
    assert_int_equal(decision.window_us, 7 * S);
}

WITH_SETUP(burst_own_limit_and_trust_multiply)
{
    use("rules: [{ name: a, " BUCKET
        "capacity: 100, refill_rate: 1, burst_allowance: 1.5, adaptive: true }]\n");
    struct sl_user *user = few_add(&few, NULL, "u");
    few_own(user, "a", 3, (struct sl_decimal){ 0, 0 });
    assert_int_equal(ASK().limit, 4);                         /* 4.5 */
    assert_int_equal(ASK(.trust_thousandths = 112).limit, 5); /* 5.004 */
    user->has_email_verified = user->email_verified = true;
    assert_int_equal(ASK().limit, 5); /* 5.4 */
    assert_int_equal(ASK(.trust_thousandths = 1000).limit, 9);
}

WITH_SETUP(numbers_that_fit_no_more_are_unused)
{
    use("tiers: { admin: { unlimited: true } }\n"
        "rules: [{ name: a, " FIXED "limit: 4/s }]\n");
    few_own(few_add(&few, NULL, "u"), "a", 7, (struct sl_decimal){ 5, 0 });
    assert_int_equal(ASK().limit, 4);
    assert_int_equal(ASK(.tier = SL_TEXT("admin")).reason, SLUICE_REASON_EXEMPT);
}
