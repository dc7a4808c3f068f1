/* What every row of the list has in common. */
#include "algo/algo.h"

#include "algo/bucket.h"
#include "unit/algo/steps.h"

enum { S = 1000000, RING = 1024 };

static uint64_t ring[RING];

/* `capacity` a second, whatever the algorithm. */
static struct sl_limit limit_of(const struct sl_algo *algo, int64_t capacity)
{
    struct sl_limit limit = { .capacity = capacity };
    if (algo->is_bucket) {
        limit.token_ns = capacity ? INT64_C(1000000000) / capacity : 1000;
        limit.token_form = sl_token_short(limit.token_ns);
    } else {
        limit.window_us = S;
    }
    return limit;
}

static struct sl_state fresh(const struct sl_algo *algo)
{
    memset(ring, 0, sizeof ring);
    return algo->keeps_ring ? (struct sl_state){ .ring = ring, .ring_len = RING }
                            : (struct sl_state){ 0 };
}

TEST(the_list_has_every_algorithm_and_the_default_first)
{
    static const char *const names[] = { "sliding_window_counter", "fixed_window",
                                         "sliding_window_log", "token_bucket", "leaky_bucket" };
    size_t count = 0;
    for (; sl_algos[count]; count++)
        assert_string_equal(sl_algos[count]->name, names[count]);
    assert_int_equal(count, COUNT(names));
}

TEST(only_what_keeps_a_ring_can_move_it)
{
    for (size_t i = 0; sl_algos[i]; i++)
        SAME(sl_algos[i]->name, sl_algos[i]->move_ring != NULL, sl_algos[i]->keeps_ring);
}

TEST(zero_is_a_fresh_key_at_any_time)
{
    static const int64_t times_us[] = { 0, 1, S - 1, S, 2 * S, SL_TIME_MAX_US };
    for (size_t i = 0; sl_algos[i]; i++)
        for (size_t k = 0; k < COUNT(times_us); k++) {
            const struct sl_algo *algo = sl_algos[i];
            struct sl_limit limit = limit_of(algo, 100);
            struct sl_state state = fresh(algo);
            int64_t now_us = times_us[k];
            SAME(algo->name, left(algo, &limit, &state, now_us), 100);
            SAME(algo->name, reset_of(algo, &limit, &state, now_us), now_us);
            SAME(algo->name, ask(algo, &limit, &state, now_us, 100).allowed, true);
            SAME(algo->name, ask(algo, &limit, &state, now_us, 100).repair, false);
            SAME(algo->name, ask(algo, &limit, &state, now_us, 101).retry_after_us, SL_NEVER);
            SAME(algo->name, give_back(algo, &limit, &state, now_us, 1, now_us), false);
        }
}

TEST(exactly_the_limit_passes_at_one_instant)
{
    static const int64_t limits[] = { 1, 2, 100, RING };
    static const int64_t times_us[] = { 0, 999999, SL_TIME_MAX_US };
    for (size_t i = 0; sl_algos[i]; i++)
        for (size_t k = 0; k < COUNT(limits) * COUNT(times_us); k++) {
            const struct sl_algo *algo = sl_algos[i];
            struct sl_limit limit = limit_of(algo, limits[k % COUNT(limits)]);
            struct sl_state state = fresh(algo);
            int64_t now_us = times_us[k / COUNT(limits)];
            for (int64_t n = limit.capacity; n > 0; n--) {
                SAME(algo->name, left(algo, &limit, &state, now_us), n);
                SAME(algo->name, decide_and_charge(algo, &limit, &state, now_us, 1).allowed, true);
                FITS(algo->name, &state);
            }
            SAME(algo->name, ask(algo, &limit, &state, now_us, 1).allowed, false);
        }
}

TEST(asking_for_nothing_is_allowed_and_takes_nothing)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        const struct sl_algo *algo = sl_algos[i];
        struct sl_limit limit = limit_of(algo, 3);
        struct sl_state state = fresh(algo);
        take(algo, &limit, &state, 5 * S, 3);
        struct sl_state before = state;
        SAME(algo->name, decide_and_charge(algo, &limit, &state, 5 * S, 0).allowed, true);
        SAME(algo->name, state.lo == before.lo && state.hi == before.hi, true);
    }
}

TEST(a_limit_of_zero_lets_only_nothing_pass)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        const struct sl_algo *algo = sl_algos[i];
        struct sl_limit limit = limit_of(algo, 0);
        struct sl_state state = fresh(algo);
        struct step steps[] = {
            { 5 * S, 0, 0, 0, 5 * S },
            { 5 * S, 1, SL_NEVER, 0, 5 * S },
            { 5 * S, UINT32_MAX, SL_NEVER, 0, 5 * S },
        };
        RUN_STEPS(algo, &limit, &state, steps);
    }
}

/* The longest wait for one unit of ten a second, on a clock that behaves. */
static int64_t longest_wait_us(const struct sl_algo *algo)
{
    if (algo->is_bucket)
        return S / 10;
    return algo == &sl_sliding_window_counter ? S + 1 : S;
}

TEST(a_clock_that_steps_back_gives_nothing_and_locks_for_one_span_more_at_most)
{
    for (size_t i = 0; sl_algos[i]; i++)
        for (int64_t back_us = 0; back_us < 5 * S; back_us += 99999) {
            const struct sl_algo *algo = sl_algos[i];
            struct sl_limit limit = limit_of(algo, 10);
            struct sl_state state = fresh(algo);
            int64_t span_us = algo == &sl_sliding_window_counter ? 2 * S : S;
            int64_t now_us = 9 * S - back_us;
            take(algo, &limit, &state, 9 * S, 10);
            SAME(algo->name, left(algo, &limit, &state, now_us), 0);
            struct sl_answer answer = decide_and_charge(algo, &limit, &state, now_us, 1);
            SAME(algo->name, answer.allowed, false);
            SAME(algo->name, answer.retry_after_us <= span_us + longest_wait_us(algo), true);
            if (algo->is_bucket || answer.repair)
                SAME(algo->name, answer.retry_after_us <= longest_wait_us(algo), true);
        }
}
