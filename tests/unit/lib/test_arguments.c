/* Every function, every argument that is wrong: refused, and nothing else. */
#include "unit/lib/on_model.h"

static struct model model;
static struct sluice_store store = { &model.store };
static struct sluice_limit *limit;
static struct sluice_limiter *limiter;

/* What no refused call may touch. */
static struct sluice_decision out[2], untouched[2];
static uint64_t id = 99;

static const struct sluice_text key = { "u", 1 }, no_key = { NULL, 0 };
static const char rules[] = "rules: [{ name: a, per: user, limit: 9/m }]\n";

static int open_all(void **unused)
{
    (void)unused;
    struct sluice_limit_config config = ten_a_minute(&sl_fixed_window);
    model_open(&model);
    limit = limit_of(&store, &config);
    limiter = limiter_of(&store, rules);
    memset(out, 0x5a, sizeof out);
    memcpy(untouched, out, sizeof out);
    return 0;
}

static int close_all(void **unused)
{
    (void)unused;
    sluice_limit_free(limit);
    sluice_limiter_close(limiter);
    assert_false(model.closed); /* the store was given, so it is still the test's */
    model_close(&model.store);
    return 0;
}

static void check_refused(const char *call, int status)
{
    SAME(call, status, SLUICE_INVALID);
    SAME(call, memcmp(out, untouched, sizeof out), 0);
    SAME(call, id, 99);
    SAME(call, model.decide_calls + model.refund_calls + model.reset_calls, 0);
}

#define REFUSED(call) check_refused(#call, call)

TEST_WITH(stores_refuse, open_all, close_all)
{
    struct sluice_store *none = NULL;
    struct sluice_stats stats;
    struct sluice_error error;
    REFUSED(sluice_open(NULL, &none, &error));
    assert_string_equal(error.text, "`url` is NULL");
    REFUSED(sluice_open("memory:", NULL, &error));
    assert_string_equal(error.text, "`out` is NULL");
    REFUSED(sluice_open(NULL, NULL, NULL));
    REFUSED(sluice_sync(NULL));
    REFUSED(sluice_store_stats(NULL, &stats));
    REFUSED(sluice_store_stats(&store, NULL));
    REFUSED(sluice_commit(NULL, 1, 1));
    REFUSED(sluice_cancel(NULL, 1));
    assert_null(none);
    sluice_close(NULL);
}

TEST_WITH(limits_refuse, open_all, close_all)
{
    struct sluice_limit_config config = ten_a_minute(&sl_fixed_window);
    struct sluice_limit *none = NULL;
    struct sluice_error error;
    REFUSED(sluice_limit_new(NULL, &config, &none, &error));
    assert_string_equal(error.text, "`store` is NULL");
    REFUSED(sluice_limit_new(&store, NULL, &none, &error));
    assert_string_equal(error.text, "`config` is NULL");
    REFUSED(sluice_limit_new(&store, &config, NULL, &error));
    assert_string_equal(error.text, "`out` is NULL");
    assert_null(none);
    sluice_limit_free(NULL);

    REFUSED(sluice_limit_decide(NULL, key, 1, out));
    REFUSED(sluice_limit_decide(limit, no_key, 1, out));
    REFUSED(sluice_limit_decide(limit, (struct sluice_text){ NULL, 5 }, 1, out));
    REFUSED(sluice_limit_decide(limit, key, 1, NULL));
    REFUSED(sluice_limit_peek(NULL, key, 1, out));
    REFUSED(sluice_limit_peek(limit, no_key, 1, out));
    REFUSED(sluice_limit_peek(limit, key, 1, NULL));
    REFUSED(sluice_limit_reset(NULL, key));
    REFUSED(sluice_limit_reset(limit, no_key));

    struct sluice_text keys[] = { key, no_key };
    REFUSED(sluice_limit_decide_batch(NULL, keys, 1, 1, out));
    REFUSED(sluice_limit_decide_batch(limit, NULL, 1, 1, out));
    REFUSED(sluice_limit_decide_batch(limit, keys, 1, 1, NULL));
    REFUSED(sluice_limit_decide_batch(limit, keys, 2, 1, out)); /* not even the first */

    REFUSED(sluice_limit_acquire(NULL, key, 1, 0, out));
    REFUSED(sluice_limit_acquire(limit, no_key, 1, 0, out));
    REFUSED(sluice_limit_acquire(limit, key, 1, -1, out));
    REFUSED(sluice_limit_acquire(limit, key, 1, 0, NULL));

    REFUSED(sluice_limit_reserve(NULL, key, 1, S, out, &id));
    REFUSED(sluice_limit_reserve(limit, no_key, 1, S, out, &id));
    REFUSED(sluice_limit_reserve(limit, key, 1, 0, out, &id));
    REFUSED(sluice_limit_reserve(limit, key, 1, -1, out, &id));
    REFUSED(sluice_limit_reserve(limit, key, 1, DAY + 1, out, &id));
    REFUSED(sluice_limit_reserve(limit, key, 1, S, NULL, &id));
    REFUSED(sluice_limit_reserve(limit, key, 1, S, out, NULL));
}

TEST_WITH(a_refund_refuses, open_all, close_all)
{
    struct sluice_decision charged = { .charged = 1, .charged_at_us = S };
    struct sluice_request request = sluice_request();
    REFUSED(sluice_limit_refund(NULL, key, 1, &charged));
    REFUSED(sluice_limit_refund(limit, no_key, 1, &charged));
    REFUSED(sluice_limit_refund(limit, key, 1, NULL));
    REFUSED(sluice_refund(NULL, &request, &charged));
    REFUSED(sluice_refund(limiter, NULL, &charged));
    REFUSED(sluice_refund(limiter, &request, NULL));
    static const int64_t never[] = { -1, -2, INT64_MIN, SL_TIME_MAX_US + 1, INT64_MAX };
    for (size_t i = 0; i < COUNT(never); i++) {
        charged.charged_at_us = never[i];
        REFUSED(sluice_limit_refund(limit, key, 1, &charged));
        REFUSED(sluice_refund(limiter, &request, &charged));
    }
}

TEST_WITH(limiters_refuse, open_all, close_all)
{
    struct sluice_limiter *none = NULL;
    struct sluice_error error;
    struct sluice_text text = sluice_text(rules);
    REFUSED(sluice_limiter_open(&store, NULL, &none, &error));
    assert_string_equal(error.text, "`rules_file` is NULL");
    REFUSED(sluice_limiter_open(&store, "rules.yaml", NULL, &error));
    assert_string_equal(error.text, "`out` is NULL");
    REFUSED(sluice_limiter_parse(&store, "x", no_key, &none, &error));
    assert_string_equal(error.text, "`rules` is NULL");
    REFUSED(sluice_limiter_parse(&store, "x", text, NULL, &error));
    assert_null(none);
    sluice_limiter_close(NULL);
    assert_null(sluice_limiter_store(NULL));

    struct sluice_request request = sluice_request();
    struct sluice_explained row;
    size_t count;
    REFUSED(sluice_decide(NULL, &request, out));
    REFUSED(sluice_decide(limiter, NULL, out));
    REFUSED(sluice_decide(limiter, &request, NULL));
    REFUSED(sluice_decide_explained(NULL, &request, out, &row, 1, &count));
    REFUSED(sluice_decide_explained(limiter, NULL, out, &row, 1, &count));
    REFUSED(sluice_decide_explained(limiter, &request, NULL, &row, 1, &count));
    REFUSED(sluice_decide_explained(limiter, &request, out, NULL, 1, &count));
    REFUSED(sluice_decide_explained(limiter, &request, out, &row, 1, NULL));
    REFUSED(sluice_decide_batch(NULL, &request, 1, out));
    REFUSED(sluice_decide_batch(limiter, NULL, 1, out));
    REFUSED(sluice_decide_batch(limiter, &request, 1, NULL));
    REFUSED(sluice_reset(NULL, &request, NULL));
    REFUSED(sluice_reset(limiter, NULL, NULL));
    REFUSED(sluice_reset(limiter, &request, "no such rule"));
    REFUSED(sluice_acquire(NULL, &request, 0, out));
    REFUSED(sluice_acquire(limiter, NULL, 0, out));
    REFUSED(sluice_acquire(limiter, &request, -1, out));
    REFUSED(sluice_acquire(limiter, &request, 0, NULL));
    REFUSED(sluice_reserve(NULL, &request, S, out, &id));
    REFUSED(sluice_reserve(limiter, NULL, S, out, &id));
    REFUSED(sluice_reserve(limiter, &request, 0, out, &id));
    REFUSED(sluice_reserve(limiter, &request, DAY + 1, out, &id));
    REFUSED(sluice_reserve(limiter, &request, S, NULL, &id));
    REFUSED(sluice_reserve(limiter, &request, S, out, NULL));
    request.at_us = 5 * S; /* waiting would not change it */
    REFUSED(sluice_acquire(limiter, &request, 0, out));
}

/* A request that is wrong is so wherever it is given. */
static void refused_everywhere(const char *row, const struct sluice_request *request)
{
    struct sluice_decision charged = { .charged = 1, .charged_at_us = S };
    struct sluice_request batch[] = { sluice_request(), *request };
    size_t count;
    check_refused(row, sluice_decide(limiter, request, out));
    check_refused(row, sluice_decide_explained(limiter, request, out, NULL, 0, &count));
    check_refused(row, sluice_decide_batch(limiter, batch, 2, out));
    check_refused(row, sluice_refund(limiter, request, &charged));
    check_refused(row, sluice_reset(limiter, request, NULL));
    check_refused(row, sluice_acquire(limiter, request, 0, out));
    check_refused(row, sluice_reserve(limiter, request, S, out, &id));
}

TEST_WITH(a_wrong_request_is_refused_by_all, open_all, close_all)
{
    static const struct sluice_text ghost = { NULL, 3 };
    static const struct sluice_attribute nameless = { { NULL, 3 }, { "v", 1 } };
    static const struct sluice_attribute valueless = { { "n", 1 }, { NULL, 3 } };
    static const struct {
        const char *name;
        struct sluice_request request;
    } rows[] = {
        { "tenant", { .tenant = ghost } },
        { "resource", { .resource = ghost } },
        { "method", { .method = ghost } },
        { "user", { .user = ghost } },
        { "ip", { .ip = ghost } },
        { "client", { .client = ghost } },
        { "tier", { .tier = ghost } },
        { "no others", { .other_count = 1 } },
        { "an other's name", { .others = &nameless, .other_count = 1 } },
        { "an other's value", { .others = &valueless, .other_count = 1 } },
        { "time before all", { .at_us = -2 } },
        { "time after all", { .at_us = SL_TIME_MAX_US + 1 } },
        { "trust below", { .trust_thousandths = -2 } },
        { "trust above", { .trust_thousandths = 1001 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        refused_everywhere(rows[i].name, &rows[i].request);
}

TEST_WITH(what_is_just_right_is_not_refused, open_all, close_all)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    uint64_t held;
    size_t count;
    request.user = key;
    request.trust_thousandths = 1000;
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(sluice_decide_explained(limiter, &request, &decision, NULL, 0, &count),
                     SLUICE_OK);
    assert_int_equal(sluice_reserve(limiter, &request, DAY, &decision, &held), SLUICE_OK);
    assert_int_equal(sluice_reserve(limiter, &request, 1, &decision, &held), SLUICE_OK);
    assert_int_equal(sluice_decide_batch(limiter, NULL, 0, NULL), SLUICE_OK);
    assert_int_equal(sluice_limit_decide_batch(limit, NULL, 0, 1, NULL), SLUICE_OK);
    request.at_us = 0;
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    request.at_us = SL_TIME_MAX_US;
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(sluice_commit(&store, 0, 7), SLUICE_OK); /* nothing was charged */
    assert_int_equal(sluice_cancel(&store, 0), SLUICE_OK);
}
