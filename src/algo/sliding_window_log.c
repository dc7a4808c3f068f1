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
 * The ring may be shared by threads and processes that commit by swapping the
 * state alone, and that may be killed anywhere. So it is written behind: the
 * state holds the newest charge, `pending` entries at until − window, and the
 * next charge writes those into the ring (settles them) before it commits.
 *
 *   ring   [ a | b | c | d |   |   ]     count 6: a to d, and two entries at
 *                            ^   ^       until − window, which are pending
 *
 * Every entry of the ring is then vouched for by a state that was committed,
 * whoever writes it writes the same, and only to raise it: a writer that was
 * killed, lost the swap or comes a lap too late does no harm. Filling the ring
 * first and committing after would not do: two fillers stamp one entry with
 * different times of which only one is committed, and a slow one stamps over
 * what a later lap has put there.
 *
 * State: until, the newest time plus the window, and count + 2·ring_len·pending.
 * `count` runs over all entries up to 2·ring_len − 1 and then goes on from
 * ring_len. Below ring_len it says that no more entries than that exist: what
 * else stands in the ring was left there by others. An entry is its time plus
 * one. How many are live, which only `figures` needs, is a binary search: times
 * never decrease, because a decision under a clock that stepped back is made,
 * and stamped, as of the newest entry.
 *
 * Zero: no entry yet; the ring may then be absent.
 */
#include "algo/state.h"
#include "base/check.h"
#include "base/text/number.h"

#define RING_LEN_MAX (UINT32_C(1) << 30) /* twice that still counts in 32 bits */

/* until has 52 bits, so no stamp is larger: what is, is damage or LEAVING. */
#define STAMP_MAX (UINT64_C(1) << 52)

/* Marks an entry that says when it leaves: what `move_ring`, which knows no
 * window, writes where it cannot leave an entry pending. */
#define LEAVING (UINT64_C(1) << 63)

/* A state, unpacked. */
struct log {
    uint64_t *ring;
    uint32_t ring_len;
    uint32_t count;
    uint32_t pending; /* at most count and ring_len */
    int64_t until_us;
    const uint64_t *shared_lo; /* the state's, and what stood there */
    uint64_t lo;
    int64_t *told; /* in place of the ring: the newest time, how many are live, and, where the
                    * request must wait, the time of the entry it waits for; -1: none */
};

/* Any bits are a log. More pending than there are entries or than fit into the
 * ring is no legal state; as many entries then exist, which favours the limit. */
static struct log unpack(const struct sl_state *state)
{
    struct log log = { .ring = state->ring,
                       .ring_len = state->ring_len,
                       .until_us = sl_state_until_us(state),
                       .shared_lo = state->shared_lo,
                       .lo = state->lo,
                       .told = state->told };
    if (log.ring_len == 0)
        return log;
    uint32_t counts = 2 * log.ring_len;
    log.count = sl_state_count(state) % counts;
    log.pending = sl_state_count(state) / counts;
    if (log.pending > log.ring_len)
        log.pending = log.ring_len;
    if (log.count < log.pending)
        log.count = log.pending;
    return log;
}

static void pack(struct sl_state *state, const struct log *log)
{
    state->ring = log->ring;
    state->ring_len = log->ring_len;
    sl_state_put_dated(state, log->until_us, log->count + 2 * log->ring_len * log->pending);
}

/* How many pending entries the state has room for beside any count. */
static uint32_t charge_most(uint32_t ring_len)
{
    return ring_len ? (UINT32_C(1) << 31) / ring_len - 1 : 0;
}

/* ---- reading --------------------------------------------------------------- */

/* How many entries exist. */
static uint32_t held(const struct log *log)
{
    return log->count < log->ring_len ? log->count : log->ring_len;
}

/* n from 1 to held() */
static uint64_t *nth_newest(const struct log *log, uint32_t n)
{
    uint32_t at = log->count - n;
    return &log->ring[at >= log->ring_len ? at - log->ring_len : at];
}

/* Acquires: who has read what a later state vouches for must, when he looks
 * whether the state is still the same, see that it is not. */
static uint64_t read_entry(const struct log *log, uint32_t n)
{
    return __atomic_load_n(nth_newest(log, n), __ATOMIC_ACQUIRE);
}

/* When the n-th newest entry leaves; 0 if there is no such entry. None leaves
 * after the newest: what says so is damaged, or was written over meanwhile. */
static int64_t leaves_at_us(const struct sl_limit *limit, const struct log *log, int64_t n)
{
    if (log->told)
        return log->told[2] >= 0 ? log->told[2] + limit->window_us : 0;
    if (n > held(log))
        return 0;
    if (n <= log->pending)
        return log->until_us;
    uint64_t entry = read_entry(log, (uint32_t)n);
    if (entry == 0)
        return 0;
    uint64_t leaves = entry & LEAVING ? entry - LEAVING : entry - 1 + (uint64_t)limit->window_us;
    return leaves < (uint64_t)log->until_us ? (int64_t)leaves : log->until_us;
}

/* How many of the newest entries leave after as_of_us. */
static int64_t live_count(const struct sl_limit *limit, const struct log *log, int64_t as_of_us)
{
    if (log->told)
        return log->told[1];
    int64_t live = 0;
    int64_t gone = (int64_t)held(log) + 1;
    while (gone - live > 1) {
        int64_t middle = live + (gone - live) / 2;
        if (leaves_at_us(limit, log, middle) > as_of_us)
            live = middle;
        else
            gone = middle;
    }
    return live;
}

/* The log as a decision at a given time sees it. */
struct log_view {
    int64_t as_of_us;
    bool repaired; /* every one of `capacity` entries counts, at as_of_us */
};

static struct log_view view_at(const struct sl_limit *limit, const struct log *log, int64_t now_us)
{
    int64_t newest_us = log->until_us - limit->window_us;
    if (newest_us - now_us > limit->window_us)
        return (struct log_view){ now_us, true };
    return (struct log_view){ sl_max_i64(now_us, newest_us), false };
}

/* When the request passes if nobody else asks; not after as_of_us: it does now. */
static int64_t passes_at_us(const struct sl_limit *limit, const struct log *log,
                            const struct log_view *view, uint32_t cost)
{
    if (view->repaired)
        return view->as_of_us + limit->window_us;
    return leaves_at_us(limit, log, limit->capacity - cost + 1);
}

static struct sl_answer answer_in(const struct sl_limit *limit, const struct log *log,
                                  const struct log_view *view, struct sl_ask ask)
{
    struct sl_answer answer = { .allowed = true,
                                .repair = view->repaired,
                                .as_of_us = view->as_of_us };
    if (ask.cost == 0)
        return answer;
    if (ask.cost > limit->capacity) {
        answer.allowed = false;
        answer.retry_after_us = SL_NEVER;
        return answer;
    }
    int64_t passes_us = passes_at_us(limit, log, view, ask.cost);
    if (passes_us > view->as_of_us) {
        answer.allowed = false;
        answer.retry_after_us = passes_us - ask.now_us;
    }
    return answer;
}

static struct sl_answer decide(const struct sl_limit *limit, const struct sl_state *state,
                               struct sl_ask ask)
{
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, ask.now_us);
    return answer_in(limit, &log, &view, ask);
}

static struct sl_figures figures_in(const struct sl_limit *limit, const struct log *log,
                                    const struct log_view *view, int64_t now_us)
{
    if (view->repaired)
        return (struct sl_figures){ 0, limit->capacity ? now_us + limit->window_us : now_us };
    int64_t live = live_count(limit, log, view->as_of_us);
    return (struct sl_figures){
        .remaining = sl_max_i64(limit->capacity - live, 0),
        .reset_at_us = live ? log->until_us : now_us,
    };
}

static struct sl_figures figures(const struct sl_limit *limit, const struct sl_state *state,
                                 int64_t now_us)
{
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, now_us);
    return figures_in(limit, &log, &view, now_us);
}

/* ---- writing --------------------------------------------------------------- */

/* Is it still what was read? Who is late finds another log in the block, or a mark in
 * place of a later stamp than his, and writes nothing. */
static bool is_current(const struct log *log)
{
    return !log->shared_lo || __atomic_load_n(log->shared_lo, __ATOMIC_ACQUIRE) == log->lo;
}

/* Only ever raises: who comes late finds the stamp there, or a later one. Once
 * more if somebody else was faster: in a block that has changed hands that may
 * be an older stamp, by one who does not know it yet. It ends, as nobody lowers
 * an entry. Released: who sees the stamp must see the state it comes from. */
static void settle_entry(const struct log *log, uint32_t n, uint64_t stamp)
{
    uint64_t *entry = nth_newest(log, n);
    uint64_t old = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    while ((old < stamp || old > STAMP_MAX) && is_current(log))
        if (__atomic_compare_exchange_n(entry, &old, stamp, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
            return;
}

/* Puts what is pending where the state says it is. */
static void settle(const struct sl_limit *limit, struct log *log)
{
    uint64_t stamp = (uint64_t)sl_max_i64(log->until_us - limit->window_us + 1, 0);
    for (; log->pending > 0; log->pending--)
        settle_entry(log, log->pending, stamp);
}

/* Adds entries to a log in which all others are settled. More than the ring
 * holds push each other out. */
static void add(const struct sl_limit *limit, struct log *log, int64_t at_us, int64_t cost)
{
    log->pending = (uint32_t)sl_min_i64(cost, log->ring_len);
    log->count += log->pending;
    if (log->count >= 2 * log->ring_len)
        log->count -= log->ring_len;
    log->until_us = at_us + limit->window_us;
    if (log->pending > charge_most(log->ring_len))
        settle(limit, log);
}

/* The fullest legal log at a time before that of its entries, which no stamp
 * could displace. */
static void refill(const struct sl_limit *limit, struct log *log, int64_t at_us)
{
    for (uint32_t i = 0; i < log->ring_len; i++)
        log->ring[i] = 0;
    log->count = 0;
    log->pending = 0;
    log->until_us = 0;
    if (limit->capacity)
        add(limit, log, at_us, limit->capacity);
}

/* As its twin has charged it already. */
static void charge_told(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, ask.now_us);
    int64_t live = view.repaired ? limit->capacity : state->told[1];
    state->told[0] = view.as_of_us;
    state->told[1] = live + ask.cost;
    sl_state_put_dated(state, live + ask.cost ? view.as_of_us + limit->window_us : 0, 0);
}

static void charge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    if (state->told) {
        charge_told(limit, state, ask);
        return;
    }
    SL_CHECK(state->ring_len >= limit->capacity && state->ring_len > 0 &&
             state->ring_len <= RING_LEN_MAX);
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, ask.now_us);
    if (view.repaired)
        refill(limit, &log, view.as_of_us);
    if (ask.cost) {
        settle(limit, &log);
        add(limit, &log, view.as_of_us, ask.cost);
    }
    if (ask.cost || view.repaired)
        pack(state, &log);
}

/* The ring's length is a span of debt. */
static void overcharge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, ask.now_us);
    if (log.ring_len == 0 || view.repaired || ask.cost == 0)
        return;
    settle(limit, &log);
    add(limit, &log, view.as_of_us, ask.cost);
    pack(state, &log);
}

static bool take(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                 struct sl_taken *out)
{
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, ask.now_us);
    if (view.repaired)
        return false;
    out->answer = answer_in(limit, &log, &view, ask);
    if (out->answer.allowed) {
        settle(limit, &log);
        add(limit, &log, view.as_of_us, ask.cost);
        pack(state, &log);
    }
    out->figures = figures_in(limit, &log, &view, ask.now_us);
    return true;
}

static bool holds(const struct sl_limit *limit, const struct log *log, int64_t leaves_us)
{
    bool found = false;
    for (uint32_t n = 1; n <= held(log) && !found; n++)
        found = leaves_at_us(limit, log, n) == leaves_us;
    return found;
}

static void reverse(uint64_t *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint64_t entry = entries[i];
        entries[i] = entries[count - 1 - i];
        entries[count - 1 - i] = entry;
    }
}

/* Settles all and turns the ring so that it starts with the oldest entry: from
 * there on the count alone says how many exist. */
static void straighten(const struct sl_limit *limit, struct log *log)
{
    settle(limit, log);
    if (log->count <= log->ring_len)
        return;
    uint32_t oldest = log->count - log->ring_len;
    reverse(log->ring, oldest);
    reverse(log->ring + oldest, log->ring_len - oldest);
    reverse(log->ring, log->ring_len);
    log->count = log->ring_len;
}

/* Takes up to `cost` entries out; the newer ones close ranks. */
static void take_out(const struct sl_limit *limit, struct log *log, int64_t leaves_us,
                     uint32_t cost)
{
    uint32_t kept = 0;
    int64_t until_us = 0;
    for (uint32_t n = log->count; n >= 1; n--) {
        int64_t leaves = leaves_at_us(limit, log, n);
        if (leaves == leaves_us && cost > 0) {
            cost--;
            continue;
        }
        log->ring[kept++] = read_entry(log, n);
        until_us = sl_max_i64(until_us, leaves);
    }
    for (uint32_t i = kept; i < log->count; i++)
        log->ring[i] = 0; /* a stamp left here would not give way to an earlier one */
    log->count = kept;
    log->until_us = until_us;
}

/* Rare enough to be O(L). What has left is kept too: without the newest entry,
 * and with a clock that stepped back, it may count again. */
static bool refund(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                   int64_t charged_at_us)
{
    struct log log = unpack(state);
    struct log_view view = view_at(limit, &log, ask.now_us);
    if (view.repaired || ask.cost == 0 || charged_at_us > view.as_of_us ||
        charged_at_us <= view.as_of_us - limit->window_us)
        return false;
    int64_t leaves_us = charged_at_us + limit->window_us;
    if (!holds(limit, &log, leaves_us))
        return false;
    straighten(limit, &log);
    take_out(limit, &log, leaves_us, ask.cost);
    pack(state, &log);
    return true;
}

/* The old ring is only read: others may still be at work on it. */
static void move_ring(struct sl_state *state, uint64_t *ring, uint32_t ring_len)
{
    SL_CHECK(ring_len >= state->ring_len && ring_len <= RING_LEN_MAX && ring != state->ring);
    struct log old = unpack(state);
    struct log new = old;
    new.ring = ring;
    new.ring_len = ring_len;
    new.count = held(&old);
    if (old.pending > charge_most(ring_len))
        new.pending = 0;
    for (uint32_t n = new.count; n > new.pending; n--)
        *nth_newest(&new, n) =
            n <= old.pending ? LEAVING | (uint64_t)old.until_us : read_entry(&old, n);
    pack(state, &new);
}

static void load(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out)
{
    told[0] = sl_min_i64(told[0], SL_TIME_MAX_US);
    told[1] = sl_cut(told[1], UINT32_MAX);
    told[2] = sl_min_i64(told[2], told[0]);
    out->told = told;
    sl_state_put_dated(out, told[0] >= 0 ? told[0] + limit->window_us : 0, 0);
}

static int64_t capacity_max(int64_t window_us)
{
    (void)window_us;
    return INT64_C(1) << 24; /* 128 MiB of ring: more is a mistake */
}

const struct sl_algo sl_sliding_window_log = {
    .name = "sliding_window_log",
    .number = 2,
    .dating = SL_DATED_RING,
    .keeps_ring = true,
    .capacity_max = capacity_max,
    .too_large = "the log keeps 8 bytes for each unit of its limit, at most 16777216; use "
                 "`sliding_window_counter` for a limit this large",
    .decide = decide,
    .charge = charge,
    .figures = figures,
    .take = take,
    .refund = refund,
    .overcharge = overcharge,
    .load = load,
    .charge_most = charge_most,
    .move_ring = move_ring,
};
