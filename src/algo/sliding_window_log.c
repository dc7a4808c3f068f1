/* Sliding window log: keeps the time of every admission, hence exact in any window.
 *
 * The times stand in a ring. A decision need not count the live ones: the newest
 * entries are the live ones, so c more fit under a limit of L exactly if the
 * (L − c + 1)-th newest has left the window.
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
 * state alone, and that may be killed anywhere. So it is written later: the
 * state holds the newest charge, `pending` entries at until − window, and the
 * next charge writes those into the ring (settles them) before it commits.
 *
 *   ring   [ a | b | c | d |   |   ]     count 6: a to d, and two entries at
 *                            ^   ^       until − window, which are pending
 *
 * So every entry of the ring comes from a state that was committed. All writers
 * of an entry write the same stamp, and only raise it: a writer that was killed,
 * lost the swap or comes a lap too late does no harm. Filling the ring first and
 * committing after would be wrong: two writers stamp one entry with different
 * times of which only one is committed, and a slow writer overwrites the entry
 * of a later lap.
 *
 * State: until, the newest time plus the window, and count + 2·ring_len·pending.
 * `count` runs over all entries up to 2·ring_len − 1 and then goes on from
 * ring_len. Below ring_len it says that no more entries than that exist: the
 * rest of the ring is left over from another key. An entry is its time plus one.
 * Only `figures` needs the number of live entries, by a binary search: times
 * never decrease, because a decision under a clock that stepped back is made,
 * and stamped, as of the newest entry.
 *
 * Zero: no entry yet; the ring may then be absent. */
#include "algo/state.h"
#include "base/check.h"
#include "base/text/number.h"

#define RING_LEN_MAX (UINT32_C(1) << 30) /* twice that still counts in 32 bits */

/* until has 52 bits, so no stamp is larger. A larger entry is damaged, or LEAVING. */
#define STAMP_MAX (UINT64_C(1) << 52)

/* Marks an entry that holds the time when it leaves, not its own. `move_ring`, which
 * knows no window, writes it where it cannot leave an entry pending. */
#define LEAVING (UINT64_C(1) << 63)

/* A state, unpacked. */
struct log {
    uint64_t *ring;
    uint32_t ring_len;
    uint32_t count;
    uint32_t pending; /* at most count and ring_len */
    int64_t until_us;
    const uint64_t *shared_lo; /* where the state's lo stands, and what was read there: */
    uint64_t lo;
    int64_t *told; /* in place of the ring: the newest time, the number of live entries, and, if
                    * the request must wait, the time of the entry it waits for; -1: none */
};

/* Accepts any bits. No legal state has more pending entries than entries, or than
 * fit into the ring; such a state counts as that many entries, which denies more. */
static struct log unpack_log(const struct sl_state *state)
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

static void pack_log(struct sl_state *state, const struct log *log)
{
    uint64_t counts = log->count + UINT64_C(2) * log->ring_len * log->pending;
    SL_CHECK(log->pending <= log->count && counts <= UINT32_MAX);
    state->ring = log->ring;
    state->ring_len = log->ring_len;
    sl_state_put_dated(state, log->until_us, (uint32_t)counts);
}

/* Returns how many pending entries the state can hold beside any count. */
static uint32_t log_charge_most(uint32_t ring_len)
{
    return ring_len ? (UINT32_C(1) << 31) / ring_len - 1 : 0;
}

/* ---- reading --------------------------------------------------------------- */

/* Returns how many entries exist. */
static uint32_t entry_count(const struct log *log)
{
    return log->count < log->ring_len ? log->count : log->ring_len;
}

/* n from 1 to entry_count() */
static uint64_t *nth_newest(const struct log *log, uint32_t n)
{
    uint32_t at = log->count - n;
    return &log->ring[at >= log->ring_len ? at - log->ring_len : at];
}

/* Acquires: a thread that has read an entry of a later state must see, when it
 * checks whether the state is still the same, that it is not. */
static uint64_t read_entry(const struct log *log, uint32_t n)
{
    return __atomic_load_n(nth_newest(log, n), __ATOMIC_ACQUIRE);
}

/* Returns when the n-th newest entry leaves; 0 if there is no such entry. No entry
 * leaves after the newest: one that says so is damaged, or was overwritten
 * meanwhile. */
static int64_t leaves_at_us(const struct sl_limit *limit, const struct log *log, int64_t n)
{
    if (log->told)
        return log->told[2] >= 0 ? log->told[2] + limit->window_us : 0;
    if (n > entry_count(log))
        return 0;
    if (n <= log->pending)
        return log->until_us;
    uint64_t entry = read_entry(log, (uint32_t)n);
    if (entry == 0)
        return 0;
    uint64_t leaves = entry & LEAVING ? entry - LEAVING : entry - 1 + (uint64_t)limit->window_us;
    return leaves < (uint64_t)log->until_us ? (int64_t)leaves : log->until_us;
}

/* Returns how many of the newest entries leave after as_of_us. */
static int64_t live_count(const struct sl_limit *limit, const struct log *log, int64_t as_of_us)
{
    if (log->told)
        return log->told[1];
    int64_t live = 0;
    int64_t gone = (int64_t)entry_count(log) + 1;
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
    bool repaired; /* it counts as `capacity` entries at as_of_us */
};

static struct log_view log_view_at(const struct sl_limit *limit, const struct log *log,
                                   int64_t now_us)
{
    int64_t newest_us = log->until_us - limit->window_us;
    if (newest_us - now_us > limit->window_us)
        return (struct log_view){ now_us, true };
    return (struct log_view){ sl_max_i64(now_us, newest_us), false };
}

/* Returns when the request passes if no other request comes; as_of_us or earlier: now. */
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
        SL_CHECK(answer.retry_after_us > 0);
    }
    return answer;
}

static struct sl_answer decide_log(const struct sl_limit *limit, const struct sl_state *state,
                                   struct sl_ask ask)
{
    SL_CHECK(state->ring || state->ring_len == 0);
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, ask.now_us);
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

static struct sl_figures log_figures(const struct sl_limit *limit, const struct sl_state *state,
                                     int64_t now_us)
{
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, now_us);
    struct sl_figures figures = figures_in(limit, &log, &view, now_us);
    SL_CHECK((uint64_t)figures.remaining <= (uint64_t)limit->capacity);
    SL_CHECK(state->told || figures.reset_at_us >= now_us);
    return figures;
}

/* ---- writing --------------------------------------------------------------- */

/* Returns whether the state is still the one that was read. A late writer finds another
 * log in the block, or a mark in place of a later stamp, and writes nothing. */
static bool is_current(const struct log *log)
{
    return !log->shared_lo || __atomic_load_n(log->shared_lo, __ATOMIC_ACQUIRE) == log->lo;
}

/* Only ever raises the entry: a late writer finds the stamp there, or a later one.
 * Tries again if another writer was faster: in a block that now belongs to another
 * key that may be an older stamp, by a writer that does not know it yet. The loop
 * ends because no writer lowers an entry. Released: a thread that sees the stamp
 * must see the state it comes from. */
static void settle_entry(const struct log *log, uint32_t n, uint64_t stamp)
{
    uint64_t *entry = nth_newest(log, n);
    uint64_t old = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    while ((old < stamp || old > STAMP_MAX) && is_current(log))
        if (__atomic_compare_exchange_n(entry, &old, stamp, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
            return;
}

/* Writes the pending entries into the ring. */
static void settle_pending(const struct sl_limit *limit, struct log *log)
{
    uint64_t stamp = (uint64_t)sl_max_i64(log->until_us - limit->window_us + 1, 0);
    for (; log->pending > 0; log->pending--)
        settle_entry(log, log->pending, stamp);
}

/* Adds pending entries to a log in which all others are settled. If they are more
 * than the ring holds, only as many as it holds are kept. */
static void add_pending(const struct sl_limit *limit, struct log *log, int64_t at_us, int64_t cost)
{
    log->pending = (uint32_t)sl_min_i64(cost, log->ring_len);
    log->count += log->pending;
    if (log->count >= 2 * log->ring_len)
        log->count -= log->ring_len;
    log->until_us = at_us + limit->window_us;
    if (log->pending > log_charge_most(log->ring_len))
        settle_pending(limit, log);
}

/* Makes the fullest legal log, at a time before that of its old entries. Those are
 * set to zero, because an earlier stamp would not replace them. */
static void fill_log(const struct sl_limit *limit, struct log *log, int64_t at_us)
{
    for (uint32_t i = 0; i < log->ring_len; i++)
        log->ring[i] = 0;
    log->count = 0;
    log->pending = 0;
    log->until_us = 0;
    if (limit->capacity)
        add_pending(limit, log, at_us, limit->capacity);
}

/* Does to the numbers what the Lua twin has already done in Redis. */
static void charge_redis_log(const struct sl_limit *limit, struct sl_state *state,
                             struct sl_ask ask)
{
    SL_CHECK(sl_window_is_legal(limit) && state->told[1] >= 0);
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, ask.now_us);
    int64_t live = view.repaired ? limit->capacity : state->told[1];
    state->told[0] = view.as_of_us;
    state->told[1] = live + ask.cost;
    sl_state_put_dated(state, live + ask.cost ? view.as_of_us + limit->window_us : 0, 0);
}

static void charge_log(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    if (state->told) {
        charge_redis_log(limit, state, ask);
        return;
    }
    SL_CHECK(state->ring_len >= limit->capacity && state->ring_len > 0 &&
             state->ring_len <= RING_LEN_MAX);
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, ask.now_us);
    if (view.repaired)
        fill_log(limit, &log, view.as_of_us);
    if (ask.cost) {
        settle_pending(limit, &log);
        add_pending(limit, &log, view.as_of_us, ask.cost);
    }
    if (ask.cost || view.repaired)
        pack_log(state, &log);
}

/* Stops at the ring's length, which is one span of debt. */
static void overcharge_log(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    SL_CHECK(sl_window_is_legal(limit) && !state->told);
    SL_CHECK(state->ring || state->ring_len == 0);
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, ask.now_us);
    if (log.ring_len == 0 || view.repaired || ask.cost == 0)
        return;
    settle_pending(limit, &log);
    add_pending(limit, &log, view.as_of_us, ask.cost);
    pack_log(state, &log);
}

static bool take_from_log(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                          struct sl_taken *out)
{
    SL_CHECK(state->ring_len >= limit->capacity);
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, ask.now_us);
    if (view.repaired)
        return false;
    out->answer = answer_in(limit, &log, &view, ask);
    if (out->answer.allowed) {
        settle_pending(limit, &log);
        add_pending(limit, &log, view.as_of_us, ask.cost);
        pack_log(state, &log);
    }
    out->figures = figures_in(limit, &log, &view, ask.now_us);
    return true;
}

static bool has_entry_leaving_at(const struct sl_limit *limit, const struct log *log,
                                 int64_t leaves_us)
{
    bool found = false;
    for (uint32_t n = 1; n <= entry_count(log) && !found; n++)
        found = leaves_at_us(limit, log, n) == leaves_us;
    return found;
}

static void reverse_entries(uint64_t *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint64_t entry = entries[i];
        entries[i] = entries[count - 1 - i];
        entries[count - 1 - i] = entry;
    }
}

/* Settles all entries and rotates the ring so that it starts with the oldest one:
 * then the count alone says how many exist. */
static void rotate_to_oldest(const struct sl_limit *limit, struct log *log)
{
    settle_pending(limit, log);
    if (log->count <= log->ring_len)
        return;
    uint32_t oldest = log->count - log->ring_len;
    reverse_entries(log->ring, oldest);
    reverse_entries(log->ring + oldest, log->ring_len - oldest);
    reverse_entries(log->ring, log->ring_len);
    log->count = log->ring_len;
}

/* Removes up to `cost` entries that leave at leaves_us, and closes the gaps. */
static void remove_entries(const struct sl_limit *limit, struct log *log, int64_t leaves_us,
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
        log->ring[i] = 0; /* an earlier stamp would not replace the one left here */
    log->count = kept;
    log->until_us = until_us;
}

/* Refunds are rare, so O(L) is good enough. Entries that have left are kept too:
 * without the newest entry, and with a clock that stepped back, they may count
 * again. */
static bool refund_log(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                       int64_t charged_at_us)
{
    SL_CHECK(sl_window_is_legal(limit) && !state->told);
    SL_CHECK(state->ring || state->ring_len == 0);
    struct log log = unpack_log(state);
    struct log_view view = log_view_at(limit, &log, ask.now_us);
    if (view.repaired || ask.cost == 0 || charged_at_us > view.as_of_us ||
        charged_at_us <= view.as_of_us - limit->window_us)
        return false;
    int64_t leaves_us = charged_at_us + limit->window_us;
    if (!has_entry_leaving_at(limit, &log, leaves_us))
        return false;
    rotate_to_oldest(limit, &log);
    uint32_t before = log.count;
    remove_entries(limit, &log, leaves_us, ask.cost);
    SL_CHECK(log.count <= before);
    pack_log(state, &log);
    return true;
}

/* Only reads the old ring: other threads may still use it. */
static void move_log_ring(struct sl_state *state, uint64_t *ring, uint32_t ring_len)
{
    SL_CHECK(ring_len >= state->ring_len && ring_len <= RING_LEN_MAX && ring != state->ring);
    SL_CHECK(ring && ring_len > 0);
    struct log old = unpack_log(state);
    struct log new = old;
    new.ring = ring;
    new.ring_len = ring_len;
    new.count = entry_count(&old);
    if (old.pending > log_charge_most(ring_len))
        new.pending = 0;
    for (uint32_t n = new.count; n > new.pending; n--)
        *nth_newest(&new, n) =
            n <= old.pending ? LEAVING | (uint64_t)old.until_us : read_entry(&old, n);
    pack_log(state, &new);
}

/* told: see struct log */
static void load_log(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out)
{
    told[0] = sl_min_i64(told[0], SL_TIME_MAX_US);
    told[1] = sl_cut(told[1], UINT32_MAX);
    told[2] = sl_min_i64(told[2], told[0]);
    SL_CHECK(sl_window_is_legal(limit));
    out->told = told;
    sl_state_put_dated(out, told[0] >= 0 ? told[0] + limit->window_us : 0, 0);
    SL_CHECK(sl_state_fits(out));
}

static int64_t log_capacity_max(int64_t window_us)
{
    (void)window_us;
    return INT64_C(1) << 24; /* 128 MiB of ring: a larger limit is a mistake */
}

const struct sl_algo sl_sliding_window_log = {
    .name = "sliding_window_log",
    .number = 2,
    .dating = SL_DATED_RING,
    .keeps_ring = true,
    .capacity_max = log_capacity_max,
    .too_large = "the log keeps 8 bytes for each unit of its limit, at most 16777216; use "
                 "`sliding_window_counter` for a limit this large",
    .decide = decide_log,
    .charge = charge_log,
    .figures = log_figures,
    .take = take_from_log,
    .refund = refund_log,
    .overcharge = overcharge_log,
    .load = load_log,
    .charge_most = log_charge_most,
    .move_ring = move_log_ring,
};
