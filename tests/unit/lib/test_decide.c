#include "unit/lib/on_model.h"

static struct model model;
static struct sluice_store store = { &model.store };
static struct sluice_limiter *limiter;

static int release(void **unused)
{
    (void)unused;
    sluice_limiter_close(limiter);
    limiter = NULL;
    model_close(&model.store);
    return 0;
}

static void use(const char *yaml)
{
    release(NULL);
    model_open(&model);
    limiter = limiter_of(&store, yaml);
}

static struct sluice_request by(const char *user, uint32_t cost)
{
    struct sluice_request request = sluice_request();
    request.user = sluice_text(user);
    request.cost = cost;
    return request;
}

static struct sluice_decision decide(struct sluice_request request)
{
    struct sluice_decision decision;
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    return decision;
}

#define THREE                                                                                      \
    "rules: [{ name: a, algorithm: fixed_window, per: user, limit: 9/m },\n"                       \
    "        { name: b, algorithm: token_bucket, per: user, capacity: 20, window: 1h },\n"         \
    "        { name: c, algorithm: fixed_window, per: user, limit: 1/m, shadow: true }]\n"

TEST(the_explanation_fills_the_room_there_is)
{
    use(THREE);
    for (size_t room = 0; room <= 5; room++) {
        struct sluice_explained rows[5];
        struct sluice_request request = by("u", 1);
        struct sluice_decision decision, alone;
        size_t count = 99;
        memset(rows, 0x5a, sizeof rows);
        request.peek = true;
        assert_int_equal(sluice_decide_explained(limiter, &request, &decision, rows, room, &count),
                         SLUICE_OK);
        assert_int_equal(sluice_decide(limiter, &request, &alone), SLUICE_OK);
        assert_same_decision("explained", &decision, &alone);
        assert_int_equal(count, 3);
        for (size_t i = 0; i < 5; i++) {
            bool filled = i < room && i < 3;
            assert_int_equal(rows[i].remaining == 0x5a5a5a5a5a5a5a5a, !filled);
        }
        if (room < 3)
            continue;
        assert_string_equal(rows[1].rule, "b");
        assert_string_equal(rows[1].algorithm, "token_bucket");
        assert_int_equal(rows[1].limit, 20);
        assert_true(rows[2].shadow);
        /* Nothing is counted: reset is now, by the wall. */
        assert_int_equal(rows[0].reset_at_us, model.now_us + model.wall_shift_us);
    }
}

TEST(the_explanation_is_empty_where_nothing_matched_or_failed)
{
    struct sluice_request request = by(NULL, 1);
    struct sluice_decision decision;
    struct sluice_explained row;
    size_t count = 99;
    use(THREE);
    assert_int_equal(sluice_decide_explained(limiter, &request, &decision, &row, 1, &count),
                     SLUICE_OK);
    assert_int_equal(count, 0);
    assert_int_equal(decision.reason, SLUICE_REASON_NO_RULE);
    request = by("u", 1);
    count = 99;
    model.status = SLUICE_STORE_DOWN;
    assert_int_equal(sluice_decide_explained(limiter, &request, &decision, &row, 1, &count),
                     SLUICE_STORE_DOWN);
    assert_int_equal(count, 0);
}

TEST(a_failing_store_is_answered_by_the_rules_policy)
{
    static const struct {
        const char *policy;
        bool allowed;
    } rows[] = { { "allow", true }, { "deny", false }, { "local", true } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[128];
        struct sluice_request request = by("u", 1);
        struct sluice_decision decision;
        uint64_t id = 99;
        snprintf(yaml, sizeof yaml,
                 "on_store_failure: %s\nrules: [{ name: a, per: user, limit: 9/m }]\n",
                 rows[i].policy);
        use(yaml);
        model.status = SLUICE_STORE_FULL;
        SAME(rows[i].policy, sluice_decide(limiter, &request, &decision), SLUICE_STORE_FULL);
        SAME(rows[i].policy, decision.allowed, rows[i].allowed);
        SAME(rows[i].policy, decision.reason, SLUICE_REASON_STORE);
        SAME(rows[i].policy, decision.charged, 0);
        memset(&decision, 0, sizeof decision);
        SAME(rows[i].policy, sluice_acquire(limiter, &request, S, &decision), SLUICE_STORE_FULL);
        SAME(rows[i].policy, decision.allowed, rows[i].allowed);
        SAME(rows[i].policy, decision.reason, SLUICE_REASON_STORE);
        memset(&decision, 0, sizeof decision);
        SAME(rows[i].policy, sluice_reserve(limiter, &request, S, &decision, &id),
             SLUICE_STORE_FULL);
        SAME(rows[i].policy, decision.allowed, rows[i].allowed);
        SAME(rows[i].policy, id, 0);
        SAME(rows[i].policy, sluice_decide_batch(limiter, &request, 1, &decision),
             SLUICE_STORE_FULL);
        SAME(rows[i].policy, decision.allowed, rows[i].allowed);
    }
}

TEST(a_batch_is_decided_as_one_by_one)
{
    enum { MANY = 150 };
    static struct sluice_request requests[MANY];
    static struct sluice_decision one[MANY], batch[MANY];
    for (size_t i = 0; i < MANY; i++) {
        requests[i] = sluice_request();
        requests[i].user = (struct sluice_text){ "abcdefg" + i % 7, 1 };
        requests[i].cost = (uint32_t)i % 3;
    }
    use(THREE);
    for (size_t i = 0; i < MANY; i++)
        one[i] = decide(requests[i]);
    model_close(&model.store);
    model_open(&model); /* another start for the same limiter */
    assert_int_equal(sluice_decide_batch(limiter, requests, MANY, batch), SLUICE_OK);
    for (size_t i = 0; i < MANY; i++)
        assert_same_decision("batch", &batch[i], &one[i]);
    assert_int_equal(model.largest_batch, 64);
}

TEST(a_refund_and_a_reset_reach_every_rule)
{
    struct sluice_request request = by("u", 4), ask = by("u", 0);
    use(THREE);
    struct sluice_decision decision = decide(request);
    assert_int_equal(decide(ask).remaining, 5);
    assert_int_equal(sluice_refund(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(decide(ask).remaining, 9);
    decide(request);
    assert_int_equal(sluice_reset(limiter, &request, "b"), SLUICE_OK);
    assert_int_equal(decide(ask).remaining, 5);
    assert_int_equal(sluice_reset(limiter, &request, NULL), SLUICE_OK);
    assert_int_equal(decide(ask).remaining, 9);
    assert_int_equal(model.reset_calls, 1 + 3);
}

TESTS_WITH(NULL, release)
