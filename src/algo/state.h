/* The layout of a state's 84 bits: the instant at which it is as good as fresh
 * on top, the counts below.
 *
 *   83                    32 31            0
 *   [ until, µs: 52 bits    | count: 32 bits ]      window
 *   [ until, µs: 52 bits | count and pending ]      log, in mixed radix
 *   [ until, coarse | p and n                ]      counter, in mixed radix
 *   [ full_at, ns: 62 bits       | token: 22 ]      bucket
 */
#ifndef SL_ALGO_STATE_H
#define SL_ALGO_STATE_H

#include "algo/algo.h"
#include "base/check.h"
#include "base/text/number.h"

static inline sl_u128 sl_state_bits(const struct sl_state *state)
{
    return (sl_u128)state->hi << 64 | state->lo;
}

static inline void sl_state_put(struct sl_state *state, sl_u128 bits)
{
    state->lo = (uint64_t)bits;
    state->hi = (uint64_t)(bits >> 64);
}

/* until_us below 2^52, count below 2^32 */
static inline void sl_state_put_dated(struct sl_state *state, int64_t until_us, uint32_t count)
{
    sl_state_put(state, (sl_u128)(uint64_t)until_us << 32 | count);
}

static inline int64_t sl_state_until_us(const struct sl_state *state)
{
    return (int64_t)(sl_state_bits(state) >> 32);
}

static inline uint32_t sl_state_count(const struct sl_state *state)
{
    return (uint32_t)state->lo;
}

/* Clamps a number read from Redis to 0…most, which a state can hold. */
static inline int64_t sl_cut(int64_t number, int64_t most)
{
    return number < 0 ? 0 : number < most ? number : most;
}

#define SL_UNTIL_MAX_US ((INT64_C(1) << 52) - 1)

/* Returns how the states of this limit are dated. */
static inline enum sl_dating sl_dating_of(const struct sl_algo *algo, const struct sl_limit *limit)
{
    if (algo->dating != SL_DATED_FROM_1M || limit->window_us >= 60000000)
        return algo->dating;
    return limit->window_us >= 1000000 ? SL_DATED_FROM_1S : SL_DATED_FROM_1MS;
}

/* Returns when a state of 84 bits is as good as fresh, whatever its limit: rounded up. */
static inline int64_t sl_fresh_at_us(enum sl_dating dating, uint64_t lo, uint64_t hi)
{
    sl_u128 bits = (sl_u128)hi << 64 | lo;
    switch (dating) {
    case SL_DATED_FROM_1M:
        return (int64_t)(bits >> 57) << 25;
    case SL_DATED_FROM_1S:
        return (int64_t)(bits >> 51) << 19;
    case SL_DATED_FROM_1MS:
        return (int64_t)(bits >> 41) << 9;
    case SL_DATED_NS:
        return ((int64_t)(bits >> 22) + 999) / 1000;
    default:
        return (int64_t)(bits >> 32);
    }
}

/* The high word of a state has 20 bits: more would change the key of its slot. */
static inline bool sl_state_fits(const struct sl_state *state)
{
    return state->hi >> 20 == 0;
}

/* A denial names a wait. */
static inline bool sl_wait_is_legal(int64_t retry_after_us)
{
    return retry_after_us > 0 || retry_after_us == SL_NEVER;
}

static inline bool sl_window_is_legal(const struct sl_limit *limit)
{
    return limit->capacity >= 0 && limit->window_us >= SL_WINDOW_MIN_US;
}

static inline int64_t sl_aligned_start_us(int64_t now_us, int64_t window_us)
{
    return now_us - now_us % window_us;
}

#endif
