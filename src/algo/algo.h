/* The interface of an algorithm: a few pure functions over 84 bits of state.
 *
 *   decide   may this pass now, and if not, when?       (reads)
 *   charge   spend the cost                             (writes the state)
 *   figures  what is left, and when is it all back?     (reads)
 *   refund   give back what still counts of a charge    (writes the state)
 *
 * Time and state are arguments; nothing here reads a clock, allocates, keeps
 * a global or uses floating point. From that follows, without more machinery:
 * a thread that loses a race decides again, a peek is `decide` without `charge`,
 * a denial never reaches `charge`, and a replay is the same code with another
 * clock.
 *
 * An all-zero state is a fresh key.
 *
 * The state is 84 bits because the shared table swaps a whole slot at once:
 * 16 bytes with 40 bits of fingerprint and 4 of kind beside it. Every state
 * dates itself: the 84 bits alone say when it is as good as fresh.
 *
 * A stored time may lie ahead of now, because clocks step. Up to one span ahead
 * it is believed. Further ahead is no legal state, and decide asks for a
 * `repair`, which a charge of cost 0 saves:
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
    uint64_t token_part; /* buckets: sl_token_part(token_ns), or 0: not computed */
    int64_t told_us;     /* shown in headers and metrics: the window, or a bucket's time to fill */
    uint32_t token_form; /* buckets: sl_token_short(token_ns), computed once */
    bool first_request;  /* fixed window: starts at a key's first charge */
};

/* What a store keeps for one claim. Only the low 20 bits of `hi` are used.
 * The log also has a ring of admission times; `ring_len` is at least the
 * capacity of every limit that the state is used with. Other threads and
 * processes may use the ring at the same time: `charge` then only writes into it
 * what this state says already, whether or not the new state is saved; a
 * decision is valid if the saved state is still the same after it. `charge_most`
 * says which operations need a private ring. */
struct sl_state {
    uint64_t lo;
    uint64_t hi;
    uint64_t *ring;
    uint32_t ring_len;
    const uint64_t *shared_lo; /* where `lo` was read, if other threads may change it; or NULL */
    int64_t *told;             /* of a log in Redis, in place of a ring: SL_TOLD numbers; or NULL */
};

/* How many numbers a script returns for a state, and for a guard's state: those that its Lua
 * twin (X.lua) has read. */
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

/* The result of `take`. */
struct sl_taken {
    struct sl_answer answer;
    struct sl_figures figures; /* after the charge, if there was one */
};

/* How the date in a state, when it is as good as fresh, is encoded. These are
 * numbers of docs/table.md, hence permanent. */
enum sl_dating {
    SL_DATED_NOT,
    SL_DATED_US, /* 52 bits, µs */
    SL_DATED_FROM_1M,
    SL_DATED_FROM_1S,
    SL_DATED_FROM_1MS, /* the counter, by window */
    SL_DATED_NS,       /* 62 bits, ns */
    SL_DATED_FROZEN,   /* a log whose ring is being moved */
    SL_DATED_RING      /* 52 bits, µs */
};

struct sl_algo {
    const char *name;
    uint32_t number;       /* of docs/table.md, permanent */
    enum sl_dating dating; /* the counter's: SL_DATED_FROM_1M; its window says which of three */
    bool is_bucket;        /* its rule gives capacity and refill rate; else capacity and window */
    bool takes_burst;      /* the key burst_allowance is legal */
    bool takes_align;      /* the key align is legal */
    bool leases;           /* its units can be leased: docs/leases.md */
    bool keeps_ring;       /* it also has `charge_most` and `move_ring` */

    /* Windows: the largest limit the state can hold for windows of this length,
     * and the message for a larger one. A bucket's span is bounded instead. */
    int64_t (*capacity_max)(int64_t window_us);
    const char *too_large;

    struct sl_answer (*decide)(const struct sl_limit *limit, const struct sl_state *state,
                               struct sl_ask ask);
    void (*charge)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask);
    struct sl_figures (*figures)(const struct sl_limit *limit, const struct sl_state *state,
                                 int64_t now_us);

    /* Decides, charges if allowed, and fills in the figures in one pass, for the common
     * case: a cost above 0, and a state written under the same rate that needs no
     * repair. Returns false, having changed nothing, in every other case. */
    bool (*take)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                 struct sl_taken *out);

    /* Gives back a charge of ask.cost made at charged_at_us under this limit, as
     * far as it still counts at ask.now_us. Returns false if none of it counts, or
     * if the state cannot tell. */
    bool (*refund)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                   int64_t charged_at_us);

    /* Charges units that were used already, even past the limit: up to one span of
     * debt, so that no client is locked out for longer. Leaves a state that is too far
     * ahead to the next decision, which takes it for full. */
    void (*overcharge)(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask);

    /* Returns the largest cost that `charge` records without writing new entries
     * into the ring. A larger charge, a repair, `refund` and `move_ring` write entries
     * directly, so a store whose rings are shared calls those on a private copy of
     * the ring, which `move_ring` makes. */
    uint32_t (*charge_most)(uint32_t ring_len);

    /* Builds the state from the numbers that the Lua twin has read, whatever they are. A
     * log keeps the pointer. */
    void (*load)(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out);

    /* Copies the log into another ring, all zero and not shorter, and uses that from
     * now on. Only reads the old one, which is the caller's again. */
    void (*move_ring)(struct sl_state *state, uint64_t *ring, uint32_t ring_len);
};

/* Every row of list.def, in its order, ended by NULL. The first is the
 * default of a rule that names none. */
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
