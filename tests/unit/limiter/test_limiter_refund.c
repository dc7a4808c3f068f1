/* Giving back: refunds, resets, reservations through the limiter. */
#include "limiter/limiter.h"

#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

#define S INT64_C(1000000)

static struct model model;
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;

static int release(void **unused)
{
    (void)unused;
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
    limiter = NULL;
    rules = NULL;
    return 0;
}

static void use(const char *yaml)
{
    release(NULL);
    model_open(&model);
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, &model.store);
    assert_non_null(limiter);
}

static struct sluice_request by(const char *user, uint32_t cost)
{
    struct sluice_request request = sluice_request();
    request.user = sl_text(user);
    request.ip = SL_TEXT("192.0.2.1");
    request.cost = cost;
    return request;
}

static struct sluice_decision decide(struct sluice_request request)
{
    struct sluice_decision decision;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_OK);
    return decision;
}

/* What the rule has left for u. */
static int64_t left(const char *rule)
{
    struct sluice_request request = by("u", 0);
    struct sluice_decision decision;
    const struct sluice_explained *rows;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_OK);
    size_t count = sl_limiter_explain(limiter, &rows);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].rule, rule) == 0)
            return rows[i].remaining;
    fail_msg("no rule %s", rule);
    return -1;
}

TEST(displayed_times_are_wall_time_and_a_charge_is_store_time)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/s },\n"
        "        { name: b, algorithm: fixed_window, per: user, limit: 5/m },\n"
        "        { name: c, per: client, limit: 1/s, on_missing: deny, shadow: true }]\n");
    struct sluice_decision decision = decide(by("u", 1));
    const struct sluice_explained *rows;
    assert_int_equal(decision.decided_at_us, 1007 * S);
    assert_int_equal(decision.reset_at_us, 1020 * S + 7 * S);
    assert_int_equal(decision.charged_at_us, 1000 * S);
    assert_int_equal(decision.charged, 3);
    assert_int_equal(sl_limiter_explain(limiter, &rows), 3);
    assert_int_equal(rows[0].reset_at_us, 1001 * S + 7 * S);
    assert_int_equal(rows[1].reset_at_us, 1020 * S + 7 * S);
    assert_int_equal(rows[2].reset_at_us, SLUICE_NONE);

    struct sluice_request request = by("u", 1);
    request.at_us = 1010 * S; /* a time of the caller's own is the time all round */
    decision = decide(request);
    assert_int_equal(decision.decided_at_us, 1010 * S);
    assert_int_equal(decision.charged_at_us, 1010 * S);
    assert_int_equal(decision.reset_at_us, 1020 * S);
    sl_limiter_explain(limiter, &rows);
    assert_int_equal(rows[1].reset_at_us, 1020 * S);
}

TEST(what_charged_nothing_says_so)
{
    use("exempt: { users: [root] }\n"
        "rules: [{ name: a, algorithm: fixed_window, per: user, limit: 2/m }]\n");
    struct sluice_request peek = by("u", 1);
    peek.peek = true;
    struct sluice_request asks[] = { by("u", 0), by("u", 3), by("root", 1), by(NULL, 1), peek };
    for (size_t i = 0; i < COUNT(asks); i++) {
        struct sluice_decision decision = decide(asks[i]);
        assert_int_equal(decision.charged, 0);
        assert_int_equal(decision.charged_at_us, SLUICE_NONE);
        assert_int_equal(sl_limiter_refund(limiter, &asks[i], &decision), SLUICE_OK);
    }
    assert_int_equal(model.refund_calls, 0);
}

TEST(a_refund_gives_back_in_every_rule_that_was_charged)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m },\n"
        "        { name: try, algorithm: fixed_window, per: user, limit: 3/m, shadow: true },\n"
        "        { name: b, algorithm: token_bucket, per: ip, capacity: 20, refill_rate: 1 },\n"
        "        { name: log, algorithm: sliding_window_log, per: user, limit: 8/m }]\n");
    struct sluice_request request = by("u", 2);
    struct sluice_decision first = decide(request), second = decide(request);
    assert_int_equal(first.charged, 15);
    assert_int_equal(second.charged, 13); /* two more are too many for the shadow */
    assert_int_equal(left("try"), 1);
    assert_int_equal(sl_limiter_refund(limiter, &request, &second), SLUICE_OK);
    assert_int_equal(left("a"), 7);
    assert_int_equal(left("try"), 1); /* nothing of it was the second's */
    assert_int_equal(left("b"), 18);
    assert_int_equal(left("log"), 6);
    assert_int_equal(sl_limiter_refund(limiter, &request, &first), SLUICE_OK);
    assert_int_equal(left("a"), 9);
    assert_int_equal(left("try"), 3);
    assert_int_equal(left("b"), 20);
    assert_int_equal(left("log"), 8);
}

TEST(a_refund_after_its_window_gives_nothing)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m }]\n");
    struct sluice_request request = by("u", 2);
    struct sluice_decision decision = decide(request);
    model.now_us += 60 * S;
    decide(request);
    assert_int_equal(sl_limiter_refund(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(left("a"), 7);
}

/* 62 rules that are not refunded twice, then one or more per bit. */
TEST(behind_the_64th_rule_shadows_are_not_given_back)
{
    char *yaml = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&yaml, &len);
    fprintf(out, "rules:\n");
    for (size_t i = 0; i < 70; i++)
        fprintf(out,
                "  - { name: r%zu, per: user, algorithm: fixed_window, limit: 9/m, shadow: %s }\n",
                i, i % 2 ? "true" : "false");
    fclose(out);
    use(yaml);
    free(yaml);
    struct sluice_request request = by("u", 1);
    struct sluice_decision decision = decide(request);
    assert_int_equal(decision.charged, -1);
    assert_int_equal(sl_limiter_refund(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(model.refund_calls, 63 + 3); /* of 63 to 69 the even ones */
    assert_int_equal(left("r61"), 9);
    assert_int_equal(left("r62"), 9);
    assert_int_equal(left("r63"), 8);
    assert_int_equal(left("r64"), 9);
    assert_int_equal(left("r69"), 8);
}

TEST(a_reset_forgets_in_every_rule_that_matches)
{
    use("tiers: { admin: { unlimited: true } }\n"
        "rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m },\n"
        "        { name: i, algorithm: fixed_window, per: ip, limit: 9/m },\n"
        "        { name: c, algorithm: fixed_window, per: client, limit: 9/m },\n"
        "        { name: x, algorithm: fixed_window, per: user, resource: /x, limit: 9/m }]\n");
    struct sluice_request request = by("u", 2);
    request.resource = SL_TEXT("/x");
    decide(request);
    struct sluice_request other = by("v", 1);
    decide(other);
    struct sluice_request reset = by("u", 1); /* without the resource; the cost is not heeded */
    reset.tier = SL_TEXT("admin");            /* nor the tier */
    assert_int_equal(sl_limiter_reset(limiter, &reset, NULL), SLUICE_OK);
    assert_int_equal(model.reset_calls, 2);
    assert_int_equal(left("a"), 9);
    assert_int_equal(left("i"), 9);
    other.cost = 0;
    assert_int_equal(decide(other).remaining, 8); /* v's own */
    request.cost = 0;
    assert_string_equal(decide(request).rule, "x");
    assert_int_equal(decide(request).remaining, 7);
}

TEST(a_reset_of_one_rule_needs_its_identifier_and_nothing_else)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m },\n"
        "        { name: x, algorithm: fixed_window, per: user, resource: /x, limit: 9/m }]\n");
    struct sluice_request request = by("u", 2);
    request.resource = SL_TEXT("/x");
    decide(request);
    struct sluice_request bare = by("u", 1);
    assert_int_equal(sl_limiter_reset(limiter, &bare, "x"), SLUICE_OK);
    assert_int_equal(left("a"), 7);
    request.cost = 0;
    assert_string_equal(decide(request).rule, "a");
    assert_int_equal(sl_limiter_reset(limiter, &bare, "y"), SLUICE_INVALID);
    bare.user = SL_TEXT("");
    assert_int_equal(sl_limiter_reset(limiter, &bare, "x"), SLUICE_INVALID);
    assert_int_equal(sl_limiter_reset(limiter, &bare, NULL), SLUICE_OK);
}

TEST(a_reset_ends_a_block)
{
    use("rules: [{ name: g, algorithm: fixed_window, per: user, limit: 100/s,\n"
        "          burst_guard: { window: 10s, threshold: 2, penalty: 1m } }]\n");
    for (int i = 0; i < 3; i++)
        decide(by("u", 1));
    model.now_us += 10 * S;
    for (int i = 0; i < 3; i++)
        decide(by("u", 1));
    assert_int_equal(decide(by("u", 1)).reason, SLUICE_REASON_BURST_BLOCKED);
    struct sluice_request request = by("u", 1);
    assert_int_equal(sl_limiter_reset(limiter, &request, NULL), SLUICE_OK);
    assert_true(decide(request).allowed);
}

TEST(a_reservation_holds_what_was_charged)
{
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m },\n"
        "        { name: b, algorithm: token_bucket, per: ip, capacity: 20, window: 1h }]\n");
    struct sluice_request request = by("u", 4);
    struct sluice_decision decision;
    uint64_t id = 99;
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_OK);
    assert_true(decision.allowed && id != 0);
    assert_int_equal(left("a"), 5);
    assert_int_equal(model_settle(&model.store, id, 1), SLUICE_OK);
    assert_int_equal(left("a"), 8);
    assert_int_equal(left("b"), 19);

    request.cost = 10;
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_OK);
    assert_false(decision.allowed);
    assert_int_equal(id, 0);
    request.cost = 0;
    id = 99;
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_OK);
    assert_true(decision.allowed);
    assert_int_equal(id, 0);
}

TEST(where_a_charge_cannot_be_held_the_policy_answers)
{
    struct sluice_request request = by("u", 4);
    struct sluice_decision decision;
    const struct sluice_explained *rows;
    uint64_t id = 99;
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m,\n"
        "          on_store_failure: deny }]\n");
    model.hold_status = SLUICE_STORE_FULL;
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_STORE_FULL);
    assert_false(decision.allowed);
    assert_int_equal(decision.reason, SLUICE_REASON_STORE);
    assert_string_equal(decision.rule, "a");
    assert_int_equal(decision.charged, 0);
    assert_int_equal(id, 0);
    assert_int_equal(sl_limiter_explain(limiter, &rows), 0);
    assert_int_equal(left("a"), 9);
}

TEST(a_store_that_cannot_says_so_before_it_charges)
{
    static const struct sl_store_ops few = { .decide = model_decide, .close = model_close };
    struct sluice_request request = by("u", 4);
    struct sluice_decision decision = { .charged = 1 };
    uint64_t id;
    use("rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m }]\n");
    model.store.ops = &few;
    assert_int_equal(sl_limiter_refund(limiter, &request, &decision), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_limiter_reset(limiter, &request, NULL), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_limiter_reserve(limiter, &request, S, &decision, &id), SLUICE_UNSUPPORTED);
    assert_int_equal(model.decide_calls, 0);
}

TEST(a_request_held_by_its_caller_is_denied_a_longer_delay)
{
    use("max_wait: 1s\n"
        "rules: [{ name: q, algorithm: leaky_bucket, per: user, capacity: 9, refill_rate: 2 }]\n");
    struct sluice_request request = by("u", 4);
    struct sluice_decision decision;
    request.wait = true; /* another's word */
    decide(request);
    request.cost = 1;
    assert_int_equal(sl_limiter_decide_within(limiter, &request, 2 * S - 1, &decision), SLUICE_OK);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_us, 1);
    assert_int_equal(sl_limiter_decide_within(limiter, &request, 2 * S, &decision), SLUICE_OK);
    assert_true(decision.allowed);
    assert_int_equal(decision.delay_us, 2 * S);
}

TESTS_WITH(NULL, release)
