/* Facts about users, in decisions. */
#include "base/clock.h"
#include "unit/limiter/with_users.h"

/* ---- looking users up ---- */

WITH_SETUP(users_are_looked_up_only_by_name_and_only_if_the_table_has_any)
{
    use("rules: [{ name: a, " FIXED "limit: 9/s }]\n");
    assert_true(ASK().allowed);
    assert_int_equal(few.finds, 0); /* the table is empty */
    few_add(&few, "acme", "u");
    assert_true(ASK().allowed);
    assert_int_equal(few.finds, 1);
    assert_int_equal(few.found_at_us, 5 * S);
    assert_true(ASK(.user = { NULL, 0 }).allowed);
    assert_int_equal(few.finds, 1);
    sl_limiter_set_users(limiter, NULL);
    assert_true(ASK().allowed);
    assert_int_equal(few.finds, 1);
}

WITH_SETUP(without_a_time_of_its_own_a_request_asks_at_wall_time)
{
    use("rules: [{ name: a, " FIXED "limit: 9/s }]\n");
    few_add(&few, NULL, "u");
    int64_t before_us = sl_walltime_us();
    ASK(.at_us = SLUICE_NOW);
    assert_true(few.found_at_us >= before_us && few.found_at_us <= sl_walltime_us());
    int64_t first_us = few.found_at_us;
    while (sl_walltime_us() == first_us)
        ;
    ASK(.at_us = SLUICE_NOW); /* and not at the last one's */
    assert_true(few.found_at_us > first_us);
}

WITH_SETUP(the_exempt_are_not_counted)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: global, limit: 1/s }]\n");
    few_add(&few, NULL, "root")->is_exempt = true;
    for (int i = 0; i < 3; i++) {
        struct sluice_decision decision = ASK(.user = SL_TEXT("root"));
        assert_true(decision.allowed);
        assert_int_equal(decision.reason, SLUICE_REASON_EXEMPT);
        assert_null(decision.rule);
        assert_int_equal(decision.remaining, SLUICE_NONE);
    }
    assert_int_equal(ASK(.user = SL_TEXT("root"), .tenant = SL_TEXT("acme")).remaining, 0);
    assert_false(ASK().allowed);
    assert_int_equal(ASK(.user = SL_TEXT("root")).reason, SLUICE_REASON_EXEMPT);
    few.persons[0].is_exempt = false;
    assert_false(ASK(.user = SL_TEXT("root")).allowed);
}

/* ---- tiers ---- */

WITH_SETUP(a_known_tier_is_used_where_the_request_names_none)
{
    use("tiers: { pro: { scale: 10 }, free: { scale: 2 }, admin: { unlimited: true } }\n"
        "rules: [{ name: a, " FIXED "limit: 3/s },\n"
        "        { name: pros, " FIXED "limit: 5/s, when: { tier: pro } }]\n");
    struct sl_user *user = few_add(&few, NULL, "u");
    strcpy(user->tier, "pro");
    assert_int_equal(ASK().limit, 30);
    const struct sl_rule *const *matched;
    assert_int_equal(sl_limiter_matched(limiter, &matched), 2);
    assert_int_equal(ASK(.tier = SL_TEXT("")).limit, 30);
    assert_int_equal(ASK(.tier = SL_TEXT("free")).limit, 6);
    assert_int_equal(sl_limiter_matched(limiter, &matched), 1);
    assert_int_equal(ASK(.tier = SL_TEXT("unheard")).limit, 3); /* named, and unknown */
    assert_int_equal(ASK(.user = SL_TEXT("v")).limit, 3);
    strcpy(user->tier, "admin");
    assert_int_equal(ASK().reason, SLUICE_REASON_EXEMPT);
    strcpy(user->tier, "gone");
    assert_int_equal(ASK().limit, 3);
    strcpy(user->tier, "");
    assert_int_equal(ASK().limit, 3);
}

/* ---- trust ---- */

static const char adaptive[] = "rules: [{ name: a, " FIXED "limit: 1000/s, adaptive: true },\n"
                               "        { name: b, " FIXED "limit: 9000/s }]\n";

WITH_SETUP(an_adaptive_rule_grants_more_to_trusted_users)
{
    use(adaptive);
    struct sl_user *user = few_add(&few, NULL, "u");
    user->has_created_at = true;
    user->created_at_us = 0;
    user->has_email_verified = user->email_verified = true;
    assert_int_equal(ASK(.at_us = 1000 * DAY).limit, 1500);
    user->violations = 2;
    assert_int_equal(ASK(.at_us = 1001 * DAY).limit, 1400);
    user->calls = 10;
    user->successes = 9;
    assert_int_equal(ASK(.at_us = 1002 * DAY).limit, 1850);
    assert_int_equal(ASK(.at_us = 1003 * DAY, .trust_thousandths = 0).limit, 1000);
    assert_int_equal(ASK(.at_us = 1004 * DAY, .trust_thousandths = 7).limit, 1007);
    assert_int_equal(ASK(.at_us = 1005 * DAY, .user = SL_TEXT("v")).limit, 1000);
    assert_int_equal(ASK(.at_us = 73 * DAY / 2).limit, 1650); /* 0.1 of age */
    const struct sluice_explained *rows;
    assert_int_equal(sl_limiter_explain(limiter, &rows), 2);
    assert_int_equal(rows[1].limit, 9000);
}

WITH_SETUP(a_request_may_bring_the_facts_along)
{
    struct sluice_attribute facts[] = { { SL_TEXT("created_at"), SL_TEXT("0") },
                                        { SL_TEXT("email_verified"), SL_TEXT("true") } };
    use(adaptive);
    for (int context = 0; context < 3; context++) {
        if (context == 1)
            few_add(&few, NULL, "u"); /* with nothing in the record */
        if (context == 2)
            sl_limiter_set_users(limiter, NULL);
        assert_int_equal(
            ASK(.at_us = (1000 + context) * DAY, .others = facts, .other_count = 2).limit, 1500);
        assert_int_equal(
            ASK(.at_us = (1000 + context) * DAY, .others = facts, .other_count = 1).limit, 1300);
        assert_int_equal(ASK(.at_us = SLUICE_NOW, .others = facts, .other_count = 1).limit, 1300);
        assert_int_equal(ASK(.at_us = (1000 + context) * DAY).limit, 1000);
    }
}

/* ---- violations ---- */

WITH_SETUP(a_denial_is_told_with_its_wall_time)
{
    use("rules: [{ name: a, " FIXED "limit: 1/m }]\n");
    assert_true(ASK(.at_us = SLUICE_NOW, .tenant = SL_TEXT("acme")).allowed);
    assert_int_equal(few.told_count, 0);
    struct sluice_decision decision = ASK(.at_us = SLUICE_NOW, .tenant = SL_TEXT("acme"));
    assert_false(decision.allowed);
    assert_int_equal(few.told_count, 1);
    assert_string_equal(few.told[0].user, "u");
    assert_string_equal(few.told[0].tenant, "acme");
    assert_int_equal(few.told[0].at_us, 1007 * S); /* the store's clock is 7 s behind */
    assert_int_equal(few.told[0].at_us, decision.decided_at_us);
}

WITH_SETUP(what_is_known_of_this_minute_is_not_told_again)
{
    use("rules: [{ name: a, " FIXED "limit: 1/d }]\n");
    struct sl_user *user = few_add(&few, NULL, "u");
    ASK(.at_us = 60 * S);
    user->violated_minute = 1;
    assert_false(ASK(.at_us = 60 * S).allowed);
    assert_false(ASK(.at_us = 120 * S - 1).allowed);
    assert_int_equal(few.told_count, 0);
    ASK(.at_us = 120 * S);
    assert_int_equal(few.told_count, 1);
    ASK(.at_us = 59 * S);
    assert_int_equal(few.told_count, 2);
    ASK(.at_us = 61 * S, .tenant = SL_TEXT("acme")); /* another user, and allowed */
    assert_int_equal(few.told_count, 2);
}

WITH_SETUP(only_denials_of_users_by_enforced_rules_are_violations)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: global, limit: 1/m, resource: /a },\n"
        "        { name: s, algorithm: fixed_window, per: global, limit: 1/m, resource: /s, "
        "shadow: true },\n"
        "        { name: m, per: client, limit: 1/m, resource: /m, on_missing: deny }]\n");
    ASK(.resource = SL_TEXT("/a"));
    ASK(.resource = SL_TEXT("/s"));
    assert_int_equal(ASK(.resource = SL_TEXT("/s")).reason, SLUICE_REASON_SHADOW);
    assert_false(ASK(.resource = SL_TEXT("/a"), .peek = true).allowed);
    assert_false(ASK(.resource = SL_TEXT("/a"), .user = SL_TEXT("")).allowed);
    model.status = SLUICE_STORE_DOWN;
    struct sluice_request request = ASKED(.resource = SL_TEXT("/a"));
    struct sluice_decision decision;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_STORE_DOWN);
    model.status = SLUICE_OK;
    assert_int_equal(few.told_count, 0);
    assert_false(ASK(.resource = SL_TEXT("/a")).allowed);
    assert_int_equal(few.told_count, 1);
    assert_int_equal(ASK(.resource = SL_TEXT("/a"), .cost = 9).reason, SLUICE_REASON_COST);
    assert_int_equal(ASK(.resource = SL_TEXT("/m")).reason, SLUICE_REASON_MISSING);
    assert_int_equal(few.told_count, 3);
    request.wait = true;
    sl_limiter_decide_within(limiter, &request, 0, &decision);
    assert_int_equal(few.told_count, 4);
    uint64_t id;
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_OK);
    assert_false(decision.allowed);
    assert_int_equal(few.told_count, 5);
    sl_limiter_set_users(limiter, NULL);
    assert_false(ASK(.resource = SL_TEXT("/a")).allowed);
    assert_int_equal(few.told_count, 5);
}

WITH_SETUP(a_limit_that_a_request_brings_is_no_rule)
{
    use("rules: [{ name: a, " FIXED "limit: 9/m }]\n");
    struct sl_direct bucket;
    assert_true(sl_direct_bucket(1, 1000000000, &bucket));
    struct sluice_attribute key = { SL_TEXT(SL_DIRECT_KEY), SL_TEXT("k") };
    struct sluice_request request = ASKED(.cost = 2, .others = &key, .other_count = 1);
    struct sl_request_options options = { .direct = &bucket };
    struct sluice_decision decision;
    struct sl_batch_in in = { &request, &options, 1, &decision };
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_OK);
    assert_false(decision.allowed);
    assert_int_equal(few.told_count, 0);
}

WITH_SETUP(a_deny_policy_of_a_failing_store_is_no_violation)
{
    use("on_store_failure: deny\n"
        "rules: [{ name: a, " FIXED "limit: 1/m }]\n");
    model.status = SLUICE_STORE_DOWN;
    struct sluice_request request = ASKED();
    struct sluice_decision decision;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_STORE_DOWN);
    assert_false(decision.allowed);
    assert_int_equal(few.told_count, 0);
}

/* ---- many, and back ---- */

WITH_SETUP(each_request_of_a_batch_has_its_own_user)
{
    use("tiers: { pro: { scale: 10 } }\n"
        "rules: [{ name: a, " FIXED "limit: 1/m, adaptive: true }]\n");
    strcpy(few_add(&few, NULL, "p")->tier, "pro");
    few_add(&few, NULL, "root")->is_exempt = true;
    few_own(few_add(&few, NULL, "o"), "a", 5, (struct sl_decimal){ 0, 0 });
    struct sl_user *trusted = few_add(&few, NULL, "t");
    trusted->calls = trusted->successes = 1;
    trusted->has_email_verified = trusted->email_verified = true;
    trusted->has_created_at = true;
    struct sluice_request requests[] = {
        ASKED(.user = SL_TEXT("p")),
        ASKED(.user = SL_TEXT("u")),
        ASKED(.user = SL_TEXT("o")),
        ASKED(.user = SL_TEXT("t"), .at_us = 1000 * DAY),
        ASKED(.user = SL_TEXT("root")),
        ASKED(.user = SL_TEXT("u")),
        ASKED(.user = SL_TEXT("u"), .tenant = SL_TEXT("x")),
        ASKED(.user = SL_TEXT("u"), .peek = true),
        ASKED(.user = SL_TEXT("o"), .cost = 5),
    };
    static const int64_t limits[] = { 10, 1, 5, 2, SLUICE_NONE, 1, 1, 1, 5 };
    struct sluice_decision out[COUNT(requests)];
    assert_int_equal(sl_limiter_decide_batch(limiter, requests, COUNT(requests), out), SLUICE_OK);
    for (size_t i = 0; i < COUNT(requests); i++)
        SAME("limit", out[i].limit, limits[i]);
    assert_int_equal(out[4].reason, SLUICE_REASON_EXEMPT);
    assert_int_equal(few.told_count, 2);
    assert_string_equal(few.told[0].user, "u");
    assert_string_equal(few.told[1].user, "o");
}

WITH_SETUP(a_refund_makes_the_same_claims_again)
{
    use("tiers: { pro: { scale: 10 }, free: { unlimited: true } }\n"
        "rules: [{ name: skipped, " FIXED "limit: 1/m, tiers: { pro: { unlimited: true } } },\n"
        "        { name: a, " BUCKET "capacity: 100, refill_rate: 0.001 },\n"
        "        { name: b, " BUCKET "capacity: 10, refill_rate: 0.001, adaptive: true }]\n");
    struct sl_user *user = few_add(&few, NULL, "u");
    strcpy(user->tier, "pro");
    user->has_email_verified = user->email_verified = true;
    few_own(user, "a", 50, (struct sl_decimal){ 0, 0 });
    struct sluice_request request = ASKED(.at_us = SLUICE_NOW, .cost = 40);
    struct sluice_decision decision = decide(request);
    assert_true(decision.allowed);
    assert_int_equal(decision.limit, 50); /* of 100 · 1.2, 80 are left */
    assert_int_equal(decision.remaining, 10);
    assert_int_equal(sl_limiter_refund(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(model.refund_calls, 2);
    assert_int_equal(few.found_at_us, decision.decided_at_us); /* as it was then */
    request.cost = 50;
    assert_true(decide(request).allowed);
    const struct sluice_explained *rows;
    assert_int_equal(sl_limiter_explain(limiter, &rows), 2);
    assert_int_equal(rows[1].limit, 120);
    assert_int_equal(rows[1].remaining, 70);
}

WITH_SETUP(a_reservation_is_made_of_what_is_known)
{
    use("rules: [{ name: a, " FIXED "limit: 2/m }]\n");
    few_own(few_add(&few, NULL, "u"), "a", 9, (struct sl_decimal){ 0, 0 });
    struct sluice_request request = ASKED(.at_us = SLUICE_NOW, .cost = 8);
    struct sluice_decision decision;
    uint64_t id;
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_OK);
    assert_true(decision.allowed);
    assert_true(id != 0);
    assert_int_equal(model.store.ops->settle(&model.store, id, 1), SLUICE_OK);
    assert_int_equal(ASK(.at_us = SLUICE_NOW, .cost = 0).remaining, 8);
}

WITH_SETUP(a_reset_finds_counts_by_the_known_tier)
{
    use("tiers: { pro: { scale: 1 } }\n"
        "rules: [{ name: a, algorithm: fixed_window, per: [user, tier], limit: 1/m }]\n");
    strcpy(few_add(&few, NULL, "u")->tier, "pro");
    assert_true(ASK().allowed);
    assert_false(ASK(.tier = SL_TEXT("pro")).allowed);
    struct sluice_request request = ASKED();
    assert_int_equal(sl_limiter_reset(limiter, &request, "a"), SLUICE_OK);
    assert_true(ASK(.tier = SL_TEXT("pro")).allowed);
    assert_int_equal(sl_limiter_reset(limiter, &request, NULL), SLUICE_OK);
    assert_true(ASK().allowed);
}
