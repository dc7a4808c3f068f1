/* The log's ring, as several processes share it: which of them writes which entry
 * and when, and that the decisions do not depend on it. 8 per millisecond unless a test says
 * else. */
#include "algo/state.h"
#include "unit/algo/steps.h"

enum { MS = 1000 };

static const struct sl_algo *const slog = &sl_sliding_window_log;
static const struct sl_limit eight_a_ms = { .capacity = 8, .window_us = MS };

static uint64_t ring[8];

static struct sl_state fresh(uint32_t ring_len)
{
    memset(ring, 0, sizeof ring);
    return (struct sl_state){ .ring = ring, .ring_len = ring_len };
}

TEST(only_what_keeps_a_ring_says_how_much_its_state_takes)
{
    for (size_t i = 0; sl_algos[i]; i++)
        SAME(sl_algos[i]->name, sl_algos[i]->charge_most != NULL, sl_algos[i]->keeps_ring);
    assert_int_equal(slog->charge_most(0), 0);
    assert_int_equal(slog->charge_most(1), INT32_MAX);
    assert_int_equal(slog->charge_most(46340), 46340);
    assert_int_equal(slog->charge_most(46341), 46339);
    assert_int_equal(slog->charge_most(1 << 24), 127);
}

TEST(a_charge_writes_only_what_the_one_before_it_left)
{
    struct sl_state state = fresh(8);
    take(slog, &eight_a_ms, &state, 100, 3);
    assert_memory_equal(ring, ((uint64_t[8]){ 0 }), sizeof ring);
    take(slog, &eight_a_ms, &state, 200, 2);
    assert_memory_equal(ring, ((uint64_t[8]){ 101, 101, 101 }), sizeof ring);
    take(slog, &eight_a_ms, &state, 300, 3);
    assert_memory_equal(ring, ((uint64_t[8]){ 101, 101, 101, 201, 201 }), sizeof ring);
    take(slog, &eight_a_ms, &state, 1100, 1);
    assert_memory_equal(ring, ((uint64_t[8]){ 101, 101, 101, 201, 201, 301, 301, 301 }),
                        sizeof ring);
    take(slog, &eight_a_ms, &state, 1100, 0);
    assert_int_equal(ring[0], 101);
    take(slog, &eight_a_ms, &state, 1100, 1);
    assert_int_equal(ring[0], 1101);
}

TEST(the_count_goes_on_from_one_ring_when_it_reaches_two)
{
    struct sl_state state = fresh(4);
    struct sl_limit limit = { .capacity = 4, .window_us = MS };
    for (uint32_t charges = 1; charges <= 40; charges++) {
        take(slog, &limit, &state, charges * 300, 1);
        SAME("count", sl_state_count(&state) % 8, charges < 8 ? charges : 4 + charges % 4);
        SAME("pending", sl_state_count(&state) / 8, 1);
        SAME("left", left(slog, &limit, &state, charges * 300), charges < 4 ? 4 - charges : 0);
    }
    take(slog, &limit, &state, 99000, UINT32_MAX); /* past the limit: no more than there is */
    SAME("count", sl_state_count(&state) % 8, 4);
    SAME("pending", sl_state_count(&state) / 8, 4);
}

TEST(what_others_left_in_a_ring_is_never_an_entry)
{
    static const uint64_t leftovers[] = { 1, 951, 1001, UINT64_C(1) << 53, INT64_MAX, UINT64_MAX };
    static const struct step steps[] = {
        { 1000, 0, 0, 8, 1000 },   { 1000, 3, 0, 5, 2000 },   { 1000, 1, 0, 4, 2000 },
        { 1500, 4, 0, 0, 2500 },   { 1500, 1, 500, 0, 2500 }, { 2000, 4, 0, 0, 3000 },
        { 2000, 1, 500, 0, 3000 }, { 2500, 4, 0, 0, 3500 },   { 2500, 5, 1000, 0, 3500 },
    };
    for (size_t i = 0; i < COUNT(leftovers); i++) {
        struct sl_state state = fresh(8);
        for (size_t k = 0; k < 8; k++)
            ring[k] = leftovers[i];
        RUN_STEPS(slog, &eight_a_ms, &state, steps);
    }
}

TEST(a_later_leftover_counts_no_longer_than_the_newest_entry)
{
    struct sl_state state = fresh(8);
    ring[0] = 9000;
    take(slog, &eight_a_ms, &state, 1000, 1);
    take(slog, &eight_a_ms, &state, 1200, 7);
    assert_int_equal(ring[0], 9000);
    assert_int_equal(ask(slog, &eight_a_ms, &state, 1200, 1).retry_after_us, MS);
    assert_int_equal(left(slog, &eight_a_ms, &state, 2200), 8);
}

TEST(a_blank_in_a_damaged_ring_is_no_entry)
{
    struct sl_state state = fresh(8);
    take(slog, &eight_a_ms, &state, 5, 3);
    take(slog, &eight_a_ms, &state, 6, 1);
    ring[0] = 0;
    assert_int_equal(left(slog, &eight_a_ms, &state, 7), 5);
}

/* Before each charge another thread read the state too, and lost the swap. */
TEST(settling_twice_or_a_lap_late_changes_nothing)
{
    struct sl_state stale[60];
    struct sl_state state = fresh(8);
    for (size_t i = 0; i < COUNT(stale); i++) {
        int64_t now_us = (int64_t)i * 150;
        struct sl_state loser = stale[i] = state;
        take(slog, &eight_a_ms, &loser, now_us + 7, 1);
        uint64_t before[8];
        memcpy(before, ring, sizeof ring);
        take(slog, &eight_a_ms, &state, now_us, 1 + i % 2);
        assert_memory_equal(ring, before, sizeof ring); /* the loser had done all of it */
        for (size_t k = 0; k <= i; k++) {
            loser = stale[k];
            take(slog, &eight_a_ms, &loser, now_us + 9, 3);
        }
        assert_memory_equal(ring, before, sizeof ring);
    }
}

TEST(the_next_writer_completes_what_a_killed_one_settled)
{
    for (unsigned done = 0; done < 8; done++) { /* which of three entries it wrote */
        struct sl_state state = fresh(8);
        take(slog, &eight_a_ms, &state, 100, 3);
        for (unsigned i = 0; i < 3; i++)
            ring[i] = done >> i & 1 ? 101 : 0;
        assert_int_equal(left(slog, &eight_a_ms, &state, 200), 5);
        take(slog, &eight_a_ms, &state, 200, 1);
        assert_memory_equal(ring, ((uint64_t[8]){ 101, 101, 101 }), sizeof ring);
        assert_int_equal(left(slog, &eight_a_ms, &state, 1100), 7);
    }
}

/* ---- more than the state has room for -------------------------------------- */

enum { LARGE = 65536 };

static uint64_t large[LARGE];
static const struct sl_limit large_a_ms = { .capacity = LARGE, .window_us = MS };

static int64_t wait_us(const struct sl_state *state, int64_t now_us, uint32_t cost)
{
    return ask(slog, &large_a_ms, state, now_us, cost).retry_after_us;
}

TEST(a_cost_too_large_for_the_state_is_decided_alike)
{
    const uint32_t most = slog->charge_most(LARGE);
    const uint32_t costs[] = { 1, most - 1, most, most + 1, LARGE - 1, LARGE };
    for (size_t i = 0; i < COUNT(costs); i++) {
        uint32_t cost = costs[i], rest = LARGE - cost;
        struct sl_state state = { .ring = large, .ring_len = LARGE };
        memset(large, 0, sizeof large);
        for (int64_t at_us = 100; at_us < 5000; at_us += MS) {
            take(slog, &large_a_ms, &state, at_us, cost);
            if (at_us == 100)
                SAME("written", large[0] != 0, cost > most);
            SAME("left", left(slog, &large_a_ms, &state, at_us + 100), rest);
            take(slog, &large_a_ms, &state, at_us + 100, rest);
            SAME("oldest", wait_us(&state, at_us + 200, 1), MS - 200);
            SAME("first", wait_us(&state, at_us + 200, cost), MS - 200);
            if (rest)
                SAME("second", wait_us(&state, at_us + 200, cost + 1), MS - 100);
            FITS("large", &state);
            if (rest)
                SAME("back", give_back(slog, &large_a_ms, &state, at_us + 200, rest, at_us + 100),
                     true);
            SAME("left", left(slog, &large_a_ms, &state, at_us + 200), rest);
        }
    }
}

TEST(what_is_pending_moves_into_a_ring_whose_state_has_no_room_for_it)
{
    static uint64_t small[46340];
    struct sl_limit limit = { .capacity = 46340, .window_us = MS };
    struct sl_state state = { .ring = small, .ring_len = 46340 };
    memset(large, 0, sizeof large);
    take(slog, &limit, &state, 100, 6340);
    take(slog, &limit, &state, 200, 40000);
    slog->move_ring(&state, large, LARGE);
    FITS("moved", &state);
    assert_int_equal(left(slog, &large_a_ms, &state, 300), LARGE - 46340);
    take(slog, &large_a_ms, &state, 400, LARGE - 46340);
    assert_int_equal(wait_us(&state, 500, 6340), 600);
    assert_int_equal(wait_us(&state, 500, 6341), 700);
    assert_int_equal(wait_us(&state, 500, 46340), 700);
    assert_int_equal(wait_us(&state, 500, 46341), 900);
    assert_true(give_back(slog, &large_a_ms, &state, 500, 5, 200));
    assert_int_equal(left(slog, &large_a_ms, &state, 500), 5);
    take(slog, &large_a_ms, &state, 1200, 46340); /* over all that was moved */
    take(slog, &large_a_ms, &state, 1400, LARGE - 46340);
    assert_int_equal(wait_us(&state, 1400, 46340), 800);
    assert_int_equal(wait_us(&state, 1400, 46341), 1000);
}

/* ---- damage ---------------------------------------------------------------- */

static uint64_t any_entry(uint64_t *seed, int64_t now_us)
{
    switch (unit_up_to(seed, 4)) {
    case 0:
        return 0;
    case 1:
        return unit_random(seed);
    case 2:
        return UINT64_MAX - (uint64_t)unit_up_to(seed, 2);
    case 3:
        return (UINT64_C(1) << 63) - 1 + (uint64_t)unit_up_to(seed, 2);
    default:
        return (uint64_t)now_us + (uint64_t)unit_up_to(seed, 4 * MS);
    }
}

/* A block of its own, so that a sanitizer sees every step beside it. */
static struct sl_state any_state(uint64_t *seed, int64_t now_us)
{
    static const uint32_t ring_lens[] = { 0, 1, 1, 2, 3, 5, 8, 40 };
    struct sl_state state = { .ring_len = ring_lens[unit_up_to(seed, COUNT(ring_lens) - 1)] };
    uint64_t until = (uint64_t)now_us + (uint64_t)unit_up_to(seed, 3 * MS);
    if (unit_up_to(seed, 3) == 0)
        until = unit_random(seed) >> 12;
    uint64_t low = unit_random(seed) >> 32 >> unit_up_to(seed, 31);
    sl_state_put_dated(&state, (int64_t)until, (uint32_t)low);
    if (state.ring_len)
        state.ring = malloc(state.ring_len * sizeof *state.ring);
    for (uint32_t i = 0; i < state.ring_len; i++)
        state.ring[i] = any_entry(seed, now_us);
    return state;
}

static void still_decides(const struct sl_limit *limit, const struct sl_state *state,
                          int64_t now_us)
{
    for (uint32_t cost = 0; cost <= limit->capacity + 1; cost++) {
        struct sl_answer answer = ask(slog, limit, state, now_us, cost);
        int64_t retry_us = answer.retry_after_us;
        SAME("allowed", answer.allowed, retry_us == 0);
        SAME("never", retry_us == SL_NEVER, cost > limit->capacity);
        SAME("bounded", retry_us <= 2 * limit->window_us, true);
        if (retry_us > 0 && !answer.repair)
            SAME("passes", ask(slog, limit, state, now_us + retry_us, cost).allowed, true);
    }
    struct sl_figures figures = slog->figures(limit, state, now_us);
    SAME("remaining", figures.remaining >= 0 && figures.remaining <= limit->capacity, true);
    SAME("reset", figures.reset_at_us >= now_us, true);
    SAME("reset", figures.reset_at_us <= now_us + 2 * limit->window_us, true);
    FITS("damaged", state);
}

TEST(any_bits_and_any_ring_are_a_log)
{
    uint64_t seed = 3;
    for (int i = 0; i < 30000; i++) {
        int64_t now_us = unit_up_to(&seed, i % 2 ? SL_TIME_MAX_US : 3 * MS);
        struct sl_state state = any_state(&seed, now_us);
        uint32_t longer = state.ring_len + 1 + (uint32_t)unit_up_to(&seed, 3);
        struct sl_limit limit = { .capacity = unit_up_to(&seed, state.ring_len),
                                  .window_us = i % 3 ? MS : SL_WINDOW_MAX_US };
        still_decides(&limit, &state, now_us);
        give_back(slog, &limit, &state, now_us, 2, now_us - unit_up_to(&seed, MS));
        still_decides(&limit, &state, now_us);
        if (state.ring_len)
            take(slog, &limit, &state, now_us, (uint32_t)unit_up_to(&seed, 50));
        still_decides(&limit, &state, now_us);
        uint64_t *old = state.ring;
        slog->move_ring(&state, calloc(longer, sizeof *old), longer);
        free(old);
        still_decides(&limit, &state, now_us);
        take(slog, &limit, &state, now_us, (uint32_t)unit_up_to(&seed, 3));
        still_decides(&limit, &state, now_us);
        free(state.ring);
    }
}
