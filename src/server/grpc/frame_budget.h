/* How much a client of HTTP/2 may make us do for nothing.
 *
 * Frames that bring no call forward (resets of what was none yet, pings, settings, priorities,
 * window updates, empty DATA) cost a client a few bytes and us some work each, and are all legal.
 * So each takes something away, time and finished calls give it back, and who has nothing left is
 * sent away. A client that uses HTTP/2 for calls never notices. */
#ifndef SL_SERVER_GRPC_FRAME_BUDGET_H
#define SL_SERVER_GRPC_FRAME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SL_PATIENCE_MAX = 1000,
    SL_PATIENCE_PER_S = 100, /* that come back by themselves */
    SL_PATIENCE_CALL = 4,    /* for a call, answered or not: a window, a ping may go with it */
    SL_PATIENCE_RESET = 2,
    SL_PATIENCE_SETTINGS = 10,
    SL_PATIENCE_FRAME = 1, /* any other that is no use */
};

struct sl_patience {
    int32_t left;
    uint64_t at_ms; /* when time was last given back for */
};

static inline struct sl_patience sl_patience(uint64_t now_ms)
{
    return (struct sl_patience){ SL_PATIENCE_MAX, now_ms };
}

static inline void sl_patience_give(struct sl_patience *patience, int32_t much)
{
    patience->left += much;
    if (patience->left > SL_PATIENCE_MAX)
        patience->left = SL_PATIENCE_MAX;
}

/* False: there is none left. */
static inline bool sl_patience_take(struct sl_patience *patience, int32_t much, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - patience->at_ms;
    if (passed_ms >= 10) { /* what is below one unit is kept for later */
        uint64_t most_ms = (uint64_t)SL_PATIENCE_MAX * 1000 / SL_PATIENCE_PER_S;
        uint64_t given = (passed_ms < most_ms ? passed_ms : most_ms) * SL_PATIENCE_PER_S / 1000;
        sl_patience_give(patience, (int32_t)given);
        patience->at_ms =
            passed_ms < most_ms ? patience->at_ms + given * 1000 / SL_PATIENCE_PER_S : now_ms;
    }
    patience->left -= much;
    return patience->left >= 0;
}

#endif
