/* Parses integers, decimals and durations. */
#include "base/text/number.h"

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool add_digit(uint64_t *value, char c)
{
    return !__builtin_mul_overflow(*value, 10u, value) &&
           !__builtin_add_overflow(*value, (uint64_t)(c - '0'), value);
}

bool sl_parse_u64(struct sluice_text text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!digit(text.at[i]) || !add_digit(&value, text.at[i]))
            return false;
    *out = value;
    return true;
}

/* Zeros behind the last other digit say nothing: 1.50 is 1.5. */
static struct sluice_text without_trailing_zeros(struct sluice_text fraction)
{
    while (fraction.len && fraction.at[fraction.len - 1] == '0')
        fraction.len--;
    return fraction;
}

bool sl_parse_decimal(struct sluice_text text, struct sl_decimal *out)
{
    const char *point = text.len ? memchr(text.at, '.', text.len) : NULL;
    size_t whole_len = point ? (size_t)(point - text.at) : text.len;
    struct sl_decimal value = { 0 };
    if (!sl_parse_u64((struct sluice_text){ text.at, whole_len }, &value.digits))
        return false;
    if (point) {
        struct sluice_text fraction = { point + 1, text.len - whole_len - 1 };
        if (fraction.len == 0)
            return false;
        for (size_t i = 0; i < fraction.len; i++)
            if (!digit(fraction.at[i]))
                return false;
        fraction = without_trailing_zeros(fraction);
        if (fraction.len > SL_PLACES_MAX)
            return false;
        for (size_t i = 0; i < fraction.len; i++)
            if (!add_digit(&value.digits, fraction.at[i]))
                return false;
        value.places = (uint32_t)fraction.len;
    }
    *out = value;
    return true;
}

uint64_t sl_power_of_ten(uint32_t power)
{
    uint64_t value = 1;
    while (power--)
        value *= 10;
    return value;
}

static const struct {
    const char *name;
    int64_t us;
} units[] = {
    { "ms", 1000 },
    { "s", 1000000 },
    { "m", INT64_C(60) * 1000000 },
    { "h", INT64_C(3600) * 1000000 },
    { "d", INT64_C(86400) * 1000000 },
};

/* Splits "15m" into its number and its unit; a bare number is in seconds. */
static int64_t cut_unit(struct sluice_text *text)
{
    size_t len = text->len;
    while (len && !digit(text->at[len - 1]) && text->at[len - 1] != '.')
        len--;
    struct sluice_text name = { text->at + len, text->len - len };
    text->len = len;
    if (name.len == 0)
        return 1000000;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (sl_text_is(name, units[i].name))
            return units[i].us;
    return 0;
}

bool sl_parse_duration_us(struct sluice_text text, int64_t *out_us)
{
    int64_t unit_us = cut_unit(&text);
    struct sl_decimal number;
    if (!unit_us || !sl_parse_decimal(text, &number))
        return false;
    sl_u128 scaled = (sl_u128)number.digits * (uint64_t)unit_us;
    uint64_t denominator = sl_power_of_ten(number.places);
    if (scaled % denominator || scaled / denominator > INT64_MAX)
        return false;
    *out_us = (int64_t)(scaled / denominator);
    return true;
}

bool sl_parse_per_us(struct sluice_text text, int64_t *out_us)
{
    struct sluice_text number = text;
    int64_t unit_us = cut_unit(&number);
    if (number.len == 0 && text.len == 1 && unit_us) {
        *out_us = unit_us;
        return true;
    }
    return sl_parse_duration_us(text, out_us);
}
