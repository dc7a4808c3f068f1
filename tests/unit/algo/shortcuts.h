/* What `take` and `overcharge` promise, held against decide, charge and figures on
 * states such as clocks that step back, changing limits and other processes'
 * charges leave. An algorithm's test says how its limits look. */
#ifndef TEST_ALGO_SHORTCUTS_H
#define TEST_ALGO_SHORTCUTS_H

#include "unit/algo/steps.h"

enum { SHORTCUT_RING = 24 };

struct shortcut {
    const struct sl_algo *algo;
    /* Of one key: its window stays, capacity (up to SHORTCUT_RING) and rate change. */
    struct sl_limit (*limit)(uint64_t *seed, uint64_t key);
    int64_t (*span_us)(const struct sl_limit *limit);
    /* Besides a repair, what `take` may leave to the long way; NULL: nothing. */
    bool (*leaves)(const struct sl_limit *limit, const struct sl_state *state);
};

/* A state of its own, ring included. */
struct apart {
    struct sl_state state;
    uint64_t ring[SHORTCUT_RING];
};

static inline void copy_state(struct apart *to, const struct sl_state *state)
{
    to->state = *state;
    if (!state->ring)
        return;
    memcpy(to->ring, state->ring, sizeof to->ring);
    to->state.ring = to->ring;
}

static inline void same_state(const char *row, const struct apart *got, const struct apart *wanted)
{
    SAME(row, got->state.lo, wanted->state.lo);
    SAME(row, got->state.hi, wanted->state.hi);
    FITS(row, &got->state);
    if (got->state.ring)
        assert_memory_equal(got->ring, wanted->ring, sizeof got->ring);
}

static inline void check_take(const struct shortcut *shortcut, const struct sl_limit *limit,
                              const struct sl_state *state, struct sl_ask now)
{
    const struct sl_algo *algo = shortcut->algo;
    struct apart before, taken, charged;
    copy_state(&before, state);
    copy_state(&taken, state);
    copy_state(&charged, state);
    struct sl_answer wanted = algo->decide(limit, state, now);
    struct sl_taken out;
    if (!algo->take(limit, &taken.state, now, &out)) {
        bool left_out = shortcut->leaves && shortcut->leaves(limit, state);
        SAME(algo->name, wanted.repair || left_out, true);
        same_state(algo->name, &taken, &before);
        return;
    }
    SAME(algo->name, wanted.repair, false);
    SAME(algo->name, out.answer.repair, false);
    SAME(algo->name, out.answer.allowed, wanted.allowed);
    SAME(algo->name, out.answer.retry_after_us, wanted.retry_after_us);
    SAME(algo->name, out.answer.delay_us, wanted.delay_us);
    if (wanted.allowed)
        algo->charge(limit, &charged.state, now);
    same_state(algo->name, &taken, &charged);
    struct sl_figures figures = algo->figures(limit, &charged.state, now.now_us);
    SAME(algo->name, out.figures.remaining, figures.remaining);
    SAME(algo->name, out.figures.reset_at_us, figures.reset_at_us);
}

static inline void check_overcharge(const struct shortcut *shortcut, const struct sl_limit *limit,
                                    const struct sl_state *state, struct sl_ask now)
{
    const struct sl_algo *algo = shortcut->algo;
    struct apart before, after;
    copy_state(&before, state);
    copy_state(&after, state);
    int64_t span_us = shortcut->span_us(limit);
    int64_t had = left(algo, limit, state, now.now_us);
    algo->overcharge(limit, &after.state, now);
    FITS(algo->name, &after.state);
    /* Within the limit it is a charge, past it nothing is left. */
    SAME(algo->name, left(algo, limit, &after.state, now.now_us),
         had > now.cost ? had - now.cost : 0);
    SAME(algo->name, reset_of(algo, limit, &after.state, now.now_us) <= now.now_us + 4 * span_us,
         true);
    bool left_out = shortcut->leaves && shortcut->leaves(limit, state);
    if (left_out || ask(algo, limit, state, now.now_us, 0).repair)
        return;                         /* what it was worth is another question then */
    for (int64_t i = 0; i <= 24; i++) { /* never less than before */
        int64_t at_us = now.now_us + i * span_us / 8;
        SAME(algo->name,
             left(algo, limit, &after.state, at_us) <= left(algo, limit, &before.state, at_us),
             true);
    }
}

/* Past the limit by any amount, all is back after one span (the counter's previous
 * window: two), if no clock has stepped back. */
static inline void check_debt(const struct shortcut *shortcut, const struct sl_limit *limit,
                              const struct sl_state *state, struct sl_ask now)
{
    const struct sl_algo *algo = shortcut->algo;
    struct apart after;
    bool left_out = shortcut->leaves && shortcut->leaves(limit, state);
    if (left_out || ask(algo, limit, state, now.now_us, 0).repair)
        return; /* which is the next decision's */
    copy_state(&after, state);
    for (int i = 0; i < 5; i++)
        algo->overcharge(limit, &after.state, (struct sl_ask){ now.now_us, UINT32_MAX });
    struct sl_answer one = ask(algo, limit, &after.state, now.now_us, 1);
    SAME(algo->name, one.allowed, false);
    int64_t spans = algo == &sl_sliding_window_counter ? 2 : 1;
    int64_t later_us = now.now_us + spans * shortcut->span_us(limit);
    SAME(algo->name, now.now_us + one.retry_after_us <= later_us, true);
    SAME(algo->name, left(algo, limit, &after.state, later_us), limit->capacity);
}

static inline void walk_shortcuts(const struct shortcut *shortcut, uint64_t *seed)
{
    const struct sl_algo *algo = shortcut->algo;
    uint64_t key = unit_random(seed), ring[SHORTCUT_RING] = { 0 };
    struct sl_state state = { .ring = algo->keeps_ring ? ring : NULL,
                              .ring_len = algo->keeps_ring ? SHORTCUT_RING : 0 };
    int64_t now_us = unit_up_to(seed, INT64_C(1) << unit_up_to(seed, 51)), latest_us = 0;
    for (int i = 0; i < 60; i++) {
        struct sl_limit limit = shortcut->limit(seed, key);
        struct sl_ask now = { now_us, 1 + (uint32_t)unit_up_to(seed, limit.capacity) };
        check_take(shortcut, &limit, &state, now);
        check_overcharge(shortcut, &limit, &state, now);
        if (now_us >= latest_us && limit.capacity > 0)
            check_debt(shortcut, &limit, &state, now);
        latest_us = now_us > latest_us ? now_us : latest_us;
        if (unit_up_to(seed, 19) == 0)
            algo->overcharge(&limit, &state, now);
        else
            decide_and_charge(algo, &limit, &state, now_us, now.cost);
        int64_t step_us = unit_up_to(seed, 2 * shortcut->span_us(&limit)) >> unit_up_to(seed, 8);
        now_us += unit_up_to(seed, 9) ? step_us : -2 * step_us;
        now_us = now_us < 0 ? 0 : now_us > SL_TIME_MAX_US ? SL_TIME_MAX_US : now_us;
    }
}

static inline void check_shortcuts(const struct shortcut *shortcut)
{
    uint64_t seed = 9;
    for (int round = 0; round < 500; round++)
        walk_shortcuts(shortcut, &seed);
}

#endif
