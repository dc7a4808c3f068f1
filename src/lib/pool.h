/* A pool of scratch memory for any number of threads, without a lock.
 *
 * An sl_limiter is one thread's scratch, and a library is not told when threads come and go. So a
 * call takes one out of a place and puts it back when it is done. A thread looks first where it
 * left its own, and under load finds it there and in its cache. */
#ifndef SL_LIB_POOL_H
#define SL_LIB_POOL_H

#include <stdatomic.h>

#include "limiter/limiter.h"

enum { SL_POOL_PLACES = 64 };

/* A cache line each, so that threads do not disturb each other. */
struct sl_pool_place {
    _Alignas(64) _Atomic(struct sl_limiter *) limiter;
};

struct sl_pool {
    struct sl_pool_place places[SL_POOL_PLACES]; /* NULL: empty, or in use */
    const struct sl_ruleset *rules;
    struct sl_store *store;
};

/* Keeps pointers to both. Returns false if there is no memory for the first. */
bool sl_pool_init(struct sl_pool *pool, const struct sl_ruleset *rules, struct sl_store *store);

/* Called when everything taken has been put back. */
void sl_pool_release(struct sl_pool *pool);

/* Returns scratch that is the caller's alone until it is put back. NULL if there is no memory. */
struct sl_limiter *sl_pool_take(struct sl_pool *pool);
void sl_pool_put(struct sl_pool *pool, struct sl_limiter *limiter);

#endif
