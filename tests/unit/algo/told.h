/* What a twin in Lua would have told of a state: the numbers of its hash or sorted set, taken out
 * of the 84 bits as each algorithm's file says that they are cut. */
#ifndef TEST_ALGO_TOLD_H
#define TEST_ALGO_TOLD_H

#include "algo/bucket.h"
#include "algo/guard.h"
#include "algo/state.h"
#include "unit/base/unit.h"

/* What the twin of a bucket also keeps: when and at which rate it was written. */
struct written {
    int64_t at_us;
    int64_t token_ns;
};

static inline void tell_fixed_window(const struct sl_limit *limit, const struct sl_state *state,
                                     int64_t told[SL_TOLD])
{
    told[0] = sl_state_count(state) ? sl_state_until_us(state) - limit->window_us : 0;
    told[1] = sl_state_count(state);
}

static inline void tell_counter(const struct sl_limit *limit, const struct sl_state *state,
                                int64_t told[SL_TOLD])
{
    int64_t window_us = limit->window_us;
    uint32_t unit_bits = window_us >= 60000000 ? 25 : window_us >= 1000000 ? 19 : 9;
    uint32_t count_bits = window_us >= 60000000 ? 28 : window_us >= 1000000 ? 25 : 20;
    uint32_t pair_bits = 2 * count_bits + 1;
    uint64_t radix = (UINT64_C(1) << count_bits) + 1;
    uint64_t pair = (uint64_t)sl_state_bits(state) & ((UINT64_C(1) << pair_bits) - 1);
    int64_t end_us = (int64_t)(sl_state_bits(state) >> pair_bits) << unit_bits;
    told[0] = end_us ? sl_aligned_start_us(end_us, window_us) - 2 * window_us : -1;
    told[1] = (int64_t)(pair / radix);
    told[2] = (int64_t)(pair % radix);
}

/* The newest, how many are live, and the entry that a denied request waits for. */
static inline void tell_log(const struct sl_limit *limit, const struct sl_state *state,
                            struct sl_ask ask, int64_t told[SL_TOLD])
{
    const struct sl_algo *algo = &sl_sliding_window_log;
    struct sl_limit all = *limit;
    struct sl_answer answer = algo->decide(limit, state, ask);
    all.capacity = state->ring_len;
    told[0] = told[2] = -1;
    if (sl_state_until_us(state))
        told[0] = sl_state_until_us(state) - limit->window_us;
    told[1] = answer.repair ? limit->capacity
                            : all.capacity - algo->figures(&all, state, ask.now_us).remaining;
    if (!answer.allowed && answer.retry_after_us > 0 && !answer.repair)
        told[2] = ask.now_us + answer.retry_after_us - limit->window_us;
}

static inline void tell_bucket(const struct sl_state *state, struct written written,
                               int64_t told[SL_TOLD])
{
    int64_t full_at_ns = (int64_t)(sl_state_bits(state) >> 22);
    told[0] = full_at_ns - written.at_us * 1000;
    told[1] = written.at_us;
    told[2] = written.token_ns;
}

static inline void tell(const struct sl_algo *algo, const struct sl_limit *limit,
                        const struct sl_state *state, struct sl_ask ask, struct written written,
                        int64_t told[SL_TOLD])
{
    told[0] = told[1] = told[2] = 0;
    if (algo->is_bucket)
        tell_bucket(state, written, told);
    else if (algo->keeps_ring)
        tell_log(limit, state, ask, told);
    else if (algo == &sl_fixed_window)
        tell_fixed_window(limit, state, told);
    else
        tell_counter(limit, state, told);
}

/* Window's start, count, ends of warning and block. */
static inline void tell_guard(const struct sl_guard *guard, const struct sl_state *state,
                              int64_t told[SL_TOLD_GUARD])
{
    int64_t until_us = sl_state_until_us(state), radix = (int64_t)guard->threshold + 2;
    int64_t rest = sl_state_count(state) >> 2;
    int64_t warned_us = sl_max_i64(until_us - guard->penalty_us, 0);
    memset(told, 0, SL_TOLD_GUARD * sizeof *told);
    switch (state->lo & 3) {
    case 0:
        told[0] = until_us ? until_us - guard->window_us : 0;
        told[1] = rest;
        break;
    case 1:
        told[0] =
            sl_aligned_start_us(warned_us, guard->window_us) + rest / radix * guard->window_us;
        told[1] = rest % radix;
        told[2] = until_us;
        break;
    default:
        told[3] = until_us;
    }
}

/* Numbers that no Lua twin would return: each of three or four may be any of these. */
static const int64_t hostile[] = { INT64_MIN,
                                   INT64_MIN + 1,
                                   -SL_TIME_MAX_US,
                                   -1,
                                   0,
                                   1,
                                   1000,
                                   UINT32_MAX,
                                   INT64_C(1) << 32,
                                   INT64_C(1700000000000000),
                                   INT64_C(1700000000000000) + 5000000,
                                   SL_TIME_MAX_US,
                                   SL_SPAN_MAX_NS,
                                   (INT64_C(1) << 52) - 1,
                                   INT64_C(1) << 53,
                                   INT64_C(1) << 62,
                                   INT64_MAX - 1,
                                   INT64_MAX };

#endif
