/* The burst guard in 84 bits. It has three phases; the two low bits say which:
 *
 *   83            32 31           2 1 0
 *   [ until: 52    | count: 30     | 0 ]   quiet: the window's end, its count
 *   [ until: 52    | pair: 30      | 1 ]   warned: the warning's end; window number, count
 *   [ until: 52    | 0             | 2 ]   blocked: the block's end
 *
 * A warning's end minus the penalty is when it was given, hence in which window.
 * The current window is stored as a number of windows since then, and shares 30
 * bits with the count. A count above threshold + 1 means nothing more, so it
 * stops there. The reader of the rules file refuses a rule whose penalty and
 * threshold do not fit (sl_guard_fits).
 *
 * A block stores nothing else: it denies everything until it ends, and counting
 * then starts from zero. Zero is a window that ended at the epoch: quiet, nothing
 * counted. */
#include "algo/guard.h"

#include "algo/state.h"
#include "base/text/number.h"

enum guard_phase { QUIET, WARNED, BLOCKED };

enum { PAIR_BITS = 30 };

/* The state, unpacked, as of a given time. */
struct guard_view {
    int64_t start_us; /* of the burst window that counts */
    int64_t count;
    int64_t warned_until_us; /* 0: no warning in force */
    int64_t warned_start_us; /* the window the warning was given in */
    int64_t blocked_until_us;
    int64_t as_of_us; /* now, or the start of a window that lies ahead */
};

static int64_t count_radix(const struct sl_guard *guard)
{
    return (int64_t)guard->threshold + 2;
}

bool sl_guard_fits(const struct sl_guard *guard)
{
    SL_CHECK(guard->window_us > 0 && guard->penalty_us >= 0);
    if (guard->threshold >= 1u << PAIR_BITS)
        return false;
    int64_t windows = guard->penalty_us / guard->window_us + 2;
    return windows < (INT64_C(1) << PAIR_BITS) / count_radix(guard);
}

static struct guard_view unpack_guard(const struct sl_guard *guard, const struct sl_state *state)
{
    int64_t until_us = sl_state_until_us(state);
    int64_t rest = sl_state_count(state) >> 2;
    struct guard_view view = { 0 };
    switch (state->lo & 3) {
    case QUIET:
        view.start_us = until_us - guard->window_us;
        view.count = rest;
        break;
    case WARNED:
        view.warned_until_us = until_us;
        view.warned_start_us =
            sl_aligned_start_us(sl_max_i64(until_us - guard->penalty_us, 0), guard->window_us);
        view.start_us = view.warned_start_us + rest / count_radix(guard) * guard->window_us;
        view.count = rest % count_radix(guard);
        break;
    default:
        view.blocked_until_us = until_us;
    }
    return view;
}

static void write_phase(struct sl_state *state, int64_t until_us, int64_t rest,
                        enum guard_phase phase)
{
    SL_CHECK(rest >= 0 && rest < INT64_C(1) << PAIR_BITS);
    SL_CHECK(until_us > 0 && until_us <= SL_UNTIL_MAX_US);
    sl_state_put_dated(state, until_us, (uint32_t)rest << 2 | phase);
}

static void pack_guard(const struct sl_guard *guard, struct sl_state *state,
                       const struct guard_view *view)
{
    if (view->blocked_until_us) {
        write_phase(state, view->blocked_until_us, 0, BLOCKED);
    } else if (view->warned_until_us) {
        int64_t windows = (view->start_us - view->warned_start_us) / guard->window_us;
        SL_CHECK(view->start_us >= view->warned_start_us);
        int64_t count = sl_min_i64(view->count, (int64_t)guard->threshold + 1);
        write_phase(state, view->warned_until_us, windows * count_radix(guard) + count, WARNED);
    } else {
        write_phase(state, view->start_us + guard->window_us, view->count, QUIET);
    }
}

/* Sets the window that counts, and returns the time to judge as of: a window that
 * lies ahead by up to its length is believed, as of its start. */
static int64_t mend_window(const struct sl_guard *guard, struct guard_view *view, int64_t now_us)
{
    int64_t start_us = sl_aligned_start_us(now_us, guard->window_us);
    if (view->start_us - now_us > guard->window_us) {
        view->start_us = start_us;
        view->count = guard->threshold;
    } else if (view->start_us < start_us) {
        view->start_us = start_us;
        view->count = 0;
    }
    return sl_max_i64(view->start_us, now_us);
}

/* Shortens a warning to the length it was given for, whatever the clock did. */
static void mend_warning(const struct sl_guard *guard, struct guard_view *view, int64_t as_of_us)
{
    if (view->warned_until_us <= as_of_us)
        view->warned_until_us = 0;
    if (view->warned_until_us - as_of_us > guard->penalty_us) {
        view->warned_until_us = as_of_us + guard->penalty_us;
        view->warned_start_us = view->start_us;
    }
}

static struct guard_view guard_view_at(const struct sl_guard *guard, const struct sl_state *state,
                                       int64_t now_us)
{
    struct guard_view view = unpack_guard(guard, state);
    if (view.blocked_until_us > now_us) {
        view.blocked_until_us = sl_min_i64(view.blocked_until_us, now_us + 2 * guard->penalty_us);
        return view;
    }
    if (view.blocked_until_us)
        view = (struct guard_view){ 0 };
    view.as_of_us = mend_window(guard, &view, now_us);
    mend_warning(guard, &view, view.as_of_us);
    return view;
}

static enum sl_guard_event escalate_guard(const struct sl_guard *guard, struct guard_view *view,
                                          int64_t now_us)
{
    if (view->count <= guard->threshold)
        return SL_GUARD_QUIET;
    if (!view->warned_until_us) {
        view->warned_until_us = view->as_of_us + guard->penalty_us;
        view->warned_start_us = view->start_us;
        return SL_GUARD_WARNED;
    }
    if (view->start_us == view->warned_start_us)
        return SL_GUARD_QUIET; /* still the burst that was warned of: one step a window */
    view->blocked_until_us = now_us + 2 * guard->penalty_us;
    return SL_GUARD_BLOCKED;
}

struct sl_guard_answer sl_guard_count(const struct sl_guard *guard, struct sl_state *state,
                                      int64_t now_us)
{
    SL_CHECK(now_us >= 0 && guard->window_us > 0 && guard->penalty_us > 0);
    struct guard_view view = guard_view_at(guard, state, now_us);
    struct sl_guard_answer answer = { 0 };
    if (!view.blocked_until_us) {
        view.count += view.count < INT64_C(1) << (PAIR_BITS - 1);
        answer.event = escalate_guard(guard, &view, now_us);
        answer.request_count = (uint32_t)view.count;
    }
    answer.blocked_until_us = view.blocked_until_us;
    pack_guard(guard, state, &view);
    SL_CHECK(answer.blocked_until_us == 0 || answer.blocked_until_us > now_us);
    SL_CHECK(answer.event != SL_GUARD_BLOCKED || answer.blocked_until_us > 0);
    SL_CHECK(sl_state_fits(state));
    return answer;
}

struct sl_guard_answer sl_guard_peek(const struct sl_guard *guard, const struct sl_state *state,
                                     int64_t now_us)
{
    SL_CHECK(now_us >= 0 && guard->window_us > 0 && guard->penalty_us > 0);
    struct guard_view view = guard_view_at(guard, state, now_us);
    SL_CHECK(view.blocked_until_us == 0 || view.blocked_until_us > now_us);
    return (struct sl_guard_answer){ .blocked_until_us = view.blocked_until_us };
}

void sl_guard_load(const struct sl_guard *guard, const int64_t told[SL_TOLD_GUARD],
                   struct sl_state *out)
{
    SL_CHECK(guard->window_us > 0 && guard->penalty_us > 0);
    int64_t most_us = SL_UNTIL_MAX_US - guard->window_us;
    int64_t most = (INT64_C(1) << (PAIR_BITS - 1));
    struct guard_view view = { .start_us =
                                   sl_aligned_start_us(sl_cut(told[0], most_us), guard->window_us),
                               .count = sl_cut(told[1], most),
                               .warned_until_us = sl_cut(told[2], most_us),
                               .blocked_until_us = sl_cut(told[3], most_us) };
    view.warned_start_us = sl_aligned_start_us(
        sl_max_i64(view.warned_until_us - guard->penalty_us, 0), guard->window_us);
    /* A warning is given in the window that counts, or before it. */
    if (view.start_us < view.warned_start_us ||
        view.start_us - view.warned_start_us > guard->penalty_us + 2 * guard->window_us)
        view.start_us = view.warned_until_us ? view.warned_start_us : view.start_us;
    pack_guard(guard, out, &view);
    SL_CHECK(sl_state_fits(out));
}

bool sl_guard_is_loud(const struct sl_state *state)
{
    return (state->lo & 3) != QUIET;
}
