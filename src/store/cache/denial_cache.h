/* The denial cache: the claims that the store denied a moment ago, with the states that it had
 * read.
 *
 * A bounded table for all threads of a process. Reading takes no lock and does not wait. Writing
 * does not wait either: where another thread is writing, the denial is not remembered. */
#ifndef SL_STORE_CACHE_DENIAL_CACHE_H
#define SL_STORE_CACHE_DENIAL_CACHE_H

#include "store/store.h"

enum { SL_DENIAL_CACHE_MAX = 65536 };

/* One claim's denial. From the state the algorithm works out its answer at any later time, as if no
 * other request had come since: others can only have made the wait longer. */
struct sl_denial {
    int64_t asked_us;         /* before the store was asked, by sl_boottime_us */
    int64_t heard_us;         /* after its answer had come, by sl_boottime_us */
    int64_t now_us;           /* in between, by the store's clock */
    int64_t until_us;         /* the end of this denial, by sl_boottime_us */
    int64_t blocked_until_us; /* the guard's block, by the store's clock; 0: none */
    uint64_t generation;      /* when the store was asked */
    uint32_t cost;            /* the lowest cost that is denied */
    int64_t state[SL_TOLD];   /* the state's two words; of a log, the numbers of the reply */
};

struct sl_denial_cache;

/* Returns NULL if there is no memory. */
struct sl_denial_cache *sl_denial_cache_new(void);
void sl_denial_cache_free(struct sl_denial_cache *denied);

/* The generation goes up when all denials are forgotten. Answers to questions that were sent before
 * are not remembered either: sl_denial.generation. */
uint64_t sl_denial_cache_generation(const struct sl_denial_cache *denied);
void sl_denial_cache_forget(struct sl_denial_cache *denied);

/* Finds the claim's denial, on the same limit, for the cost in `ask`, still valid at its now_us (by
 * sl_boottime_us). Returns false if there is none. */
bool sl_denial_cache_find(const struct sl_denial_cache *denied, const struct sl_claim *claim,
                          struct sl_ask ask, struct sl_denial *out);

/* Remembers it. Of the few places where it could be, the one that ends soonest gives way. */
void sl_denial_cache_put(struct sl_denial_cache *denied, const struct sl_claim *claim,
                         const struct sl_denial *denial);

/* Forgets the claim's denial. Where another thread writes at the same time it may stay. */
void sl_denial_cache_drop(struct sl_denial_cache *denied, const struct sl_claim *claim);

/* Returns how many are valid at now_us. */
size_t sl_denial_cache_count(const struct sl_denial_cache *denied, int64_t now_us);

#endif
