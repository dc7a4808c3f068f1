/* What an instance knows by itself, without asking the store: what it has leased (docs/leases.md,
 * L1 to L10), and who was denied a moment ago (D1 to D8).
 *
 *   sl_answer_cache_answer    answered from here, nothing is asked; or not
 *   sl_answer_cache_since     before a call is sent
 *   sl_answer_cache_learn     what came of it
 *   sl_answer_cache_forget    something was given back, or is decided otherwise from now on
 *
 * One for a store, shared by all threads of the process, without a lock. It is asked before
 * anything is copied or sent: a flood that is answered here costs neither. */
#ifndef SL_STORE_CACHE_ANSWER_CACHE_H
#define SL_STORE_CACHE_ANSWER_CACHE_H

#include "store/store.h"

struct sl_answer_cache;
struct sl_guard_backlog;

/* NULL: no memory. */
struct sl_answer_cache *sl_answer_cache_new(void);
void sl_answer_cache_free(struct sl_answer_cache *answers);

/* Fills in the bundle as the store would and sets is_near; false: nothing was done, and the store
 * is to be asked. All of these take NULL: nothing is known then. */
bool sl_answer_cache_answer(struct sl_answer_cache *answers, struct sl_bundle *bundle);

/* The same for a bundle of one claim, and only of denials that are remembered. */
bool sl_answer_cache_recall(struct sl_answer_cache *answers, struct sl_bundle *bundle);

/* Each of them. How many were answered. */
size_t sl_answer_cache_answer_all(struct sl_answer_cache *answers, struct sl_bundle *bundles,
                                  size_t count);

/* When a call was about to be sent, and what was known then. */
struct sl_since {
    int64_t asked_us; /* sl_boottime_us */
    uint64_t generation;
};
struct sl_since sl_answer_cache_since(const struct sl_answer_cache *answers);

/* Can anything be learned of what the store will say? To be asked before it is. */
bool sl_answer_cache_may_learn(const struct sl_bundle *bundle);

/* What the store has just answered. The states that it found are in the claims' `own`. */
void sl_answer_cache_learn(struct sl_answer_cache *answers, const struct sl_bundle *bundle,
                           struct sl_since since);

/* Its leases (lease.h), which may be spent in any thread; or NULL. */
struct sl_leases *sl_answer_cache_leases(const struct sl_answer_cache *answers);

/* Other rules are in force: denials are dropped, leases given back. */
void sl_answer_cache_turn_page(struct sl_answer_cache *answers);

/* Every claim that has a state was taken from a lease: the bundle's answer. */
void sl_answer_cache_decide(struct sl_bundle *bundle);

/* D3: all denials are dropped, also those that are on their way here. */
void sl_answer_cache_forget(struct sl_answer_cache *answers);

/* What it has denied, and guards have yet to count. Not for NULL. */
struct sl_guard_backlog *sl_answer_cache_uncounted(struct sl_answer_cache *answers);

/* Is it time to report that? */
bool sl_answer_cache_is_due(const struct sl_answer_cache *answers);

/* How many denials it holds. */
size_t sl_answer_cache_held(const struct sl_answer_cache *answers);

#endif
