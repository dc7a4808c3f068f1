/* Opening a store by its URL, and a limit on a real table. */
#include <sys/wait.h>
#include <unistd.h>

#include "unit/lib/on_model.h"

static const struct sluice_text u = { "u", 1 };

static struct sluice_store *open_good(const char *url)
{
    struct sluice_store *store = NULL;
    struct sluice_error error;
    int status = sluice_open(url, &store, &error);
    if (status != SLUICE_OK)
        print_error("%s: %s\n", url, error.text);
    assert_int_equal(status, SLUICE_OK);
    assert_string_equal(error.text, "");
    return store;
}

TEST(a_url_that_is_none_is_refused_with_what_would_be_right)
{
    static const struct {
        const char *url;
        int status;
        const char *word;
    } rows[] = {
        { "", SLUICE_BAD_STORE, "memory" },
        { "memroy:", SLUICE_BAD_STORE, "memory" },
        { "memory:x?size=7", SLUICE_BAD_STORE, "`size`" },
        { "memory:x?colour=red", SLUICE_BAD_STORE, "`colour`" },
        { "memory:/no/such/folder/x.slu?size=1M", SLUICE_BAD_STORE, "/no/such/folder" },
        { "redis://:hunter2@host:0", SLUICE_BAD_STORE, "port" },
        { "redis-cluster://:hunter2@a,b:0", SLUICE_BAD_STORE, "port" },
        { "redis-sentinel://:hunter2@a", SLUICE_BAD_STORE, "master's name" },
        { "redis-sentinel://a/master?sentinel=hunter2", SLUICE_BAD_STORE, "sentinel_password" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_store *store = NULL;
        struct sluice_error error;
        SAME(rows[i].url, sluice_open(rows[i].url, &store, &error), rows[i].status);
        SAME(rows[i].url, strstr(error.text, rows[i].word) != NULL, true);
        SAME(rows[i].url, strstr(error.text, "hunter2") != NULL, false);
        SAME(rows[i].url, sluice_open(rows[i].url, &store, NULL), rows[i].status);
        assert_null(store);
    }
}

TEST(memory_alone_will_do)
{
    struct sluice_store *a = open_good("memory:"), *b = open_good("memory");
    struct sluice_limit_config config = ten_a_minute(&sl_token_bucket);
    struct sluice_limit *on_a = limit_of(a, &config), *on_b = limit_of(b, &config);
    struct sluice_decision decision;
    assert_int_equal(sluice_limit_decide(on_a, u, 4, &decision), SLUICE_OK);
    assert_int_equal(sluice_limit_decide(on_b, u, 4, &decision), SLUICE_OK);
    assert_int_equal(decision.remaining, 6); /* each its own */
    sluice_limit_free(on_a);
    sluice_limit_free(on_b);
    sluice_close(a);
    sluice_close(b);
}

TEST(figures_follow_what_happens)
{
    struct sluice_store *store = open_good("memory:?size=2M");
    struct sluice_limit_config config = { .name = "n", .capacity = 2, .window_us = 300 * DAY };
    struct sluice_limit *limit = limit_of(store, &config);
    struct sluice_decision decision;
    struct sluice_stats stats;
    uint64_t id;
    assert_int_equal(sluice_limit_decide(limit, u, 1, &decision), SLUICE_OK);
    assert_int_equal(sluice_limit_reserve(limit, u, 1, S, &decision, &id), SLUICE_OK);
    assert_int_equal(sluice_limit_decide(limit, u, 1, &decision), SLUICE_OK);
    assert_false(decision.allowed);
    assert_int_equal(sluice_store_stats(store, &stats), SLUICE_OK);
    assert_int_equal(stats.size_bytes, 2 << 20);
    assert_int_equal(stats.live, 1);
    assert_int_equal(stats.limiting, 1);
    assert_int_equal(stats.insertions, 1);
    assert_int_equal(stats.reservations, 1);
    assert_int_equal(sluice_sync(store), SLUICE_OK);
    sluice_limit_free(limit);
    sluice_close(store);
}

/* What is left after taking `cost` under the URL, opened and closed for it. */
static int64_t take_and_close(const char *url, uint32_t cost)
{
    struct sluice_store *store = open_good(url);
    struct sluice_limit_config config = {
        .name = "n", .algorithm = "fixed_window", .capacity = 100, .window_us = 366 * DAY
    };
    struct sluice_limit *limit = limit_of(store, &config);
    struct sluice_decision decision;
    assert_int_equal(sluice_limit_decide(limit, u, cost, &decision), SLUICE_OK);
    sluice_limit_free(limit);
    sluice_close(store);
    return decision.remaining;
}

TEST(counts_stay_in_the_file)
{
    char folder[] = "/tmp/sluice-test-XXXXXX", path[64], url[96];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.slu", folder);
    snprintf(url, sizeof url, "memory:%s?size=1M", path);
    assert_int_equal(take_and_close(url, 10), 90);
    assert_int_equal(take_and_close(url, 10), 80);
    unlink(path);
    assert_int_equal(take_and_close(url, 10), 90);
    unlink(path);
    rmdir(folder);
}

TEST(parent_and_children_count_together)
{
    struct sluice_store *store = open_good("memory:?size=1M");
    struct sluice_limit_config config = {
        .name = "n", .algorithm = "fixed_window", .capacity = 1000, .window_us = 366 * DAY
    };
    struct sluice_limit *limit = limit_of(store, &config);
    struct sluice_limiter *limiter =
        limiter_of(store, "rules: [{ name: r, algorithm: fixed_window, per: user,"
                          "          limit: 1000/366d }]\n");
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = u;
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    for (int child = 0; child < 4; child++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid > 0)
            continue;
        int bad = 0;
        for (int i = 0; i < 100; i++) {
            bad |= sluice_limit_decide(limit, u, 1, &decision);
            bad |= sluice_decide(limiter, &request, &decision);
        }
        _exit(bad != 0);
    }
    int status;
    while (wait(&status) > 0)
        assert_int_equal(status, 0);
    assert_int_equal(sluice_limit_decide(limit, u, 1, &decision), SLUICE_OK);
    assert_int_equal(decision.remaining, 1000 - 401);
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(decision.remaining, 1000 - 402);
    sluice_limiter_close(limiter);
    sluice_limit_free(limit);
    sluice_close(store);
}

TEST(every_algorithm_counts_refunds_and_forgets_on_a_table)
{
    struct sluice_store *store = open_good("memory:?size=1M");
    for (size_t i = 0; sl_algos[i]; i++) {
        const char *name = sl_algos[i]->name;
        struct sluice_limit_config config = {
            .name = name, .algorithm = name, .capacity = 10, .window_us = 80 * DAY
        };
        struct sluice_limit *limit = limit_of(store, &config);
        struct sluice_decision first, second, decision;
        SAME(name, sluice_limit_decide(limit, u, 4, &first), SLUICE_OK);
        SAME(name, first.remaining, 6);
        SAME(name, sluice_limit_decide(limit, u, 3, &second), SLUICE_OK);
        SAME(name, second.remaining, 3);
        SAME(name, sluice_limit_decide(limit, u, 4, &decision), SLUICE_OK);
        SAME(name, decision.allowed, false);
        SAME(name, decision.reason, SLUICE_REASON_LIMITED);
        SAME(name, decision.retry_after_us > 0, true);
        SAME(name, decision.charged_at_us, SLUICE_NONE);
        SAME(name, sluice_limit_refund(limit, u, 3, &second), SLUICE_OK);
        SAME(name, sluice_limit_peek(limit, u, 5, &decision), SLUICE_OK);
        SAME(name, decision.allowed, true);
        assert_left(sl_algos[i], decision.remaining, 6);
        SAME(name, sluice_limit_refund(limit, u, 4, &first), SLUICE_OK);
        SAME(name, sluice_limit_peek(limit, u, 6, &decision), SLUICE_OK);
        assert_left(sl_algos[i], decision.remaining, 10);
        SAME(name, sluice_limit_decide(limit, u, 9, &decision), SLUICE_OK);
        SAME(name, sluice_limit_reset(limit, u), SLUICE_OK);
        SAME(name, sluice_limit_peek(limit, u, 6, &decision), SLUICE_OK);
        SAME(name, decision.remaining, 10);
        struct sluice_text keys[40];
        struct sluice_decision batch[40];
        for (size_t n = 0; n < COUNT(keys); n++)
            keys[n] = (struct sluice_text){ "abcd" + n % 4, 1 };
        SAME(name, sluice_limit_decide_batch(limit, keys, COUNT(keys), 3, batch), SLUICE_OK);
        for (size_t n = 0; n < COUNT(keys); n++) /* three of three for each of four keys */
            SAME(name, batch[n].allowed, n < 12);
        sluice_limit_free(limit);
    }
    sluice_close(store);
}
