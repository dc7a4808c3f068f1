#include "unit/lib/on_model.h"

static struct model model;
static struct sluice_store store = { &model.store };
static struct sluice_limit *limit;

static const struct sluice_text u = { "u", 1 };

static int release(void **unused)
{
    (void)unused;
    sluice_limit_free(limit);
    limit = NULL;
    model_close(&model.store);
    return 0;
}

static void use(const struct sluice_limit_config *config)
{
    release(NULL);
    model_open(&model);
    limit = limit_of(&store, config);
}

static struct sluice_decision decide(struct sluice_text key, uint32_t cost)
{
    struct sluice_decision decision;
    assert_int_equal(sluice_limit_decide(limit, key, cost, &decision), SLUICE_OK);
    return decision;
}

static int64_t left(struct sluice_text key)
{
    return decide(key, 0).remaining;
}

TEST(wrong_numbers_are_refused_in_the_words_of_the_rules_file)
{
    static const struct {
        struct sluice_limit_config config;
        const char *text;
    } rows[] = {
        { { .capacity = 1, .window_us = S },
          "limit: a rule needs `name`: 1 to 64 letters, digits, `.`, `_` or `-`; no two rules "
          "share one" },
        { { .name = "a b", .capacity = 1, .window_us = S },
          "limit: `name` cannot be `a b`; write 1 to 64 letters, digits, `.`, `_` or `-`" },
        { { .name = "", .capacity = 1, .window_us = S },
          "limit: `name` has no value; write 1 to 64 letters, digits, `.`, `_` or `-`" },
        { { .name = "a", .window_us = S },
          "limit: `capacity` cannot be `0`; write a whole number from 1 to 9007199254740992" },
        { { .name = "a", .capacity = -1, .window_us = S },
          "limit: `capacity` cannot be `-1`; write a whole number from 1 to 9007199254740992" },
        { { .name = "a", .capacity = 1 },
          "limit: `sliding_window_counter` needs `window`, such as 1m" },
        { { .name = "a", .capacity = 1, .window_us = 999 },
          "limit: `window` cannot be `0.000999`; write a duration from 1ms to 366d" },
        { { .name = "a", .capacity = 1, .window_us = -1 },
          "limit: `window` cannot be `-1 µs`; write a duration from 1ms to 366d: 500ms, 10s, 15m, "
          "24h, 30d or a plain number of seconds" },
        { { .name = "a", .algorithm = "token_bucket", .capacity = 1 },
          "limit: `token_bucket` needs `refill_rate`, tokens per second, or `window`" },
        { { .name = "a", .algorithm = "token_bucket", .capacity = 1, .refill_rate = "fast" },
          "limit: `refill_rate` cannot be `fast`; write tokens per second: a decimal above 0, at "
          "most 1000000000 with at most 9 places" },
        { { .name = "a",
            .algorithm = "fixed_window",
            .capacity = 1,
            .window_us = S,
            .refill_rate = "1" },
          "limit: `refill_rate` does not fit `fixed_window`; it is for `token_bucket` and "
          "`leaky_bucket`, leave it out here" },
        { { .name = "a",
            .algorithm = "leaky_bucket",
            .capacity = 1,
            .window_us = S,
            .burst_allowance = "2" },
          "limit: `burst_allowance` does not fit `leaky_bucket`; it is for `token_bucket`, leave "
          "it out here" },
        { { .name = "a", .capacity = 1, .window_us = S, .first_request = true },
          "limit: `align` does not fit `sliding_window_counter`; it is for `fixed_window`, leave "
          "it out here" },
    };
    model_open(&model);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_limit *none = (struct sluice_limit *)&model;
        struct sluice_error error;
        SAME(rows[i].text, sluice_limit_new(&store, &rows[i].config, &none, &error),
             SLUICE_INVALID);
        SAME_TEXT(rows[i].text, sl_text(error.text), rows[i].text);
        assert_ptr_equal(none, &model); /* untouched */
        SAME(rows[i].text, sluice_limit_new(&store, &rows[i].config, &none, NULL), SLUICE_INVALID);
    }
}

TEST(every_mistake_is_told_at_once)
{
    struct sluice_limit_config config = { .algorithm = "tocken_bucket", .refill_rate = "150%" };
    struct sluice_limit *none;
    struct sluice_error error;
    model_open(&model);
    assert_int_equal(sluice_limit_new(&store, &config, &none, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "a rule needs `name`"));
    assert_non_null(strstr(error.text, "did you mean `token_bucket`?"));
    assert_non_null(strstr(error.text, "`capacity` cannot be `0`"));
    assert_non_null(strstr(error.text, "write 1.5: a decimal, never percent"));
}

TEST(texts_are_copied)
{
    char name[] = "short-lived", rate[] = "0.5", burst[] = "1.5", algorithm[] = "token_bucket";
    struct sluice_limit_config config = { name, algorithm, 4, 0, rate, burst, false };
    use(&config);
    memset(name, 'x', sizeof name);
    memset(algorithm, 'x', sizeof algorithm);
    struct sluice_decision decision = decide(u, 6);
    assert_string_equal(decision.rule, "short-lived");
    assert_string_equal(decision.algorithm, "token_bucket");
    assert_int_equal(decision.limit, 6);
    assert_int_equal(decision.window_us, 12 * S);
    assert_int_equal(decision.reset_at_us, model.now_us + model.wall_shift_us + 12 * S);
}

/* The same numbers as a rule and as a limit, on stores of their own. */
TEST(a_limit_answers_as_a_rule_of_the_same_numbers)
{
    static const struct {
        struct sluice_limit_config config;
        const char *rule;
    } rows[] = {
        { { "a", NULL, 7, 3 * S, NULL, NULL, false }, "limit: 7/3s" },
        { { "a", "fixed_window", 5, 1500000, NULL, NULL, false },
          "algorithm: fixed_window, limit: 5/1500ms" },
        { { "a", "fixed_window", 5, S, NULL, NULL, true },
          "algorithm: fixed_window, limit: 5/s, align: first_request" },
        { { "a", "sliding_window_log", 6, 2 * S, NULL, NULL, false },
          "algorithm: sliding_window_log, limit: 6/2s" },
        { { "a", "token_bucket", 4, 0, "0.083", "1.5", false },
          "algorithm: token_bucket, capacity: 4, refill_rate: 0.083, burst_allowance: 1.5" },
        { { "a", "token_bucket", 7, 3 * S, NULL, NULL, false },
          "algorithm: token_bucket, limit: 7/3s" },
        { { "a", "leaky_bucket", 9, 0, "3", NULL, false },
          "algorithm: leaky_bucket, capacity: 9, refill_rate: 3" },
    };
    static struct model other;
    struct sluice_store other_store = { &other.store };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml, "rules: [{ name: a, per: user, %s }]\n", rows[i].rule);
        model_open(&other);
        use(&rows[i].config);
        struct sluice_limiter *limiter = limiter_of(&other_store, yaml);
        uint64_t seed = i;
        for (size_t n = 0; n < 2000; n++) {
            struct sluice_request request = sluice_request();
            struct sluice_decision ours, theirs;
            model.now_us = other.now_us += unit_up_to(&seed, S);
            request.user = (struct sluice_text){ "uvw" + unit_up_to(&seed, 2), 1 };
            request.cost = (uint32_t)unit_up_to(&seed, n % 100 ? 3 : 12);
            request.peek = unit_up_to(&seed, 5) == 0;
            int status = request.peek
                             ? sluice_limit_peek(limit, request.user, request.cost, &ours)
                             : sluice_limit_decide(limit, request.user, request.cost, &ours);
            assert_int_equal(status, SLUICE_OK);
            assert_int_equal(sluice_decide(limiter, &request, &theirs), SLUICE_OK);
            assert_same_decision(rows[i].rule, &ours, &theirs);
        }
        sluice_limiter_close(limiter);
        model_close(&other.store);
    }
}

TEST(a_peek_takes_nothing)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sluice_limit_config config = ten_a_minute(sl_algos[i]);
        struct sluice_decision decision;
        use(&config);
        for (int n = 0; n < 20; n++) {
            assert_int_equal(sluice_limit_peek(limit, u, 3, &decision), SLUICE_OK);
            SAME(config.algorithm, decision.allowed, true);
            SAME(config.algorithm, decision.remaining, 10);
            SAME(config.algorithm, decision.charged, 0);
        }
        assert_int_equal(sluice_limit_peek(limit, u, 11, &decision), SLUICE_OK);
        SAME(config.algorithm, decision.reason, SLUICE_REASON_COST);
        SAME(config.algorithm, decision.retry_after_us, SLUICE_NEVER);
    }
}

TEST(a_refund_gives_back_what_was_charged)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sluice_limit_config config = ten_a_minute(sl_algos[i]);
        use(&config);
        struct sluice_decision first = decide(u, 4), second = decide(u, 3), denied = decide(u, 4);
        SAME(config.algorithm, second.charged_at_us, model.now_us);
        SAME(config.algorithm, denied.allowed, false);
        assert_int_equal(sluice_limit_refund(limit, u, 4, &denied), SLUICE_OK);
        SAME(config.algorithm, left(u), 3);
        assert_int_equal(sluice_limit_refund(limit, u, 0, &first), SLUICE_OK);
        SAME(config.algorithm, left(u), 3);
        assert_int_equal(sluice_limit_refund(limit, u, 1, &second), SLUICE_OK); /* a part of it */
        SAME(config.algorithm, left(u), 4);
        assert_int_equal(sluice_limit_refund(limit, u, 4, &first), SLUICE_OK);
        SAME(config.algorithm, left(u), 8);
    }
}

TEST(a_reset_forgets_one_key)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sluice_limit_config config = ten_a_minute(sl_algos[i]);
        use(&config);
        decide(u, 4);
        decide(sluice_text("v"), 4);
        assert_int_equal(sluice_limit_reset(limit, u), SLUICE_OK);
        SAME(config.algorithm, left(u), 10);
        SAME(config.algorithm, left(sluice_text("v")), 6);
    }
}

TEST(an_empty_key_is_a_key_like_any_other)
{
    struct sluice_limit_config config = ten_a_minute(&sl_fixed_window);
    use(&config);
    assert_int_equal(decide(sluice_text(""), 4).remaining, 6);
    assert_int_equal(decide((struct sluice_text){ "\0", 1 }, 3).remaining, 7);
    assert_int_equal(left(sluice_text("")), 6);
}

TEST(limits_share_by_name_algorithm_and_window)
{
    static const struct {
        const char *name;
        struct sluice_limit_config config;
        bool shares;
    } rows[] = {
        { "the same", { "ten", "fixed_window", 10, 60 * S, NULL, NULL, false }, true },
        { "capacity", { "ten", "fixed_window", 20, 60 * S, NULL, NULL, false }, true },
        { "name", { "tem", "fixed_window", 10, 60 * S, NULL, NULL, false }, false },
        { "algorithm", { "ten", "sliding_window_counter", 10, 60 * S, NULL, NULL, false }, false },
        { "window", { "ten", "fixed_window", 10, 61 * S, NULL, NULL, false }, false },
        { "alignment", { "ten", "fixed_window", 10, 60 * S, NULL, NULL, true }, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_limit_config config = ten_a_minute(&sl_fixed_window);
        struct sluice_decision decision;
        use(&config);
        decide(u, 4);
        struct sluice_limit *other = limit_of(&store, &rows[i].config);
        assert_int_equal(sluice_limit_decide(other, u, 1, &decision), SLUICE_OK);
        SAME(rows[i].name, decision.remaining, rows[i].config.capacity - (rows[i].shares ? 5 : 1));
        sluice_limit_free(other);
    }
}

TEST(a_batch_is_decided_as_one_by_one)
{
    enum { MANY = 100 };
    static const size_t sizes[] = { 0, 1, 31, 32, 33, 64, MANY };
    static struct sluice_decision one[MANY], batch[MANY];
    struct sluice_text keys[MANY];
    uint64_t seed = 7;
    for (size_t i = 0; i < MANY; i++)
        keys[i] = (struct sluice_text){ "abcdefgh" + unit_up_to(&seed, 7), 1 };
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sluice_limit_config config = ten_a_minute(sl_algos[i]);
        for (size_t s = 0; s < COUNT(sizes); s++) {
            use(&config);
            for (size_t n = 0; n < sizes[s]; n++)
                one[n] = decide(keys[n], 2);
            model_close(&model.store);
            model_open(&model); /* another start for the same limit */
            assert_int_equal(sluice_limit_decide_batch(limit, keys, sizes[s], 2, batch), SLUICE_OK);
            for (size_t n = 0; n < sizes[s]; n++)
                assert_same_decision(config.algorithm, &batch[n], &one[n]);
            assert_int_equal(model.decide_calls, (sizes[s] + 31) / 32);
        }
    }
}

TEST(a_failing_store_leaves_the_answer_alone_and_marks_a_batch)
{
    struct sluice_limit_config config = ten_a_minute(&sl_fixed_window);
    struct sluice_decision decision, batch[2];
    struct sluice_text keys[] = { u, u };
    use(&config);
    model.status = SLUICE_STORE_FULL;
    memset(&decision, 0x5a, sizeof decision);
    assert_int_equal(sluice_limit_decide(limit, u, 1, &decision), SLUICE_STORE_FULL);
    assert_int_equal(sluice_limit_peek(limit, u, 1, &decision), SLUICE_STORE_FULL);
    assert_int_equal(sluice_limit_acquire(limit, u, 1, 0, &decision), SLUICE_STORE_FULL);
    for (size_t i = 0; i < sizeof decision; i++)
        assert_int_equal(((unsigned char *)&decision)[i], 0x5a);
    assert_int_equal(sluice_limit_decide_batch(limit, keys, 2, 1, batch), SLUICE_STORE_FULL);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(batch[i].reason, SLUICE_REASON_STORE);
        assert_null(batch[i].rule);
        assert_int_equal(batch[i].remaining, SLUICE_NONE);
        assert_int_equal(batch[i].charged, 0);
    }
}

/* Whatever was on the stack: a store that answers later looks at more of a claim than the table. */
TEST(what_a_limit_asks_is_written_whole)
{
    struct sluice_limit_config config = ten_a_minute(&sl_fixed_window);
    struct sl_limit_call call;
    use(&config);
    memset(&call, 0xff, sizeof call);
    assert_int_equal(sl_limit_begin(limit, u, &call), SLUICE_OK);
    const struct sl_claim *claim = &call.claim;
    assert_false(claim->shadow || claim->no_key || claim->is_here || claim->is_optional);
    assert_false(claim->peek || claim->charged || claim->is_unseen || call.bundle.is_degraded);
    assert_int_equal(claim->lease, 0);
    sl_limit_end(&call);
}

TESTS_WITH(NULL, release)
