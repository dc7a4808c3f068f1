/* Fixed window: a count that starts again at 0 when the window ends.
 *
 *      start           now        until
 *   -----|--------------|-----------|------>  time
 *        |<-------- window -------->|
 *
 * Kept as the window's end and the count. The start is the end minus the
 * rule's window: a change of window starts its keys afresh, so the two always
 * belong together.
 *
 * Windows are aligned to the epoch, so the windows of all keys end at the same
 * instant; with `align: first_request` each key's window starts at its first
 * charge. Either way up to twice the limit can pass around the boundary of two
 * windows. That is the price of one counter; the sliding algorithms do not pay
 * it.
 *
 * Zero is a window that ended at the epoch: nothing is counted. */
#include "algo/state.h"

/* The window that a decision at `now_us` belongs to. */
struct window {
    int64_t until_us;
    int64_t count;
    bool repaired;
};

static int64_t window_end_us(const struct sl_limit *limit, int64_t start_us)
{
    if (!limit->first_request)
        start_us = sl_aligned_start_us(start_us, limit->window_us);
    return start_us + limit->window_us;
}

static struct window window_at(const struct sl_limit *limit, const struct sl_state *state,
                               int64_t now_us)
{
    struct window stored = { sl_state_until_us(state), sl_state_count(state), false };
    if (stored.until_us <= now_us || stored.count == 0)
        return (struct window){ window_end_us(limit, now_us), 0, false };
    int64_t ahead_us = stored.until_us - limit->window_us - now_us;
    if (ahead_us <= limit->window_us)
        return stored; /* it has begun, or the clock stepped back: decide as of its start */
    return (struct window){ window_end_us(limit, now_us), limit->capacity, true };
}

static struct sl_answer answer_in(const struct sl_limit *limit, const struct window *window,
                                  struct sl_ask ask)
{
    int64_t start_us = window->until_us - limit->window_us;
    struct sl_answer answer = { .allowed = true,
                                .repair = window->repaired,
                                .as_of_us = sl_max_i64(ask.now_us, start_us) };
    if (ask.cost == 0 || window->count + ask.cost <= limit->capacity)
        return answer;
    answer.allowed = false;
    answer.retry_after_us = ask.cost > limit->capacity ? SL_NEVER : window->until_us - ask.now_us;
    SL_CHECK(sl_wait_is_legal(answer.retry_after_us));
    return answer;
}

static struct sl_answer decide_fixed_window(const struct sl_limit *limit,
                                            const struct sl_state *state, struct sl_ask ask)
{
    SL_CHECK(limit->window_us >= SL_WINDOW_MIN_US);
    struct window window = window_at(limit, state, ask.now_us);
    return answer_in(limit, &window, ask);
}

static void charge_fixed_window(const struct sl_limit *limit, struct sl_state *state,
                                struct sl_ask ask)
{
    struct window window = window_at(limit, state, ask.now_us);
    sl_state_put_dated(state, window.until_us, (uint32_t)window.count + ask.cost);
    SL_CHECK(sl_state_fits(state));
}

static struct sl_figures figures_in(const struct sl_limit *limit, const struct window *window,
                                    int64_t now_us)
{
    return (struct sl_figures){
        .remaining = sl_max_i64(limit->capacity - window->count, 0),
        .reset_at_us = window->count ? window->until_us : now_us,
    };
}

static struct sl_figures fixed_window_figures(const struct sl_limit *limit,
                                              const struct sl_state *state, int64_t now_us)
{
    struct window window = window_at(limit, state, now_us);
    SL_CHECK(window.count >= 0 && window.until_us > now_us);
    return figures_in(limit, &window, now_us);
}

static bool take_from_fixed_window(const struct sl_limit *limit, struct sl_state *state,
                                   struct sl_ask ask, struct sl_taken *out)
{
    struct window window = window_at(limit, state, ask.now_us);
    if (window.repaired)
        return false;
    out->answer = answer_in(limit, &window, ask);
    if (out->answer.allowed) {
        window.count += ask.cost;
        SL_CHECK(window.count <= limit->capacity);
        sl_state_put_dated(state, window.until_us, (uint32_t)window.count);
    }
    out->figures = figures_in(limit, &window, ask.now_us);
    return true;
}

static bool refund_fixed_window(const struct sl_limit *limit, struct sl_state *state,
                                struct sl_ask ask, int64_t charged_at_us)
{
    SL_CHECK(sl_window_is_legal(limit));
    struct window window = window_at(limit, state, ask.now_us);
    bool same =
        charged_at_us < window.until_us && charged_at_us >= window.until_us - limit->window_us;
    if (!same || window.count == 0 || window.repaired || ask.cost == 0)
        return false;
    uint32_t back = ask.cost < window.count ? ask.cost : (uint32_t)window.count;
    SL_CHECK(back > 0 && back <= window.count);
    sl_state_put_dated(state, window.until_us, (uint32_t)window.count - back);
    return true;
}

static void overcharge_fixed_window(const struct sl_limit *limit, struct sl_state *state,
                                    struct sl_ask ask)
{
    SL_CHECK(sl_window_is_legal(limit));
    struct window window = window_at(limit, state, ask.now_us);
    int64_t count = sl_min_i64(window.count + ask.cost, UINT32_MAX);
    SL_CHECK(count >= window.count);
    if (!window.repaired)
        sl_state_put_dated(state, window.until_us, (uint32_t)count);
}

/* told: the window's start, its count */
static void load_fixed_window(const struct sl_limit *limit, int64_t told[SL_TOLD],
                              struct sl_state *out)
{
    SL_CHECK(sl_window_is_legal(limit));
    int64_t start_us = sl_cut(told[0], SL_UNTIL_MAX_US - limit->window_us);
    sl_state_put_dated(out, start_us + limit->window_us, (uint32_t)sl_cut(told[1], UINT32_MAX));
    SL_CHECK(sl_state_fits(out));
}

static int64_t fixed_window_capacity_max(int64_t window_us)
{
    (void)window_us;
    return UINT32_MAX;
}

const struct sl_algo sl_fixed_window = {
    .name = "fixed_window",
    .number = 1,
    .dating = SL_DATED_US,
    .leases = true,
    .takes_align = true,
    .capacity_max = fixed_window_capacity_max,
    .too_large = "a fixed window counts to 4294967295 at the most; use a lower capacity",
    .decide = decide_fixed_window,
    .charge = charge_fixed_window,
    .figures = fixed_window_figures,
    .take = take_from_fixed_window,
    .refund = refund_fixed_window,
    .overcharge = overcharge_fixed_window,
    .load = load_fixed_window,
};
