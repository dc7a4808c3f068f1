/* Many requests at once are decided as one by one. */
#include "limiter/limiter.h"

#include "unit/limiter/decisions.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

enum { MANY = 300 };

static struct model one_model, batch_model;

/* Users and addresses at random; some exempt, some nameless, some unlimited. */
static void draw(struct sluice_request *requests)
{
    static const char *const users[] = { "a", "b", "c", "root", NULL };
    static const char *const tiers[] = { "free", "admin", NULL };
    static const char *const paths[] = { "/x", "/y", "/x/../y", NULL };
    uint64_t seed = 1;
    for (size_t i = 0; i < MANY; i++) {
        requests[i] = sluice_request();
        requests[i].user = sl_text(users[unit_up_to(&seed, 4)]);
        requests[i].tier = sl_text(tiers[unit_up_to(&seed, 2)]);
        requests[i].resource = sl_text(paths[unit_up_to(&seed, 3)]);
        requests[i].ip = SL_TEXT("192.0.2.1");
        requests[i].cost = (uint32_t)unit_up_to(&seed, 3);
        requests[i].peek = unit_up_to(&seed, 4) == 0;
        requests[i].wait = unit_up_to(&seed, 4) == 0;
        if (unit_up_to(&seed, 9) == 0)
            requests[i].at_us = INT64_C(1000000000) + unit_up_to(&seed, 9000000);
    }
}

static const char mixed[] =
    "tiers: { free: { scale: 1 }, admin: { unlimited: true } }\n"
    "exempt: { users: [root] }\n"
    "max_wait: 3s\n"
    "rules: [{ name: fix, algorithm: fixed_window, per: user, limit: 9/s },\n"
    "        { name: log, algorithm: sliding_window_log, per: ip, resource: /y, limit: 20/m },\n"
    "        { name: leak, algorithm: leaky_bucket, per: user, capacity: 20, refill_rate: 2 },\n"
    "        { name: try, per: user, limit: 3/m, shadow: true },\n"
    "        { name: who, per: user, resource: /x, limit: 99/h, on_missing: deny },\n"
    "        { name: guard, per: ip, limit: 500/s,\n"
    "          burst_guard: { window: 1s, threshold: 90, penalty: 1m } }]\n";

TEST(a_batch_is_decided_as_one_by_one)
{
    static const size_t sizes[] = { 1, 2, 63, 64, 65, 128, MANY };
    struct sluice_request requests[MANY];
    struct sluice_decision one[MANY], batch[MANY];
    struct sl_ruleset *rules = rules_of(mixed);
    draw(requests);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        model_open(&one_model);
        model_open(&batch_model);
        struct sl_limiter *alone = sl_limiter_new(rules, &one_model.store);
        struct sl_limiter *batched = sl_limiter_new(rules, &batch_model.store);
        for (size_t i = 0; i < sizes[s]; i++)
            assert_int_equal(sl_limiter_decide(alone, &requests[i], &one[i]), SLUICE_OK);
        memset(batch, 0xff, sizeof batch);
        assert_int_equal(sl_limiter_decide_batch(batched, requests, sizes[s], batch), SLUICE_OK);
        for (size_t i = 0; i < sizes[s]; i++) {
            char row[64];
            snprintf(row, sizeof row, "request %zu of %zu", i, sizes[s]);
            assert_same_decision(row, &batch[i], &one[i]);
        }
        const struct sluice_explained *rows;
        assert_int_equal(sl_limiter_explain(batched, &rows), 0);
        sl_limiter_free(alone);
        sl_limiter_free(batched);
        one_model.store.ops->close(&one_model.store);
        batch_model.store.ops->close(&batch_model.store);
    }
    sl_ruleset_free(rules);
}

/* More rules than a batch keeps claims for. */
static struct sl_ruleset *many_rules(size_t count)
{
    char *yaml = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&yaml, &len);
    fprintf(out, "rules:\n");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "  - { name: r%zu, per: user, algorithm: fixed_window, limit: %zu/h }\n", i,
                100 + i);
    fclose(out);
    struct sl_ruleset *rules = rules_of(yaml);
    free(yaml);
    return rules;
}

TEST(a_batch_has_room_for_requests_that_match_every_rule)
{
    static const struct {
        size_t rules, requests, calls;
    } rows[] = {
        { 4, 64, 1 },  /* 64 requests at once */
        { 4, 65, 2 },  /* and the next */
        { 100, 9, 3 }, /* three make 300 claims */
        { 300, 3, 3 }, /* one by one */
        { 256, 4, 2 }, /* 256 claims leave room for another request, just */
    };
    static struct sluice_request requests[65];
    static struct sluice_decision decisions[65];
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        model_open(&batch_model);
        struct sl_ruleset *rules = many_rules(rows[i].rules);
        struct sl_limiter *limiter = sl_limiter_new(rules, &batch_model.store);
        for (size_t r = 0; r < rows[i].requests; r++) {
            requests[r] = sluice_request();
            requests[r].user = SL_TEXT("u");
        }
        SAME(row, sl_limiter_decide_batch(limiter, requests, rows[i].requests, decisions),
             SLUICE_OK);
        SAME(row, batch_model.decide_calls, rows[i].calls);
        for (size_t r = 0; r < rows[i].requests; r++)
            SAME(row, decisions[r].remaining, 99 - (int64_t)r);
        sl_limiter_free(limiter);
        sl_ruleset_free(rules);
        batch_model.store.ops->close(&batch_model.store);
    }
}

TEST(a_failing_store_answers_every_request_of_a_batch)
{
    struct sluice_request requests[3] = { sluice_request(), sluice_request(), sluice_request() };
    struct sluice_decision decisions[3];
    struct sl_ruleset *rules =
        rules_of("exempt: { users: [root] }\n"
                 "rules: [{ name: a, per: user, limit: 1/s, on_store_failure: deny },\n"
                 "        { name: b, per: ip, limit: 1/s }]\n");
    model_open(&batch_model);
    batch_model.status = SLUICE_STORE_FULL;
    struct sl_limiter *limiter = sl_limiter_new(rules, &batch_model.store);
    requests[0].user = SL_TEXT("u");
    requests[1].user = SL_TEXT("root");
    requests[2].ip = SL_TEXT("192.0.2.1");
    assert_int_equal(sl_limiter_decide_batch(limiter, requests, 3, decisions), SLUICE_STORE_FULL);
    assert_false(decisions[0].allowed);
    assert_string_equal(decisions[0].rule, "a");
    assert_int_equal(decisions[1].reason, SLUICE_REASON_EXEMPT); /* it needs no store */
    assert_true(decisions[2].allowed);
    assert_int_equal(decisions[2].reason, SLUICE_REASON_STORE);
    batch_model.status = SLUICE_OK;
    assert_int_equal(sl_limiter_decide_batch(limiter, requests, 3, decisions), SLUICE_OK);
    assert_int_equal(decisions[0].reason, SLUICE_REASON_OK);
    assert_int_equal(sl_limiter_decide_batch(limiter, NULL, 0, NULL), SLUICE_OK);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    batch_model.store.ops->close(&batch_model.store);
}
