/* The frame budget: how much useless work a client of HTTP/2 may cause.
 *
 * Frames that bring no call forward (resets of streams that are no calls yet, pings, settings,
 * priorities, window updates, empty DATA) cost a client a few bytes and us some work each, and all
 * of them are legal. So each of them takes from the connection's budget, time and finished calls
 * give back, and a connection whose budget is used up is closed. A client that makes calls never
 * notices. */
#ifndef SL_SERVER_GRPC_FRAME_BUDGET_H
#define SL_SERVER_GRPC_FRAME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SL_FRAME_BUDGET_MAX = 1000,
    SL_FRAME_BUDGET_PER_S = 100, /* given back with time */
    SL_FRAME_BUDGET_CALL = 4,    /* given back for a call: a window update or a ping goes with it */
    SL_FRAME_BUDGET_RESET = 2,
    SL_FRAME_BUDGET_SETTINGS = 10,
    SL_FRAME_BUDGET_FRAME = 1, /* any other useless frame */
};

struct sl_frame_budget {
    int32_t left;
    uint64_t at_ms; /* up to when time was given back */
};

static inline struct sl_frame_budget sl_frame_budget(uint64_t now_ms)
{
    return (struct sl_frame_budget){ SL_FRAME_BUDGET_MAX, now_ms };
}

static inline void sl_frame_budget_give(struct sl_frame_budget *budget, int32_t much)
{
    budget->left += much;
    if (budget->left > SL_FRAME_BUDGET_MAX)
        budget->left = SL_FRAME_BUDGET_MAX;
}

/* Returns false if the budget is used up. */
static inline bool sl_frame_budget_take(struct sl_frame_budget *budget, int32_t much,
                                        uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - budget->at_ms;
    if (passed_ms >= 10) { /* the rest below one unit is kept for later */
        uint64_t most_ms = (uint64_t)SL_FRAME_BUDGET_MAX * 1000 / SL_FRAME_BUDGET_PER_S;
        uint64_t given = (passed_ms < most_ms ? passed_ms : most_ms) * SL_FRAME_BUDGET_PER_S / 1000;
        sl_frame_budget_give(budget, (int32_t)given);
        budget->at_ms =
            passed_ms < most_ms ? budget->at_ms + given * 1000 / SL_FRAME_BUDGET_PER_S : now_ms;
    }
    budget->left -= much;
    return budget->left >= 0;
}

#endif
