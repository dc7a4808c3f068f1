/* The burst guard: counts requests in short windows beside a rule's limit;
 * over the threshold it warns, and blocks who goes on in a later window. */
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
    enum sl_guard_event event; /* what this very request set off */
    uint32_t request_count;    /* in the window, for the event */
};

/* Can 84 bits hold every state of this guard? */
bool sl_guard_fits(const struct sl_guard *guard);

/* Counts a request. The same state words as an algorithm's, under a key of
 * their own. */
struct sl_guard_answer sl_guard_count(const struct sl_guard *guard, struct sl_state *state,
                                      int64_t now_us);

/* For peeks and cost 0, which are not counted: is a block in force? */
struct sl_guard_answer sl_guard_peek(const struct sl_guard *guard, const struct sl_state *state,
                                     int64_t now_us);

/* The state that guard.lua has read: window's start, count, ends of warning and block. */
void sl_guard_load(const struct sl_guard *guard, const int64_t told[SL_TOLD_GUARD],
                   struct sl_state *out);

/* Has it warned or blocked somebody? Such a state is not given up for want of room. */
bool sl_guard_is_loud(const struct sl_state *state);

#endif
