/* The structs behind the handles of sluice.h.
 *
 * Included first by every file of the library: everything else is compiled with hidden names, and
 * what sluice.h declares is what a program may see. */
#ifndef SL_LIB_HANDLES_H
#define SL_LIB_HANDLES_H

#pragma GCC visibility push(default)
#include "sluice.h"
#pragma GCC visibility pop

#include "lib/pool.h"
#include "limiter/decision.h"
#include "limiter/limiter.h"
#include "limiter/name.h"

struct sluice_store {
    struct sl_store *store;
};

struct sluice_limit {
    /* Read by every decision: */
    struct sl_store *store;
    uint64_t seed; /* of the keys */
    const struct sl_algo *algo;
    struct sl_limit numbers;
    uint32_t ring_len;
    const char *name;

    struct sl_arena arena; /* holds the name and everything else of the rule */
};

struct sluice_limiter {
    struct sl_pool pool;
    struct sl_ruleset *rules;
    struct sluice_store *store;
    bool owns_store;
};

/* ---- a store ---- */

/* Opens the store that a rules file names, for these rules; NULL: for none. */
int sl_handle_open(const struct sl_store_url *url, const struct sl_ruleset *rules,
                   struct sluice_store **out, struct sluice_error *error);

/* ---- a limit ---- */

static inline bool sl_key_is_good(struct sluice_text key)
{
    return key.at != NULL;
}

static inline struct sl_hash128 sl_limit_key(const struct sluice_limit *limit,
                                             struct sluice_text key)
{
    return sl_hash128(key, limit->seed);
}

/* Makes the one claim of a limit on a key, and the bundle around it. Both must stay in place until
 * the store has decided. Field by field: the store fills in most of a claim. */
static inline void sl_limit_claim(const struct sluice_limit *limit, struct sl_hash128 key,
                                  struct sl_bundle *bundle, struct sl_claim *claim)
{
    claim->algo = limit->algo;
    claim->limit = limit->numbers;
    claim->ring_len = limit->ring_len;
    claim->shadow = claim->no_key = claim->charged = claim->is_unseen = false;
    claim->is_here = claim->is_optional = claim->peek = false;
    claim->lease = 0;
    claim->key = key;
    claim->guard = NULL;
    claim->name = NULL;
    claim->guard_answer = (struct sl_guard_answer){ 0 };
    *bundle = (struct sl_bundle){
        .now_us = SLUICE_NOW,
        .max_delay_us = -1,
        .claims = claim,
        .claim_count = 1,
    };
}

/* One call on a limit: its claim, with the name that some stores want. */
struct sl_limit_call {
    struct sl_bundle bundle;
    struct sl_claim claim;
    struct sl_namer namer;
};

/* Returns a status; whatever it is, call sl_limit_end. */
static inline int sl_limit_begin(const struct sluice_limit *limit, struct sluice_text key,
                                 struct sl_limit_call *call)
{
    sl_limit_claim(limit, sl_limit_key(limit, key), &call->bundle, &call->claim);
    call->namer = (struct sl_namer){ 0 };
    if (!limit->store->wants_names)
        return SLUICE_OK;
    if (sl_namer_init(&call->namer, NULL))
        call->claim.name = sl_name_key(&call->namer, limit->name, key);
    return call->claim.name ? SLUICE_OK : SLUICE_NO_MEMORY;
}

static inline void sl_limit_end(struct sl_limit_call *call)
{
    if (call->namer.hasher)
        sl_namer_release(&call->namer);
}

/* Decides it; leaves `out` untouched on an error. */
static inline int sl_limit_decide(const struct sluice_limit *limit, struct sl_bundle *bundle,
                                  struct sluice_decision *out)
{
    int status = sl_store_decide(limit->store, bundle);
    if (status == SLUICE_OK)
        sl_decision_show(bundle, bundle->claims, limit->name, out);
    return status;
}

/* Can a refund be made of it? A decision that charged nothing can. */
static inline bool sl_charge_is_good(const struct sluice_decision *decision)
{
    return decision && (!decision->charged || (decision->charged_at_us >= 0 &&
                                               decision->charged_at_us <= SL_TIME_MAX_US));
}

/* ---- a limiter ---- */

/* Checks that every text has bytes and every number is in its range. NULL is not good. */
bool sl_request_is_good(const struct sluice_request *request);

/* Decides by the policy of the file, because there is no memory. Returns the status. */
int sl_answer_no_memory(const struct sluice_limiter *limiter, struct sluice_decision *out);

#endif
