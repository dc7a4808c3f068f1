/* The answer cache: requests that an instance can answer without the store, from units that it has
 * leased (docs/leases.md, L1 to L10) and from denials of a moment ago (D1 to D8).
 *
 *   sl_answer_cache_answer    answers a bundle from here, if possible
 *   sl_answer_cache_since     to be called before a call is sent
 *   sl_answer_cache_learn     remembers the denials in the store's answer
 *   sl_answer_cache_forget    after a refund or a reset, or when other rules are in force
 *
 * One for each store, shared by all threads of the process, without a lock. It is consulted before
 * anything is copied or sent: a flood that is answered here costs neither. */
#ifndef SL_STORE_CACHE_ANSWER_CACHE_H
#define SL_STORE_CACHE_ANSWER_CACHE_H

#include "store/store.h"

struct sl_answer_cache;
struct sl_guard_backlog;

/* Returns NULL if there is no memory. */
struct sl_answer_cache *sl_answer_cache_new(void);
void sl_answer_cache_free(struct sl_answer_cache *answers);

/* Fills in the bundle as the store would, and sets is_near. Returns false if it did nothing: the
 * store must be asked. All functions here but sl_answer_cache_uncounted take a NULL cache: nothing
 * is known then. */
bool sl_answer_cache_answer(struct sl_answer_cache *answers, struct sl_bundle *bundle);

/* The same for a bundle of one claim, and from remembered denials alone. Not for a NULL cache. */
bool sl_answer_cache_recall(struct sl_answer_cache *answers, struct sl_bundle *bundle);

/* Tries each bundle. Returns how many were answered. */
size_t sl_answer_cache_answer_all(struct sl_answer_cache *answers, struct sl_bundle *bundles,
                                  size_t count);

/* When a call was about to be sent, and the generation of the denials then. */
struct sl_since {
    int64_t asked_us; /* sl_boottime_us */
    uint64_t generation;
};
struct sl_since sl_answer_cache_since(const struct sl_answer_cache *answers);

/* Can anything be learned from the store's answer? To be called before the store is asked. */
bool sl_answer_cache_may_learn(const struct sl_bundle *bundle);

/* Remembers the denials that the store has just answered. The states that it found are in the
 * claims' `own`. */
void sl_answer_cache_learn(struct sl_answer_cache *answers, const struct sl_bundle *bundle,
                           struct sl_since since);

/* The leases (lease.h), which any thread may spend; or NULL. */
struct sl_leases *sl_answer_cache_leases(const struct sl_answer_cache *answers);

/* Other rules are in force: drops all denials, and has all leases given back. */
void sl_answer_cache_turn_page(struct sl_answer_cache *answers);

/* Answers a bundle all of whose claims have their answers from here. */
void sl_answer_cache_decide(struct sl_bundle *bundle);

/* Drops all denials, also those in answers that are still on their way (D3). */
void sl_answer_cache_forget(struct sl_answer_cache *answers);

/* The denied requests that guards have yet to count. Not for a NULL cache. */
struct sl_guard_backlog *sl_answer_cache_uncounted(struct sl_answer_cache *answers);

/* Is it time to flush these to the guards? */
bool sl_answer_cache_is_due(const struct sl_answer_cache *answers);

/* Returns the number of denials that it holds. */
size_t sl_answer_cache_held(const struct sl_answer_cache *answers);

#endif
