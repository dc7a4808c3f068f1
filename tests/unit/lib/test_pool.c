#include "lib/pool.h"

#include <pthread.h>

#include "unit/lib/on_model.h"
#include "unit/limiter/rules.h"

static struct model model;

TEST(what_is_put_back_is_taken_again)
{
    struct sl_ruleset *rules = rules_of("rules: [{ name: a, per: user, limit: 9/m }]\n");
    struct sl_pool *pool = aligned_alloc(_Alignof(struct sl_pool), sizeof *pool);
    model_open(&model);
    assert_true(sl_pool_init(pool, rules, &model.store));
    struct sl_limiter *first = sl_pool_take(pool), *second = sl_pool_take(pool);
    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    sl_pool_put(pool, second);
    assert_ptr_equal(sl_pool_take(pool), second);
    sl_pool_put(pool, second);
    sl_pool_put(pool, first);
    assert_ptr_equal(sl_pool_take(pool), second);
    assert_ptr_equal(sl_pool_take(pool), first); /* rather than a new one */
    sl_pool_put(pool, first);
    sl_pool_put(pool, second);
    sl_pool_release(pool);
    free(pool);
    sl_ruleset_free(rules);
}

TEST(more_than_there_are_places_for_are_freed)
{
    struct sl_ruleset *rules = rules_of("rules: []\n");
    struct sl_pool *pool = aligned_alloc(_Alignof(struct sl_pool), sizeof *pool);
    struct sl_limiter *taken[SL_POOL_PLACES + 10];
    model_open(&model);
    assert_true(sl_pool_init(pool, rules, &model.store));
    for (size_t i = 0; i < COUNT(taken); i++)
        taken[i] = sl_pool_take(pool);
    for (size_t i = 0; i < COUNT(taken); i++)
        sl_pool_put(pool, taken[i]);
    sl_pool_release(pool); /* the sanitizer counts the rest */
    free(pool);
    sl_ruleset_free(rules);
}

enum { THREADS = 8, EACH = 5000, LIMIT = THREADS * EACH / 2 };

static struct sluice_limiter *limiter;

static void *ask(void *allowed)
{
    struct sluice_request request = sluice_request();
    request.user = sluice_text("u");
    request.resource = sluice_text("/a/../b"); /* every request uses scratch of its own */
    for (int i = 0; i < EACH; i++) {
        struct sluice_decision decision;
        if (sluice_decide(limiter, &request, &decision) == SLUICE_OK && decision.allowed)
            ++*(size_t *)allowed;
    }
    return NULL;
}

TEST(threads_share_a_limiter_and_its_limit_exactly)
{
    char yaml[128];
    pthread_t threads[THREADS];
    size_t allowed[THREADS][8] = { 0 }, sum = 0;
    snprintf(yaml, sizeof yaml,
             "rules: [{ name: r, algorithm: fixed_window, per: user, resource: /b,"
             " limit: %d/366d }]\n",
             LIMIT);
    limiter = limiter_of(NULL, yaml);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, allowed[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += allowed[i][0];
    }
    assert_int_equal(sum, LIMIT);
    sluice_limiter_close(limiter);
}
