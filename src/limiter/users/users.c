/* Makes a trust score of what is known of a user and what a request says; and reads moments as
 * people and tokens write them.
 *
 *   1767225600.25               seconds since 1970
 *   2026-01-01T00:00:00.25Z     RFC 3339, also with an offset: +01:00
 *
 * A fact that cannot be read counts as not given: a token with an odd claim is no reason to deny,
 * and a missing fact never raises a score. */
#include "limiter/users/users.h"

#define SECOND_US INT64_C(1000000)
#define YEAR_MAX  9999

/* ---- moments ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cuts `len` digits off the front of the text. */
static bool take_digits(struct sluice_text *text, size_t len, int64_t *out)
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

static bool take_one_of(struct sluice_text *text, const char *letters)
{
    if (text->len == 0 || !text->at[0] || !strchr(letters, text->at[0]))
        return false;
    text->at++;
    text->len--;
    return true;
}

/* Cuts off a point and the digits after it, if they are there: as µs, rounded down. */
static bool take_fraction(struct sluice_text *text, int64_t *out_us)
{
    int64_t unit_us = SECOND_US;
    *out_us = 0;
    if (!take_one_of(text, "."))
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

/* Returns the days since 1970 of a day of the Gregorian calendar. Years begin in March here, so
 * that the leap day is a year's last. */
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

static bool take_date(struct sluice_text *text, int64_t *out_days)
{
    int64_t year, month, day;
    if (!take_digits(text, 4, &year) || !take_one_of(text, "-") || !take_digits(text, 2, &month) ||
        !take_one_of(text, "-") || !take_digits(text, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    *out_days = days_since_1970(year, month, day);
    return true;
}

static bool take_hour_and_minute(struct sluice_text *text, int64_t *out_minutes)
{
    int64_t hour, minute;
    if (!take_digits(text, 2, &hour) || !take_one_of(text, ":") || !take_digits(text, 2, &minute))
        return false;
    *out_minutes = hour * 60 + minute;
    return hour <= 23 && minute <= 59;
}

static bool take_offset(struct sluice_text *text, int64_t *out_minutes)
{
    *out_minutes = 0;
    if (take_one_of(text, "Zz"))
        return true;
    bool west = text->len && text->at[0] == '-';
    if (!take_one_of(text, "+-") || !take_hour_and_minute(text, out_minutes))
        return false;
    if (west)
        *out_minutes = -*out_minutes;
    return true;
}

static bool parse_rfc3339(struct sluice_text text, int64_t *out_us)
{
    int64_t days, minutes, second, us, offset;
    if (!take_date(&text, &days) || !take_one_of(&text, "Tt") ||
        !take_hour_and_minute(&text, &minutes) || !take_one_of(&text, ":") ||
        !take_digits(&text, 2, &second) || !take_fraction(&text, &us) ||
        !take_offset(&text, &offset) || text.len > 0)
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
    if (len == 0 || len > 12 || !take_digits(&text, len, &seconds) || !take_fraction(&text, &us) ||
        text.len > 0 || seconds >= days_since_1970(YEAR_MAX + 1, 1, 1) * 86400)
        return false;
    *out_us = seconds * SECOND_US + us;
    return true;
}

bool sl_moment_parse(struct sluice_text text, int64_t *out_us)
{
    return parse_seconds(text, out_us) || parse_rfc3339(text, out_us);
}

/* ---- trust ---- */

/* Returns an attribute of the request; missing if the request has none. */
static struct sluice_text attribute_named(const struct sluice_request *request, const char *name)
{
    for (size_t i = 0; request && i < request->other_count; i++)
        if (sl_text_is(request->others[i].name, name))
            return request->others[i].value;
    return (struct sluice_text){ NULL, 0 };
}

static bool created_at(const struct sluice_request *request, const struct sl_user *user,
                       int64_t *out_us)
{
    if (sl_moment_parse(attribute_named(request, "created_at"), out_us))
        return true;
    if (!user || !user->has_created_at)
        return false;
    *out_us = user->created_at_us;
    return true;
}

static bool email_is_verified(const struct sluice_request *request, const struct sl_user *user)
{
    struct sluice_text text = attribute_named(request, "email_verified");
    if (sl_text_is(text, "true"))
        return true;
    if (sl_text_is(text, "false"))
        return false;
    return user && user->has_email_verified && user->email_verified;
}

struct sl_trust_facts sl_user_facts(const struct sluice_request *request,
                                    const struct sl_user *user, int64_t now_us)
{
    struct sl_trust_facts facts = { .email_verified = email_is_verified(request, user) };
    int64_t created_us;
    if (created_at(request, user, &created_us) &&
        __builtin_sub_overflow(now_us, created_us, &facts.account_age_us))
        facts.account_age_us = created_us < 0 ? INT64_MAX : 0;
    facts.account_age_us = sl_max_i64(facts.account_age_us, 0);
    if (user) {
        facts.calls = user->calls;
        facts.successes = user->successes;
        facts.violations = user->violations;
    }
    return facts;
}

int32_t sl_user_trust(const struct sl_trust_weights *weights, const struct sluice_request *request,
                      const struct sl_user *user, int64_t now_us)
{
    if (!user && (!request || request->other_count == 0))
        return 0; /* common: an unknown user */
    struct sl_trust_facts facts = sl_user_facts(request, user, now_us);
    return sl_trust_score(weights, &facts);
}
