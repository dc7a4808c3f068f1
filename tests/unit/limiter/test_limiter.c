#include "limiter/limiter.h"

#include "unit/limiter/rules.h"

#define S INT64_C(1000000)

static struct sl_store *store;
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;

static void forget(void)
{
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    limiter = NULL;
    rules = NULL;
}

/* Other rules on the same store: what was counted stays. */
static void edit(const char *yaml)
{
    forget();
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, store);
    assert_non_null(limiter);
}

static void use(const char *yaml)
{
    sl_store_close(store);
    store = sl_heap_open();
    assert_non_null(store);
    edit(yaml);
}

static int release(void **unused)
{
    (void)unused;
    forget();
    sl_store_close(store);
    store = NULL;
    return 0;
}

/* At 5 s, by user u from 192.0.2.1, unless it says otherwise: a later
 * initialiser wins. */
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Woverride-init-side-effects"
#define ASK(...)                                                                                   \
    decide(&(struct sluice_request){ .at_us = 5 * S,                                               \
                                     .cost = 1,                                                    \
                                     .trust_thousandths = SLUICE_NO_TRUST,                         \
                                     .user = SL_TEXT("u"),                                         \
                                     .ip = SL_TEXT("192.0.2.1"),                                   \
                                     __VA_ARGS__ })

static struct sluice_decision decide(const struct sluice_request *request)
{
    struct sluice_decision decision;
    assert_int_equal(sl_limiter_decide(limiter, request, &decision), SLUICE_OK);
    return decision;
}

static void assert_no_rule_decided(const struct sluice_decision *decision,
                                   enum sluice_reason reason)
{
    assert_true(decision->allowed);
    assert_int_equal(decision->reason, reason);
    assert_null(decision->rule);
    assert_null(decision->algorithm);
    assert_int_equal(decision->limit, SLUICE_NONE);
    assert_int_equal(decision->remaining, SLUICE_NONE);
    assert_int_equal(decision->reset_at_us, SLUICE_NONE);
    assert_int_equal(decision->retry_after_us, 0);
    assert_int_equal(decision->delay_us, 0);
    assert_int_equal(decision->window_us, SLUICE_NONE);
}

#define FIXED "algorithm: fixed_window, "

TEST(where_no_rule_matches_all_is_allowed)
{
    use("rules: [{ name: a, resource: /a, per: user, limit: 1/s }]\n");
    for (int i = 0; i < 3; i++) {
        struct sluice_decision decision = ASK(.resource = SL_TEXT("/b"));
        assert_no_rule_decided(&decision, SLUICE_REASON_NO_RULE);
    }
    const struct sluice_explained *rows;
    assert_int_equal(sl_limiter_explain(limiter, &rows), 0);
    use("tiers: {}\n");
    struct sluice_decision decision = ASK(.resource = SL_TEXT("/a"));
    assert_no_rule_decided(&decision, SLUICE_REASON_NO_RULE);
}

TEST(the_exempt_are_not_counted)
{
    use("exempt: { users: [root] }\n"
        "rules: [{ name: all, " FIXED "per: global, limit: 2/s }]\n");
    for (int i = 0; i < 5; i++) {
        struct sluice_decision decision = ASK(.user = SL_TEXT("root"));
        assert_no_rule_decided(&decision, SLUICE_REASON_EXEMPT);
    }
    assert_int_equal(ASK().remaining, 1);
}

TEST(an_unlimited_tier_takes_the_rule_away)
{
    use("tiers: { admin: { unlimited: true }, pro: { scale: 3 } }\n"
        "rules: [{ name: a, " FIXED "per: user, limit: 1/s },\n"
        "        { name: b, " FIXED
        "per: user, limit: 9/s, tiers: { pro: { unlimited: true } } }]\n");
    struct sluice_decision decision = ASK(.tier = SL_TEXT("admin"));
    assert_no_rule_decided(&decision, SLUICE_REASON_EXEMPT);
    decision = ASK(.tier = SL_TEXT("pro")); /* one rule is left */
    assert_string_equal(decision.rule, "a");
    assert_int_equal(decision.limit, 3);
    assert_int_equal(decision.remaining, 2);
    decision = ASK(.tier = SL_TEXT("unheard of"));
    assert_int_equal(decision.limit, 1);
    assert_false(decision.allowed); /* what was counted under another tier counts */
}

TEST(an_unlimited_tier_of_a_shadow_exempts_no_request)
{
    use("tiers: { admin: { unlimited: true } }\n"
        "rules: [{ name: a, " FIXED "per: user, limit: 1/s, shadow: true }]\n");
    struct sluice_decision decision = ASK(.tier = SL_TEXT("admin"));
    assert_no_rule_decided(&decision, SLUICE_REASON_NO_RULE);
}

TEST(a_denial_names_the_rule_with_the_longest_wait)
{
    use("rules: [{ name: second, " FIXED "per: user, limit: 1/s },\n"
        "        { name: minute, " FIXED "per: user, limit: 1/m },\n"
        "        { name: also, " FIXED "per: user, limit: 1/m },\n"
        "        { name: wide, " FIXED "per: user, limit: 100/h }]\n");
    assert_true(ASK().allowed);
    struct sluice_decision decision = ASK();
    assert_false(decision.allowed);
    assert_int_equal(decision.reason, SLUICE_REASON_LIMITED);
    assert_string_equal(decision.rule, "minute"); /* a tie: the first in the file */
    assert_string_equal(decision.algorithm, "fixed_window");
    assert_int_equal(decision.limit, 1);
    assert_int_equal(decision.remaining, 0);
    assert_int_equal(decision.retry_after_us, 55 * S);
    assert_int_equal(decision.decided_at_us, 5 * S);
    assert_int_equal(decision.reset_at_us, 60 * S);
}

TEST(never_outranks_every_wait)
{
    static const char *const orders[] = {
        "rules: [{ name: year, " FIXED "per: user, limit: 5/365d },\n"
        "        { name: small, " FIXED "per: user, limit: 2/s },\n"
        "        { name: also, " FIXED "per: user, limit: 2/s }]\n",
        "rules: [{ name: small, " FIXED "per: user, limit: 2/s },\n"
        "        { name: also, " FIXED "per: user, limit: 2/s },\n"
        "        { name: year, " FIXED "per: user, limit: 5/365d }]\n",
    };
    for (size_t i = 0; i < COUNT(orders); i++) {
        use(orders[i]);
        assert_true(ASK(.at_us = 1 * S, .cost = 2).allowed);
        assert_true(ASK(.at_us = 2 * S, .cost = 2).allowed);
        struct sluice_decision decision = ASK(.cost = 3); /* one is left of the year's five */
        assert_string_equal(decision.rule, "small");
        assert_int_equal(decision.reason, SLUICE_REASON_COST);
        assert_int_equal(decision.retry_after_us, SLUICE_NEVER);
        assert_int_equal(decision.remaining, 2); /* it would still take two ones */
        assert_int_equal(decision.reset_at_us, 5 * S);
    }
}

TEST(an_allowance_names_the_rule_with_the_least_left)
{
    use("rules: [{ name: ten, " FIXED "per: ip, limit: 10/s },\n"
        "        { name: five, " FIXED "per: user, limit: 5/m },\n"
        "        { name: too, " FIXED "per: user, limit: 5/h }]\n");
    struct sluice_decision decision = ASK();
    assert_string_equal(decision.rule, "five");
    assert_int_equal(decision.reason, SLUICE_REASON_OK);
    assert_int_equal(decision.remaining, 4);
    for (int i = 0; i < 8; i++)
        ASK(.user = (struct sluice_text){ "abcdefgh" + i, 1 });
    assert_string_equal(ASK().rule, "ten"); /* its tenth */
}

TEST(the_longest_delay_of_the_enforced_rules_counts)
{
    use("rules: [{ name: slow, algorithm: leaky_bucket, per: user, capacity: 9, refill_rate: 2 },\n"
        "        { name: fast, algorithm: leaky_bucket, per: ip, capacity: 3, refill_rate: 10 },\n"
        "        { name: s, algorithm: leaky_bucket, per: ip, capacity: 9, refill_rate: 1,"
        "          shadow: true }]\n");
    assert_int_equal(ASK().delay_us, 0);
    struct sluice_decision decision = ASK();
    assert_string_equal(decision.rule, "fast"); /* 1 left, against 7 */
    assert_int_equal(decision.delay_us, S / 2);
    assert_int_equal(ASK().delay_us, S);
    decision = ASK();
    assert_false(decision.allowed);
    assert_int_equal(decision.delay_us, 0);
}

TEST(a_waiting_request_is_denied_a_delay_above_the_most)
{
    use("max_wait: 1s\n"
        "rules: [{ name: q, algorithm: leaky_bucket, per: user, capacity: 9, refill_rate: 2 }]\n");
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(ASK(.wait = true).delay_us, i * S / 2);
    struct sluice_decision decision = ASK(.wait = true);
    assert_false(decision.allowed);
    assert_int_equal(decision.reason, SLUICE_REASON_LIMITED);
    assert_int_equal(decision.retry_after_us, S / 2);
    assert_int_equal(decision.remaining, 6);     /* uncharged */
    assert_int_equal(ASK().delay_us, 3 * S / 2); /* a request that does not wait may queue */
}

TEST(a_shadow_shows_only_in_the_reason_and_the_explanation)
{
    use("rules: [{ name: tried, " FIXED "per: user, limit: 1/h, shadow: true },\n"
        "        { name: real, " FIXED "per: user, limit: 3/s }]\n");
    assert_int_equal(ASK().reason, SLUICE_REASON_OK);
    struct sluice_decision decision = ASK();
    assert_true(decision.allowed);
    assert_int_equal(decision.reason, SLUICE_REASON_SHADOW);
    assert_string_equal(decision.rule, "real");
    assert_int_equal(decision.remaining, 1);
    assert_int_equal(decision.retry_after_us, 0);
    const struct sluice_explained *rows;
    assert_int_equal(sl_limiter_explain(limiter, &rows), 2);
    assert_true(rows[0].shadow && !rows[0].allowed);
    assert_int_equal(rows[0].retry_after_us, 3595 * S);
    assert_true(!rows[1].shadow && rows[1].allowed);
    assert_int_equal(rows[1].remaining, 1);
    ASK();
    assert_int_equal(ASK().reason, SLUICE_REASON_LIMITED); /* a denial is no shadow's */
}

TEST(where_only_shadows_match_it_is_as_if_none_did)
{
    use("rules: [{ name: tried, " FIXED "per: user, limit: 1/h, shadow: true }]\n");
    struct sluice_decision decision = ASK();
    assert_no_rule_decided(&decision, SLUICE_REASON_NO_RULE);
    decision = ASK();
    assert_no_rule_decided(&decision, SLUICE_REASON_SHADOW);
}

TEST(a_missing_identity_skips_the_rule_or_denies)
{
    use("rules: [{ name: u, " FIXED "per: user, limit: 1/s },\n"
        "        { name: i, " FIXED "per: ip, limit: 100/s }]\n");
    assert_string_equal(ASK(.user = SL_TEXT("")).rule, "i");

    use("rules: [{ name: i, " FIXED "per: ip, limit: 9/s },\n"
        "        { name: u, " FIXED "per: user, limit: 7/s, on_missing: deny },\n"
        "        { name: c, " FIXED "per: client, limit: 1/s, on_missing: deny, shadow: true }]\n");
    static const uint32_t costs[] = { 1, 0, 100 };
    for (size_t i = 0; i < COUNT(costs); i++) {
        struct sluice_decision decision = ASK(.user = SL_TEXT(""), .cost = costs[i]);
        assert_false(decision.allowed);
        /* A cost of 100 never passes `i` either, which comes first. */
        assert_string_equal(decision.rule, costs[i] > 9 ? "i" : "u");
        if (costs[i] > 9)
            continue;
        assert_int_equal(decision.reason, SLUICE_REASON_MISSING);
        assert_int_equal(decision.limit, 7);
        assert_int_equal(decision.remaining, 0);
        assert_int_equal(decision.reset_at_us, SLUICE_NONE);
        assert_int_equal(decision.retry_after_us, SLUICE_NEVER);
    }
    struct sluice_decision decision = ASK();
    assert_string_equal(decision.rule, "u");
    assert_int_equal(decision.remaining, 6);                 /* nothing was taken before */
    assert_int_equal(decision.reason, SLUICE_REASON_SHADOW); /* the client is missing */
}

TEST(a_block_has_its_own_reason)
{
    use("rules: [{ name: g, " FIXED "per: user, limit: 100/s,\n"
        "          burst_guard: { window: 10s, threshold: 2, penalty: 1m } }]\n");
    for (int i = 0; i < 3; i++)
        assert_true(ASK().allowed);
    assert_true(ASK(.at_us = 10 * S, .cost = 1).allowed);
    assert_true(ASK(.at_us = 10 * S).allowed);
    struct sluice_decision decision = ASK(.at_us = 10 * S);
    assert_false(decision.allowed);
    assert_int_equal(decision.reason, SLUICE_REASON_BURST_BLOCKED);
    assert_int_equal(decision.remaining, 0);
    assert_int_equal(decision.retry_after_us, 120 * S);
    assert_int_equal(decision.reset_at_us, 130 * S);
    assert_int_equal(ASK(.at_us = 20 * S, .peek = true).reason, SLUICE_REASON_BURST_BLOCKED);
    assert_true(ASK(.at_us = 20 * S, .user = SL_TEXT("v")).allowed);
    assert_true(ASK(.at_us = 130 * S).allowed);
}

TEST(trust_counts_where_a_rule_is_adaptive)
{
    use("rules: [{ name: a, " FIXED "per: user, limit: 10/s, adaptive: true }]\n");
    assert_int_equal(ASK(.cost = 0).limit, 10);
    assert_int_equal(ASK(.cost = 0, .trust_thousandths = 0).limit, 10);
    assert_int_equal(ASK(.cost = 0, .trust_thousandths = 550).limit, 15);
    assert_int_equal(ASK(.cost = 0, .trust_thousandths = 1000).limit, 20);
    use("rules: [{ name: a, " FIXED "per: user, limit: 10/s }]\n");
    assert_int_equal(ASK(.cost = 0, .trust_thousandths = 1000).limit, 10);
}

TEST(a_decision_tells_the_window_of_the_rule_it_shows)
{
    use("tiers: { pro: { scale: 10 } }\n"
        "rules: [{ name: minute, " FIXED "resource: /w, per: user, limit: 3/m },\n"
        "        { name: hour, " FIXED "resource: /w, per: user, limit: 4/h },\n"
        "        { name: bucket, algorithm: token_bucket, resource: /b, per: user, capacity: 100,\n"
        "          refill_rate: 10, burst_allowance: 1.5, adaptive: true,\n"
        "          tiers: { pro: { refill_rate: 50 } } },\n"
        "        { name: whole, algorithm: token_bucket, resource: /c, per: user, limit: 100/90s,\n"
        "          burst_allowance: 2, adaptive: true }]\n");
    struct sluice_decision decision = ASK(.resource = SL_TEXT("/w"));
    assert_string_equal(decision.rule, "minute");
    assert_int_equal(decision.window_us, 60 * S);
    decision = ASK(.resource = SL_TEXT("/w"), .at_us = 61 * S, .cost = 2);
    assert_string_equal(decision.rule, "minute"); /* a tie */
    decision = ASK(.resource = SL_TEXT("/w"), .at_us = 61 * S, .cost = 2);
    assert_string_equal(decision.rule, "hour");
    assert_false(decision.allowed);
    assert_int_equal(decision.window_us, 3600 * S);
    assert_int_equal(ASK(.resource = SL_TEXT("/b")).window_us, 15 * S);
    decision = ASK(.resource = SL_TEXT("/b"), .tier = SL_TEXT("pro"));
    assert_int_equal(decision.limit, 1500);
    assert_int_equal(decision.window_us, 30 * S);
    decision = ASK(.resource = SL_TEXT("/b"), .trust_thousandths = 1000);
    assert_int_equal(decision.limit, 300);
    assert_int_equal(decision.window_us, 20000001); /* 300 of 66666667 ns, rounded up */
    assert_int_equal(ASK(.resource = SL_TEXT("/c"), .trust_thousandths = 1000).window_us, 90 * S);
}

TEST(an_edit_of_the_rules_keeps_what_was_counted)
{
    use("rules: [{ name: a, algorithm: token_bucket, per: user, capacity: 100, refill_rate: 100 "
        "}]\n");
    assert_int_equal(ASK(.cost = 100).remaining, 0);
    edit("rules: [{ name: a, algorithm: token_bucket, per: user, capacity: 100, refill_rate: 10 "
         "}]\n");
    struct sluice_decision decision = ASK();
    assert_false(decision.allowed); /* not ninety tokens out of nothing */
    assert_int_equal(decision.retry_after_us, S / 10);
    assert_int_equal(decision.reset_at_us, 15 * S);
    edit("rules: [{ name: a, algorithm: token_bucket, per: user, capacity: 150, refill_rate: 10 "
         "}]\n");
    assert_int_equal(ASK().remaining, 49);
    edit("rules: [{ name: a, algorithm: leaky_bucket, per: user, capacity: 150, refill_rate: 10 "
         "}]\n");
    assert_int_equal(ASK().remaining, 149); /* another algorithm starts afresh */
}

TEST(a_resource_of_any_length_is_matched)
{
    enum { LONG = 100000 };
    use("rules: [{ name: a, " FIXED "per: resource, resource: /a/*, limit: 3/s }]\n");
    char *path = malloc(LONG);
    assert_non_null(path);
    memset(path, 'x', LONG);
    memcpy(path, "/a/", 3);
    assert_int_equal(ASK(.resource = { path, LONG }).remaining, 2);
    assert_int_equal(ASK(.resource = { path, LONG }).remaining, 1);
    assert_int_equal(ASK(.resource = { path, LONG - 1 }).remaining, 2);
    assert_int_equal(ASK(.resource = SL_TEXT("/a")).remaining, 2);
    path[0] = 'x'; /* nothing of a request is kept */
    struct sluice_decision decision = ASK(.resource = { path, LONG });
    assert_no_rule_decided(&decision, SLUICE_REASON_NO_RULE);
    free(path);
}

TESTS_WITH(NULL, release)
