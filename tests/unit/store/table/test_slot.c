#include "store/table/slot.h"

#include "algo/bucket.h"
#include "algo/guard.h"
#include "unit/base/unit.h"

#define S INT64_C(1000000)

static struct sl_word random_word(uint64_t *seed)
{
    return (struct sl_word){ unit_random(seed), unit_random(seed) };
}

TEST(a_slot_keeps_84_bits_beside_its_key_kind_and_flag)
{
    uint64_t seed = 1;
    for (int i = 0; i < 10000; i++) {
        struct sl_word word = random_word(&seed);
        struct sl_state state = { unit_random(&seed), unit_random(&seed) & SL_SLOT_STATE_HI };
        struct sl_word with = sl_slot_with(word, &state);
        assert_int_equal(with.hi >> 20, word.hi >> 20);
        struct sl_state back = sl_slot_state(with);
        assert_true(back.lo == state.lo && back.hi == state.hi);
        assert_true(!back.ring && back.ring_len == 0);
    }
}

TEST(the_words_are_cut_as_the_document_says)
{
    static const struct {
        uint64_t lo, hi;
        enum sl_dating kind;
        bool tentative;
    } rows[] = {
        { 0, 0, SL_DATED_NOT, false },
        { 0, UINT64_C(1) << 20, SL_DATED_NOT, true }, /* bit 84 */
        { 7, UINT64_C(1) << 20 | 0xeffff, SL_DATED_NOT, true },
        { 7, UINT64_C(1) << 20 | 1 << 16, SL_DATED_NOT, false }, /* bit 80: dead */
        { 0, UINT64_C(1) << 21, SL_DATED_US, false },            /* bits 85 to 87 */
        { 0, UINT64_C(5) << 21 | 1 << 20, SL_DATED_NS, false },
        { 0, UINT64_C(7) << 21 | 1 << 20, SL_DATED_RING, false },
        { 0, UINT64_C(1) << 24, SL_DATED_NOT, false }, /* line */
        { 0, UINT64_C(1) << 27, SL_DATED_NOT, false }, /* fingerprint */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        SAME(row, sl_slot_kind(rows[i].hi), rows[i].kind);
        SAME(row, sl_slot_is_tentative(rows[i].hi), rows[i].tentative);
    }
    SAME("dead", sl_slot_is_tentative(sl_slot_dead().hi), false);
    SAME("dead", sl_slot_dead().hi != 0, true); /* T2 */
    SAME("a line", sizeof(struct sl_slot_line), 64);
}

TEST(each_kind_is_dated_by_its_own_top_bits)
{
    static const struct {
        enum sl_dating kind;
        uint32_t shift, unit_bits;
    } rows[] = { { SL_DATED_US, 32, 0 },       { SL_DATED_FROM_1M, 57, 25 },
                 { SL_DATED_FROM_1S, 51, 19 }, { SL_DATED_FROM_1MS, 41, 9 },
                 { SL_DATED_FROZEN, 32, 0 },   { SL_DATED_RING, 32, 0 } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        sl_u128 below = ((sl_u128)1 << rows[i].shift) - 1;
        for (int64_t at = 1; at < INT64_C(1) << (84 - rows[i].shift); at = at * 3 + 1) {
            struct sl_state state;
            sl_state_put(&state, (sl_u128)(uint64_t)at << rows[i].shift | below);
            int64_t fresh_us = sl_fresh_at_us(rows[i].kind, state.lo, state.hi);
            SAME("a kind", fresh_us, at << rows[i].unit_bits);
        }
    }
    struct sl_state bucket;
    sl_state_put(&bucket, (sl_u128)5001 << 22 | 0x3fffff);
    SAME("a bucket, rounded up", sl_fresh_at_us(SL_DATED_NS, bucket.lo, bucket.hi), 6);
    sl_state_put(&bucket, (sl_u128)5000 << 22 | 0x3fffff);
    SAME("a bucket", sl_fresh_at_us(SL_DATED_NS, bucket.lo, bucket.hi), 5);
}

static struct sl_word dated(enum sl_dating kind, int64_t until_us)
{
    struct sl_state state;
    sl_state_put_dated(&state, until_us, 1);
    struct sl_word word = { 0, (uint64_t)kind << SL_SLOT_KIND_SHIFT };
    return sl_slot_with(word, &state);
}

TEST(a_slot_is_live_until_it_is_fresh_and_not_unbelievably_long)
{
    static const struct {
        int64_t until_us, now_us;
        bool live;
    } rows[] = {
        { 5 * S, 5 * S - 1, true },
        { 5 * S, 5 * S, false },
        { 5 * S, 5 * S + 1, false },
        { 0, 0, false },
        { 5 * S + SL_LIFE_MAX_US, 5 * S, true },
        { 5 * S + SL_LIFE_MAX_US + 1, 5 * S, false },
        { (INT64_C(1) << 52) - 1, 5 * S, false },
        { SL_TIME_MAX_US + 2 * SL_WINDOW_MAX_US, SL_TIME_MAX_US, true }, /* legal, and the last */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        SAME(row, sl_slot_is_live(dated(SL_DATED_US, rows[i].until_us), rows[i].now_us),
             rows[i].live);
        SAME(row, sl_slot_is_live(dated(SL_DATED_RING, rows[i].until_us), rows[i].now_us),
             rows[i].live);
        SAME(row, sl_slot_is_live(dated(SL_DATED_NOT, rows[i].until_us), rows[i].now_us), false);
    }
}

/* ---- T7: no state is fresh earlier than its algorithm says ------------------- */

static int64_t random_of(uint64_t *seed, int64_t least, int64_t most)
{
    return least + unit_up_to(seed, most - least);
}

/* Windows of every length at all magnitudes, buckets with odd token times. */
static struct sl_limit random_limit(const struct sl_algo *algo, uint64_t *seed)
{
    struct sl_limit limit = { .capacity = random_of(seed, 1, 20) };
    if (algo->is_bucket) {
        limit.token_ns = random_of(seed, 1, INT64_C(1) << unit_up_to(seed, 44));
        limit.token_form = sl_token_short(limit.token_ns);
    } else {
        int64_t most_us = SL_WINDOW_MAX_US >> unit_up_to(seed, 34);
        limit.window_us = random_of(seed, SL_WINDOW_MIN_US, most_us);
        limit.first_request = algo->takes_align && unit_up_to(seed, 1);
    }
    return limit;
}

static int64_t span_us(const struct sl_limit *limit)
{
    return limit->window_us ? limit->window_us : limit->capacity * limit->token_ns / 1000 + 1;
}

/* Checks that at `at_us` the state behaves like no state at all. */
static void as_good_as_fresh(const struct sl_algo *algo, const struct sl_limit *limit,
                             const struct sl_state *state, int64_t at_us)
{
    struct sl_state none = { 0 };
    for (uint32_t cost = 0; cost <= limit->capacity + 1; cost++) {
        struct sl_ask ask = { at_us, cost };
        struct sl_answer got = algo->decide(limit, state, ask);
        struct sl_answer wanted = algo->decide(limit, &none, ask);
        SAME(algo->name, got.allowed, wanted.allowed);
        SAME(algo->name, got.repair, false);
        SAME(algo->name, got.retry_after_us, wanted.retry_after_us);
        SAME(algo->name, got.delay_us, wanted.delay_us);
    }
    SAME(algo->name, algo->figures(limit, state, at_us).remaining, limit->capacity);
    SAME(algo->name, algo->figures(limit, state, at_us).reset_at_us, at_us);
}

static void check_dating(const struct sl_algo *algo, const struct sl_limit *limit,
                         const struct sl_state *state, int64_t now_us)
{
    enum sl_dating kind = sl_dating_of(algo, limit);
    struct sl_word word = { 0, (uint64_t)kind << SL_SLOT_KIND_SHIFT };
    word = sl_slot_with(word, state);
    int64_t fresh_us = sl_fresh_at_us(kind, state->lo, state->hi);
    struct sl_figures figures = algo->figures(limit, state, now_us);
    SAME(algo->name, fresh_us >= figures.reset_at_us || figures.remaining == limit->capacity, true);
    if (figures.remaining < limit->capacity) {
        SAME(algo->name, sl_slot_is_live(word, now_us), true);
        SAME(algo->name, sl_slot_is_live(word, figures.reset_at_us - 1), true);
    }
    int64_t at_us = sl_max_i64(fresh_us, now_us);
    SAME(algo->name, sl_slot_is_live(word, at_us), false);
    as_good_as_fresh(algo, limit, state, at_us);
}

static void walk(const struct sl_algo *algo, uint64_t *seed)
{
    uint64_t ring[32] = { 0 };
    struct sl_limit limit = random_limit(algo, seed);
    struct sl_state state = { .ring = algo->keeps_ring ? ring : NULL,
                              .ring_len = algo->keeps_ring ? COUNT(ring) : 0 };
    int64_t now_us = unit_up_to(seed, SL_TIME_MAX_US / 2), last_us = now_us;
    for (int i = 0; i < 30; i++) {
        struct sl_ask ask = { now_us, (uint32_t)random_of(seed, 1, limit.capacity) };
        if (unit_up_to(seed, 5) == 0) {
            algo->refund(&limit, &state, ask, last_us);
        } else if (unit_up_to(seed, 9) == 0) {
            algo->overcharge(&limit, &state, ask);
        } else if (algo->decide(&limit, &state, ask).allowed) {
            algo->charge(&limit, &state, ask);
            last_us = now_us;
        }
        check_dating(algo, &limit, &state, now_us);
        now_us += unit_up_to(seed, span_us(&limit)) >> unit_up_to(seed, 6);
    }
}

TEST(no_state_is_fresh_before_its_algorithm_says_so)
{
    uint64_t seed = 2;
    for (size_t i = 0; sl_algos[i]; i++)
        for (int round = 0; round < 1000; round++)
            walk(sl_algos[i], &seed);
}

/* Checks that the next requests are answered as those of a new key. */
static void guard_as_good_as_fresh(const struct sl_guard *guard, struct sl_state state,
                                   int64_t at_us)
{
    struct sl_state none = { 0 };
    for (uint32_t i = 0; i < guard->threshold + 2; i++) {
        struct sl_guard_answer got = sl_guard_count(guard, &state, at_us);
        struct sl_guard_answer wanted = sl_guard_count(guard, &none, at_us);
        SAME("guard", got.event, wanted.event);
        SAME("guard", got.request_count, wanted.request_count);
        SAME("guard", got.blocked_until_us, wanted.blocked_until_us);
    }
}

/* A warning may end in the middle of a burst window. What was counted in that
 * window is then given up with the warning: its state has no room for a second
 * date. */
static bool ends_within_a_window(const struct sl_guard *guard, const struct sl_state *state)
{
    return (state->lo & 3) == 1 && sl_state_until_us(state) % guard->window_us != 0;
}

TEST(no_guard_is_fresh_while_it_counts_warns_or_blocks)
{
    uint64_t seed = 3;
    for (int round = 0; round < 1000; round++) {
        struct sl_guard guard = { .window_us = random_of(&seed, 1000, 20 * S),
                                  .penalty_us = random_of(&seed, 1000, 100 * S),
                                  .threshold = (uint32_t)random_of(&seed, 1, 5) };
        struct sl_state state = { 0 };
        int64_t now_us = unit_up_to(&seed, SL_TIME_MAX_US / 2);
        for (int i = 0; i < 30; i++) {
            sl_guard_count(&guard, &state, now_us);
            int64_t fresh_us = sl_fresh_at_us(SL_DATED_US, state.lo, state.hi);
            assert_true(fresh_us > now_us);
            if (!ends_within_a_window(&guard, &state))
                guard_as_good_as_fresh(&guard, state, fresh_us);
            now_us += unit_up_to(&seed, guard.window_us) >> unit_up_to(&seed, 4);
        }
    }
}
