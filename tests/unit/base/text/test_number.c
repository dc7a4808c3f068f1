#include "base/text/number.h"

#include "unit/base/unit.h"

enum { UNTOUCHED = 4711 };

TEST(an_integer_is_digits_and_nothing_else)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } rows[] = {
        { "0", true, 0 },
        { "1", true, 1 },
        { "007", true, 7 },
        { "18446744073709551615", true, UINT64_MAX },
        { "18446744073709551616", false },
        { "99999999999999999999", false },
        { "100000000000000000000000", false },
        { "", false },
        { "-1", false },
        { "+1", false },
        { " 1", false },
        { "1 ", false },
        { "1.0", false },
        { "1e3", false },
        { "0x10", false },
        { "1_000", false },
        { "٣", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t value = UNTOUCHED;
        SAME(rows[i].text, sl_parse_u64(sl_text(rows[i].text), &value), rows[i].good);
        SAME(rows[i].text, value, rows[i].good ? rows[i].value : UNTOUCHED);
    }
}

TEST(a_decimal_keeps_its_digits_but_for_trailing_zeros)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t digits;
        uint32_t places;
    } rows[] = {
        { "0", true, 0, 0 },
        { "0.0", true, 0, 0 },
        { "0.083", true, 83, 3 },
        { "1.50", true, 15, 1 },
        { "100", true, 100, 0 },
        { "2.000000000000", true, 2, 0 },
        { "0.123456789", true, 123456789, 9 },
        { "0.1234567890000", true, 123456789, 9 },
        { "0.1234567891", false },
        { "18446744073709551615", true, UINT64_MAX, 0 },
        { "18446744073709551615.0", true, UINT64_MAX, 0 },
        { "1844674407370955161.5", true, UINT64_MAX, 1 },
        { "18446744073709551615.1", false },
        { "1.", false },
        { ".5", false },
        { ".", false },
        { "", false },
        { "1.5.5", false },
        { "-1.5", false },
        { "1,5", false },
        { "1.5e1", false },
        { "1. 5", false },
        { "50%", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_decimal value = { UNTOUCHED, UNTOUCHED };
        SAME(rows[i].text, sl_parse_decimal(sl_text(rows[i].text), &value), rows[i].good);
        SAME(rows[i].text, value.digits, rows[i].good ? rows[i].digits : UNTOUCHED);
        SAME(rows[i].text, value.places, rows[i].good ? rows[i].places : UNTOUCHED);
    }
}

struct duration {
    const char *text;
    int64_t us; /* -1: it is none */
};

static void check_durations(bool (*parse)(struct sluice_text, int64_t *),
                            const struct duration *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t us = UNTOUCHED;
        SAME(rows[i].text, parse(sl_text(rows[i].text), &us), rows[i].us >= 0);
        SAME(rows[i].text, us, rows[i].us >= 0 ? rows[i].us : UNTOUCHED);
    }
}

static const struct duration durations[] = {
    { "500ms", 500000 },
    { "10s", 10000000 },
    { "15m", 900000000 },
    { "24h", 86400000000 },
    { "30d", 2592000000000 },
    { "60", 60000000 },
    { "0", 0 },
    { "0.5", 500000 },
    { "1.5h", 5400000000 },
    { "0.001ms", 1 },
    { "0.000001s", 1 },
    { "0.0000001s", -1 }, /* a tenth of a microsecond */
    { "0.0001ms", -1 },
    { "9223372036854775807", -1 }, /* seconds: too many microseconds */
    { "9223372036854.775807s", INT64_MAX },
    { "9223372036854.775808s", -1 },
    { "106751991d", 9223372022400000000 },
    { "106751992d", -1 },
    { "18446744073709551615d", -1 },
    { "", -1 },
    { "ms", -1 },
    { "10 s", -1 },
    { " 10s", -1 },
    { "10S", -1 },
    { "10sec", -1 },
    { "10us", -1 },
    { "1w", -1 },
    { "1h30m", -1 },
    { "-10s", -1 },
    { "1.s", -1 },
    { ".5s", -1 },
    { "1e3s", -1 },
    { ".", -1 },
};

TEST(a_duration_is_a_number_with_or_without_a_unit)
{
    check_durations(sl_parse_duration_us, durations, COUNT(durations));
    static const struct duration bare[] = { { "s", -1 }, { "m", -1 }, { "h", -1 }, { "d", -1 } };
    check_durations(sl_parse_duration_us, bare, COUNT(bare));
}

TEST(a_rate_may_name_its_unit_alone)
{
    check_durations(sl_parse_per_us, durations, COUNT(durations));
    static const struct duration bare[] = {
        { "s", 1000000 }, { "m", 60000000 }, { "h", 3600000000 }, { "d", 86400000000 },
        { "ms", -1 },     { "w", -1 },       { "S", -1 },         { ".s", -1 },
    };
    check_durations(sl_parse_per_us, bare, COUNT(bare));
}

TEST(texts_that_are_not_given_are_no_numbers)
{
    struct sluice_text none = { 0 };
    uint64_t integer;
    struct sl_decimal decimal;
    int64_t us;
    assert_false(sl_parse_u64(none, &integer));
    assert_false(sl_parse_decimal(none, &decimal));
    assert_false(sl_parse_duration_us(none, &us));
    assert_false(sl_parse_per_us(none, &us));
}

TEST(only_the_span_is_read)
{
    uint64_t value;
    assert_true(sl_parse_u64((struct sluice_text){ "123456", 3 }, &value));
    assert_int_equal(value, 123);
    assert_false(sl_parse_u64((struct sluice_text){ "1\0002", 3 }, &value));
}

TEST(powers_of_ten)
{
    assert_int_equal(sl_power_of_ten(0), 1);
    assert_int_equal(sl_power_of_ten(9), 1000000000);
    assert_int_equal(sl_power_of_ten(19), UINT64_C(10000000000000000000));
}

TEST(products_are_divided_without_overflow)
{
    assert_int_equal(sl_mul_div_floor(INT64_MAX, INT64_MAX, INT64_MAX), INT64_MAX);
    assert_int_equal(sl_mul_div_floor(7, 3, 2), 10);
    assert_int_equal(sl_mul_div_floor(0, 3, 2), 0);
    assert_true(sl_mul_div_ceil(INT64_MAX, INT64_MAX, INT64_MAX) == INT64_MAX);
    assert_true(sl_mul_div_ceil(INT64_MAX, INT64_MAX, 1) ==
                (sl_u128)INT64_MAX * (uint64_t)INT64_MAX);
    assert_true(sl_mul_div_ceil(7, 3, 2) == 11);
    assert_true(sl_mul_div_ceil(4, 3, 2) == 6);
    assert_true(sl_mul_div_ceil(0, 3, 2) == 0);
}

TEST(a_common_divisor_is_the_greatest)
{
    static const struct {
        uint64_t a, b, gcd;
    } rows[] = {
        { 0, 7, 7 },   { 7, 0, 7 },    { 1, 9, 1 },           { 12, 18, 6 },
        { 18, 12, 6 }, { 17, 17, 17 }, { 1000000000, 83, 1 }, { UINT64_MAX, UINT64_MAX - 1, 1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_true(sl_gcd_u128(rows[i].a, rows[i].b) == rows[i].gcd);
    sl_u128 wide = (sl_u128)1 << 100;
    assert_true(sl_gcd_u128(wide * 9, wide * 6) == wide * 3);
}

TEST(division_rounds_up)
{
    static const struct {
        int64_t a, b, up;
    } rows[] = {
        { 0, 1000, 0 },    { 1, 1000, 1 },      { 999, 1000, 1 },
        { 1000, 1000, 1 }, { 1001, 1000, 2 },   { INT64_MAX, 1000, INT64_MAX / 1000 + 1 },
        { -1, 1000, 0 },   { -1000, 1000, -1 }, { -1001, 1000, -1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(sl_div_ceil(rows[i].a, rows[i].b), rows[i].up);
}
