/* The table of a request's members: names, types and ranges. */
#include "wire/json/request_member.h"

#include <stddef.h>
#include <stdio.h>

#include "algo/algo.h"
#include "base/check.h"
#include "base/text/number.h"

enum type { TEXT, COST, TRUST, TIME, FLAG };

static const char *const wanted[] = {
    [TEXT] = "a string, a number, true or false",
    [COST] = "a whole number from 0 to 4294967295",
    [TRUST] = "a number from 0 to 1",
    [TIME] = "a whole number of microseconds from 0 to 4400000000000000",
    [FLAG] = "true or false",
};

/* The members with a meaning of their own; all others are attributes. */
static const struct member {
    struct sluice_text name;
    enum type type;
    size_t offset;
} members[] = {
#define MEMBER(name, type)                                                                         \
    {                                                                                              \
        { #name, sizeof #name - 1 }, type, offsetof(struct sluice_request, name)                   \
    }
    MEMBER(tenant, TEXT),
    MEMBER(resource, TEXT),
    MEMBER(method, TEXT),
    MEMBER(user, TEXT),
    MEMBER(ip, TEXT),
    MEMBER(client, TEXT),
    MEMBER(tier, TEXT),
    MEMBER(cost, COST),
    MEMBER(at_us, TIME),
    MEMBER(peek, FLAG),
    MEMBER(wait, FLAG),
    MEMBER(explain, FLAG),
    { { "trust_score", 11 }, TRUST, offsetof(struct sluice_request, trust_thousandths) },
#undef MEMBER
};

enum { MEMBER_COUNT = sizeof members / sizeof *members };

/* Refuses JSON that is well-formed but no request. */
static bool refuse_member(struct sl_members *into, const char *format, struct sluice_text name,
                          const char *more)
{
    SL_CHECK(name.at);
    int shown = name.len > 64 ? 64 : (int)name.len;
    while (name.len > 64 && shown && sl_utf8_continues(name.at[shown]))
        shown--; /* not in the middle of a character */
    snprintf(into->room->error, sizeof into->room->error, format, shown, name.at, more);
    into->room->unfit = true;
    return false;
}

/* Reads the digits behind the e of a JSON number. Beyond a million the exact value does not
 * matter: no line has so many digits that it could. */
static long exponent_of(struct sluice_text text)
{
    bool negative = text.len && text.at[0] == '-';
    long exponent = 0;
    for (size_t i = 0; i < text.len && exponent < 1000000; i++)
        if (text.at[i] >= '0' && text.at[i] <= '9')
            exponent = exponent * 10 + (text.at[i] - '0');
    return negative ? -exponent : exponent;
}

bool sl_json_read_trust(struct sluice_text number, int32_t *out_thousandths)
{
    static const int32_t worth[] = { 1000, 100, 10, 1 }; /* of 1, 0.1, 0.01 and 0.001 */
    size_t end = 0, whole = 0;
    while (end < number.len && number.at[end] != 'e' && number.at[end] != 'E')
        end++;
    while (whole < end && number.at[whole] != '.')
        whole++;
    long power = (long)whole - 1; /* of ten, of the first digit */
    if (end < number.len)
        power += exponent_of((struct sluice_text){ number.at + end + 1, number.len - end - 1 });
    int32_t value = 0;
    bool more = false;
    for (size_t i = 0; i < end; i++) {
        int digit = number.at[i] - '0';
        if (number.at[i] == '.')
            continue;
        if (digit < 0 || (digit && power > 0)) /* a minus, or ten and more */
            return false;
        if (digit && power >= -3)
            value += digit * worth[-power];
        more |= digit && power < -3;
        power--;
    }
    if (value > 1000 || (value == 1000 && more))
        return false;
    SL_CHECK(value >= 0);
    *out_thousandths = value;
    return true;
}

static bool read_u64(struct sluice_text number, uint64_t most, uint64_t *out)
{
    uint64_t value;
    if (!sl_parse_u64(number, &value) || value > most)
        return false;
    *out = value;
    return true;
}

/* Attributes are compared as text: a number as it is written. */
static bool as_text(enum sl_json_kind kind, struct sluice_text *text)
{
    if (kind == SL_JSON_TRUE)
        *text = SL_TEXT("true");
    else if (kind == SL_JSON_FALSE)
        *text = SL_TEXT("false");
    return kind != SL_JSON_OTHER;
}

static bool store_member(struct sluice_request *request, const struct member *member,
                         enum sl_json_kind kind, struct sluice_text text)
{
    void *field = (char *)request + member->offset;
    bool is_number = kind == SL_JSON_NUMBER;
    uint64_t number;
    switch (member->type) {
    case TEXT:
        if (!as_text(kind, &text))
            return false;
        *(struct sluice_text *)field = text;
        return true;
    case COST:
        if (!is_number || !read_u64(text, UINT32_MAX, &number))
            return false;
        *(uint32_t *)field = (uint32_t)number;
        return true;
    case TIME:
        if (!is_number || !read_u64(text, SL_TIME_MAX_US, &number))
            return false;
        *(int64_t *)field = (int64_t)number;
        return true;
    case TRUST:
        return is_number && sl_json_read_trust(text, field);
    case FLAG:
        *(bool *)field = kind == SL_JSON_TRUE;
        return kind == SL_JSON_TRUE || kind == SL_JSON_FALSE;
    }
    return false;
}

static bool put_other(struct sl_members *into, struct sluice_text name, enum sl_json_kind kind,
                      struct sluice_text value)
{
    struct sluice_request *request = into->request;
    SL_CHECK(request->others == into->room->others && request->other_count <= SL_JSON_OTHERS_MAX);
    for (size_t i = 0; i < request->other_count; i++)
        if (sl_text_equal(into->room->others[i].name, name))
            return refuse_member(into, "`%.*s` is given twice%s", name, "");
    if (request->other_count == SL_JSON_OTHERS_MAX)
        return refuse_member(
            into, "`%.*s` is one attribute too many; at most 64 have names of their own%s", name,
            "");
    if (kind != SL_JSON_NULL && !as_text(kind, &value))
        return refuse_member(into, "`%.*s` must be %s", name, wanted[TEXT]);
    if (kind == SL_JSON_NULL)
        value = (struct sluice_text){ 0 };
    into->room->others[request->other_count++] = (struct sluice_attribute){ name, value };
    return true;
}

static const struct member *find_member(struct sluice_text name)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (sl_text_equal(name, members[i].name))
            return &members[i];
    return NULL;
}

static bool put_member(struct sl_members *into, const struct member *member, enum sl_json_kind kind,
                       struct sluice_text value)
{
    uint32_t bit = 1u << (member - members);
    if (into->seen & bit)
        return refuse_member(into, "`%.*s` is given twice%s", member->name, "");
    into->seen |= bit;
    return kind == SL_JSON_NULL || store_member(into->request, member, kind, value) ||
           refuse_member(into, "`%.*s` must be %s", member->name, wanted[member->type]);
}

bool sl_members_put(struct sl_members *into, struct sluice_text name, enum sl_json_kind kind,
                    struct sluice_text value)
{
    SL_CHECK(kind != SL_JSON_BAD);
    const struct member *member = find_member(name);
    return member ? put_member(into, member, kind, value) : put_other(into, name, kind, value);
}

/* Returns the kind that JSON would give to this text. */
static enum sl_json_kind kind_of(enum type type, struct sluice_text value)
{
    struct sl_decimal decimal;
    uint64_t number;
    switch (type) {
    case COST:
    case TIME:
        return sl_parse_u64(value, &number) ? SL_JSON_NUMBER : SL_JSON_STRING;
    case TRUST:
        return sl_parse_decimal(value, &decimal) ? SL_JSON_NUMBER : SL_JSON_STRING;
    case FLAG:
        if (sl_text_is(value, "1") || sl_text_is(value, "true"))
            return SL_JSON_TRUE;
        return sl_text_is(value, "0") || sl_text_is(value, "false") ? SL_JSON_FALSE
                                                                    : SL_JSON_STRING;
    case TEXT:
        break;
    }
    return SL_JSON_STRING;
}

bool sl_members_put_word(struct sl_members *into, struct sluice_text name, struct sluice_text value)
{
    const struct member *member = find_member(name);
    return member ? put_member(into, member, kind_of(member->type, value), value)
                  : put_other(into, name, SL_JSON_STRING, value);
}
