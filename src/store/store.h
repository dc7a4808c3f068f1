/* The store seam: where states live.
 *
 * A store is handed a bundle: the claims of one request. It decides all of
 * them on its states, charges all or none, and writes the answers back into
 * the bundle. It knows keys, limits and algorithms; nothing of tenants, rules
 * files or protocols. */
#ifndef SL_STORE_STORE_H
#define SL_STORE_STORE_H

#include "algo/algo.h"
#include "algo/guard.h"
#include "base/hash.h"

/* One limit asked on one identifier. */
struct sl_claim {
    const struct sl_algo *algo;
    struct sl_limit limit;
    uint32_t ring_len;
    bool shadow; /* decided and counted, never denies */
    bool no_key; /* its identity is missing and that denies: there is no state */
    struct sl_hash128 key;
    struct sl_hash128 guard_key;
    const struct sl_guard *guard; /* NULL: none */

    /* Filled in by the store: */
    bool allowed;
    struct sl_answer answer;
    struct sl_guard_answer guard_answer;
    struct sl_figures figures; /* after the charge, if there was one */
};

struct sl_bundle {
    int64_t now_us; /* or -1: the store's clock, which fills it in */
    uint32_t cost;
    bool peek;
    int64_t max_delay_us; /* a longer delay is a denial; -1: none is */
    struct sl_claim *claims;
    size_t claim_count;
    bool allowed; /* filled in: by every claim that is not shadow */
};

struct sl_store;

struct sl_store_ops {
    /* 0, or a negative status; the bundle's answers are then void. */
    int (*decide)(struct sl_store *store, struct sl_bundle *bundle);
    void (*close)(struct sl_store *store);
};

struct sl_store {
    const struct sl_store_ops *ops;
    uint64_t secret; /* seeds every key: nobody outside can aim at one */
};

/* Counts private to this process. NULL: no memory. */
struct sl_store *sl_memory_open(void);

static inline int sl_store_decide(struct sl_store *store, struct sl_bundle *bundle)
{
    return store->ops->decide(store, bundle);
}

static inline void sl_store_close(struct sl_store *store)
{
    if (store)
        store->ops->close(store);
}

#endif
