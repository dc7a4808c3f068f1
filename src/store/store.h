/* The store seam: the interface of everything that keeps states.
 *
 * A store receives bundles: the claims of one request each. It decides all of
 * a bundle's claims on its states, charges all or none, and writes the answers
 * back into the bundle. It knows keys, limits and algorithms; nothing of
 * tenants, rules files or protocols. */
#ifndef SL_STORE_STORE_H
#define SL_STORE_STORE_H

#include "algo/algo.h"
#include "algo/guard.h"
#include "base/check.h"
#include "base/hash.h"

/* The readable names of a claim's state and its guard's state: keys in Redis. */
struct sl_claim_name {
    struct sluice_text key;
    struct sluice_text guard;
};

#define SL_LEASE_BY_DEMAND INT64_C(-1)

/* One limit asked on one identifier. */
struct sl_claim {
    const struct sl_algo *algo;
    struct sl_limit limit;
    uint32_t ring_len;
    bool shadow;  /* decided and counted, never denies */
    bool no_key;  /* its identity is missing and that denies: there is no state */
    bool is_here; /* taken from a lease: the store decides the other claims only */
    bool peek;    /* of a mixed bundle: in place of the bundle's own peek and cost */
    uint32_t cost;
    int64_t lease;    /* docs/leases.md: units at the most, SL_LEASE_BY_DEMAND; 0: never */
    uint32_t rule;    /* the id of its rule, for the statistics of leases */
    bool is_optional; /* if the store cannot decide it, the other claims decide (left_out.h) */
    struct sl_hash128 key;
    struct sl_hash128 guard_key;
    const struct sl_guard *guard;     /* NULL: none */
    const struct sl_claim_name *name; /* for a store with `wants_names`, during the call */

    /* Filled in by the store: */
    bool allowed;
    bool charged;
    bool is_unseen; /* another claim's denial was known: this one was not decided, and has no
                       answer; `allowed` is true */
    bool is_lost;   /* left out of a degraded bundle: it has no answer; `allowed` is true */
    struct sl_guard_answer guard_answer;
    struct sl_answer answer;
    struct sl_figures figures; /* after the charge, if there was one */

    _Alignas(16) uint64_t own[9]; /* for the store's own use while it decides */
};

struct sl_bundle {
    int64_t now_us; /* or -1: the store's clock, which fills it in */
    uint32_t cost;
    bool peek;
    bool is_joined;       /* of several requests: every claim must have an answer */
    bool wants_all;       /* the same, from the store itself */
    bool is_mixed;        /* each claim has its own cost and its own peek */
    bool is_denied;       /* already, by another store: only the guards of its claims count it */
    int64_t max_delay_us; /* a longer delay is a denial; -1: no delay is */
    struct sl_claim *claims;
    size_t claim_count;
    int64_t hold_us; /* how long its charges are reserved, if `hold` is called; 0: not at all */

    /* Filled in by the store: */
    int status;            /* 0, or negative: then the answers are void */
    bool allowed;          /* by every claim that is not shadow */
    bool is_near;          /* answered from the answer cache, without the store: answer_cache.h */
    bool is_degraded;      /* some claims were left out */
    int64_t wall_shift_us; /* wall time − now_us, for displayed times */
    uint64_t held;         /* the reservation, if the store made it while it decided */
};

/* Returns the cost with which a claim of the bundle is decided. */
static inline uint32_t sl_claim_cost(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    return __builtin_expect(bundle->is_mixed, 0) ? claim->cost : bundle->cost;
}

static inline bool sl_claim_peeks(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    return __builtin_expect(bundle->is_mixed, 0) ? claim->peek : bundle->peek;
}

/* Returns true if the claim has a state and the store must decide it. */
static inline bool sl_claim_is_asked(const struct sl_claim *claim)
{
    return !claim->no_key && !claim->is_here;
}

/* Returns true if the claim is charged when it is allowed. */
static inline bool sl_claim_takes(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    return sl_claim_cost(bundle, claim) > 0 && !sl_claim_peeks(bundle, claim);
}

/* A charge, for refunding it. */
struct sl_charge {
    uint32_t cost;
    int64_t at_us; /* the answer's as_of_us */
};

/* The common case of a decision, without a bundle: one limit, charged to one key
 * now. If the store cannot do it in one pass, it does nothing, and the caller
 * tries again with a bundle. */
struct sl_fast_path {
    const struct sl_algo *algo;
    const struct sl_limit *limit;
    struct sl_hash128 key;
    uint32_t cost;

    /* Filled in by the store: */
    bool done; /* if false, nothing was written, and the fields below are void */
    int64_t now_us;
    int64_t wall_shift_us;
    struct sl_taken taken;
};

struct sl_store;
struct sl_channel;
struct sl_channel_call;
struct sl_link_host;
struct sl_answer_cache;
struct sl_store_health;
struct sl_tally;

/* Statuses are 0 or negative. A function that a store does not have is NULL. */
struct sl_store_ops {
    /* Decides each bundle on its own, with one reading of the clock for all whose now_us is -1. */
    void (*decide)(struct sl_store *store, struct sl_bundle *bundles, size_t count);

    /* The fast path, for every entry that can take it; sets `done`. */
    void (*once)(struct sl_store *store, struct sl_fast_path *asks, size_t count);

    /* Gives back as much of the charge as still counts. */
    int (*refund)(struct sl_store *store, const struct sl_claim *claim, struct sl_charge charge);

    /* Deletes the states of the claim and of its guard. */
    int (*reset)(struct sl_store *store, const struct sl_claim *claim);

    /* Turns what the bundle, decided with `hold_us`, has just charged into a reservation. If there
     * is no room for it, the charge is refunded. */
    int (*hold)(struct sl_store *store, const struct sl_bundle *bundle, int64_t expiry_us,
                uint64_t *id);

    /* Settles it at its real cost; 0 gives all of it back. */
    int (*settle)(struct sl_store *store, uint64_t id, uint32_t cost);

    int (*sync)(struct sl_store *store);
    void (*measure)(struct sl_store *store, struct sluice_stats *out);

    /* The same in small steps: `tally` counts keys part by part (store/table/tally.h), in one
     * thread; `glance` fills in the figures that need no counting, in any thread. */
    void (*tally)(struct sl_store *store, struct sl_tally *tally);
    void (*glance)(struct sl_store *store, struct sluice_stats *out);
    void (*close)(struct sl_store *store);

    /* A store that answers later has a channel for each thread that must not wait for it; the
     * functions above wait then. */
    struct sl_channel *(*channel)(struct sl_store *store, const struct sl_link_host *host);

    /* Makes one call that belongs to no claim and waits for it: `done` has been called when it
     * returns. */
    void (*call)(struct sl_store *store, struct sl_channel_call *call);

    /* The reason of the last failure, as text; and the state of the connection. */
    void (*why)(struct sl_store *store, struct sluice_error *out);
    void (*health)(struct sl_store *store, struct sl_store_health *out);
};

struct sl_store {
    const struct sl_store_ops *ops;
    uint64_t secret; /* seeds every key: no client can construct a collision */
    uint64_t
        naming; /* seeds the names of reservations: the same in all processes that settle them */
    bool wants_names;                /* claims need theirs */
    struct sl_store *local;          /* decides under `on_store_failure: local`; or NULL */
    struct sl_answer_cache *answers; /* answers known without the store (answer_cache.h); or NULL */
};

/* Opens a store on the heap for one thread, where time may jump anywhere: for replays.
 * Returns NULL if there is no memory. */
struct sl_store *sl_heap_open(void);

#define SL_SYNC_OFF   INT64_C(-1)
#define SL_SYNC_CLOSE INT64_C(0)

#define SL_MEMORY_SIZE_BYTES (UINT64_C(64) << 20)
#define SL_LOG_DEFAULT       UINT64_MAX

struct sl_memory_config {
    const char *path;    /* NULL: anonymous, for this process and its children */
    uint64_t size_bytes; /* 0: SL_MEMORY_SIZE_BYTES, or what the file has */
    uint64_t log_bytes;  /* of these for logs, or SL_LOG_DEFAULT */
    bool logs_wanted;    /* SL_LOG_DEFAULT is then half of it, else a twentieth */
    int64_t sync_us;     /* SL_SYNC_OFF, SL_SYNC_CLOSE, or how often */
};

/* Opens the table of docs/table.md. Returns NULL with the reason in error->text; on
 * success error->text is a note or empty. */
struct sl_store *sl_memory_open(const struct sl_memory_config *config, struct sluice_error *error);

static inline int sl_store_decide(struct sl_store *store, struct sl_bundle *bundle)
{
    store->ops->decide(store, bundle, 1);
    SL_CHECK(bundle->status <= SLUICE_OK);
    return bundle->status;
}

static inline void sl_store_close(struct sl_store *store)
{
    if (store)
        store->ops->close(store);
}

#endif
