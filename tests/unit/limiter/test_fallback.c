/* What is answered where the store does not. */
#include "limiter/fallback.h"

#include "algo/bucket.h"
#include "limiter/limiter.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

#define S INT64_C(1000000)

/* The store that fails, and the table that stands in for it. */
static struct model broken, local;
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;

static int set_up(void **unused)
{
    (void)unused;
    model_open(&broken);
    model_open(&local);
    broken.status = SLUICE_STORE_DOWN;
    broken.store.local = &local.store;
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&local.store);
    limiter = NULL;
    rules = NULL;
    return 0;
}

static void use(const char *yaml)
{
    tear_down(NULL);
    set_up(NULL);
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, &broken.store);
    assert_non_null(limiter);
}

static struct sluice_decision decide_for(const char *user, uint32_t cost, int status)
{
    struct sluice_decision decision;
    struct sluice_request request = sluice_request();
    request.user = sl_text(user);
    request.ip = SL_TEXT("192.0.2.1");
    request.cost = cost;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), status);
    return decision;
}

static struct sluice_decision decide(uint32_t cost)
{
    return decide_for("u", cost, SLUICE_STORE_DOWN);
}

#define RULE(name, policy, more)                                                                   \
    "- { name: " name                                                                              \
    ", per: user, algorithm: fixed_window, limit: 3/m, on_store_failure: " policy more " }\n"

#define WITH_STORES(name) TEST_WITH(name, set_up, tear_down)

WITH_STORES(local_decides_on_the_table_and_says_that_the_store_failed)
{
    use("rules:\n" RULE("a", "local", ""));
    for (int i = 0; i < 5; i++) {
        struct sluice_decision decision = decide(1);
        SAME("turn", decision.allowed, i < 3);
        SAME("turn", decision.reason, SLUICE_REASON_STORE);
        SAME("turn", decision.limit, 3);
        SAME("turn", decision.remaining, i < 3 ? 2 - i : 0);
        SAME("turn", decision.retry_after_us > 0, i >= 3);
        SAME("turn", decision.charged, 0); /* there is nothing to refund */
        SAME("turn", decision.charged_at_us, SLUICE_NONE);
        SAME_TEXT("turn", sl_text(decision.rule), "a");
    }
    assert_int_equal(local.decide_calls, 5);
}

/* Requests that are charged together are so where a table stands in. */
WITH_STORES(joined_requests_take_nothing_where_one_is_denied)
{
    use("rules:\n" RULE("a", "local", ""));
    struct sluice_request requests[2] = { sluice_request(), sluice_request() };
    struct sl_request_options options[2] = { { .joins = false }, { .joins = true } };
    struct sluice_decision out[2];
    struct sl_batch_in in = { requests, options, 2, out };
    requests[0].user = SL_TEXT("u");
    requests[1].user = SL_TEXT("v");
    requests[1].cost = 2;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_STORE_DOWN);
        SAME("turn", out[0].allowed, true);
        SAME("turn", out[1].allowed, i < 1);
        SAME("turn", out[0].reason, SLUICE_REASON_STORE);
        SAME("turn", out[0].remaining, 2); /* charged once, and never again */
        SAME("turn", out[1].remaining, 1);
    }
}

WITH_STORES(joined_requests_of_one_user_take_nothing_where_they_are_too_many)
{
    use("rules:\n" RULE("a", "local", ""));
    struct sluice_request requests[4];
    struct sl_request_options options[4];
    struct sluice_decision out[4];
    for (int i = 0; i < 4; i++) {
        requests[i] = sluice_request();
        requests[i].user = SL_TEXT("u");
        options[i] = (struct sl_request_options){ .joins = i > 0 };
    }
    struct sl_batch_in in = { requests, options, 4, out };
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_STORE_DOWN);
    SAME("four of three", out[3].allowed, false);
    requests[3].peek = true;
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_STORE_DOWN);
    for (int i = 0; i < 4; i++)
        SAME("three, and a look", out[i].allowed, true);
    SAME("all are taken", decide(1).allowed, false);
}

/* What they share is counted together, and the rest by itself. */
WITH_STORES(joined_requests_that_share_a_rule_pass_as_far_as_each_may)
{
    use("rules:\n" RULE("a", "local", "") "- { name: all, per: global, algorithm: fixed_window, "
                                          "limit: 4/m, on_store_failure: local }\n");
    struct sluice_request requests[2] = { sluice_request(), sluice_request() };
    struct sl_request_options options[2] = { { .joins = false }, { .joins = true } };
    struct sluice_decision out[2];
    struct sl_batch_in in = { requests, options, 2, out };
    requests[0].user = SL_TEXT("u");
    requests[1].user = SL_TEXT("v");
    requests[0].cost = 3;
    requests[1].cost = 2;
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_STORE_DOWN);
    assert_true(out[0].allowed && !out[1].allowed);
    requests[0].cost = 2;
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_STORE_DOWN);
    assert_true(out[0].allowed && out[1].allowed); /* 2 of 3 each, and 4 of 4 */
    SAME("left", out[1].remaining, 0);
}

/* Although it was joined to one for which the store was asked. */
WITH_STORES(what_no_rule_counts_passes_whatever_the_file_says)
{
    use("on_store_failure: deny\nrules:\n" RULE("a", "allow", ""));
    struct sluice_request requests[2] = { sluice_request(), sluice_request() };
    struct sl_request_options options[2] = { { .joins = false }, { .joins = true } };
    struct sluice_decision out[2];
    struct sl_batch_in in = { requests, options, 2, out };
    requests[0].user = SL_TEXT("u");
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_STORE_DOWN);
    assert_true(out[0].allowed && out[1].allowed);
    SAME("counted", out[0].reason, SLUICE_REASON_STORE);
    SAME("not counted", out[1].reason, SLUICE_REASON_NO_RULE);
}

WITH_STORES(a_store_that_is_full_is_stood_in_for_too)
{
    use("rules:\n" RULE("a", "local", ""));
    broken.status = SLUICE_STORE_FULL;
    assert_true(decide_for("u", 3, SLUICE_STORE_FULL).allowed);
    assert_false(decide_for("u", 1, SLUICE_STORE_FULL).allowed);
}

WITH_STORES(policies_mix)
{
    static const struct {
        const char *yaml;
        bool first, fourth; /* is the first allowed, and the fourth? */
        const char *rule;   /* that the first answer names */
        size_t asked;       /* how often the table is, in four */
    } rows[] = {
        { "rules:\n" RULE("a", "allow", ""), true, true, NULL, 0 },
        { "rules:\n" RULE("a", "deny", ""), false, false, "a", 0 },
        { "rules:\n" RULE("a", "local", ""), true, false, "a", 4 },
        { "rules:\n" RULE("a", "allow", "") RULE("b", "local", ""), true, false, "b", 4 },
        { "rules:\n" RULE("a", "local", "") RULE("b", "deny", ""), false, false, "b", 0 },
        { "rules:\n" RULE("a", "allow", "") RULE("b", "deny", ""), false, false, "b", 0 },
        { "rules:\n" RULE("a", "local", "") RULE("b", "local", ""), true, false, "a", 4 },
        { "rules:\n" RULE("a", "local", ", shadow: true"), true, true, NULL, 0 },
        { "rules:\n" RULE("a", "deny", ", shadow: true"), true, true, NULL, 0 },
        { "rules:\n" RULE("a", "deny", ", shadow: true") RULE("b", "local", ""), true, false, "b",
          4 },
        { "rules: []\n", true, true, NULL, 0 },
        { "on_store_failure: deny\nrules: []\n", false, false, NULL, 0 },
        { "on_store_failure: local\nrules: []\n", true, true, NULL, 0 },
        { "on_store_failure: local\nrules: [{ name: a, per: user, limit: 3/m }]\n", true, false,
          "a", 4 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        use(rows[i].yaml);
        struct sluice_decision first = decide(1);
        SAME(rows[i].yaml, first.allowed, rows[i].first);
        SAME_TEXT(rows[i].yaml, sl_text(first.rule), rows[i].rule);
        decide(1);
        decide(1);
        struct sluice_decision fourth = decide(1);
        SAME(rows[i].yaml, fourth.allowed, rows[i].fourth);
        SAME(rows[i].yaml, fourth.reason, SLUICE_REASON_STORE);
        SAME(rows[i].yaml, local.decide_calls, rows[i].asked);
    }
}

WITH_STORES(a_request_without_an_identity_is_denied_with_or_without_a_store)
{
    use("rules:\n" RULE("a", "local",
                        ", on_missing: deny") "- { name: b, per: ip, algorithm: fixed_window, "
                                              "limit: 1/m, on_store_failure: local }\n");
    struct sluice_decision first = decide_for("", 1, SLUICE_STORE_DOWN);
    assert_false(first.allowed);
    assert_int_equal(first.reason, SLUICE_REASON_MISSING);
    assert_int_equal(first.retry_after_us, SLUICE_NEVER);
    assert_string_equal(first.rule, "a");
    assert_int_equal(local.slot_count, 0);
}

WITH_STORES(without_a_table_local_allows)
{
    use("rules:\n" RULE("a", "local", ""));
    broken.store.local = NULL;
    for (int i = 0; i < 5; i++)
        assert_true(decide(1).allowed);
}

WITH_STORES(a_table_that_fails_too_allows)
{
    use("rules:\n" RULE("a", "local", ""));
    local.status = SLUICE_STORE_FULL;
    for (int i = 0; i < 5; i++) {
        struct sluice_decision decision = decide(1);
        assert_true(decision.allowed);
        assert_int_equal(decision.reason, SLUICE_REASON_STORE);
        assert_null(decision.rule);
    }
}

WITH_STORES(a_peek_takes_nothing_from_the_table)
{
    use("rules:\n" RULE("a", "local", ""));
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = SL_TEXT("u");
    request.peek = true;
    for (int i = 0; i < 5; i++) {
        sl_limiter_decide(limiter, &request, &decision);
        assert_int_equal(decision.remaining, 3);
    }
}

WITH_STORES(a_share_of_the_limit_is_what_the_table_grants)
{
    static const struct {
        const char *yaml;
        int64_t granted;
    } rows[] = {
        { "local_share: 1\nrules: [{ name: a, per: user, limit: 10/m }]\n", 10 },
        { "local_share: 0.25\nrules: [{ name: a, per: user, limit: 10/m }]\n", 2 },
        { "local_share: 0.999\nrules: [{ name: a, per: user, limit: 10/m }]\n", 9 },
        { "local_share: 0.1\nrules: [{ name: a, per: user, limit: 9/m }]\n", 0 },
        { "local_share: 0\nrules: [{ name: a, per: user, limit: 9/m }]\n", 0 },
        { "local_share: 0.5\nrules: [{ name: a, per: user, algorithm: token_bucket, "
          "capacity: 9, refill_rate: 1 }]\n",
          4 },
        { "local_share: 0.5\nrules: [{ name: a, per: user, algorithm: sliding_window_log, "
          "limit: 9/m }]\n",
          4 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[256];
        int64_t granted = 0;
        snprintf(yaml, sizeof yaml, "on_store_failure: local\n%s", rows[i].yaml);
        use(yaml);
        for (int n = 0; n < 12; n++)
            granted += decide(1).allowed;
        SAME(rows[i].yaml, granted, rows[i].granted);
    }
}

TEST(a_shared_limit_is_rounded_against_the_caller)
{
    static const struct {
        struct sl_decimal share;
        bool bucket;
        int64_t capacity, token_ns;
        int64_t shared, shared_ns;
    } rows[] = {
        { { 1, 0 }, true, 100, 1000, 100, 1000 },
        { { 5, 1 }, true, 100, 1000, 50, 2000 },
        { { 3, 1 }, true, 100, 1000, 30, 3334 }, /* 3333⅓, rounded up */
        { { 333333333, 9 }, true, 3, 1000, 0, 1000 },
        { { 1, 9 }, true, UINT32_MAX, 1, 4, 1000000000 },
        { { 5, 1 }, true, 2, SL_SPAN_MAX_NS / 2, 1, SL_SPAN_MAX_NS },
        { { 6, 1 }, true, 3, SL_SPAN_MAX_NS / 3, 1, SL_SPAN_MAX_NS / 9 * 5 },
        { { 0, 0 }, true, 100, 1000, 0, 1000 },
        { { 5, 1 }, false, 5, 0, 2, 0 },
        { { 999999999, 9 }, false, 1, 0, 0, 0 },
        { { 999999999, 9 }, false, UINT32_MAX, 0, 4294967290, 0 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        const struct sl_algo *algo = rows[i].bucket ? &sl_token_bucket : &sl_fixed_window;
        struct sl_limit limit = { .capacity = rows[i].capacity, .token_ns = rows[i].token_ns };
        snprintf(row, sizeof row, "row %zu", i);
        limit.token_part = 7;
        limit.window_us = rows[i].bucket ? 0 : S;
        sl_limit_share(algo, rows[i].share, &limit);
        SAME(row, limit.capacity, rows[i].shared);
        SAME(row, limit.token_ns, rows[i].shared_ns);
        SAME(row, limit.window_us, rows[i].bucket ? 0 : S);
        if (rows[i].bucket && limit.capacity) {
            SAME(row, limit.token_form, sl_token_short(limit.token_ns));
            SAME(row, limit.token_part, 0);
            SAME(row, limit.capacity * limit.token_ns <= SL_SPAN_MAX_NS, true);
        }
    }
}

/* The time that a bucket takes to fill is no shorter than before. */
TEST(no_share_makes_a_bucket_faster)
{
    uint64_t seed = 3;
    for (int i = 0; i < 100000; i++) {
        int64_t capacity = 1 + unit_up_to(&seed, i % 2 ? 100 : UINT32_MAX - 1);
        int64_t token_ns = 1 + unit_up_to(&seed, SL_SPAN_MAX_NS / capacity - 1);
        struct sl_limit limit = { .capacity = capacity, .token_ns = token_ns };
        struct sl_decimal share = { (uint64_t)unit_up_to(&seed, 1000000000), 9 };
        sl_limit_share(&sl_token_bucket, share, &limit);
        SAME("capacity", limit.capacity <= capacity, true);
        SAME("rate", limit.token_ns >= token_ns, true);
        SAME("span", limit.capacity * limit.token_ns <= SL_SPAN_MAX_NS, true);
    }
}
