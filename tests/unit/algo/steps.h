/* An algorithm driven through a table: one row is a request, what becomes of
 * it, and the figures after it. Besides the row's own numbers three things are
 * checked each time:
 *
 *   the state fits into 84 bits;
 *   a denial's wait is exact: denied 1 µs before its end, allowed at its end;
 *   the reset is exact: all is back at reset_at_us, and not 1 µs before. */
#ifndef TEST_ALGO_STEPS_H
#define TEST_ALGO_STEPS_H

#include "algo/algo.h"
#include "unit/base/unit.h"

struct step {
    int64_t now_us;
    uint32_t cost;
    int64_t retry_us; /* 0: allowed */
    int64_t remaining;
    int64_t reset_at_us;
    int64_t delay_us;
    bool repair; /* the answer asks to save the state */
};

#define FITS(row, state) SAME(row, (state)->hi >> 20, 0)

static inline struct sl_answer ask(const struct sl_algo *algo, const struct sl_limit *limit,
                                   const struct sl_state *state, int64_t now_us, uint32_t cost)
{
    return algo->decide(limit, state, (struct sl_ask){ now_us, cost });
}

static inline void take(const struct sl_algo *algo, const struct sl_limit *limit,
                        struct sl_state *state, int64_t now_us, uint32_t cost)
{
    algo->charge(limit, state, (struct sl_ask){ now_us, cost });
}

static inline bool give_back(const struct sl_algo *algo, const struct sl_limit *limit,
                             struct sl_state *state, int64_t now_us, uint32_t cost,
                             int64_t charged_at_us)
{
    return algo->refund(limit, state, (struct sl_ask){ now_us, cost }, charged_at_us);
}

static inline int64_t left(const struct sl_algo *algo, const struct sl_limit *limit,
                           const struct sl_state *state, int64_t now_us)
{
    return algo->figures(limit, state, now_us).remaining;
}

static inline int64_t reset_of(const struct sl_algo *algo, const struct sl_limit *limit,
                               const struct sl_state *state, int64_t now_us)
{
    return algo->figures(limit, state, now_us).reset_at_us;
}

/* What a store does with one claim. */
static inline struct sl_answer decide_and_charge(const struct sl_algo *algo,
                                                 const struct sl_limit *limit,
                                                 struct sl_state *state, int64_t now_us,
                                                 uint32_t cost)
{
    struct sl_answer answer = ask(algo, limit, state, now_us, cost);
    if (answer.allowed && cost > 0)
        take(algo, limit, state, now_us, cost);
    else if (answer.repair)
        take(algo, limit, state, now_us, 0);
    return answer;
}

static inline void check_wait(const char *row, const struct sl_algo *algo,
                              const struct sl_limit *limit, const struct sl_state *state,
                              const struct step *step)
{
    if (step->retry_us <= 0)
        return;
    int64_t passes_us = step->now_us + step->retry_us;
    SAME(row, ask(algo, limit, state, passes_us - 1, step->cost).allowed, false);
    SAME(row, ask(algo, limit, state, passes_us, step->cost).allowed, true);
}

static inline void check_reset(const char *row, const struct sl_algo *algo,
                               const struct sl_limit *limit, const struct sl_state *state,
                               const struct step *step)
{
    int64_t reset_us = step->reset_at_us;
    SAME(row, left(algo, limit, state, reset_us), limit->capacity);
    if (reset_us > step->now_us)
        SAME(row, left(algo, limit, state, reset_us - 1) < limit->capacity, true);
}

static inline void run_steps(const struct sl_algo *algo, const struct sl_limit *limit,
                             struct sl_state *state, const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i];
        char row[96];
        snprintf(row, sizeof row, "%s row %zu, at %" PRId64 " cost %" PRIu32, algo->name, i,
                 step->now_us, step->cost);
        struct sl_answer answer = decide_and_charge(algo, limit, state, step->now_us, step->cost);
        SAME(row, answer.allowed, step->retry_us == 0);
        SAME(row, answer.retry_after_us, step->retry_us);
        SAME(row, answer.delay_us, step->delay_us);
        SAME(row, answer.repair, step->repair);
        SAME(row, left(algo, limit, state, step->now_us), step->remaining);
        SAME(row, reset_of(algo, limit, state, step->now_us), step->reset_at_us);
        FITS(row, state);
        check_wait(row, algo, limit, state, step);
        check_reset(row, algo, limit, state, step);
    }
}

#define RUN_STEPS(algo, limit, state, steps) run_steps(algo, limit, state, steps, COUNT(steps))

#endif
