/* The pool of scratch memory (see pool.h). */
#include "lib/pool.h"

/* Threads are numbered as they come, so that the first 64 use different places. */
static size_t first_place(void)
{
    static _Atomic(size_t) threads;
    static _Thread_local size_t number; /* 0: not numbered yet */
    if (number == 0)
        number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    return number % SL_POOL_PLACES;
}

bool sl_pool_init(struct sl_pool *pool, const struct sl_ruleset *rules, struct sl_store *store)
{
    for (size_t i = 0; i < SL_POOL_PLACES; i++)
        atomic_init(&pool->places[i].limiter, NULL);
    pool->rules = rules;
    pool->store = store;
    struct sl_limiter *first = sl_limiter_new(rules, store);
    if (first)
        sl_pool_put(pool, first);
    return first != NULL;
}

void sl_pool_release(struct sl_pool *pool)
{
    for (size_t i = 0; i < SL_POOL_PLACES; i++)
        sl_limiter_free(atomic_load_explicit(&pool->places[i].limiter, memory_order_acquire));
}

/* Another thread's is better than a new one: there are then as many as calls at a time, not as many
 * as threads. */
struct sl_limiter *sl_pool_take(struct sl_pool *pool)
{
    size_t first = first_place();
    for (size_t i = 0; i < SL_POOL_PLACES; i++) {
        struct sl_pool_place *place = &pool->places[(first + i) % SL_POOL_PLACES];
        if (!atomic_load_explicit(&place->limiter, memory_order_relaxed))
            continue;
        struct sl_limiter *taken =
            atomic_exchange_explicit(&place->limiter, NULL, memory_order_acquire);
        if (taken)
            return taken;
    }
    return sl_limiter_new(pool->rules, pool->store);
}

void sl_pool_put(struct sl_pool *pool, struct sl_limiter *limiter)
{
    size_t first = first_place();
    for (size_t i = 0; i < SL_POOL_PLACES; i++) {
        struct sl_limiter *empty = NULL;
        struct sl_pool_place *place = &pool->places[(first + i) % SL_POOL_PLACES];
        if (atomic_compare_exchange_strong_explicit(&place->limiter, &empty, limiter,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    sl_limiter_free(limiter);
}
