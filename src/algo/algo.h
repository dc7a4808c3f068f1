/* What an algorithm is: a few pure functions over 84 bits of state.
 *
 *   decide   may this pass now, and if not, when?       (reads)
 *   charge   take it                                    (writes the state)
 *   figures  what is left, and when is it all back?     (reads)
 *   refund   give back what still counts of a charge    (writes the state)
 *
 * Time and state are arguments; nothing here reads a clock, allocates, keeps
 * a global or uses floating point. From that follows, without more machinery:
 * losing a race is deciding again, a peek is `decide` without `charge`, a
 * denial never reaches `charge`, and a replay is the same code with another
 * clock.
 *
 * An all-zero state is a fresh key.
 *
 * The state is 84 bits because the shared table swaps a whole slot at once:
 * 16 bytes with 40 bits of fingerprint and 4 of kind beside it. Every state
 * dates itself: from it alone one can tell when it is as good as fresh.
 *
 * A stored time may lie ahead of now: clocks step. Up to one span ahead it is
 * believed; further cannot be a legal state, and decide asks for a `repair`.
 * Charging nothing saves it:
 *
 *   answer = decide(limit, &state, ask)
 *   if (answer.allowed && cost > 0)  charge(limit, &state, ask)
 *   else if (answer.repair)          charge(limit, &state, the same with cost 0)
 */
#ifndef SL_ALGO_ALGO_H
#define SL_ALGO_ALGO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The latest time a decision can be made at: 2109. With the longest window
 * twice on top it stays below 2^52 µs, and the ns of a bucket below 2^62. */
#define SL_TIME_MAX_US   INT64_C(4400000000000000)
#define SL_WINDOW_MIN_US INT64_C(1000)
#define SL_WINDOW_MAX_US (INT64_C(366) * 86400 * 1000000)
#define SL_SPAN_MAX_NS   (INT64_C(90) * 86400 * 1000000000)

/* A rule's numbers for one request: tier, burst allowance and trust are in. */
struct sl_limit {
    int64_t capacity;    /* units; 0 lets nothing pass */
    int64_t window_us;   /* windows: their length. Buckets: 0 */
    int64_t token_ns;    /* buckets: the time of one token. Windows: 0 */
    uint64_t token_part; /* buckets: sl_token_part(token_ns), or 0: not worked out */
    int64_t told_us;     /* what people are told: the window, or how long a bucket takes to fill */
    uint32_t token_form; /* buckets: sl_token_short(token_ns), kept at hand */
    bool first_request;  /* fixed window: starts at a key's first charge */
};

/* What a store keeps for one claim. Only the low 20 bits of `hi` are used.
 * The log also has a ring of admission times; `ring_len` is at least the
 * capacity of every limit that the state is used with. Others may use the ring
 * at the same time: `charge` then only writes into it what this state says
 * already, whether or not the new state is saved; a decision is good if the
 * state that was saved is still the same after it. What needs a ring of its
 * own is said at `charge_most`. */
struct sl_state {
    uint64_t lo;
    uint64_t hi;
    uint64_t *ring;
    uint32_t ring_len;
    const uint64_t *shared_lo; /* where `lo` was read, if others may change it; or NULL */
    int64_t *told; /* a log that is elsewhere, in place of a ring: SL_TOLD numbers; or NULL */
};

/* How many numbers a script says of a state, and of a guard's: those that its twin in Lua
 * (X.lua) has read. */
enum { SL_TOLD = 3, SL_TOLD_GUARD = 4 };

struct sl_ask {
    int64_t now_us; /* 0 to SL_TIME_MAX_US */
    uint32_t cost;
};

struct sl_answer {
    bool allowed;
    bool repair;            /* the state must be saved, even on a denial */
    int64_t retry_after_us; /* 0 allowed, SL_NEVER */
    int64_t delay_us;       /* how long it would be queued, denied or not */
    int64_t as_of_us; /* when a charge counts from: now, or the state's time if that is ahead */
};

#define SL_NEVER INT64_C(-1)

struct sl_figures {
    int64_t remaining;
    int64_t reset_at_us;
};

/* What `take` finds out. */
struct sl_taken {
    struct sl_answer answer;
    struct sl_figures figures; /* after the charge, if there was one */
};

/* How a state says by itself when it is as good as fresh. These are numbers of
 * docs/table.md, hence permanent. */
enum sl_dating {
    SL_DATED_NOT,
    SL_DATED_US, /* 52 bits, µs */
    SL_DATED_FROM_1M,
    SL_DATED_FROM_1S,
    SL_DATED_FROM_1MS, /* the counter, by window */
    SL_DATED_NS,       /* 62 bits, ns */
    SL_DATED_FROZEN,   /* a ring that is being moved */
    SL_DATED_RING      /* 52 bits, µs */
};

struct sl_algo {
    const char *name;
    uint32_t number;       /* of docs/table.md, permanent */
    enum sl_dating dating; /* the counter's: SL_DATED_FROM_1M, and its window says the rest */
    bool is_bucket;        /* numbers: capacity and refill rate; else capacity and window */
    bool takes_burst;      /* burst_allowance */
    bool takes_align;      /* align */
    bool leases;           /* its units can be taken ahead: docs/leases.md */
    bool keeps_ring;       /* then `charge_most` and `move_ring` are there too */

    /* Windows: the largest limit the state can hold for windows of this length,
     * and what to tell who wants more. A bucket's span is bounded instead. */
    int64_t (*capacity_max)(int64_t window_us);
    const char *too_large;

    struct sl_answer (*decide)(const struct sl_limit *limit, const struct sl_state *state,
                               struct sl_ask ask);
    void (*charge)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask);
    struct sl_figures (*figures)(const struct sl_limit *limit, const struct sl_state *state,
                                 int64_t now_us);

    /* decide, charge if allowed, and figures in one pass, for the common case: a cost
     * above 0, and a state written under the same rate that needs no repair. False:
     * it is not, and nothing was done. */
    bool (*take)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                 struct sl_taken *out);

    /* Takes back a charge of ask.cost made at charged_at_us under this limit, as
     * far as it still counts at ask.now_us. False: nothing of it did, or there
     * is no telling. */
    bool (*refund)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                   int64_t charged_at_us);

    /* Charges what has been used already, even past the limit: as far as one span
     * of debt, so that nobody is locked out for longer. A state that is too far ahead
     * is left to the next decision, which takes it for full. */
    void (*overcharge)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask);

    /* The largest cost that `charge` records without writing new entries into
     * the ring. More than that, a repair, `refund` and `move_ring` write entries
     * directly, so a store whose rings are shared calls those on a private copy
     * of the ring, which `move_ring` makes. */
    uint32_t (*charge_most)(uint32_t ring_len);

    /* The state that its twin in Lua has read, whatever the numbers. A log keeps the pointer. */
    void (*load)(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out);

    /* Goes on in another ring, all zero and not shorter; the old one is only
     * read, and the caller's again. */
    void (*move_ring)(struct sl_state *state, uint64_t *ring, uint32_t ring_len);
};

/* Every row of list.def, in its order, ended by NULL. The first is the
 * default where a rule names none. */
extern const struct sl_algo *const sl_algos[];

#define SL_ALGO(name) extern const struct sl_algo sl_##name;
#include "algo/list.def"
#undef SL_ALGO

enum {
    SL_ALGO_COUNT = 0
#define SL_ALGO(name) +1
#include "algo/list.def"
#undef SL_ALGO
};

#endif
