/* Who was denied a moment ago, and on what: what the store had read when it said no.
 *
 * A bounded table for all threads of a process. Reading takes no lock and waits for nobody; who
 * writes does not wait either: where another is writing, it is not remembered. */
#ifndef SL_STORE_CACHE_DENIAL_CACHE_H
#define SL_STORE_CACHE_DENIAL_CACHE_H

#include "store/store.h"

enum { SL_DENIAL_CACHE_MAX = 65536 };

/* One claim's denial. From the state the algorithm works out, at any later moment, what it would
 * say if nobody else had asked meanwhile: others can only have made it worse. */
struct sl_denial {
    int64_t asked_us;         /* before the store was asked, by sl_boottime_us, */
    int64_t heard_us;         /* and after its answer had come; */
    int64_t now_us;           /* by its own clock, in between */
    int64_t until_us;         /* by sl_boottime_us: to be forgotten */
    int64_t blocked_until_us; /* by the guard, on the store's clock; 0: not */
    uint64_t generation;      /* as of the asking */
    uint32_t cost;            /* the lowest that is denied */
    int64_t state[SL_TOLD];   /* its two words; of a log what was told of it */
};

struct sl_denial_cache;

/* NULL: no memory. */
struct sl_denial_cache *sl_denial_cache_new(void);
void sl_denial_cache_free(struct sl_denial_cache *denied);

/* Goes up when everything that was remembered is forgotten. What was asked before that is not
 * remembered any more either: sl_denial.generation. */
uint64_t sl_denial_cache_generation(const struct sl_denial_cache *denied);
void sl_denial_cache_forget(struct sl_denial_cache *denied);

/* The claim's, on the same limit, for this cost; still good then, by sl_boottime_us. False: there
 * is none. */
bool sl_denial_cache_find(const struct sl_denial_cache *denied, const struct sl_claim *claim,
                          struct sl_ask ask, struct sl_denial *out);

/* Of the few places where it could be, the one that is over soonest gives way. */
void sl_denial_cache_put(struct sl_denial_cache *denied, const struct sl_claim *claim,
                         const struct sl_denial *denial);

/* The claim's is forgotten. Where another writes at the same moment it may stay. */
void sl_denial_cache_drop(struct sl_denial_cache *denied, const struct sl_claim *claim);

/* How many are good at now_us. */
size_t sl_denial_cache_count(const struct sl_denial_cache *denied, int64_t now_us);

#endif
