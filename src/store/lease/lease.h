/* What an instance holds: units of busy claims, taken from the store ahead and spent here
 * (docs/leases.md, L1 to L10, cited where they are kept).
 *
 *   sl_leases_take      a decision: one swap of 16 bytes, and nothing else
 *   sl_lease_begin …    a call: what is told of a lease, and asked for; one at a time for a claim
 *   sl_lease_answer     what came of it
 *   sl_lease_look       its time: to be renewed, given back, or over
 *
 * One for a store, shared by the threads of the process, without a lock. It sends nothing:
 * lease_client.h does. Times are sl_boottime_us, but where they say that they are the store's. */
#ifndef SL_STORE_LEASE_LEASE_H
#define SL_STORE_LEASE_LEASE_H

#include <stdatomic.h>

#include "base/atomic128.h"
#include "store/store.h"

enum {
    SL_LEASES_MAX = 65536, /* claims */
    SL_LEASE_WAYS = 4,     /* places where a claim may be */
    SL_LEASE_RULES = 1024, /* rules of higher numbers are not counted */
    SL_LEASE_LEAST = 8,    /* units; fewer are not worth a call */
    SL_LEASE_SHARE = 8,    /* a lease is at most such a part of what is left */
};

/* What becomes of leased units, and how calls for them end: constant and the name people see. */
#define SL_LEASE_ENDS(X)                                                                           \
    X(SL_LEASE_GRANTED, "granted")                                                                 \
    X(SL_LEASE_SPENT, "spent")                                                                     \
    X(SL_LEASE_RETURNED, "returned")                                                               \
    X(SL_LEASE_DROPPED, "dropped") /* not spent, and lost until they lapse */

#define SL_LEASE_RESULTS(X)                                                                        \
    X(SL_LEASE_CALL_OK, "granted")      /* as many as it is worth asking for */                    \
    X(SL_LEASE_CALL_POOR, "poor")       /* fewer, or none */                                       \
    X(SL_LEASE_CALL_RETURN, "returned") /* asked for none, gave back */                            \
    X(SL_LEASE_CALL_UNKNOWN, "unknown") /* of a lease that the store did not know any more */      \
    X(SL_LEASE_CALL_FAILED, "failed")

#define SL_ROW(constant, name) constant,
enum sl_lease_end { SL_LEASE_ENDS(SL_ROW) SL_LEASE_END_COUNT };
enum sl_lease_result { SL_LEASE_RESULTS(SL_ROW) SL_LEASE_RESULT_COUNT };
#undef SL_ROW

/* Of one rule. */
struct sl_lease_counts {
    uint64_t name; /* of which: a hash; 0: of none yet */
    _Atomic uint64_t units[SL_LEASE_END_COUNT];
    _Atomic uint64_t calls[SL_LEASE_RESULT_COUNT];
    _Atomic uint64_t short_of; /* denied by a call, and would have passed if nothing had been out */
};

/* What a call says of the lease that it settles, and asks for. */
struct sl_lease_ask {
    int64_t term_us, window_us; /* the store's; 0, 0: there is none */
    uint32_t spent, kept, back;
    uint32_t want, need;
};

struct sl_lease_wait;

struct sl_lease_reply {
    int64_t now_us; /* the store's, as are */
    bool is_known;
    bool is_late; /* of the window before: what was given back is; what was kept is gone */
    uint32_t granted;
    int64_t term_us, end_us;
    uint32_t out;
    int64_t told[SL_TOLD]; /* the state after settling and before granting */
};

/* The place of a claim. A cache line for who spends, and the rest for who calls. */
struct sl_lease {
    struct sl_word word; /* left, generation; the end */
    _Atomic uint64_t key_low, key_high;
    _Atomic int64_t capacity, span; /* L1: of the limit, span_of in lease.c */
    _Atomic uint32_t low;           /* ask again when no more than this is left, */
    _Atomic uint32_t missed;        /* units that were asked for and not found here */
    _Atomic int64_t again_us;       /* but not before */

    /* What people are told: */
    _Alignas(64) _Atomic int64_t store_left; /* at the last call, without what was granted */
    _Atomic int64_t reset_at_us, ahead_us;   /* the store's; its clock less ours */
    _Atomic int64_t passes_us;               /* one more would, by what the store said */
    _Atomic int64_t denied_until_us;         /* nothing was left for who asked, or next to it; */
    _Atomic uint32_t denied_pardons;         /* good while there were so many (sl_leases_pardon) */
    _Atomic int64_t renew_us; /* when somebody is to look after it; 0: there is none */
    _Atomic uint32_t owner;   /* who does: a channel's number; 0: nobody */
    _Atomic uint32_t most;    /* what it began with: not yet counted as anything else */
    _Atomic uint32_t rule;
    _Atomic uint32_t page;   /* sl_leases_turn_page */
    _Atomic bool is_called;  /* whoever sets it owns what follows, until it is cleared */
    uint32_t next_due;       /* sl_leases.due */
    uint32_t generation;     /* while it is called for */
    _Atomic uint32_t caller; /* by whom: a lender's number; 0: nobody, */
    struct sl_lease_wait *waiting,
        **waiting_end; /* and who waits for that; the lender's (lease_client.h) */

    /* The caller's: */
    const struct sl_algo *algo;
    struct sl_limit limit;
    int64_t mode; /* sl_claim.lease */
    char *name;
    size_t name_len, name_room;
    uint32_t granted;  /* what `left` began with: the difference is spent, */
    uint32_t reckoned; /* and so much of that is in the demand */
    int64_t term_us, window_us;
    int64_t asked_us; /* before the call was sent */
    struct sl_lease_ask ask;
    uint32_t pardons, asked_page; /* before that */
    bool ends_with_window;
    uint64_t demand;             /* units in a second or so, in 1/256, as of */
    int64_t demand_us, since_us; /* and since when it is known */
    int64_t ahead_most_us,
        ahead_at_us; /* the store's clock less ours, at the most, as of; 0: unknown */
};

struct sl_leases {
    struct sl_lease *slots;
    struct sl_lease_counts *counts; /* by the rule's number */
    _Atomic uint32_t due;           /* 1 + the number of the first; they are chained */
    _Atomic uint32_t page;
    _Atomic uint32_t pardons;
};

static inline struct sl_lease *sl_lease_at(const struct sl_leases *leases, uint32_t number)
{
    return number ? &leases->slots[number - 1] : NULL;
}

static inline struct sl_lease *sl_lease_next(const struct sl_leases *leases,
                                             const struct sl_lease *lease)
{
    return sl_lease_at(leases, lease->next_due);
}

/* NULL: no memory. */
struct sl_leases *sl_leases_new(void);
void sl_leases_free(struct sl_leases *leases);

/* ---- spending ---- */

/* Where a unit was taken, to put it back. */
struct sl_lease_ticket {
    struct sl_lease *lease;
    uint32_t generation;
};

/* It is kept where a store keeps the state of a claim that it is asked for. */
static inline struct sl_lease_ticket *sl_lease_ticket_of(struct sl_claim *claim)
{
    _Static_assert(sizeof(struct sl_lease_ticket) <= sizeof claim->own, "a ticket fits");
    return (struct sl_lease_ticket *)(void *)claim->own;
}

/* Takes the cost, and fills in the claim as a store that allows and charges it. The store's time is
 * then about now_us and *ahead_us. False: there is not so much, and nothing was done. */
bool sl_leases_take(struct sl_leases *leases, struct sl_claim *claim, struct sl_ask ask,
                    int64_t *ahead_us, struct sl_lease_ticket *ticket);

/* The request is denied after all: back into the lease, if it is still that one (L10). */
void sl_lease_put_back(struct sl_lease_ticket ticket, uint32_t cost);

/* Is it known that there is nothing to be had yet? Then the claim is filled in so: it is to wait
 * until the store is asked again, and for one unit by what that said last. */
bool sl_leases_deny(struct sl_leases *leases, struct sl_claim *claim, struct sl_ask ask,
                    int64_t *ahead_us);

/* D3: whom it is known to deny is not denied by that any more, nor by calls that are under way. */
void sl_leases_pardon(struct sl_leases *leases);

/* Its lease, if that is being called for; or NULL. */
struct sl_lease *sl_leases_called(const struct sl_leases *leases, const struct sl_claim *claim);

/* How many units of the claim are here. */
uint32_t sl_leases_left(const struct sl_leases *leases, const struct sl_claim *claim,
                        int64_t now_us);

/* ---- calling ---- */

/* Each of these gives a lease that a call is to be made for, with its `ask`: it is the caller's
 * until sl_lease_answer, _lose or _keep. NULL: there is none. */

/* The claim was not answered here. `need`: the call is to decide it; 0: something else does. A
 * claim without a name must have been asked about before. */
struct sl_lease *sl_leases_want(struct sl_leases *leases, const struct sl_claim *claim,
                                struct sl_ask ask, uint32_t need);

/* Those that run low, the next behind each (sl_lease_next); for each that is still worth it, true,
 * a call is to be made. */
struct sl_lease *sl_leases_due(struct sl_leases *leases);
bool sl_lease_begin(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us);

static inline bool sl_leases_any_due(const struct sl_leases *leases)
{
    return atomic_load_explicit(&leases->due, memory_order_relaxed) != 0;
}

/* The one of that number, to be given back whatever it is used for; `key` NULL: of any claim. */
struct sl_lease *sl_leases_recall(struct sl_leases *leases, size_t number,
                                  const struct sl_hash128 *key, int64_t now_us);

/* The first of the places of a claim, which are SL_LEASE_WAYS. */
size_t sl_leases_place(const struct sl_hash128 *key);

enum sl_lease_turn {
    SL_LEASE_REST, /* nothing to do yet, or another calls */
    SL_LEASE_CALL, /* as above */
    SL_LEASE_OVER, /* there is none any more, or it is another's to look after */
};
enum sl_lease_turn sl_lease_look(struct sl_leases *leases, struct sl_lease *lease, uint32_t owner,
                                 int64_t now_us);

/* `owner` does not look after it any more. */
void sl_lease_leave(struct sl_lease *lease, uint32_t owner);

/* What came of the call. True: the request that needed it is allowed, and charged. */
bool sl_lease_answer(struct sl_leases *leases, struct sl_lease *lease,
                     const struct sl_lease_reply *reply, int64_t now_us);

/* It may have run or not (L7). */
void sl_lease_lose(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us);

/* It was never sent. */
void sl_lease_keep(struct sl_lease *lease, int64_t now_us);

/* Whoever looks after a lease gives it back from now on: other rules are in force. */
void sl_leases_turn_page(struct sl_leases *leases);

/* ---- for who watches ---- */

/* Is any held? */
bool sl_leases_any(const struct sl_leases *leases, int64_t now_us);

/* What is granted is `most`, until it is counted as spent, returned or dropped. */
struct sl_lease_held {
    uint64_t units, most;
};

struct sl_lease_counts *sl_leases_counts(struct sl_leases *leases, uint32_t rule);

/* The rule of that number has that name from now on: what was counted of another is forgotten. One
 * thread at a time. */
void sl_leases_name(struct sl_leases *leases, uint32_t rule, struct sluice_text name);

/* Of the rules up to SL_LEASE_RULES. */
void sl_leases_held(const struct sl_leases *leases, struct sl_lease_held *out, int64_t now_us);

#endif
