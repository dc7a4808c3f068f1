/* Composition: base · burst · (1 + s), and 10^9 / (rate · (1 + s/2)). */
#include "rules/numbers.h"

#include "algo/bucket.h"
#include "unit/base/unit.h"

#define S INT64_C(1000000)

static struct sl_decimal decimal(const char *text)
{
    struct sl_decimal value;
    if (!sl_parse_decimal(sl_text(text), &value))
        fail_msg("`%s` is no decimal", text);
    return value;
}

/* One rule as a file says it; what a row leaves out has its default. */
struct given {
    const struct sl_algo *algo;
    uint64_t capacity;
    int64_t window_us;
    const char *rate;
    const char *scale;
    const char *burst;
    bool adaptive;
    bool own; /* the tier's own numbers: the scale is not theirs */
};

static struct sl_numbers_in in_of(const struct given *given)
{
    struct sl_decimal scale = decimal(given->scale ? given->scale : "1");
    struct sl_decimal one = { 1, 0 };
    return (struct sl_numbers_in){
        .algo = given->algo,
        .capacity = given->capacity,
        .capacity_scale = given->own ? one : scale,
        .window_us = given->window_us,
        .has_rate = given->rate != NULL,
        .rate = given->rate ? decimal(given->rate) : one,
        .rate_scale = given->own ? one : scale,
        .burst = decimal(given->burst ? given->burst : "1"),
        .adaptive = given->adaptive,
    };
}

#define TOKEN   .algo = &sl_token_bucket
#define LEAKY   .algo = &sl_leaky_bucket
#define COUNTER .algo = &sl_sliding_window_counter
#define FIXED   .algo = &sl_fixed_window
#define LOG     .algo = &sl_sliding_window_log

static const struct {
    const char *what;
    struct given given;
    int32_t trust;
    int64_t capacity, token_ns;
} composed[] = {
    { "a window", { FIXED, 100, S }, 0, 100, 0 },
    { "scaled", { FIXED, 100, S, .scale = "2.5" }, 0, 250, 0 },
    { "floored once", { FIXED, 7, S, .scale = "0.5" }, 0, 3, 0 },
    { "to nothing", { FIXED, 1, S, .scale = "0.001" }, 0, 0, 0 },
    { "its own, unscaled", { FIXED, 7, S, .scale = "0.5", .own = true }, 0, 7, 0 },
    { "trusted", { COUNTER, 100, S, .adaptive = true }, 1000, 200, 0 },
    { "half trusted", { COUNTER, 101, S, .adaptive = true }, 500, 151, 0 },
    { "a floor behind tier and trust: 3.5 · 1.5",
      { LOG, 7, S, .scale = "0.5", .adaptive = true },
      500,
      5,
      0 },
    { "a bucket by its rate", { TOKEN, 100, .rate = "10" }, 0, 100, 100000000 },
    { "0.083 a second", { TOKEN, 5, .rate = "0.083" }, 0, 5, 12048192772 },
    { "3 a second: rounded up", { TOKEN, 5, .rate = "3" }, 0, 5, 333333334 },
    { "a bucket by its window", { TOKEN, 100, 60 * S }, 0, 100, 600000000 },
    { "7 a second by a window", { LEAKY, 7, S }, 0, 7, 142857143 },
    { "the rate beside a window", { TOKEN, 100, 60 * S, "10" }, 0, 100, 100000000 },
    { "scaled with its rate", { TOKEN, 100, .rate = "10", .scale = "10" }, 0, 1000, 10000000 },
    { "scaled by its window", { TOKEN, 100, 60 * S, .scale = "10" }, 0, 1000, 60000000 },
    { "a burst has the same rate",
      { TOKEN, 100, .rate = "10", .burst = "1.5" },
      0,
      150,
      100000000 },
    { "a burst by a window, too", { TOKEN, 100, 10 * S, .burst = "1.5" }, 0, 150, 100000000 },
    { "one floor over all: 3 · 1.5 · 1.1 · 1.3",
      { TOKEN, 3, .rate = "1", .scale = "1.1", .burst = "1.5", .adaptive = true },
      300,
      6,
      790513834 }, /* 10^9 / (1.1 · 1.15) */
    { "trust speeds up by half",
      { TOKEN, 100, .rate = "10", .adaptive = true },
      1000,
      200,
      66666667 },
    { "a thousandth of trust",
      { TOKEN, 1000, .rate = "10", .adaptive = true },
      1,
      1001,
      99950025 }, /* 10^8 · 2000/2001 = 99 950 024.98… */
    { "the finest rate", { TOKEN, 1, .rate = "0.000001" }, 0, 1, 1000000000000000 },
    { "a token a nanosecond", { TOKEN, 1000, .rate = "1000000000" }, 0, 1000, 1 },
    { "faster than that is that", { TOKEN, 1000, .rate = "5000000000" }, 0, 1000, 1 },
    { "the longest bucket", { TOKEN, 90, 90 * 86400 * S }, 0, 90, 86400000000000 },
};

TEST(numbers_are_composed_exactly)
{
    for (size_t i = 0; i < COUNT(composed); i++) {
        struct sl_numbers_in in = in_of(&composed[i].given);
        struct sl_numbers numbers;
        struct sl_limit limit;
        const char *wrong = sl_numbers_compose(&in, &numbers);
        if (wrong)
            fail_msg("%s: %s", composed[i].what, wrong);
        sl_numbers_limit(&numbers, composed[i].trust, &limit);
        SAME(composed[i].what, limit.capacity, composed[i].capacity);
        SAME(composed[i].what, limit.token_ns, composed[i].token_ns);
        bool bucket = in.algo->is_bucket;
        SAME(composed[i].what, limit.window_us, bucket ? 0 : in.window_us);
        SAME(composed[i].what, limit.token_form, bucket ? sl_token_short(limit.token_ns) : 0);
    }
}

TEST(the_printed_window_of_a_bucket_is_the_time_it_takes_to_fill)
{
    static const struct {
        const char *what;
        struct given given;
        int32_t trust;
        int64_t told_us;
    } rows[] = {
        { "a window", { FIXED, 100, S }, 0, S },
        { "scaled", { COUNTER, 100, 60 * S, .scale = "2.5" }, 0, 60 * S },
        { "trusted", { LOG, 100, 60 * S, .adaptive = true }, 1000, 60 * S },
        { "a bucket's window", { TOKEN, 100, 60 * S }, 0, 60 * S },
        { "7 in a second: 7 · 142857143 ns are more", { LEAKY, 7, S }, 0, S },
        { "the window beside a rate", { TOKEN, 100, 60 * S, "10" }, 0, 60 * S },
        { "a bucket's window, trusted", { TOKEN, 100, 60 * S, .adaptive = true }, 1000, 60 * S },
        { "a bucket's window, with a burst", { TOKEN, 9, 60 * S, .burst = "1.5" }, 0, 60 * S },
        { "capacity by rate", { TOKEN, 100, .rate = "10" }, 0, 10 * S },
        { "the example", { TOKEN, 100, .rate = "10", .burst = "1.5" }, 0, 15 * S },
        { "both scaled", { TOKEN, 100, .rate = "10", .scale = "10" }, 0, 10 * S },
        { "rounded up to a microsecond", { TOKEN, 5, .rate = "0.083" }, 0, 60240964 },
        { "trust: 200 of 66666667 ns",
          { TOKEN, 100, .rate = "10", .adaptive = true },
          1000,
          13333334 },
        { "trust that does not matter", { TOKEN, 100, .rate = "10" }, 0, 10 * S },
        { "a nanosecond", { TOKEN, 1, .rate = "1000000000" }, 0, 1 },
        { "nothing", { TOKEN, 1, .rate = "1", .scale = "0.5" }, 0, 0 },
        { "almost 90 days", { TOKEN, 1, .rate = "0.000000129" }, 0, 7751937984497 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_numbers_in in = in_of(&rows[i].given);
        struct sl_numbers numbers;
        struct sl_limit limit;
        if (sl_numbers_compose(&in, &numbers))
            fail_msg("%s", rows[i].what);
        sl_numbers_limit(&numbers, rows[i].trust, &limit);
        SAME(rows[i].what, limit.told_us, rows[i].told_us);
    }
}

static const struct {
    struct given given;
    bool good;
} edges[] = {
    /* 90 days to fill, and a bit more */
    { { TOKEN, 1, .rate = "0.000000129" }, true },
    { { TOKEN, 1, .rate = "0.000000128" }, false },
    { { TOKEN, 90, 90 * 86400 * S }, true },
    { { TOKEN, 91, 91 * 86400 * S }, false },
    { { TOKEN, 90, 90 * 86400 * S, .burst = "1.1" }, false },
    { { TOKEN, UINT32_MAX, .rate = "1" }, false },
    { { TOKEN, UINT64_MAX, .rate = "1000000000" }, false },
    /* (1 + s) / (1 + s/2) is 4/3 at full trust */
    { { TOKEN, 67, .rate = "0.00001", .adaptive = false }, true },
    { { TOKEN, 67, .rate = "0.00001", .adaptive = true }, false },
    /* 1.4 ns a token are 2, at a trust of 0.8 and more 1: in between it is longest */
    { { TOKEN, 1900000000000000, .rate = "714285714.285714285", .adaptive = true }, true },
    { { TOKEN, 3888000000000000, .rate = "714285714.285714285", .adaptive = true }, false },
    /* what the states hold */
    { { FIXED, UINT32_MAX, S }, true },
    { { FIXED, (uint64_t)UINT32_MAX + 1, S }, false },
    { { FIXED, 1u << 31, S, .adaptive = true }, false },
    { { FIXED, (1u << 31) - 1, S, .adaptive = true }, true },
    { { FIXED, UINT64_MAX, S }, false },
    { { FIXED, UINT64_MAX, S, .scale = "1000000000" }, false },
    { { LOG, 1 << 24, S }, true },
    { { LOG, (1 << 24) + 1, S }, false },
    { { LOG, (1 << 23) + 1, S, .adaptive = true }, false },
    { { COUNTER, 1 << 20, 1000 }, true },
    { { COUNTER, (1 << 20) + 1, 1000 }, false },
    { { COUNTER, (1 << 20) + 1, 999999 }, false },
    { { COUNTER, 1 << 25, S }, true },
    { { COUNTER, (1 << 25) + 1, S }, false },
    { { COUNTER, (1 << 25) + 1, 60 * S - 1 }, false },
    { { COUNTER, 1 << 28, 60 * S }, true },
    { { COUNTER, (1 << 28) + 1, 60 * S }, false },
    { { COUNTER, 1 << 27, 60 * S, .adaptive = true }, true },
    { { COUNTER, (1 << 27) + 1, 60 * S, .adaptive = true }, false },
    { { COUNTER, 1 << 27, 60 * S, .scale = "2.000000001" }, true },
    { { COUNTER, 1 << 28, 60 * S, .scale = "1.000000001" }, true }, /* floored: 2^28 */
    { { COUNTER, 1 << 28, 60 * S, .scale = "1.00000001" }, false },
};

TEST(what_a_state_cannot_hold_is_refused)
{
    for (size_t i = 0; i < COUNT(edges); i++) {
        char row[32];
        struct sl_numbers_in in = in_of(&edges[i].given);
        struct sl_numbers numbers = { .capacity_n = 777 };
        const char *wrong = sl_numbers_compose(&in, &numbers);
        snprintf(row, sizeof row, "row %zu", i);
        SAME(row, wrong == NULL, edges[i].good);
        SAME(row, edges[i].good || numbers.capacity_n == 777, true);
    }
}

TEST(a_capacity_above_all_trust_is_known_beforehand)
{
    struct given given = { LOG, 101, S, .scale = "1.5", .adaptive = true };
    struct sl_numbers_in in = in_of(&given);
    struct sl_numbers numbers;
    assert_null(sl_numbers_compose(&in, &numbers));
    assert_int_equal(sl_numbers_capacity_max(&numbers, true), 303);
    assert_int_equal(sl_numbers_capacity_max(&numbers, false), 151);
    for (int32_t trust = 0; trust <= 1000; trust++) {
        struct sl_limit limit;
        sl_numbers_limit(&numbers, trust, &limit);
        assert_int_equal(limit.capacity, 303 * (1000 + trust) / 2000); /* 151.5 · (1 + s) */
    }
    numbers.unlimited = true;
    assert_int_equal(sl_numbers_capacity_max(&numbers, true), 0);
}

TEST(no_trust_is_no_trust)
{
    struct given given = { TOKEN, 100, .rate = "10", .adaptive = true };
    struct sl_numbers_in in = in_of(&given);
    struct sl_numbers numbers;
    struct sl_limit limit;
    assert_null(sl_numbers_compose(&in, &numbers));
    sl_numbers_limit(&numbers, SLUICE_NO_TRUST, &limit);
    assert_int_equal(limit.capacity, 100);
    assert_int_equal(limit.token_ns, 100000000);
}

/* ⌈a / b⌉ and ⌊a / b⌋ over plain fractions: n/d of every part multiplied out. */
TEST(random_numbers_agree_with_plain_fractions)
{
    uint64_t seed = 1;
    for (int i = 0; i < 50000; i++) {
        struct sl_decimal scale = { (uint64_t)unit_up_to(&seed, 9999) + 1, 3 };
        struct sl_decimal burst = { (uint64_t)unit_up_to(&seed, 900) + 100, 2 };
        struct sl_decimal rate = { (uint64_t)unit_up_to(&seed, 99999) + 1, 3 };
        int32_t trust = (int32_t)unit_up_to(&seed, 1000);
        uint64_t capacity = (uint64_t)unit_up_to(&seed, 999) + 1;
        struct sl_numbers_in in = { .algo = &sl_token_bucket,
                                    .capacity = capacity,
                                    .capacity_scale = scale,
                                    .window_us = 60 * S,
                                    .has_rate = i % 2,
                                    .rate = rate,
                                    .rate_scale = scale,
                                    .burst = burst,
                                    .adaptive = true };
        struct sl_numbers numbers;
        if (sl_numbers_compose(&in, &numbers))
            continue; /* more than 90 days */
        struct sl_limit limit;
        sl_numbers_limit(&numbers, trust, &limit);
        sl_u128 product =
            (sl_u128)capacity * scale.digits * burst.digits * (uint32_t)(1000 + trust);
        assert_true((sl_u128)limit.capacity == product / 100000000);
        /* rate in 10^-6 a second, or the base over a minute */
        sl_u128 n = in.has_rate ? (sl_u128)1000000000 * 1000000 : (sl_u128)60000000000 * 1000;
        sl_u128 d = (in.has_rate ? rate.digits : (sl_u128)capacity) * scale.digits;
        sl_u128 token =
            (n * 2000 + d * (uint32_t)(2000 + trust) - 1) / (d * (uint32_t)(2000 + trust));
        assert_true((sl_u128)limit.token_ns == token);
    }
}

TEST(a_rate_is_printed_as_it_was_written)
{
    static const struct {
        const char *printed;
        struct given given;
    } rows[] = {
        { "10", { TOKEN, 100, .rate = "10" } },
        { "0.083", { TOKEN, 5, .rate = "0.083" } },
        { "0.000001", { TOKEN, 5, .rate = "0.000001" } },
        { "1000000", { TOKEN, 5, .rate = "1000000" } },
        { "123456.789", { TOKEN, 5, .rate = "123456.789" } },
        { "0.25", { LEAKY, 5, .rate = "0.1", .scale = "2.5" } },
        { "1.66666666666666", { LEAKY, 100, 60 * S } },
        { "0.333333333333333", { TOKEN, 1, 3 * S } },
        { "50", { TOKEN, 100, 2 * S, .burst = "1.5" } },
        { "1000000000", { TOKEN, 1000, .rate = "1000000000" } },
        { "1000000000", { TOKEN, 1000, .rate = "5000000000" } }, /* no token takes less than 1 ns */
        { "999999999", { TOKEN, 1000, .rate = "999999999" } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_numbers_in in = in_of(&rows[i].given);
        struct sl_numbers numbers;
        struct sl_buffer out = sl_buffer(64);
        assert_null(sl_numbers_compose(&in, &numbers));
        sl_numbers_print_rate(&numbers, &out);
        SAME_TEXT(rows[i].printed, ((struct sluice_text){ out.at, out.len }), rows[i].printed);
        sl_buffer_release(&out);
    }
}
