/* How the 84 bits are cut: the instant at which a state is as good as fresh
 * on top, what is counted below.
 *
 *   83                    32 31            0
 *   [ until, µs: 52 bits    | count: 32 bits ]      window and log
 *   [ until, coarse | p and n in mixed radix ]      counter
 *   [ full_at, ns: 62 bits       | token: 22 ]      bucket
 */
#ifndef SL_ALGO_STATE_H
#define SL_ALGO_STATE_H

#include "algo/algo.h"
#include "base/number.h"

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

static inline int64_t sl_aligned_start_us(int64_t now_us, int64_t window_us)
{
    return now_us - now_us % window_us;
}

#endif
