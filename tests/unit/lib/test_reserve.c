/* Costs known only afterwards: on the model, where time is a number, and on a
 * table. */
#include "base/clock.h"
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

static void use(const struct sl_algo *algo)
{
    struct sluice_limit_config config = ten_a_minute(algo);
    release(NULL);
    model_open(&model);
    limit = limit_of(&store, &config);
}

static int64_t left_of(struct sluice_limit *of)
{
    struct sluice_decision decision;
    assert_int_equal(sluice_limit_peek(of, u, 1, &decision), SLUICE_OK);
    return decision.remaining;
}

static int64_t left(void)
{
    return left_of(limit);
}

static uint64_t reserve(uint32_t cost, int64_t expiry_us)
{
    struct sluice_decision decision;
    uint64_t id = 99;
    assert_int_equal(sluice_limit_reserve(limit, u, cost, expiry_us, &decision, &id), SLUICE_OK);
    assert_int_equal(decision.allowed, id != 0);
    return id;
}

TEST(a_commit_at_less_gives_the_rest_back)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        use(sl_algos[i]);
        uint64_t id = reserve(8, S);
        SAME(sl_algos[i]->name, left(), 2);
        assert_int_equal(sluice_commit(&store, id, 3), SLUICE_OK);
        SAME(sl_algos[i]->name, left(), 7);
        SAME(sl_algos[i]->name, sluice_commit(&store, id, 3), SLUICE_NO_RESERVATION);
        SAME(sl_algos[i]->name, sluice_cancel(&store, id), SLUICE_NO_RESERVATION);
        SAME(sl_algos[i]->name, left(), 7);
    }
}

TEST(a_cancel_or_the_expiry_gives_all_of_it_back)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        use(sl_algos[i]);
        uint64_t id = reserve(8, 500000);
        assert_int_equal(sluice_cancel(&store, id), SLUICE_OK);
        SAME(sl_algos[i]->name, left(), 10);
        id = reserve(8, 500000);
        model.now_us += 499999;
        SAME(sl_algos[i]->name, left(), 2);
        model.now_us += 1;
        SAME(sl_algos[i]->name, left(), 10);
        SAME(sl_algos[i]->name, sluice_commit(&store, id, 3), SLUICE_NO_RESERVATION);
    }
}

TEST(what_charges_nothing_has_no_id)
{
    struct sluice_decision decision;
    uint64_t id = 99;
    use(&sl_fixed_window);
    assert_int_equal(sluice_limit_reserve(limit, u, 11, S, &decision, &id), SLUICE_OK);
    assert_false(decision.allowed);
    assert_int_equal(id, 0);
    id = 99;
    assert_int_equal(sluice_limit_reserve(limit, u, 0, S, &decision, &id), SLUICE_OK);
    assert_true(decision.allowed);
    assert_int_equal(id, 0);
    assert_int_equal(sluice_commit(&store, id, 5), SLUICE_OK); /* nothing to settle */
    assert_int_equal(left(), 10);
}

TEST(what_cannot_be_held_was_not_charged)
{
    struct sluice_decision decision;
    uint64_t id = 99;
    use(&sl_fixed_window);
    memset(&decision, 0x5a, sizeof decision);
    model.hold_status = SLUICE_STORE_FULL;
    assert_int_equal(sluice_limit_reserve(limit, u, 4, S, &decision, &id), SLUICE_STORE_FULL);
    assert_int_equal(id, 99);
    assert_int_equal(decision.limit, 0x5a5a5a5a5a5a5a5a);
    assert_int_equal(left(), 10);
    model.hold_status = SLUICE_OK;
    model.status = SLUICE_STORE_DOWN;
    assert_int_equal(sluice_limit_reserve(limit, u, 4, S, &decision, &id), SLUICE_STORE_DOWN);
    assert_int_equal(decision.limit, 0x5a5a5a5a5a5a5a5a);
}

TEST(a_store_that_cannot_says_so)
{
    static const struct sl_store_ops few = { .decide = model_decide, .close = model_close };
    struct sluice_decision decision = { .charged = 1, .charged_at_us = S };
    struct sluice_stats stats;
    uint64_t id;
    use(&sl_fixed_window);
    model.store.ops = &few;
    assert_int_equal(sluice_limit_reserve(limit, u, 1, S, &decision, &id), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_limit_refund(limit, u, 1, &decision), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_limit_reset(limit, u), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_commit(&store, 1, 1), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_cancel(&store, 1), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_sync(&store), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_store_stats(&store, &stats), SLUICE_UNSUPPORTED);
    assert_int_equal(model.decide_calls, 0);
}

/* A window so long that no test meets its edge, and a bucket that hardly refills. */
static struct sluice_limit *on_table(struct sluice_store *table, const struct sl_algo *algo)
{
    struct sluice_limit_config config = {
        .name = algo->name, .algorithm = algo->name, .capacity = 10, .window_us = 80 * DAY
    };
    return limit_of(table, &config);
}

TEST(a_table_settles_for_every_algorithm)
{
    struct sluice_store *table = NULL;
    assert_int_equal(sluice_open("memory:?size=1M", &table, NULL), SLUICE_OK);
    for (size_t i = 0; sl_algos[i]; i++) {
        const char *name = sl_algos[i]->name;
        struct sluice_limit *own = on_table(table, sl_algos[i]);
        struct sluice_decision decision;
        uint64_t id;
        SAME(name, sluice_limit_reserve(own, u, 8, 3600 * S, &decision, &id), SLUICE_OK);
        SAME(name, decision.remaining, 2);
        SAME(name, sluice_commit(table, id, 3), SLUICE_OK); /* less */
        assert_left(sl_algos[i], left_of(own), 7);
        SAME(name, sluice_commit(table, id, 3), SLUICE_NO_RESERVATION);
        SAME(name, sluice_limit_reserve(own, u, 2, 3600 * S, &decision, &id), SLUICE_OK);
        SAME(name, sluice_commit(table, id, 2), SLUICE_OK); /* as much */
        assert_left(sl_algos[i], left_of(own), 5);
        SAME(name, sluice_limit_reserve(own, u, 2, 3600 * S, &decision, &id), SLUICE_OK);
        SAME(name, sluice_cancel(table, id), SLUICE_OK); /* none */
        assert_left(sl_algos[i], left_of(own), 5);
        SAME(name, sluice_limit_reserve(own, u, 2, 3600 * S, &decision, &id), SLUICE_OK);
        SAME(name, sluice_commit(table, id, 4), SLUICE_OK); /* more */
        assert_left(sl_algos[i], left_of(own), 1);
        SAME(name, sluice_limit_reserve(own, u, 1, 3600 * S, &decision, &id), SLUICE_OK);
        SAME(name, sluice_commit(table, id, 9), SLUICE_OK); /* past the limit */
        SAME(name, left_of(own), 0);
        SAME(name, sluice_limit_decide(own, u, 1, &decision), SLUICE_OK);
        SAME(name, decision.allowed, false);
        sluice_limit_free(own);
    }
    struct sluice_stats stats;
    assert_int_equal(sluice_store_stats(table, &stats), SLUICE_OK);
    assert_int_equal(stats.reservations, 0);
    sluice_close(table);
}

TEST(a_table_gives_back_what_expired)
{
    struct sluice_store *table = NULL;
    assert_int_equal(sluice_open("memory:?size=1M", &table, NULL), SLUICE_OK);
    for (size_t i = 0; sl_algos[i]; i++) {
        const char *name = sl_algos[i]->name;
        struct sluice_limit *own = on_table(table, sl_algos[i]);
        struct sluice_decision decision;
        uint64_t id;
        SAME(name, sluice_limit_reserve(own, u, 8, 2000, &decision, &id), SLUICE_OK);
        sl_sleep_us(2000);
        assert_left(sl_algos[i], left_of(own), 10);
        SAME(name, sluice_commit(table, id, 3), SLUICE_NO_RESERVATION);
        assert_left(sl_algos[i], left_of(own), 10);
        sluice_limit_free(own);
    }
    sluice_close(table);
}

TEST(a_reservation_spans_the_rules_of_a_request)
{
    struct sluice_limiter *limiter =
        limiter_of(NULL, "rules: [{ name: a, algorithm: token_bucket, per: user, limit: 10/90d },\n"
                         "        { name: b, algorithm: fixed_window, per: ip, limit: 9/300d },\n"
                         "        { name: c, algorithm: sliding_window_log, per: user,"
                         "          limit: 8/300d }]\n");
    struct sluice_store *table = sluice_limiter_store(limiter);
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    struct sluice_explained rows[3];
    size_t count;
    uint64_t id;
    request.user = u;
    request.ip = sluice_text("192.0.2.1");
    request.cost = 6;
    assert_int_equal(sluice_reserve(limiter, &request, 60 * S, &decision, &id), SLUICE_OK);
    assert_true(decision.allowed && id != 0);
    assert_int_equal(sluice_commit(table, id, 1), SLUICE_OK);
    request.cost = 0;
    assert_int_equal(sluice_decide_explained(limiter, &request, &decision, rows, 3, &count),
                     SLUICE_OK);
    assert_left(&sl_token_bucket, rows[0].remaining, 9);
    assert_int_equal(rows[1].remaining, 8);
    assert_int_equal(rows[2].remaining, 7);
    sluice_limiter_close(limiter);
}

TESTS_WITH(NULL, release)
