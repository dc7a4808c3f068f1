/* The burst guard: counts requests in short windows beside a rule's limit. Over
 * the threshold it warns, and it blocks a client that exceeds it again in a later
 * window. */
#ifndef SL_ALGO_GUARD_H
#define SL_ALGO_GUARD_H

#include "algo/algo.h"

struct sl_guard {
    int64_t window_us; /* 0: no guard */
    int64_t penalty_us;
    uint32_t threshold;
};

enum sl_guard_event { SL_GUARD_QUIET, SL_GUARD_WARNED, SL_GUARD_BLOCKED };

struct sl_guard_answer {
    int64_t blocked_until_us;  /* 0: not blocked */
    enum sl_guard_event event; /* caused by this very request */
    uint32_t request_count;    /* in the window, for the event */
};

/* Returns true if 84 bits can hold every state of this guard. */
bool sl_guard_fits(const struct sl_guard *guard);

/* Counts a request. The state is 84 bits like an algorithm's, under a key of its
 * own. */
struct sl_guard_answer sl_guard_count(const struct sl_guard *guard, struct sl_state *state,
                                      int64_t now_us);

/* Returns whether a block is in force, for peeks and cost 0, which are not counted. */
struct sl_guard_answer sl_guard_peek(const struct sl_guard *guard, const struct sl_state *state,
                                     int64_t now_us);

/* Builds the state from what guard.lua has read: the window's start, its count, the ends of the
 * warning and the block. */
void sl_guard_load(const struct sl_guard *guard, const int64_t told[SL_TOLD_GUARD],
                   struct sl_state *out);

/* Returns true if a warning or a block is stored. Such a state is not evicted. */
bool sl_guard_is_loud(const struct sl_state *state);

#endif
