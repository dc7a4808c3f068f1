/* Leases: units of busy claims that this instance takes from the store in advance and spends here
 * (docs/leases.md, L1 to L10, cited where they are kept).
 *
 *   sl_leases_take      spends units for a request: one swap of 16 bytes
 *   sl_lease_begin …    begins a call: settles the lease and asks for more; one at a time per claim
 *   sl_lease_answer     applies the store's reply to that call
 *   sl_lease_look       renews the lease, gives it back, or ends it, when its time has come
 *
 * One table for each store, shared by the threads of the process, without a lock. It sends nothing:
 * lease_client.h does. Times are by sl_boottime_us, unless they are said to be the store's. */
#ifndef SL_STORE_LEASE_LEASE_H
#define SL_STORE_LEASE_LEASE_H

#include <stdatomic.h>

#include "base/atomic128.h"
#include "base/check.h"
#include "store/store.h"

enum {
    SL_LEASES_MAX = 65536, /* claims */
    SL_LEASE_WAYS = 4,     /* slots where a claim may be */
    SL_LEASE_RULES = 1024, /* rules of higher numbers are not counted */
    SL_LEASE_LEAST = 8,    /* units; fewer are not worth a call */
    SL_LEASE_SHARE = 8,    /* a lease is at most 1/8 of what is left */
};

/* What becomes of leased units, and how calls for them end: the constant, and its name in metrics.
 */
#define SL_LEASE_ENDS(X)                                                                           \
    X(SL_LEASE_GRANTED, "granted")                                                                 \
    X(SL_LEASE_SPENT, "spent")                                                                     \
    X(SL_LEASE_RETURNED, "returned")                                                               \
    X(SL_LEASE_DROPPED, "dropped") /* not spent, and lost until they lapse in the store */

#define SL_LEASE_RESULTS(X)                                                                        \
    X(SL_LEASE_CALL_OK, "granted")      /* enough to be worth the call */                          \
    X(SL_LEASE_CALL_POOR, "poor")       /* fewer, or none */                                       \
    X(SL_LEASE_CALL_RETURN, "returned") /* asked for none, only gave units back */                 \
    X(SL_LEASE_CALL_UNKNOWN, "unknown") /* the store did not know the lease any more */            \
    X(SL_LEASE_CALL_FAILED, "failed")

#define SL_ROW(constant, name) constant,
enum sl_lease_end { SL_LEASE_ENDS(SL_ROW) SL_LEASE_END_COUNT };
enum sl_lease_result { SL_LEASE_RESULTS(SL_ROW) SL_LEASE_RESULT_COUNT };
#undef SL_ROW

/* The counts of one rule. */
struct sl_lease_counts {
    uint64_t name; /* a hash of the rule's name; 0: no rule yet */
    _Atomic uint64_t units[SL_LEASE_END_COUNT];
    _Atomic uint64_t calls[SL_LEASE_RESULT_COUNT];
    _Atomic uint64_t
        short_of; /* requests that a call denied, but only because other instances held units */
};

/* The numbers of a call: the lease that it settles, and the units that it asks for. */
struct sl_lease_ask {
    int64_t term_us, window_us; /* of the lease, by the store's clock; 0, 0: there is none */
    uint32_t spent, kept, back;
    uint32_t want, need;
};

struct sl_lease_wait;

struct sl_lease_reply {
    int64_t now_us; /* this and the other times are the store's */
    bool is_known;
    bool is_late; /* its window is over: returned units count as returned, kept units are gone */
    uint32_t granted;
    int64_t term_us, end_us;
    uint32_t out;
    int64_t told[SL_TOLD]; /* the state after settling and before granting */
};

/* The slot of a claim: one cache line for spending threads, the rest for the thread that calls. */
struct sl_lease {
    struct sl_word word; /* units left, generation, end: lease.c */
    _Atomic uint64_t key_low, key_high;
    _Atomic int64_t capacity, span; /* of the limit (L1); sl_lease_span */
    _Atomic uint32_t low;           /* call again when no more than this is left */
    _Atomic uint32_t missed;        /* units that requests wanted and did not find here */
    _Atomic int64_t again_us;       /* but do not call before this */

    /* For the answers to clients: */
    _Alignas(64) _Atomic int64_t store_left; /* at the last call, less the grant */
    _Atomic int64_t reset_at_us, ahead_us;   /* the store's time; its clock less ours */
    _Atomic int64_t passes_us;               /* when one more unit passes, as the store said */
    _Atomic int64_t denied_until_us;         /* deny until then: the store had few units or none */
    _Atomic uint32_t denied_pardons;         /* valid while sl_leases.pardons is this */
    _Atomic int64_t renew_us; /* when its owner must look at it; 0: there is no lease */
    _Atomic uint32_t owner;   /* the lease client that looks after it, by number; 0: none */
    _Atomic uint32_t most;    /* units that it began with, not yet counted as spent or returned */
    _Atomic uint32_t rule;
    _Atomic uint32_t page;   /* sl_leases_turn_page */
    _Atomic bool is_called;  /* the thread that sets it owns the fields below, until it clears it */
    uint32_t next_due;       /* sl_leases.due */
    uint32_t generation;     /* while it is called for */
    _Atomic uint32_t caller; /* the lease client that calls, by number; 0: none */
    struct sl_lease_wait *waiting,
        **waiting_end; /* that client's requests that wait for the call (lease_client.h) */

    /* Owned by the caller: */
    const struct sl_algo *algo;
    struct sl_limit limit;
    int64_t mode; /* sl_claim.lease */
    char *name;
    size_t name_len, name_room;
    uint32_t granted;  /* what `left` began with; the difference is spent */
    uint32_t reckoned; /* how much of that is in the demand already */
    int64_t term_us, window_us;
    int64_t asked_us; /* before the call was sent */
    struct sl_lease_ask ask;
    uint32_t pardons, asked_page; /* also before the call was sent */
    bool ends_with_window;
    uint64_t demand;                    /* units in about a second, in 1/256 */
    int64_t demand_us, since_us;        /* when it was last updated; since when it is measured */
    int64_t ahead_most_us, ahead_at_us; /* the most that the store's clock may be ahead of ours, and
                                           when that was known; 0: unknown */
};

struct sl_leases {
    struct sl_lease *slots;
    struct sl_lease_counts *counts; /* by the rule's number */
    _Atomic uint32_t due;           /* 1 + the number of the first slot that runs low; chained */
    _Atomic uint32_t page;
    _Atomic uint32_t pardons;
};

static inline struct sl_lease *sl_lease_at(const struct sl_leases *leases, uint32_t number)
{
    SL_CHECK(number <= SL_LEASES_MAX);
    return number ? &leases->slots[number - 1] : NULL;
}

static inline struct sl_lease *sl_lease_next(const struct sl_leases *leases,
                                             const struct sl_lease *lease)
{
    return sl_lease_at(leases, lease->next_due);
}

/* Returns NULL if there is no memory. */
struct sl_leases *sl_leases_new(void);
void sl_leases_free(struct sl_leases *leases);

/* ---- spending ---- */

/* The lease that units were taken from, to put them back. */
struct sl_lease_ticket {
    struct sl_lease *lease;
    uint32_t generation;
};

/* It is kept in `own`: a store that decides a claim keeps its state there. */
static inline struct sl_lease_ticket *sl_lease_ticket_of(struct sl_claim *claim)
{
    _Static_assert(sizeof(struct sl_lease_ticket) <= sizeof claim->own, "a ticket fits");
    return (struct sl_lease_ticket *)(void *)claim->own;
}

/* Spends the cost, and fills in the claim as a store that allows and charges it. The store's time
 * is about now_us + *ahead_us. Returns false, and does nothing, if there is not so much. */
bool sl_leases_take(struct sl_leases *leases, struct sl_claim *claim, struct sl_ask ask,
                    int64_t *ahead_us, struct sl_lease_ticket *ticket);

/* Puts units back because the request is denied after all, if it is still the same lease (L10). */
void sl_lease_put_back(struct sl_lease_ticket ticket, uint32_t cost);

/* Denies the claim if it is too early to ask the store again: the wait is until then, or until one
 * unit passes by the store's last answer. Returns false if the store may be asked. */
bool sl_leases_deny(struct sl_leases *leases, struct sl_claim *claim, struct sl_ask ask,
                    int64_t *ahead_us);

/* Ends all denials of sl_leases_deny, also those that come of calls under way (D3). */
void sl_leases_pardon(struct sl_leases *leases);

/* Returns the claim's lease if a call for it is under way; or NULL. */
struct sl_lease *sl_leases_called(const struct sl_leases *leases, const struct sl_claim *claim);

/* Returns how many units of the claim are held here. */
uint32_t sl_leases_left(const struct sl_leases *leases, const struct sl_claim *claim,
                        int64_t now_us);

/* ---- calling ---- */

/* Each of these returns a lease for which a call must be made, with its `ask`. The caller owns it
 * until sl_lease_answer, _lose or _keep. NULL: no call is to be made. */

/* For a claim that was not answered here. `need`: the units with which the call decides the claim;
 * 0: another call decides it. A claim without a name must have been asked about before. */
struct sl_lease *sl_leases_want(struct sl_leases *leases, const struct sl_claim *claim,
                                struct sl_ask ask, uint32_t need);

/* Takes the chain of leases that run low (sl_lease_next). sl_lease_begin returns true for each that
 * is still worth a call. */
struct sl_lease *sl_leases_due(struct sl_leases *leases);
bool sl_lease_begin(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us);

static inline bool sl_leases_any_due(const struct sl_leases *leases)
{
    return atomic_load_explicit(&leases->due, memory_order_relaxed) != 0;
}

/* Takes the lease in that slot, to give all of it back; `key` NULL: of any claim. */
struct sl_lease *sl_leases_recall(struct sl_leases *leases, size_t number,
                                  const struct sl_hash128 *key, int64_t now_us);

/* Returns the first of the SL_LEASE_WAYS slots of a claim. */
size_t sl_leases_place(const struct sl_hash128 *key);

enum sl_lease_turn {
    SL_LEASE_REST, /* nothing to do yet, or another thread calls for it */
    SL_LEASE_CALL, /* a call must be made, as above */
    SL_LEASE_OVER, /* there is no lease any more, or another owner looks after it */
};
enum sl_lease_turn sl_lease_look(struct sl_leases *leases, struct sl_lease *lease, uint32_t owner,
                                 int64_t now_us);

/* Ends the ownership of `owner`, if it has it. */
void sl_lease_leave(struct sl_lease *lease, uint32_t owner);

/* Applies the reply to the call. Returns true if the request that needed it is allowed and charged.
 */
bool sl_lease_answer(struct sl_leases *leases, struct sl_lease *lease,
                     const struct sl_lease_reply *reply, int64_t now_us);

/* The call has failed, and may or may not have run (L7). */
void sl_lease_lose(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us);

/* The call was never sent. */
void sl_lease_keep(struct sl_lease *lease, int64_t now_us);

/* Other rules are in force: owners give their leases back from now on. */
void sl_leases_turn_page(struct sl_leases *leases);

/* ---- figures ---- */

/* Is any lease held? */
bool sl_leases_any(const struct sl_leases *leases, int64_t now_us);

/* Units held now; `most` are the granted ones not yet counted as spent, returned or dropped. */
struct sl_lease_held {
    uint64_t units, most;
};

struct sl_lease_counts *sl_leases_counts(struct sl_leases *leases, uint32_t rule);

/* Names the rule of that number. Clears the counts if they are of another rule. For one thread at a
 * time. */
void sl_leases_name(struct sl_leases *leases, uint32_t rule, struct sluice_text name);

/* Fills in SL_LEASE_RULES elements, by the rules' numbers. */
void sl_leases_held(const struct sl_leases *leases, struct sl_lease_held *out, int64_t now_us);

#endif
