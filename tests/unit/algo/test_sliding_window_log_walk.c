/* Sliding window log: random walks of charges, refunds, moves, clocks that step
 * back and writers that come late or are killed, held against a plain list of
 * times. */
#include "unit/algo/shortcuts.h"

enum { MS = 1000, LONGEST = 24, STALE = 8 };

static const struct sl_algo *const slog = &sl_sliding_window_log;

/* The times of all units, oldest first: the newest `most`, as in a ring. */
struct list {
    int64_t at_us[LONGEST];
    size_t count, most;
};

static void list_push(struct list *list, int64_t at_us, int64_t cost)
{
    for (int64_t i = 0; i < cost; i++) {
        if (list->count == list->most)
            memmove(list->at_us, list->at_us + 1, --list->count * sizeof *list->at_us);
        list->at_us[list->count++] = at_us;
    }
}

/* As of when a decision at now_us is made. */
static int64_t list_as_of_us(const struct list *list, int64_t now_us)
{
    int64_t newest_us = list->count ? list->at_us[list->count - 1] : 0;
    return newest_us > now_us ? newest_us : now_us;
}

static bool list_too_far_ahead(const struct list *list, int64_t now_us)
{
    return list_as_of_us(list, now_us) - now_us > MS;
}

static size_t list_gone(const struct list *list, int64_t now_us)
{
    size_t gone = 0;
    while (gone < list->count && list->at_us[gone] <= list_as_of_us(list, now_us) - MS)
        gone++;
    return gone;
}

static int64_t list_retry_us(const struct list *list, int64_t capacity, struct sl_ask ask)
{
    if (ask.cost == 0)
        return 0;
    if (ask.cost > capacity)
        return SL_NEVER;
    if (list_too_far_ahead(list, ask.now_us))
        return MS;
    size_t gone = list_gone(list, ask.now_us);
    int64_t over = (int64_t)(list->count - gone) + ask.cost - capacity;
    return over > 0 ? list->at_us[gone + (size_t)over - 1] + MS - ask.now_us : 0;
}

static uint32_t list_refund(struct list *list, struct sl_ask ask, int64_t charged_at_us)
{
    size_t kept = 0;
    uint32_t back = 0;
    if (list_too_far_ahead(list, ask.now_us) ||
        charged_at_us <= list_as_of_us(list, ask.now_us) - MS)
        return 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->at_us[i] == charged_at_us && back < ask.cost)
            back++;
        else
            list->at_us[kept++] = list->at_us[i];
    }
    list->count = kept;
    return back;
}

static void list_charge(struct list *list, int64_t capacity, struct sl_ask ask)
{
    if (list_too_far_ahead(list, ask.now_us)) {
        list->count = 0;
        list_push(list, ask.now_us, capacity);
    }
    list_push(list, list_as_of_us(list, ask.now_us), ask.cost);
}

/* A log and its list, and the states that others have read and not yet let go. */
struct walk {
    uint64_t seed;
    int64_t now_us;
    struct sl_limit limit;
    struct sl_state state;
    struct list list;
    uint64_t rings[2][LONGEST];
    struct sl_state stale[STALE];
    size_t stale_count;
};

static int64_t up_to(struct walk *walk, int64_t most)
{
    return unit_up_to(&walk->seed, most);
}

static void move(struct walk *walk, uint32_t ring_len)
{
    uint64_t *to = walk->rings[walk->state.ring == walk->rings[0]];
    memset(to, 0, sizeof walk->rings[0]);
    slog->move_ring(&walk->state, to, ring_len);
    walk->list.most = ring_len;
    walk->stale_count = 0;
}

/* Before a write of the ring: the walk has a ring of its own, or no other thread is about. */
static void be_alone(struct walk *walk)
{
    if (up_to(walk, 1))
        move(walk, walk->state.ring_len);
    walk->stale_count = 0;
}

static void refund_any(struct walk *walk)
{
    struct list *list = &walk->list;
    struct sl_ask ask = { walk->now_us, (uint32_t)up_to(walk, 4) };
    int64_t at_us = walk->now_us;
    if (list->count)
        at_us = list->at_us[up_to(walk, (int64_t)list->count - 1)];
    be_alone(walk);
    assert_int_equal(slog->refund(&walk->limit, &walk->state, ask, at_us),
                     list_refund(list, ask, at_us) > 0);
}

/* A thread that read the state a while ago settles now, and fails to swap it or is
 * killed before it has settled all. */
static void settle_late(struct walk *walk)
{
    uint64_t before[LONGEST];
    if (walk->stale_count == 0)
        return;
    struct sl_state stale = walk->stale[up_to(walk, (int64_t)walk->stale_count - 1)];
    if (ask(slog, &walk->limit, &stale, walk->now_us, 0).repair)
        return;
    memcpy(before, stale.ring, stale.ring_len * sizeof *before);
    take(slog, &walk->limit, &stale, walk->now_us, 1);
    for (uint32_t i = 0; i < stale.ring_len; i++)
        if (up_to(walk, 2) == 0)
            stale.ring[i] = before[i];
}

static void remember(struct walk *walk)
{
    size_t at = walk->stale_count < STALE ? walk->stale_count++ : (size_t)up_to(walk, STALE - 1);
    walk->stale[at] = walk->state;
}

static void charge_any(struct walk *walk, bool past_the_limit)
{
    int64_t most = past_the_limit ? walk->state.ring_len + 2 : 4;
    struct sl_ask asked = { walk->now_us, (uint32_t)up_to(walk, most) };
    bool far = list_too_far_ahead(&walk->list, walk->now_us);
    bool passes = past_the_limit || list_retry_us(&walk->list, walk->limit.capacity, asked) == 0;
    if (far)
        be_alone(walk);
    else
        remember(walk);
    if (!passes)
        asked.cost = 0;
    if (asked.cost || far) {
        slog->charge(&walk->limit, &walk->state, asked);
        list_charge(&walk->list, walk->limit.capacity, asked);
    }
}

static void compare(const struct walk *walk)
{
    const struct list *list = &walk->list;
    int64_t now_us = walk->now_us;
    int64_t capacity = walk->limit.capacity;
    bool far = list_too_far_ahead(list, now_us);
    for (uint32_t cost = 0; cost <= capacity + 1; cost++) {
        struct sl_answer answer = ask(slog, &walk->limit, &walk->state, now_us, cost);
        int64_t retry_us = list_retry_us(list, capacity, (struct sl_ask){ now_us, cost });
        assert_int_equal(answer.retry_after_us, retry_us);
        assert_int_equal(answer.allowed, retry_us == 0);
        assert_int_equal(answer.repair, far);
    }
    int64_t live = far ? capacity : (int64_t)(list->count - list_gone(list, now_us));
    int64_t reset_us = (far ? now_us : list_as_of_us(list, now_us)) + MS;
    if (!far && live)
        reset_us = list->at_us[list->count - 1] + MS;
    assert_int_equal(left(slog, &walk->limit, &walk->state, now_us),
                     live < capacity ? capacity - live : 0);
    assert_int_equal(reset_of(slog, &walk->limit, &walk->state, now_us), live ? reset_us : now_us);
    FITS("walk", &walk->state);
}

static void step(struct walk *walk)
{
    switch (up_to(walk, 19)) {
    case 0:
        return refund_any(walk);
    case 1:
        if (up_to(walk, 3))
            return move(walk, walk->state.ring_len);
        return move(walk, (uint32_t)(walk->state.ring_len +
                                     up_to(walk, LONGEST - (int64_t)walk->state.ring_len)));
    case 2:
        walk->limit.capacity = up_to(walk, walk->state.ring_len);
        return;
    case 3:
        walk->now_us -= up_to(walk, walk->now_us < 2 * MS ? walk->now_us : 2 * MS);
        return;
    case 4:
    case 5:
    case 6:
        return settle_late(walk);
    case 7:
        return charge_any(walk, true);
    default:
        walk->now_us += up_to(walk, 1) * up_to(walk, 300);
        return charge_any(walk, false);
    }
}

TEST(any_walk_agrees_with_a_plain_list)
{
    static struct walk walk;
    for (uint64_t round = 0; round < 600; round++) {
        uint32_t ring_len = 1 + (uint32_t)(round % 8);
        walk = (struct walk){ .seed = round, .limit = { .capacity = ring_len, .window_us = MS } };
        move(&walk, ring_len);
        for (int i = 0; i < 200; i++) {
            step(&walk);
            compare(&walk);
        }
    }
}

/* ---- take and overcharge --------------------------------------------------- */

static struct sl_limit any_limit(uint64_t *seed, uint64_t key)
{
    return (struct sl_limit){ .capacity = unit_up_to(seed, SHORTCUT_RING),
                              .window_us = SL_WINDOW_MIN_US << key % 30 };
}

static int64_t window_of(const struct sl_limit *limit)
{
    return limit->window_us;
}

TEST(taking_and_overcharging_say_what_deciding_and_charging_do)
{
    static const struct shortcut shortcut = { &sl_sliding_window_log, any_limit, window_of };
    check_shortcuts(&shortcut);
}
