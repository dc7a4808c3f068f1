/* A user's own numbers, composed as a tier's own are. */
#include "limiter/users/user_limit.h"

#include "rules/numbers.h"
#include "unit/limiter/rules.h"

static struct sl_ruleset *rules;

static int release(void **unused)
{
    (void)unused;
    sl_ruleset_free(rules);
    rules = NULL;
    return 0;
}

static const char all[] =
    "tiers: { pro: { scale: 10 }, own: { scale: 2 }, admin: { unlimited: true } }\n"
    "rules:\n"
    "  - { name: window, algorithm: fixed_window, per: user, limit: 100/m, align: first_request }\n"
    "  - { name: rated, algorithm: token_bucket, per: user, capacity: 100, refill_rate: 5,\n"
    "      window: 1h, burst_allowance: 1.5, adaptive: true,\n"
    "      tiers: { own: { capacity: 7, refill_rate: 3 } } }\n"
    "  - { name: spaced, algorithm: leaky_bucket, per: user, limit: 60/m }\n"
    "  - { name: log, algorithm: sliding_window_log, per: user, limit: 10/m, adaptive: true }\n"
    "  - { name: slow, algorithm: token_bucket, per: user, capacity: 100, refill_rate: 0.0001 }\n";

static const struct sl_rule *rule_of(const char *name)
{
    for (size_t i = 0; i < rules->rule_count; i++)
        if (strcmp(rules->rules[i].name, name) == 0)
            return &rules->rules[i];
    fail_msg("no rule %s", name);
    return NULL;
}

static struct sl_user person_with(uint64_t revision, struct sl_user_limit own)
{
    struct sl_user user = { .own_revision = revision, .own_count = 1 };
    user.own[0] = own;
    return user;
}

static const struct sl_user_numbers *find(const char *rule, const char *tier,
                                          struct sl_user_limit own)
{
    static struct sl_user_numbers_cache kept;
    static uint64_t revision;
    struct sl_user user = person_with(++revision, own);
    return sl_user_numbers_find(&kept, &user, rule_of(rule), sl_ruleset_tier(rules, sl_text(tier)));
}

struct row {
    const char *rule;
    const char *tier;
    uint64_t capacity;
    struct sl_decimal rate;
    int64_t limit;
    int64_t token_ns;
};

TEST_WITH(own_numbers_replace_the_tiers, NULL, release)
{
    /* Where a rate is not given: the rule's, scaled; the tier's own in the rule; or what
     * is left of the capacity in the window. */
    static const struct row rows[] = {
        { "window", NULL, 500, { 0, 0 }, 500, 0 },
        { "window", "pro", 500, { 0, 0 }, 500, 0 },
        { "window", "admin", 500, { 0, 0 }, 500, 0 },
        { "window", "unheard", 1, { 0, 0 }, 1, 0 },
        { "rated", NULL, 10, { 0, 0 }, 15, 200000000 },
        { "rated", "pro", 10, { 0, 0 }, 15, 20000000 },
        { "rated", "own", 10, { 0, 0 }, 15, 333333334 },
        { "rated", NULL, 0, { 83, 3 }, 150, 12048192772 },
        { "rated", "pro", 0, { 83, 3 }, 1500, 12048192772 },
        { "rated", "own", 0, { 1, 0 }, 10, 1000000000 },
        { "rated", "admin", 3, { 1, 0 }, 4, 1000000000 },
        { "spaced", NULL, 30, { 0, 0 }, 30, 2000000000 },
        { "spaced", "pro", 30, { 0, 0 }, 30, 2000000000 },
        { "spaced", NULL, 0, { 2, 0 }, 60, 500000000 },
        { "spaced", "pro", 0, { 2, 0 }, 600, 500000000 },
        { "log", NULL, 8, { 0, 0 }, 8, 0 },
    };
    rules = rules_of(all);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct sl_user_limit own = { .capacity = row->capacity, .rate = row->rate };
        strcpy(own.rule, row->rule);
        const struct sl_user_numbers *found = find(row->rule, row->tier, own);
        assert_non_null(found);
        SAME(row->rule, found->numbers.limit.capacity, row->limit);
        SAME(row->rule, found->numbers.limit.token_ns, row->token_ns);
        SAME(row->rule, found->numbers.unlimited, false);
    }
    const struct sl_limit *limit =
        &find("window", NULL, (struct sl_user_limit){ "window", 9, { 0 } })->numbers.limit;
    assert_int_equal(limit->window_us, 60000000);
    assert_true(limit->first_request);
    assert_int_equal(
        find("rated", NULL, (struct sl_user_limit){ "rated", 9, { 0 } })->numbers.limit.told_us,
        3600000000);
}

TEST_WITH(trust_and_burst_multiply_with_one_floor, NULL, release)
{
    rules = rules_of(all);
    const struct sl_user_numbers *own =
        find("rated", NULL, (struct sl_user_limit){ "rated", 3, { 0 } });
    struct sl_limit limit;
    assert_int_equal(own->numbers.limit.capacity, 4); /* 4.5 */
    sl_numbers_limit(&own->numbers, 112, &limit);
    assert_int_equal(limit.capacity, 5); /* 5.004, not 4 · 1.112 */
    assert_int_equal(limit.token_ns, 189393940);
    sl_numbers_limit(&own->numbers, 1000, &limit);
    assert_int_equal(limit.capacity, 9);
    assert_int_equal(limit.token_ns, 133333334);
}

TEST_WITH(other_rules_are_left_alone, NULL, release)
{
    rules = rules_of(all);
    assert_null(find("log", NULL, (struct sl_user_limit){ "window", 5, { 0 } }));
    assert_null(find("log", NULL, (struct sl_user_limit){ "lo", 5, { 0 } }));
    assert_null(find("log", NULL, (struct sl_user_limit){ "logs", 5, { 0 } }));
    struct sl_user_numbers_cache kept = { 0 };
    struct sl_user nobodys = { .own_revision = 1 };
    assert_null(sl_user_numbers_find(&kept, &nobodys, rule_of("log"), -1));
}

TEST_WITH(numbers_that_fit_no_more_are_unused, NULL, release)
{
    rules = rules_of(all);
    struct sl_user_limit huge = { "log", UINT64_C(1) << 25, { 0 } };
    struct sl_user_limit rated_window = { "window", 5, { 5, 0 } };
    struct sl_user_limit slow = { "slow", 1000000, { 0 } };
    assert_null(find("log", NULL, huge));
    assert_null(find("window", NULL, rated_window));
    assert_null(find("slow", NULL, slow));
    assert_null(find("slow", NULL, slow));
}

/* What is found is always what would be composed now. */
TEST_WITH(what_is_kept_is_never_anothers, NULL, release)
{
    rules = rules_of(all);
    struct sl_user_numbers_cache kept = { 0 };
    const struct sl_rule *rated = rule_of("rated"), *spaced = rule_of("spaced");
    ptrdiff_t pro = sl_ruleset_tier(rules, SL_TEXT("pro"));
    for (uint64_t turn = 0; turn < 2; turn++)
        for (uint64_t revision = 1; revision < 500; revision++) {
            struct sl_user user = { .own_revision = revision, .own_count = 2 };
            user.own[0] = (struct sl_user_limit){ "spaced", revision, { 0 } };
            user.own[1] = (struct sl_user_limit){ "rated", 2 * revision, { 0 } };
            const struct sl_user_numbers *own = sl_user_numbers_find(&kept, &user, rated, -1);
            SAME("rated", own->numbers.limit.capacity, 3 * revision);
            SAME("rated", own->numbers.limit.token_ns, 200000000);
            own = sl_user_numbers_find(&kept, &user, rated, pro);
            SAME("rated pro", own->numbers.limit.token_ns, 20000000);
            own = sl_user_numbers_find(&kept, &user, spaced, -1);
            SAME("spaced", own->numbers.limit.capacity, revision);
        }
}

TEST_WITH(a_longer_ring_is_a_power_of_two, NULL, release)
{
    static const struct {
        uint64_t capacity;
        uint32_t ring_len;
    } rows[] = { { 1, 200 },   { 100, 200 },   { 101, 256 },   { 128, 256 },
                 { 129, 512 }, { 1000, 2048 }, { 1025, 4096 }, { 8388608, 16777216 } };
    rules = rules_of(all);
    assert_int_equal(rule_of("log")->ring_len, 200); /* of `pro` at full trust */
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct sl_user_numbers *own =
            find("log", NULL, (struct sl_user_limit){ "log", rows[i].capacity, { 0 } });
        assert_non_null(own);
        SAME("ring", own->ring_len, rows[i].ring_len);
        assert_true(own->ring_len >= sl_numbers_capacity_max(&own->numbers, true));
    }
    assert_int_equal(
        find("window", NULL, (struct sl_user_limit){ "window", 9999, { 0 } })->ring_len, 0);
}

TEST_WITH(numbers_are_checked_in_every_tier, NULL, release)
{
    static const struct {
        const char *rule;
        uint64_t capacity;
        struct sl_decimal rate;
        const char *wrong; /* words in it; NULL: good */
    } rows[] = {
        { "window", 500, { 0, 0 }, NULL },
        { "window", 0, { 0, 0 }, "`capacity`, `refill_rate` or both" },
        { "window", 500, { 5, 0 }, "`refill_rate` is for buckets" },
        { "window", 0, { 5, 0 }, "`refill_rate` is for buckets" },
        { "log", UINT64_C(1) << 23, { 0, 0 }, NULL },
        { "log", (UINT64_C(1) << 23) + 1, { 0, 0 }, "16777216" }, /* at full trust */
        { "rated", 500, { 50, 0 }, NULL },
        { "rated", 500, { 0, 0 }, NULL },
        { "slow", 700, { 0, 0 }, NULL },
        { "slow", 800, { 0, 0 }, "90 days" },
        { "slow", 800, { 1, 0 }, NULL },
        { "slow", 0, { 2, 5 }, "90 days" }, /* in the tier `pro`, whose capacity is 1000 */
        { "slow", 0, { 2, 4 }, NULL },
    };
    rules = rules_of(all);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_user_limit own = { .capacity = rows[i].capacity, .rate = rows[i].rate };
        struct sl_numbers numbers = { .window_us = 42 };
        const char *wrong = sl_rule_user_numbers(rule_of(rows[i].rule), &own, &numbers);
        if (wrong && !rows[i].wrong)
            fail_msg("row %zu: %s", i, wrong);
        if (rows[i].wrong && (!wrong || !strstr(wrong, rows[i].wrong)))
            fail_msg("row %zu: %s", i, wrong ? wrong : "good");
        if (wrong)
            assert_int_equal(numbers.window_us, 42);
        else if (own.capacity && strcmp(rows[i].rule, "rated") != 0)
            assert_int_equal(numbers.limit.capacity, own.capacity);
    }
}
