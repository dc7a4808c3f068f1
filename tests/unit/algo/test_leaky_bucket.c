/* Leaky bucket: what the queue adds to the bucket, which has its own tests. */
#include "algo/bucket.h"

#include "unit/algo/shortcuts.h"

enum { MS = 1000, S = 1000000 }; /* in µs */
enum { NS_PER_MS = 1000000 };    /* a token's time is in ns */

static const struct sl_algo *const leaky = &sl_leaky_bucket;

static struct sl_limit limit_of(int64_t capacity, int64_t token_ns)
{
    return (struct sl_limit){ .capacity = capacity,
                              .token_ns = token_ns,
                              .token_form = sl_token_short(token_ns) };
}

TEST(the_delay_is_the_work_queued_before)
{
    struct sl_limit limit = limit_of(4, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        /* now cost retry remaining reset delay */
        { 0, 0, 0, 4, 0, 0 },
        { 0, 1, 0, 3, 100 * MS, 0 },
        { 0, 1, 0, 2, 200 * MS, 100 * MS },
        { 0, 2, 0, 0, 400 * MS, 200 * MS },
        { 0, 0, 0, 0, 400 * MS, 400 * MS },
        { 0, 1, 100 * MS, 0, 400 * MS, 400 * MS }, /* denied: it would have been */
        { 0, 5, SL_NEVER, 0, 400 * MS, 400 * MS },
        { 100 * MS - 1, 1, 1, 0, 400 * MS, 300 * MS + 1 },
        { 100 * MS, 1, 0, 0, 500 * MS, 300 * MS },
        { 500 * MS - 1, 1, 0, 2, 600 * MS, 1 },
        { 600 * MS, 1, 0, 3, 700 * MS, 0 },
    };
    RUN_STEPS(leaky, &limit, &state, steps);
}

TEST(sent_on_after_their_delays_requests_are_evenly_spaced)
{
    struct sl_limit limit = limit_of(50, 7 * NS_PER_MS);
    struct sl_state state = { 0 };
    uint64_t seed = 1;
    int64_t now_us = 1000, last_us = 0;
    for (int i = 0; i < 10000; i++) {
        struct sl_answer answer = decide_and_charge(leaky, &limit, &state, now_us, 1);
        if (answer.allowed) {
            assert_true(last_us == 0 || now_us + answer.delay_us >= last_us + 7 * MS);
            assert_true(answer.delay_us < 50 * 7 * MS);
            last_us = now_us + answer.delay_us;
        }
        now_us += unit_up_to(&seed, 12 * MS);
    }
}

TEST(a_delay_is_rounded_up_to_whole_microseconds)
{
    struct sl_limit limit = limit_of(3, 1500);
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 0, 1, 0, 2, 2, 0 }, { 0, 1, 0, 1, 3, 2 }, { 1, 1, 0, 0, 5, 2 }, /* 3 µs less one */
    };
    RUN_STEPS(leaky, &limit, &state, steps);
}

TEST(a_clock_that_stepped_back_lengthens_the_delay_by_its_step)
{
    struct sl_limit limit = limit_of(10, 100 * NS_PER_MS);
    struct sl_state state = { 0 };
    static const struct step steps[] = {
        { 5 * S, 2, 0, 8, 5 * S + 200 * MS, 0 },
        { 5 * S - 300 * MS, 1, 0, 4, 5 * S + 300 * MS, 500 * MS },
        { S, 1, 100 * MS, 0, 2 * S, S, .repair = true },
        { S + 100 * MS, 1, 0, 0, 2 * S + 100 * MS, 900 * MS },
    };
    RUN_STEPS(leaky, &limit, &state, steps);
}

/* ---- what both buckets share, beside test_bucket.c -------------------------- */

TEST(dividing_by_a_tokens_part_is_exact)
{
    for (uint64_t i = 0, seed = 6; i < 200000; i++) {
        int64_t token_ns = 1 + unit_up_to(&seed, (INT64_C(1) << unit_up_to(&seed, 52)) - 1);
        struct sl_limit limit = limit_of(unit_up_to(&seed, SL_SPAN_MAX_NS / token_ns), token_ns);
        struct sl_state state = { .lo = unit_random(&seed) << 22 | limit.token_form };
        int64_t had = left(leaky, &limit, &state, 0);
        limit.token_part = sl_token_part(token_ns);
        SAME("the same", left(leaky, &limit, &state, 0), had);
    }
}

/* Mostly the key's own rate; else a round one, or one that 22 bits cut short. */
static struct sl_limit any_limit(uint64_t *seed, uint64_t key)
{
    static const int64_t others_ns[] = { 1000, NS_PER_MS, 12048192772 };
    int64_t token_ns = INT64_C(12345) << key % 20;
    if (unit_up_to(seed, 9) == 0)
        token_ns = others_ns[unit_up_to(seed, COUNT(others_ns) - 1)];
    return limit_of(unit_up_to(seed, SHORTCUT_RING), token_ns);
}

static int64_t span_of(const struct sl_limit *limit)
{
    return limit->capacity * limit->token_ns / 1000 + 1;
}

static bool has_another_rate(const struct sl_limit *limit, const struct sl_state *state)
{
    return (state->lo & 0x3fffff) != limit->token_form;
}

TEST(taking_and_overcharging_say_what_deciding_and_charging_do)
{
    static const struct shortcut token = { &sl_token_bucket, any_limit, span_of, has_another_rate };
    static const struct shortcut queue = { &sl_leaky_bucket, any_limit, span_of, has_another_rate };
    check_shortcuts(&token);
    check_shortcuts(&queue);
}
