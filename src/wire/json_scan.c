#include "wire/json_scan.h"

static bool fail(struct sl_json_scan *scan, const char *error)
{
    if (!scan->error)
        scan->error = error;
    return false;
}

void sl_json_skip_space(struct sl_json_scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

bool sl_json_take(struct sl_json_scan *scan, char c)
{
    sl_json_skip_space(scan);
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static int hex4(const char *at)
{
    int value = 0;
    for (int i = 0; i < 4 && value >= 0; i++) {
        int digit = sl_hex_digit(at[i]);
        value = digit < 0 ? -1 : value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *out, int code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* \uXXXX behind the `u`, and its second half where it is a surrogate pair. */
static bool unicode_escape(struct sl_json_scan *scan, char **out)
{
    int code = scan->end - scan->at >= 4 ? hex4(scan->at) : -1;
    if (code < 0)
        return fail(scan, "`\\u` wants four hexadecimal digits");
    scan->at += 4;
    if (code >= 0xd800 && code < 0xe000) {
        int low = -1;
        if (code < 0xdc00 && scan->end - scan->at >= 6 && scan->at[0] == '\\' && scan->at[1] == 'u')
            low = hex4(scan->at + 2);
        if (low < 0xdc00 || low > 0xdfff)
            return fail(scan, "half a surrogate pair is no character");
        scan->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, code);
    return true;
}

static bool escape(struct sl_json_scan *scan, char **out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (scan->at == scan->end)
        return fail(scan, "the string has no end");
    char c = *scan->at++;
    if (c == 'u')
        return unicode_escape(scan, out);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return fail(scan, "unknown escape in a string");
    *(*out)++ = to[known - from];
    return true;
}

/* How many bytes the well-formed UTF-8 sequence at `at` has; 0: it is none. */
static size_t utf8_len(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char first_min, first_max, second_min, second_max;
        size_t len;
    } forms[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first_min || at[0] > forms[i].first_max)
            continue;
        if (left < forms[i].len || at[1] < forms[i].second_min || at[1] > forms[i].second_max)
            return 0;
        for (size_t k = 2; k < forms[i].len; k++)
            if ((at[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].len;
    }
    return 0;
}

static bool plain(struct sl_json_scan *scan, char **out)
{
    size_t len = 1;
    unsigned char c = (unsigned char)*scan->at;
    if (c < 0x20)
        return fail(scan, "a control character in a string must be escaped");
    if (c >= 0x80)
        len = utf8_len((const unsigned char *)scan->at, (size_t)(scan->end - scan->at));
    if (len == 0)
        return fail(scan, "a string is not valid UTF-8");
    for (size_t i = 0; i < len; i++)
        *(*out)++ = *scan->at++;
    return true;
}

bool sl_json_string(struct sl_json_scan *scan, struct sluice_text *text)
{
    if (!sl_json_take(scan, '"'))
        return fail(scan, "expected a string");
    char *start = scan->at;
    char *out = start;
    while (scan->at < scan->end && *scan->at != '"') {
        bool good;
        if (*scan->at == '\\') {
            scan->at++;
            good = escape(scan, &out);
        } else {
            good = plain(scan, &out);
        }
        if (!good)
            return false;
    }
    if (scan->at == scan->end)
        return fail(scan, "the string has no end");
    scan->at++;
    *text = (struct sluice_text){ start, (size_t)(out - start) };
    return true;
}

static size_t digits(struct sl_json_scan *scan)
{
    char *start = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (size_t)(scan->at - start);
}

static bool next_is(const struct sl_json_scan *scan, char a, char b)
{
    return scan->at < scan->end && (*scan->at == a || *scan->at == b);
}

static bool number(struct sl_json_scan *scan, struct sluice_text *text)
{
    char *start = scan->at;
    scan->at += next_is(scan, '-', '-');
    char *whole = scan->at;
    size_t count = digits(scan);
    if (count == 0 || (count > 1 && *whole == '0'))
        return fail(scan, "not a number as JSON writes it");
    if (next_is(scan, '.', '.')) {
        scan->at++;
        if (!digits(scan))
            return fail(scan, "not a number as JSON writes it");
    }
    if (next_is(scan, 'e', 'E')) {
        scan->at++;
        scan->at += next_is(scan, '+', '-');
        if (!digits(scan))
            return fail(scan, "not a number as JSON writes it");
    }
    *text = (struct sluice_text){ start, (size_t)(scan->at - start) };
    return true;
}

static bool word(struct sl_json_scan *scan, struct sluice_text expected)
{
    if ((size_t)(scan->end - scan->at) < expected.len ||
        memcmp(scan->at, expected.at, expected.len) != 0)
        return false;
    scan->at += expected.len;
    return true;
}

enum sl_json_kind sl_json_scalar(struct sl_json_scan *scan, struct sluice_text *text)
{
    sl_json_skip_space(scan);
    if (scan->at == scan->end) {
        fail(scan, "a value is missing");
        return SL_JSON_BAD;
    }
    char c = *scan->at;
    if (c == '"')
        return sl_json_string(scan, text) ? SL_JSON_STRING : SL_JSON_BAD;
    if (c == '-' || (c >= '0' && c <= '9'))
        return number(scan, text) ? SL_JSON_NUMBER : SL_JSON_BAD;
    if (c == '{' || c == '[')
        return SL_JSON_OTHER;
    if (word(scan, SL_TEXT("true")))
        return SL_JSON_TRUE;
    if (word(scan, SL_TEXT("false")))
        return SL_JSON_FALSE;
    if (word(scan, SL_TEXT("null")))
        return SL_JSON_NULL;
    fail(scan, "expected a string, a number, true, false or null");
    return SL_JSON_BAD;
}
