/* Sliding window counter: the current window's count, and the previous one's
 * weighted by how much of it a sliding window would still cover.
 *
 *        previous: p        current: n
 *   |------------------|-----------|------|---->  time
 *                      |<--- e --->|
 *                                 now
 *
 *   estimate = ⌊p·(W − e)/W⌋ + n
 *
 * Two counters where the exact log keeps every admission: 84 bits per key
 * whatever the limit. The estimate assumes that the previous window's traffic
 * was even; `docs/algorithms.md` shows what that costs on real traffic.
 *
 * The state is the end of its influence (two windows from the start of the
 * current one), p and n. The end is stored in units no longer than the window:
 * code that does not know the rule can date the slot, and code that knows W gets
 * the window back exactly. Shorter windows need finer units, which leaves fewer
 * bits for the counts:
 *
 *   window        unit     end       p and n, each 0 to
 *   ≥ 60 s        2^25 µs  27 bits   2^28   in 57 bits
 *   ≥ 1 s         2^19 µs  33 bits   2^25   in 51 bits
 *   ≥ 1 ms        2^9 µs   43 bits   2^20   in 41 bits
 *
 * p and n share their bits as p·(max + 1) + n: (2^28 + 1)² is below 2^57, while
 * two bit fields that can hold 2^28 itself would need 58.
 *
 * Zero is an influence that ended at the epoch: nothing is counted. */
#include "algo/state.h"
#include "base/text/number.h"

struct layout {
    int64_t window_min_us;
    uint32_t unit_bits;  /* the end is stored in units of 2^unit_bits µs */
    uint32_t count_bits; /* p and n go to 2^count_bits, inclusive */
};

static const struct layout layouts[] = {
    { 60000000, 25, 28 },
    { 1000000, 19, 25 },
    { SL_WINDOW_MIN_US, 9, 20 },
};

static const struct layout *layout_of(int64_t window_us)
{
    const struct layout *layout = layouts;
    while (window_us < layout->window_min_us)
        layout++;
    return layout;
}

/* The two windows as a decision at `now_us` sees them. */
struct windows {
    int64_t start_us; /* of the current one */
    int64_t previous;
    int64_t current;
    bool repaired;
};

/* pair bits = 84 − end bits = 2·count_bits + 1 */
static uint32_t pair_bits(const struct layout *layout)
{
    return 2 * layout->count_bits + 1;
}

/* Returns p of a pair. The divisors are constants because the compiler turns a
 * division by a constant into a multiplication. */
static uint64_t previous_of(const struct layout *layout, uint64_t pair)
{
    switch (layout->count_bits) {
    case 28:
        return pair / ((UINT64_C(1) << 28) + 1);
    case 25:
        return pair / ((UINT64_C(1) << 25) + 1);
    default:
        return pair / ((UINT64_C(1) << 20) + 1);
    }
}

static struct windows unpack_windows(const struct sl_limit *limit, const struct sl_state *state)
{
    const struct layout *layout = layout_of(limit->window_us);
    sl_u128 bits = sl_state_bits(state);
    uint64_t radix = (UINT64_C(1) << layout->count_bits) + 1;
    uint64_t pair = (uint64_t)bits & ((UINT64_C(1) << pair_bits(layout)) - 1);
    /* The end was rounded up to a unit, and a unit is at most a window: the
     * last window edge at or before the rounded end is the end itself. */
    int64_t end_us = (int64_t)(bits >> pair_bits(layout)) << layout->unit_bits;
    int64_t edge_us = sl_aligned_start_us(end_us, limit->window_us);
    uint64_t previous = previous_of(layout, pair);
    return (struct windows){ edge_us - 2 * limit->window_us, (int64_t)previous,
                             (int64_t)(pair - previous * radix), false };
}

static void pack_windows(const struct sl_limit *limit, struct sl_state *state,
                         struct windows windows)
{
    const struct layout *layout = layout_of(limit->window_us);
    uint64_t radix = (UINT64_C(1) << layout->count_bits) + 1;
    uint64_t pair = (uint64_t)windows.previous * radix + (uint64_t)windows.current;
    uint64_t end_us = (uint64_t)(windows.start_us + 2 * limit->window_us);
    uint64_t unit = UINT64_C(1) << layout->unit_bits;
    uint64_t end = (end_us + unit - 1) >> layout->unit_bits;
    sl_state_put(state, (sl_u128)end << pair_bits(layout) | pair);
}

static struct windows windows_at(const struct sl_limit *limit, const struct sl_state *state,
                                 int64_t now_us)
{
    struct windows stored = unpack_windows(limit, state);
    bool counts = stored.previous != 0 || stored.current != 0;
    if (counts && stored.start_us <= now_us && now_us < stored.start_us + limit->window_us)
        return stored; /* the common case, without a division */
    int64_t start_us = sl_aligned_start_us(now_us, limit->window_us);
    if (!counts)
        return (struct windows){ .start_us = start_us };
    if (stored.start_us >= start_us) {
        if (stored.start_us - now_us <= 2 * limit->window_us)
            return stored; /* the clock stepped back: decide as of its start */
        return (struct windows){ start_us, limit->capacity, limit->capacity, true };
    }
    bool adjacent = start_us - stored.start_us == limit->window_us;
    return (struct windows){ start_us, adjacent ? stored.current : 0, 0, false };
}

static int64_t estimate_at(const struct sl_limit *limit, const struct windows *windows,
                           int64_t now_us)
{
    if (windows->previous == 0)
        return windows->current;
    int64_t elapsed_us = sl_max_i64(now_us - windows->start_us, 0);
    return windows->current +
           sl_mul_div_floor(windows->previous, limit->window_us - elapsed_us, limit->window_us);
}

/* Returns how far into a window the weight of `previous` first falls to `most`:
 * the least e with ⌊previous·(W − e)/W⌋ ≤ most. */
static int64_t elapsed_until_us(const struct sl_limit *limit, int64_t previous, int64_t most)
{
    int64_t window_us = limit->window_us;
    return window_us - (int64_t)sl_mul_div_ceil(most + 1, window_us, previous) + 1;
}

static int64_t passes_at_us(const struct sl_limit *limit, const struct windows *windows,
                            uint32_t cost)
{
    int64_t room = limit->capacity - windows->current - cost;
    if (room >= 0)
        return windows->start_us + elapsed_until_us(limit, windows->previous, room);
    return windows->start_us + limit->window_us +
           elapsed_until_us(limit, windows->current, limit->capacity - cost);
}

static struct sl_answer answer_in(const struct sl_limit *limit, const struct windows *windows,
                                  int64_t estimate, struct sl_ask ask)
{
    struct sl_answer answer = { .allowed = true,
                                .repair = windows->repaired,
                                .as_of_us = sl_max_i64(ask.now_us, windows->start_us) };
    if (ask.cost == 0 || estimate + ask.cost <= limit->capacity)
        return answer;
    answer.allowed = false;
    answer.retry_after_us =
        ask.cost > limit->capacity ? SL_NEVER : passes_at_us(limit, windows, ask.cost) - ask.now_us;
    return answer;
}

static struct sl_answer decide_counter(const struct sl_limit *limit, const struct sl_state *state,
                                       struct sl_ask ask)
{
    SL_CHECK(limit->window_us >= SL_WINDOW_MIN_US); /* also ends the loop of layout_of */
    struct windows windows = windows_at(limit, state, ask.now_us);
    struct sl_answer answer =
        answer_in(limit, &windows, estimate_at(limit, &windows, ask.now_us), ask);
    SL_CHECK(answer.allowed || sl_wait_is_legal(answer.retry_after_us));
    return answer;
}

static void charge_counter(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    struct windows windows = windows_at(limit, state, ask.now_us);
    windows.current += ask.cost;
    pack_windows(limit, state, windows);
    SL_CHECK(sl_state_fits(state));
}

static int64_t reset_at_us(const struct sl_limit *limit, const struct windows *windows)
{
    if (windows->current)
        return windows->start_us + limit->window_us + elapsed_until_us(limit, windows->current, 0);
    return windows->start_us + elapsed_until_us(limit, windows->previous, 0);
}

static struct sl_figures figures_in(const struct sl_limit *limit, const struct windows *windows,
                                    int64_t estimate, int64_t now_us)
{
    return (struct sl_figures){
        .remaining = sl_max_i64(limit->capacity - estimate, 0),
        .reset_at_us = estimate ? reset_at_us(limit, windows) : now_us,
    };
}

static struct sl_figures counter_figures(const struct sl_limit *limit, const struct sl_state *state,
                                         int64_t now_us)
{
    struct windows windows = windows_at(limit, state, now_us);
    int64_t estimate = estimate_at(limit, &windows, now_us);
    struct sl_figures figures = figures_in(limit, &windows, estimate, now_us);
    SL_CHECK(estimate >= 0 && figures.reset_at_us >= now_us);
    return figures;
}

static bool take_from_counter(const struct sl_limit *limit, struct sl_state *state,
                              struct sl_ask ask, struct sl_taken *out)
{
    struct windows windows = windows_at(limit, state, ask.now_us);
    if (windows.repaired)
        return false;
    int64_t estimate = estimate_at(limit, &windows, ask.now_us);
    out->answer = answer_in(limit, &windows, estimate, ask);
    if (out->answer.allowed) {
        windows.current += ask.cost;
        estimate += ask.cost;
        SL_CHECK(estimate <= limit->capacity);
        pack_windows(limit, state, windows);
    }
    out->figures = figures_in(limit, &windows, estimate, ask.now_us);
    return true;
}

static bool refund_counter(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                           int64_t charged_at_us)
{
    SL_CHECK(sl_window_is_legal(limit));
    struct windows windows = windows_at(limit, state, ask.now_us);
    int64_t since_us = windows.start_us - sl_aligned_start_us(charged_at_us, limit->window_us);
    int64_t *count = since_us == 0                  ? &windows.current
                     : since_us == limit->window_us ? &windows.previous
                                                    : NULL;
    if (!count || *count == 0 || windows.repaired || ask.cost == 0)
        return false;
    uint32_t back = (uint32_t)sl_min_i64(ask.cost, *count);
    SL_CHECK(back > 0 && back <= *count);
    *count -= back;
    pack_windows(limit, state, windows);
    SL_CHECK(sl_state_fits(state));
    return true;
}

static int64_t counter_capacity_max(int64_t window_us)
{
    SL_CHECK(window_us >= SL_WINDOW_MIN_US);
    return INT64_C(1) << layout_of(window_us)->count_bits;
}

/* Stops at twice the limit, whose weight falls to the limit within the next window. */
static void overcharge_counter(const struct sl_limit *limit, struct sl_state *state,
                               struct sl_ask ask)
{
    SL_CHECK(sl_window_is_legal(limit));
    struct windows windows = windows_at(limit, state, ask.now_us);
    int64_t most = sl_min_i64(2 * limit->capacity, counter_capacity_max(limit->window_us));
    windows.current = sl_max_i64(windows.current, sl_min_i64(windows.current + ask.cost, most));
    if (!windows.repaired)
        pack_windows(limit, state, windows);
    SL_CHECK(sl_state_fits(state));
}

/* told: the start of the current window, its previous count, its current count */
static void load_counter(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out)
{
    SL_CHECK(sl_window_is_legal(limit));
    int64_t most = counter_capacity_max(limit->window_us);
    pack_windows(
        limit, out,
        (struct windows){
            .start_us = sl_aligned_start_us(sl_cut(told[0], SL_TIME_MAX_US), limit->window_us),
            .previous = sl_cut(told[1], most),
            .current = sl_cut(told[2], most),
        });
    SL_CHECK(sl_state_fits(out));
}

const struct sl_algo sl_sliding_window_counter = {
    .name = "sliding_window_counter",
    .number = 3,
    .dating = SL_DATED_FROM_1M,
    .leases = true,
    .capacity_max = counter_capacity_max,
    .too_large = "the counter holds at most 1048576 in a window below 1s, 33554432 below 1m and "
                 "268435456 from 1m on; use a lower capacity, a longer window or `fixed_window`",
    .decide = decide_counter,
    .charge = charge_counter,
    .figures = counter_figures,
    .take = take_from_counter,
    .refund = refund_counter,
    .overcharge = overcharge_counter,
    .load = load_counter,
};
