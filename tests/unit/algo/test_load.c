/* A state told by its twin in Lua and loaded again is the same state, and any numbers are one. */
#include "unit/algo/told.h"

#define S INT64_C(1000000)

#define NOW_US (INT64_C(1700000000) * S)

enum { RING = 64, STEPS = 4000 };

/* A state, and when and how it was last written. */
struct kept {
    uint64_t ring[RING];
    struct sl_state state;
    struct written written;
};

static void decide_and_charge(const struct sl_algo *algo, const struct sl_limit *limit,
                              struct kept *kept, struct sl_ask ask)
{
    struct sl_answer answer = algo->decide(limit, &kept->state, ask);
    bool charges = answer.allowed && ask.cost > 0;
    if (!charges && !answer.repair)
        return;
    algo->charge(limit, &kept->state, charges ? ask : (struct sl_ask){ ask.now_us, 0 });
    kept->written = (struct written){ ask.now_us, limit->token_ns };
}

static void same_answer(const char *row, struct sl_answer got, struct sl_answer wanted)
{
    SAME(row, got.allowed, wanted.allowed);
    SAME(row, got.repair, wanted.repair);
    SAME(row, got.retry_after_us, wanted.retry_after_us);
    SAME(row, got.delay_us, wanted.delay_us);
    SAME(row, got.as_of_us, wanted.as_of_us);
}

static void same_figures(const char *row, struct sl_figures got, struct sl_figures wanted)
{
    SAME(row, got.remaining, wanted.remaining);
    SAME(row, got.reset_at_us, wanted.reset_at_us);
}

/* Told, loaded, decided and charged: as if it had never been away. */
static void check_step(const char *row, const struct sl_algo *algo, const struct sl_limit *limit,
                       struct kept *kept, struct sl_ask ask)
{
    int64_t told[SL_TOLD];
    struct kept loaded = { .written = kept->written };
    tell(algo, limit, &kept->state, ask, kept->written, told);
    algo->load(limit, told, &loaded.state);
    same_answer(row, algo->decide(limit, &loaded.state, ask),
                algo->decide(limit, &kept->state, ask));
    same_figures(row, algo->figures(limit, &loaded.state, ask.now_us),
                 algo->figures(limit, &kept->state, ask.now_us));
    decide_and_charge(algo, limit, &loaded, ask);
    decide_and_charge(algo, limit, kept, ask);
    same_figures(row, algo->figures(limit, &loaded.state, ask.now_us),
                 algo->figures(limit, &kept->state, ask.now_us));
}

/* Forwards mostly, by a bit or by windows; now and then the clock steps back. */
static int64_t next_us(uint64_t *seed, int64_t now_us, int64_t span_us)
{
    switch (unit_random(seed) % 16) {
    case 0:
        return now_us - unit_up_to(seed, 3 * span_us);
    case 1:
        return now_us + unit_up_to(seed, 3 * span_us);
    case 2:
        return now_us;
    default:
        return now_us + unit_up_to(seed, span_us / 10);
    }
}

static void walk(const char *row, const struct sl_algo *algo, const struct sl_limit limits[2],
                 int64_t span_us)
{
    struct kept kept = { 0 };
    uint64_t seed = 7;
    int64_t now_us = NOW_US;
    kept.state = (struct sl_state){ .ring = kept.ring, .ring_len = algo->keeps_ring ? RING : 0 };
    for (int i = 0; i < STEPS; i++) {
        const struct sl_limit *limit = &limits[unit_random(&seed) % 8 == 0];
        uint32_t cost = (uint32_t)unit_up_to(&seed, 4);
        now_us = next_us(&seed, now_us, span_us);
        if (unit_random(&seed) % 64 == 0)
            cost = (uint32_t)limit->capacity + 1;
        check_step(row, algo, limit, &kept, (struct sl_ask){ now_us, cost });
    }
}

static struct sl_limit window_of(int64_t capacity, int64_t window_us, bool first_request)
{
    return (struct sl_limit){ .capacity = capacity,
                              .window_us = window_us,
                              .first_request = first_request };
}

static struct sl_limit bucket_of(int64_t capacity, int64_t token_ns)
{
    return (struct sl_limit){ .capacity = capacity,
                              .token_ns = token_ns,
                              .token_form = sl_token_short(token_ns) };
}

TEST(a_window_told_and_loaded_decides_the_same)
{
    static const int64_t windows[] = { 1000, 7001, S, 10 * S, 61 * S, 3600 * S, SL_WINDOW_MAX_US };
    for (size_t a = 0; sl_algos[a]; a++)
        for (size_t i = 0; !sl_algos[a]->is_bucket && i < COUNT(windows); i++) {
            char row[64];
            bool first = sl_algos[a]->takes_align && i % 2;
            struct sl_limit limits[2] = { window_of(20, windows[i], first),
                                          window_of(13, windows[i], first) };
            snprintf(row, sizeof row, "%s, %" PRId64, sl_algos[a]->name, windows[i]);
            walk(row, sl_algos[a], limits, windows[i]);
        }
}

/* Rates of both forms: kept exactly, and rounded. */
TEST(a_bucket_told_and_loaded_decides_the_same_also_at_another_rate)
{
    static const int64_t tokens[][2] = {
        { 100000000, 100000000 },   { 100000000, 250000000 },         { 1, 3 },
        { 333333333, 100000000 },   { 333333333, 1234567891 },        { 1000003, 1000007 },
        { 86400000000000, 131071 }, { SL_SPAN_MAX_NS / 20, 3600007 },
    };
    for (size_t a = 0; sl_algos[a]; a++)
        for (size_t i = 0; sl_algos[a]->is_bucket && i < COUNT(tokens); i++) {
            char row[64];
            struct sl_limit limits[2] = { bucket_of(20, tokens[i][0]),
                                          bucket_of(13, tokens[i][1]) };
            snprintf(row, sizeof row, "%s, %" PRId64, sl_algos[a]->name, tokens[i][0]);
            walk(row, sl_algos[a], limits, 20 * tokens[i][0] / 1000 + 1);
        }
}

TEST(a_key_that_is_not_there_is_a_fresh_state)
{
    for (size_t a = 0; sl_algos[a]; a++) {
        const struct sl_algo *algo = sl_algos[a];
        struct sl_limit limit = algo->is_bucket ? bucket_of(5, S) : window_of(5, 10 * S, false);
        int64_t told[SL_TOLD] = { 0 };
        struct sl_state state = { 0 };
        if (algo->keeps_ring)
            told[0] = told[2] = -1;
        algo->load(&limit, told, &state);
        SAME(algo->name, algo->decide(&limit, &state, (struct sl_ask){ NOW_US, 5 }).allowed, true);
        SAME(algo->name, algo->figures(&limit, &state, NOW_US).remaining, 5);
        SAME(algo->name, algo->figures(&limit, &state, NOW_US).reset_at_us, NOW_US);
    }
}

/* ---- any numbers ---- */

static void check_hostile(const struct sl_algo *algo, const struct sl_limit *limit,
                          const int64_t numbers[SL_TOLD], struct sl_ask ask)
{
    char row[128];
    int64_t told[SL_TOLD] = { numbers[0], numbers[1], numbers[2] };
    struct sl_state state = { 0 };
    snprintf(row, sizeof row, "%s %" PRId64 " %" PRId64 " %" PRId64, algo->name, numbers[0],
             numbers[1], numbers[2]);
    algo->load(limit, told, &state);
    SAME(row, state.hi >> 20, 0);
    struct sl_answer answer = algo->decide(limit, &state, ask);
    SAME(row, answer.allowed, answer.retry_after_us == 0);
    SAME(row, answer.retry_after_us >= SL_NEVER && answer.delay_us >= 0, true);
    if (answer.allowed || answer.repair)
        algo->charge(limit, &state, answer.allowed ? ask : (struct sl_ask){ ask.now_us, 0 });
    SAME(row, state.hi >> 20, 0);
    struct sl_figures figures = algo->figures(limit, &state, ask.now_us);
    SAME(row, figures.remaining >= 0 && figures.remaining <= limit->capacity, true);
    SAME(row, figures.reset_at_us >= 0, true);
}

static void check_any_numbers(const struct sl_algo *algo, const struct sl_limit *limit)
{
    static const int64_t nows[] = { 0, NOW_US, SL_TIME_MAX_US };
    uint32_t all = (uint32_t)sl_min_i64(limit->capacity, UINT32_MAX);
    const uint32_t costs[] = { 0, 1, all, UINT32_MAX };
    size_t count = COUNT(hostile);
    for (size_t i = 0; i < count * count * count; i++) {
        int64_t told[SL_TOLD] = { hostile[i % count], hostile[i / count % count],
                                  hostile[i / count / count] };
        for (size_t j = 0; j < COUNT(nows) * COUNT(costs); j++)
            check_hostile(algo, limit, told,
                          (struct sl_ask){ nows[j % COUNT(nows)], costs[j / COUNT(nows)] });
    }
}

TEST(any_three_numbers_are_a_state)
{
    static const int64_t windows[] = { SL_WINDOW_MIN_US, 10 * S, SL_WINDOW_MAX_US };
    for (size_t a = 0; sl_algos[a]; a++) {
        const struct sl_algo *algo = sl_algos[a];
        for (size_t i = 0; i < COUNT(windows); i++) {
            struct sl_limit limit = window_of(100, windows[i], false);
            if (algo->is_bucket)
                limit = bucket_of(100, sl_min_i64(windows[i] * 1000, SL_SPAN_MAX_NS) / 100);
            check_any_numbers(algo, &limit);
            limit.capacity = algo->is_bucket ? 1 : algo->capacity_max(windows[i]);
            check_any_numbers(algo, &limit);
        }
    }
}

/* ---- the guard ---- */

static const struct sl_guard guards[] = {
    { .window_us = 10 * S, .penalty_us = 60 * S, .threshold = 3 },
    { .window_us = 1000, .penalty_us = 1000, .threshold = 1 },
    { .window_us = 10 * S, .penalty_us = 3600 * S, .threshold = 10 },
    { .window_us = 7 * S, .penalty_us = 60 * S, .threshold = 2 },
};

TEST(a_guard_told_and_loaded_judges_the_same)
{
    for (size_t g = 0; g < COUNT(guards); g++) {
        struct sl_state state = { 0 };
        uint64_t seed = g;
        int64_t now_us = NOW_US;
        for (int i = 0; i < 20 * STEPS; i++) {
            char row[64];
            int64_t told[SL_TOLD_GUARD];
            struct sl_state loaded = { 0 };
            now_us = next_us(&seed, now_us, guards[g].window_us);
            snprintf(row, sizeof row, "guard %zu step %d", g, i);
            tell_guard(&guards[g], &state, told);
            sl_guard_load(&guards[g], told, &loaded);
            SAME(row, sl_guard_is_loud(&loaded), sl_guard_is_loud(&state));
            SAME(row, sl_guard_peek(&guards[g], &loaded, now_us).blocked_until_us,
                 sl_guard_peek(&guards[g], &state, now_us).blocked_until_us);
            struct sl_guard_answer got = sl_guard_count(&guards[g], &loaded, now_us);
            struct sl_guard_answer wanted = sl_guard_count(&guards[g], &state, now_us);
            SAME(row, got.event, wanted.event);
            SAME(row, got.request_count, wanted.request_count);
            SAME(row, got.blocked_until_us, wanted.blocked_until_us);
            SAME(row, loaded.lo, state.lo);
            SAME(row, loaded.hi, state.hi);
        }
    }
}

static void check_hostile_guard(const struct sl_guard *guard, const int64_t told[SL_TOLD_GUARD],
                                int64_t now_us)
{
    char row[160];
    struct sl_state state = { 0 };
    snprintf(row, sizeof row, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, told[0], told[1],
             told[2], told[3]);
    sl_guard_load(guard, told, &state);
    SAME(row, state.hi >> 20, 0);
    struct sl_guard_answer peeked = sl_guard_peek(guard, &state, now_us);
    struct sl_guard_answer counted = sl_guard_count(guard, &state, now_us);
    SAME(row, state.hi >> 20, 0);
    SAME(row, peeked.blocked_until_us == 0 || peeked.blocked_until_us > now_us, true);
    SAME(row, counted.blocked_until_us <= now_us + 2 * guard->penalty_us, true);
}

TEST(any_four_numbers_are_a_guards_state)
{
    static const int64_t nows[] = { 0, NOW_US, SL_TIME_MAX_US };
    size_t count = COUNT(hostile);
    for (size_t i = 0; i < count * count * count * count; i++) {
        int64_t told[SL_TOLD_GUARD] = { hostile[i % count], hostile[i / count % count],
                                        hostile[i / count / count % count],
                                        hostile[i / count / count / count] };
        for (size_t j = 0; j < COUNT(nows); j++)
            check_hostile_guard(&guards[i % COUNT(guards)], told, nows[j]);
    }
}
