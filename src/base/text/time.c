/* Moments as text, read and printed.
 *
 *   1767225600.25               seconds since 1970
 *   2026-01-01T00:00:00.25Z     RFC 3339, also with an offset: +01:00
 *
 * Not strptime and timegm: the one knows neither fractions nor offsets and takes dates that do not
 * exist, the other is not in every C library. Zero is the first moment of 1970. */
#include "base/text/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND_US INT64_C(1000000)
#define YEAR_MAX  9999

/* ---- reading ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cuts `len` digits off the front of the text. */
static bool cut_digits(struct sluice_text *text, size_t len, int64_t *out)
{
    int64_t value = 0;
    if (text->len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(text->at[i]))
            return false;
        value = value * 10 + (text->at[i] - '0');
    }
    text->at += len;
    text->len -= len;
    *out = value;
    return true;
}

static bool cut_letter(struct sluice_text *text, const char *letters)
{
    if (text->len == 0 || !text->at[0] || !strchr(letters, text->at[0]))
        return false;
    text->at++;
    text->len--;
    return true;
}

/* Cuts off a point and its digits, if they are there: as µs, rounded down. */
static bool cut_fraction(struct sluice_text *text, int64_t *out_us)
{
    int64_t unit_us = SECOND_US;
    *out_us = 0;
    if (!cut_letter(text, "."))
        return true;
    size_t len = 0;
    for (; len < text->len && is_digit(text->at[len]); len++) {
        unit_us /= 10;
        *out_us += (text->at[len] - '0') * unit_us;
    }
    text->at += len;
    text->len -= len;
    return len > 0;
}

/* Days since 1970 of a day of the Gregorian calendar. Years begin in March here, so that
 * the day that may be missing is a year's last. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    int64_t years = year + 400 - (month <= 2); /* never negative; 400 have 146097 days */
    int64_t months = (month + 9) % 12;
    int64_t days = years * 365 + years / 4 - years / 100 + years / 400;
    return days + (months * 153 + 2) / 5 + day - 1 - 719468 - 146097;
}

static int64_t days_of_month(int64_t year, int64_t month)
{
    int64_t next = days_since_1970(year + month / 12, month % 12 + 1, 1);
    return next - days_since_1970(year, month, 1);
}

static bool cut_date(struct sluice_text *text, int64_t *out_days)
{
    int64_t year, month, day;
    if (!cut_digits(text, 4, &year) || !cut_letter(text, "-") || !cut_digits(text, 2, &month) ||
        !cut_letter(text, "-") || !cut_digits(text, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    *out_days = days_since_1970(year, month, day);
    return true;
}

static bool cut_hour_and_minute(struct sluice_text *text, int64_t *out_minutes)
{
    int64_t hour, minute;
    if (!cut_digits(text, 2, &hour) || !cut_letter(text, ":") || !cut_digits(text, 2, &minute))
        return false;
    *out_minutes = hour * 60 + minute;
    return hour <= 23 && minute <= 59;
}

static bool cut_offset(struct sluice_text *text, int64_t *out_minutes)
{
    *out_minutes = 0;
    if (cut_letter(text, "Zz"))
        return true;
    bool west = text->len && text->at[0] == '-';
    if (!cut_letter(text, "+-") || !cut_hour_and_minute(text, out_minutes))
        return false;
    if (west)
        *out_minutes = -*out_minutes;
    return true;
}

static bool parse_rfc3339(struct sluice_text text, int64_t *out_us)
{
    int64_t days, minutes, second, us, offset;
    if (!cut_date(&text, &days) || !cut_letter(&text, "Tt") ||
        !cut_hour_and_minute(&text, &minutes) || !cut_letter(&text, ":") ||
        !cut_digits(&text, 2, &second) || !cut_fraction(&text, &us) ||
        !cut_offset(&text, &offset) || text.len > 0)
        return false;
    int64_t minute = days * 1440 + minutes - offset;
    bool ends_day = (minute % 1440 + 1440) % 1440 == 1439;
    if (second > 60 || (second == 60 && !ends_day)) /* a leap second ends a day of UTC */
        return false;
    *out_us = (minute * 60 + second) * SECOND_US + us;
    return true;
}

static bool parse_seconds(struct sluice_text text, int64_t *out_us)
{
    size_t len = 0;
    while (len < text.len && is_digit(text.at[len]))
        len++;
    int64_t seconds, us;
    if (len == 0 || len > 12 || !cut_digits(&text, len, &seconds) || !cut_fraction(&text, &us) ||
        text.len > 0 || seconds >= days_since_1970(YEAR_MAX + 1, 1, 1) * 86400)
        return false;
    *out_us = seconds * SECOND_US + us;
    return true;
}

bool sl_time_parse(struct sluice_text text, int64_t *out_us)
{
    return parse_seconds(text, out_us) || parse_rfc3339(text, out_us);
}

/* ---- printing ---- */

void sl_time_print(struct sl_buffer *out, int64_t at_us)
{
    char text[40], fraction[16];
    struct tm utc;
    int64_t us = (at_us % SECOND_US + SECOND_US) % SECOND_US; /* rounded down before 1970 too */
    gmtime_r(&(time_t){ (at_us - us) / SECOND_US }, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(fraction, sizeof fraction, ".%06" PRId64 "Z", us);
    sl_buffer_add(out, sl_text(text));
    sl_buffer_add(out, sl_text(fraction));
}

bool sl_time_print_short(char out[SL_TIME_SHORT_MAX], int64_t at_s)
{
    struct tm utc;
    return gmtime_r(&(time_t){ at_s }, &utc) &&
           strftime(out, SL_TIME_SHORT_MAX, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0;
}
