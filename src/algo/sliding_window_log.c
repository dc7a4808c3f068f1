/* Sliding window log: every admission's time, hence exact in any window.
 *
 * The times stand in a ring. Counting the live ones would be a sweep; it is
 * not needed: the newest entries are the live ones, so there is room for c
 * more under a limit of L just if the (L − c + 1)-th newest has left.
 *
 *        5th  4th  3rd  2nd  newest
 *   ------x----x-|---x---x-----x---|--->  time
 *                |<--- window ---->|
 *                                 now
 *
 *   L = 4, c = 1: the 4th newest has left, it passes. c = 2 waits until the
 *   3rd newest leaves.
 *
 * Kept as the newest time plus the window, and the ring's head; an entry is
 * its time plus one, so that zero is no entry. How many are live, which only
 * `figures` needs, is a binary search: times in the ring never decrease,
 * because a decision under a clock that stepped back is made, and stamped, as
 * of the newest entry.
 *
 * Zero: no entry yet; the ring may then be absent.
 */
#include "algo/state.h"
#include "base/check.h"
#include "base/number.h"

/* The log as a decision at a given time sees it. */
struct view {
    int64_t as_of_us;
    bool repaired; /* every one of `capacity` entries counts, at as_of_us */
};

static struct view view_at(const struct sl_limit *limit, const struct sl_state *state,
                           int64_t now_us)
{
    int64_t newest_us = sl_state_until_us(state) - limit->window_us;
    if (newest_us - now_us > limit->window_us)
        return (struct view){ now_us, true };
    return (struct view){ sl_max_i64(now_us, newest_us), false };
}

static uint64_t *nth_newest(const struct sl_state *state, int64_t n)
{
    int64_t at = (int64_t)sl_state_count(state) - n;
    return &state->ring[at >= 0 ? at : at + state->ring_len];
}

/* When the n-th newest entry leaves; 0 if there is no such entry. */
static int64_t leaves_at_us(const struct sl_limit *limit, const struct sl_state *state, int64_t n)
{
    if (n > state->ring_len)
        return 0;
    uint64_t entry = *nth_newest(state, n);
    return entry ? (int64_t)entry - 1 + limit->window_us : 0;
}

/* When the request passes if nobody else asks; not after as_of_us: it does now. */
static int64_t passes_at_us(const struct sl_limit *limit, const struct sl_state *state,
                            const struct view *view, uint32_t cost)
{
    if (view->repaired)
        return view->as_of_us + limit->window_us;
    return leaves_at_us(limit, state, limit->capacity - cost + 1);
}

static struct sl_answer decide(const struct sl_limit *limit, const struct sl_state *state,
                               struct sl_ask ask)
{
    struct view view = view_at(limit, state, ask.now_us);
    struct sl_answer answer = { .allowed = true, .repair = view.repaired };
    if (ask.cost == 0)
        return answer;
    if (ask.cost > limit->capacity) {
        answer.allowed = false;
        answer.retry_after_us = SL_NEVER;
        return answer;
    }
    int64_t passes_us = passes_at_us(limit, state, &view, ask.cost);
    if (passes_us > view.as_of_us) {
        answer.allowed = false;
        answer.retry_after_us = passes_us - ask.now_us;
    }
    return answer;
}

static void push(struct sl_state *state, int64_t at_us, int64_t count, int64_t window_us)
{
    uint64_t head = sl_state_count(state);
    for (int64_t i = 0; i < count; i++) {
        state->ring[head] = (uint64_t)at_us + 1;
        head = head + 1 == state->ring_len ? 0 : head + 1;
    }
    sl_state_put_dated(state, at_us + window_us, (uint32_t)head);
}

static void charge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    SL_CHECK(state->ring_len >= limit->capacity && state->ring_len > 0);
    struct view view = view_at(limit, state, ask.now_us);
    if (view.repaired) {
        for (uint32_t i = 0; i < state->ring_len; i++)
            state->ring[i] = 0;
        sl_state_put(state, 0);
        if (limit->capacity)
            push(state, view.as_of_us, limit->capacity, limit->window_us);
    }
    if (ask.cost)
        push(state, view.as_of_us, ask.cost, limit->window_us);
}

/* How many of the newest entries leave after as_of_us. */
static int64_t live_count(const struct sl_limit *limit, const struct sl_state *state,
                          int64_t as_of_us)
{
    int64_t live = 0;
    int64_t gone = (int64_t)state->ring_len + 1;
    while (gone - live > 1) {
        int64_t middle = live + (gone - live) / 2;
        if (leaves_at_us(limit, state, middle) > as_of_us)
            live = middle;
        else
            gone = middle;
    }
    return live;
}

static struct sl_figures figures(const struct sl_limit *limit, const struct sl_state *state,
                                 int64_t now_us)
{
    struct view view = view_at(limit, state, now_us);
    if (view.repaired)
        return (struct sl_figures){ 0, limit->capacity ? now_us + limit->window_us : now_us };
    int64_t live = live_count(limit, state, view.as_of_us);
    return (struct sl_figures){
        .remaining = sl_max_i64(limit->capacity - live, 0),
        .reset_at_us = live ? sl_state_until_us(state) : now_us,
    };
}

/* Entries are taken out and the newer ones move up: rare enough to be O(L). */
static bool refund(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                   int64_t charged_at_us)
{
    struct view view = view_at(limit, state, ask.now_us);
    if (view.repaired || charged_at_us <= view.as_of_us - limit->window_us)
        return false;
    int64_t live = live_count(limit, state, view.as_of_us);
    int64_t kept = 0;
    uint32_t back = 0;
    for (int64_t n = live; n >= 1; n--) { /* oldest first; the kept ones close ranks */
        uint64_t entry = *nth_newest(state, n);
        if (back < ask.cost && entry == (uint64_t)charged_at_us + 1)
            back++;
        else
            *nth_newest(state, live - kept++) = entry;
    }
    for (uint32_t i = 1; i <= back; i++)
        *nth_newest(state, i) = 0;
    if (back == 0)
        return false;
    uint64_t head = (sl_state_count(state) + (uint64_t)state->ring_len - back) % state->ring_len;
    int64_t newest_us = leaves_at_us(limit, state, (int64_t)back + 1);
    sl_state_put_dated(state, newest_us, (uint32_t)head);
    return true;
}

static void move_ring(struct sl_state *state, uint64_t *ring, uint32_t ring_len)
{
    SL_CHECK(ring_len > state->ring_len);
    for (uint32_t i = 0; i < state->ring_len; i++)
        ring[i] = *nth_newest(state, (int64_t)state->ring_len - i);
    sl_state_put_dated(state, sl_state_until_us(state), state->ring_len);
    state->ring = ring;
    state->ring_len = ring_len;
}

static int64_t capacity_max(int64_t window_us)
{
    (void)window_us;
    return INT64_C(1) << 24; /* 128 MiB of ring: more is a mistake */
}

const struct sl_algo sl_sliding_window_log = {
    .name = "sliding_window_log",
    .keeps_ring = true,
    .capacity_max = capacity_max,
    .too_large = "the log keeps 8 bytes for each unit of its limit, at most 16777216; use "
                 "`sliding_window_counter` for a limit this large",
    .decide = decide,
    .charge = charge,
    .figures = figures,
    .refund = refund,
    .move_ring = move_ring,
};
