/* What a limiter counts of its own answers. */
#include "limiter/observe/counts.h"

#include <pthread.h>

#include "limiter/limiter.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

static struct model model;
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;

static void open_limiter(const char *yaml)
{
    model_open(&model);
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, &model.store);
    assert_non_null(limiter);
}

static void close_limiter(void)
{
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

/* Cost 1 and now, unless it says otherwise: a later initialiser wins. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define ASK(...)                                                                                   \
    ask(&(struct sluice_request){                                                                  \
        .at_us = SLUICE_NOW, .cost = 1, .trust_thousandths = SLUICE_NO_TRUST, __VA_ARGS__ })

static int ask(const struct sluice_request *request)
{
    struct sluice_decision decision;
    return sl_limiter_decide(limiter, request, &decision);
}

static uint64_t decided(const struct sl_limiter *by, enum sluice_reason reason, bool allowed)
{
    return sl_count_read(&sl_limiter_counts(by)->decisions[reason][allowed]);
}

static uint64_t decided_in_all(const struct sl_limiter *by)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        sum += decided(by, (enum sluice_reason)i, false) + decided(by, (enum sluice_reason)i, true);
    return sum;
}

/* The rule of this number: allowed, denied, would have denied, failed. */
static void assert_rule(const struct sl_limiter *by, size_t index, const uint64_t *wanted)
{
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++) {
        char row[64];
        snprintf(row, sizeof row, "rule %zu, outcome %zu", index, i);
        SAME(row, sl_count_read(&sl_limiter_counts(by)->by_rule[index][i]), wanted[i]);
    }
}
#define ASSERT_RULE(by, index, ...) assert_rule(by, index, (const uint64_t[]){ __VA_ARGS__ })

static const char every_reason[] =
    "exempt: { users: [root] }\n"
    "rules: [{ name: a, resource: /a, per: user, limit: 2/m },\n"
    "        { name: must, resource: /must, per: client, limit: 9/m, on_missing: deny },\n"
    "        { name: tried, resource: /tried, per: user, limit: 1/m, shadow: true },\n"
    "        { name: burst, resource: /burst, per: user, limit: 99/m,\n"
    "          burst_guard: { window: 1s, threshold: 1, penalty: 1m } },\n"
    "        { name: strict, resource: /strict, per: user, limit: 1/m, on_store_failure: deny }]\n";

TEST(every_answer_is_counted_by_its_reason)
{
    open_limiter(every_reason);
    ASK(.user = SL_TEXT("root"));
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/none"));
    for (int i = 0; i < 5; i++)
        ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a"));
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a"), .cost = 3);
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/must"));
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/tried"));
    for (int i = 0; i < 4; i++) {
        model.now_us += i == 2 ? 1000000 : 0; /* warned in one window, blocked in the next */
        ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/burst"));
    }
    model.status = SLUICE_STORE_DOWN;
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a"));
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/strict"));
    static const struct {
        enum sluice_reason reason;
        uint64_t denied, allowed;
    } rows[] = {
        { SLUICE_REASON_OK, 0, 5 },      { SLUICE_REASON_EXEMPT, 0, 1 },
        { SLUICE_REASON_NO_RULE, 0, 2 }, /* and the shadow rule's first */
        { SLUICE_REASON_LIMITED, 3, 0 }, { SLUICE_REASON_BURST_BLOCKED, 1, 0 },
        { SLUICE_REASON_COST, 1, 0 },    { SLUICE_REASON_MISSING, 1, 0 },
        { SLUICE_REASON_STORE, 1, 1 },   { SLUICE_REASON_SHADOW, 0, 2 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "reason %d", rows[i].reason);
        SAME(row, decided(limiter, rows[i].reason, false), rows[i].denied);
        SAME(row, decided(limiter, rows[i].reason, true), rows[i].allowed);
    }
    ASSERT_RULE(limiter, 0, 2, 4, 0, 1);
    ASSERT_RULE(limiter, 1, 0, 1, 0, 0);
    ASSERT_RULE(limiter, 2, 1, 0, 2, 0);
    ASSERT_RULE(limiter, 3, 3, 1, 0, 0);
    ASSERT_RULE(limiter, 4, 0, 0, 0, 1);
    close_limiter();
}

static const char three_on_one[] =
    "exempt: { users: [root] }\n"
    "rules: [{ name: wide, per: ip, limit: 9/m },\n"
    "        { name: narrow, per: user, limit: 2/m },\n"
    "        { name: tried, per: user, limit: 1/m, shadow: true }]\n";

TEST(every_rule_asked_is_counted_by_its_own_verdict)
{
    open_limiter(three_on_one);
    for (int i = 0; i < 5; i++)
        ASK(.user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1"));
    ASSERT_RULE(limiter, 0, 5, 0, 0, 0); /* allowed, though three were not charged */
    ASSERT_RULE(limiter, 1, 2, 3, 0, 0);
    ASSERT_RULE(limiter, 2, 1, 0, 4, 0);
    ASK(.ip = SL_TEXT("192.0.2.1")); /* without a user the other two are not asked */
    ASSERT_RULE(limiter, 0, 6, 0, 0, 0);
    ASSERT_RULE(limiter, 1, 2, 3, 0, 0);
    close_limiter();
}

TEST(a_peek_is_not_counted)
{
    open_limiter(three_on_one);
    ASK(.user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1"), .peek = true);
    ASK(.peek = true);
    ASK(.user = SL_TEXT("root"), .peek = true);
    model.status = SLUICE_STORE_DOWN;
    ASK(.user = SL_TEXT("u"), .peek = true);
    assert_int_equal(decided_in_all(limiter), 0);
    for (size_t i = 0; i < 3; i++)
        ASSERT_RULE(limiter, i, 0, 0, 0, 0);
    close_limiter();
}

TEST(cost_nothing_is_counted_and_a_wait_once)
{
    open_limiter("rules: [{ name: a, per: user, algorithm: leaky_bucket, limit: 2/s }]\n");
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = SL_TEXT("u");
    ASK(.user = SL_TEXT("u"), .cost = 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sl_limiter_decide_within(limiter, &request, 0, &decision), SLUICE_OK);
    ASSERT_RULE(limiter, 0, 2, 1, 0, 0);
    assert_int_equal(decided_in_all(limiter), 3);
    close_limiter();
}

TEST(a_batch_is_counted_as_one_by_one)
{
    enum { MANY = 300 }; /* more than are decided at a time */
    static struct sluice_request requests[MANY];
    static struct sluice_decision out[MANY];
    static const char *const users[] = { "a", "b", "root", NULL };
    static const char *const paths[] = { "/a", "/must", "/tried", "/burst", "/none" };
    uint64_t seed = 7;
    for (size_t i = 0; i < MANY; i++) {
        requests[i] = sluice_request();
        requests[i].user = sl_text(users[unit_up_to(&seed, 3)]);
        requests[i].resource = sl_text(paths[unit_up_to(&seed, 4)]);
        requests[i].peek = unit_up_to(&seed, 4) == 0;
    }
    open_limiter(every_reason);
    for (size_t i = 0; i < MANY; i++)
        ask(&requests[i]);
    struct sl_ruleset *own_rules = rules;
    struct sl_limiter *alone = limiter;
    open_limiter(every_reason);
    sl_limiter_decide_batch(limiter, requests, MANY, out);
    assert_true(decided_in_all(alone) > 200);
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (int k = 0; k < 2; k++)
            SAME("reason", decided(limiter, (enum sluice_reason)i, k),
                 decided(alone, (enum sluice_reason)i, k));
    for (size_t i = 0; i < rules->rule_count; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            SAME(rules->rules[i].name, sl_count_read(&sl_limiter_counts(limiter)->by_rule[i][k]),
                 sl_count_read(&sl_limiter_counts(alone)->by_rule[i][k]));
    sl_limiter_free(alone);
    sl_ruleset_free(own_rules);
    close_limiter();
}

TEST(a_reservation_is_counted_once_by_how_it_ended)
{
    open_limiter("rules: [{ name: a, per: user, limit: 2/m }]\n");
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    uint64_t id;
    request.user = SL_TEXT("u");
    assert_int_equal(sl_limiter_reserve(limiter, &request, 1000, &decision, &id), SLUICE_OK);
    ASSERT_RULE(limiter, 0, 1, 0, 0, 0);
    assert_int_equal(decided(limiter, SLUICE_REASON_OK, true), 1);
    model.hold_status = SLUICE_STORE_FULL;
    assert_int_equal(sl_limiter_reserve(limiter, &request, 1000, &decision, &id),
                     SLUICE_STORE_FULL);
    ASSERT_RULE(limiter, 0, 1, 0, 0, 1);
    assert_int_equal(decided(limiter, SLUICE_REASON_STORE, true), 1);
    assert_int_equal(decided_in_all(limiter), 2);
    sl_limiter_refund(limiter, &request, &decision); /* decides nothing */
    sl_limiter_reset(limiter, &request, NULL);
    assert_int_equal(decided_in_all(limiter), 2);
    close_limiter();
}

TEST(counts_are_inherited_by_name)
{
    static const char after[] = "rules: [{ name: new, per: ip, limit: 9/m },\n"
                                "        { name: tried, per: user, limit: 1/m, shadow: true },\n"
                                "        { name: wide, per: user, limit: 1/m }]\n";
    open_limiter(three_on_one);
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1"));
    struct sl_ruleset *newer = rules_of(after);
    struct sl_limiter *heir = sl_limiter_new(newer, &model.store);
    sl_limiter_inherit(heir, limiter);
    ASSERT_RULE(heir, 0, 0, 0, 0, 0);
    ASSERT_RULE(heir, 1, 1, 0, 2, 0);
    ASSERT_RULE(heir, 2, 3, 0, 0, 0);
    assert_int_equal(decided(heir, SLUICE_REASON_LIMITED, false), 1);
    assert_int_equal(decided(heir, SLUICE_REASON_SHADOW, true), 1);
    assert_int_equal(decided_in_all(heir), 3);
    assert_int_equal(decided_in_all(limiter), 0); /* moved, so that nothing is counted twice */
    ASK(.user = SL_TEXT("late"), .ip = SL_TEXT("192.0.2.1"));
    sl_limiter_inherit(heir, limiter); /* adds, does not replace */
    ASSERT_RULE(heir, 2, 4, 0, 0, 0);
    assert_int_equal(decided_in_all(heir), 4);
    sl_limiter_free(heir);
    sl_ruleset_free(newer);
    close_limiter();
}

/* {name: r0}, … or the same from the last to the first. */
static struct sl_ruleset *many_rules(int count, bool backwards)
{
    char *yaml = NULL;
    size_t len;
    FILE *out = open_memstream(&yaml, &len);
    assert_non_null(out);
    fputs("rules:\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "  - { name: r%d, per: user, resource: /%d, limit: 9/m }\n",
                backwards ? count - 1 - i : i, i);
    fclose(out);
    struct sl_ruleset *many = rules_of(yaml);
    free(yaml);
    return many;
}

TEST(ten_thousand_rules_are_inherited)
{
    enum { MANY = 10000 };
    struct sl_ruleset *older = many_rules(MANY, false), *newer = many_rules(MANY, true);
    struct sl_counts *from = sl_counts_new(older), *to = sl_counts_new(newer);
    for (size_t i = 0; i < MANY; i++)
        sl_count_add(&from->by_rule[i][i % SL_OUTCOME_COUNT], i + 1);
    sl_counts_inherit(to, from);
    for (size_t i = 0; i < MANY; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            assert_int_equal(sl_count_read(&to->by_rule[MANY - 1 - i][k]),
                             k == i % SL_OUTCOME_COUNT ? i + 1 : 0);
    sl_counts_free(from);
    sl_counts_free(to);
    sl_ruleset_free(older);
    sl_ruleset_free(newer);
}

TEST(a_rule_s_counts_lie_on_one_cache_line)
{
    open_limiter(three_on_one);
    const struct sl_counts *counts = sl_limiter_counts(limiter);
    assert_int_equal((uintptr_t)counts % 64, 0); /* which it shares with no other counts */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal((uintptr_t)counts->by_rule[i] / 64,
                         (uintptr_t)&counts->by_rule[i][SL_OUTCOME_COUNT - 1] / 64);
    close_limiter();
}

static atomic_bool done;

/* Reads until the writer is done: counts never go back. */
static void *watch(void *last)
{
    uint64_t seen = 0;
    bool ended;
    do {
        ended = atomic_load(&done);
        uint64_t now = sl_count_read(&sl_limiter_counts(limiter)->by_rule[0][SL_OUTCOME_ALLOWED]);
        if (now < seen)
            return NULL;
        seen = now;
    } while (!ended);
    *(uint64_t *)last = seen;
    return last;
}

TEST(another_thread_reads_them_while_they_grow)
{
    enum { MANY = 20000 };
    pthread_t thread;
    uint64_t last = 0;
    void *result;
    open_limiter("rules: [{ name: a, per: user, limit: 50000/m }]\n");
    atomic_store(&done, false);
    assert_int_equal(pthread_create(&thread, NULL, watch, &last), 0);
    for (int i = 0; i < MANY; i++)
        ASK(.user = SL_TEXT("u"));
    atomic_store(&done, true);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &last);
    assert_int_equal(last, MANY);
    close_limiter();
}

/* ---- trust ---- */

static const char adaptive[] =
    "exempt: { users: [root] }\n"
    "rules: [{ name: a, resource: /a, per: user, limit: 9/m, adaptive: true },\n"
    "        { name: b, resource: /a, per: ip, limit: 9/m, adaptive: true },\n"
    "        { name: c, resource: /c, per: user, limit: 9/m }]\n";

static uint64_t trusted(const struct sl_limiter *by, size_t tenth)
{
    return sl_count_read(&sl_limiter_counts(by)->trust[tenth]);
}

static uint64_t trust_sum(const struct sl_limiter *by)
{
    return sl_count_read(&sl_limiter_counts(by)->trust_thousandths);
}

TEST(a_score_is_counted_below_its_bound)
{
    static const struct {
        int32_t score;
        size_t tenth;
    } rows[] = { { 0, 0 },   { 1, 0 },   { 100, 0 }, { 101, 1 },
                 { 200, 1 }, { 899, 8 }, { 901, 9 }, { 1000, 9 } };
    uint64_t sum = 0;
    open_limiter(adaptive);
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t before = trusted(limiter, rows[i].tenth);
        ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a"), .trust_thousandths = rows[i].score);
        sum += (uint64_t)rows[i].score;
        SAME("tenth", trusted(limiter, rows[i].tenth), before + 1);
        SAME("sum", trust_sum(limiter), sum);
    }
    close_limiter();
}

TEST(scores_are_counted_once_a_request_and_where_a_rule_used_them)
{
    open_limiter(adaptive);
    ASK(.user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1"), .resource = SL_TEXT("/a"),
        .trust_thousandths = 500); /* by two rules */
    assert_int_equal(trusted(limiter, 4), 1);
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/c"), .trust_thousandths = 500);
    ASK(.user = SL_TEXT("root"), .resource = SL_TEXT("/a"), .trust_thousandths = 500);
    ASK(.resource = SL_TEXT("/a"), .trust_thousandths = 500); /* no rule applies */
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a"), .trust_thousandths = 500, .peek = true);
    assert_int_equal(trusted(limiter, 4), 1);
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a")); /* nothing is known: no trust */
    assert_int_equal(trusted(limiter, 0), 1);
    assert_int_equal(trust_sum(limiter), 500);
    close_limiter();
}

TEST(scores_are_inherited)
{
    open_limiter(adaptive);
    struct sl_limiter *next = sl_limiter_new(rules, &model.store);
    ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/a"), .trust_thousandths = 700);
    sl_limiter_inherit(next, limiter);
    assert_int_equal(trusted(next, 6), 1);
    assert_int_equal(trust_sum(next), 700);
    assert_int_equal(trusted(limiter, 6), 0);
    assert_int_equal(trust_sum(limiter), 0);
    sl_limiter_free(next);
    close_limiter();
}
