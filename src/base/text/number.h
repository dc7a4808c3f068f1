/* Parsing of numbers without rounding: integers, decimals, durations. No floating
 * point: 0.083 is 83/1000. */
#ifndef SL_BASE_TEXT_NUMBER_H
#define SL_BASE_TEXT_NUMBER_H

#include "base/text.h"

__extension__ typedef unsigned __int128 sl_u128;

/* value = digits / 10^places, without trailing zeros after the point. */
struct sl_decimal {
    uint64_t digits;
    uint32_t places; /* at most SL_PLACES_MAX */
};

enum { SL_PLACES_MAX = 9 };

/* Each returns false, and leaves *out alone, unless the whole text is one
 * such number. Plain ASCII digits; no sign, no exponent, no blanks. */
bool sl_parse_u64(struct sluice_text text, uint64_t *out);
bool sl_parse_decimal(struct sluice_text text, struct sl_decimal *out);

/* 500ms 10s 15m 24h 30d 1.5h or a plain number of seconds, to whole
 * microseconds: a finer fraction is not a duration. */
bool sl_parse_duration_us(struct sluice_text text, int64_t *out_us);

/* The unit alone ("s", "m", "h", "d") also counts, as in 5/m. */
bool sl_parse_per_us(struct sluice_text text, int64_t *out_us);

/* 10^power, power at most 19. */
uint64_t sl_power_of_ten(uint32_t power);

static inline int64_t sl_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t sl_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a·b/c, rounded down or up, exact however large a·b is. Not negative; the
 * caller knows that the result fits. Almost always the product fits 64 bits,
 * and dividing 128 is five times as slow. */
static inline int64_t sl_mul_div_floor(int64_t a, int64_t b, int64_t c)
{
    uint64_t product;
    if (!__builtin_mul_overflow((uint64_t)a, (uint64_t)b, &product))
        return (int64_t)(product / (uint64_t)c);
    return (int64_t)((sl_u128)(uint64_t)a * (uint64_t)b / (uint64_t)c);
}

static inline sl_u128 sl_mul_div_ceil(int64_t a, int64_t b, int64_t c)
{
    uint64_t product;
    if (!__builtin_mul_overflow((uint64_t)a, (uint64_t)b, &product))
        return product / (uint64_t)c + (product % (uint64_t)c > 0);
    return ((sl_u128)(uint64_t)a * (uint64_t)b + (uint64_t)c - 1) / (uint64_t)c;
}

static inline int64_t sl_div_ceil(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* The greatest common divisor; that of 0 and b is b. */
static inline sl_u128 sl_gcd_u128(sl_u128 a, sl_u128 b)
{
    while (b) {
        sl_u128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
