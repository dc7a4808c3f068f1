/* A JSON tokenizer that unescapes strings in place. */
#include "wire/json/scan.h"

#include "base/check.h"
#include "base/text/utf8.h"

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

/* Reads \uXXXX from behind the `u`, and the second half of a surrogate pair. */
static bool read_unicode_escape(struct sl_json_scan *scan, char **out)
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
    *out += sl_utf8_put(*out, (uint32_t)code);
    SL_CHECK(*out <= scan->at);
    return true;
}

static bool read_escape(struct sl_json_scan *scan, char **out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (scan->at == scan->end)
        return fail(scan, "the string has no end");
    char c = *scan->at++;
    if (c == 'u')
        return read_unicode_escape(scan, out);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return fail(scan, "unknown escape in a string");
    *(*out)++ = to[known - from];
    return true;
}

static bool copy_character(struct sl_json_scan *scan, char **out)
{
    size_t len = 1;
    unsigned char c = (unsigned char)*scan->at;
    if (c < 0x20)
        return fail(scan, "a control character in a string must be escaped");
    if (c >= 0x80)
        len = sl_utf8_len((struct sluice_text){ scan->at, (size_t)(scan->end - scan->at) });
    if (len == 0)
        return fail(scan, "a string is not valid UTF-8");
    for (size_t i = 0; i < len; i++)
        *(*out)++ = *scan->at++;
    return true;
}

bool sl_json_string(struct sl_json_scan *scan, struct sluice_text *text)
{
    SL_CHECK(scan->start <= scan->at && scan->at <= scan->end);
    if (!sl_json_take(scan, '"'))
        return fail(scan, "expected a string");
    char *start = scan->at;
    char *out = start;
    while (scan->at < scan->end && *scan->at != '"') {
        bool good;
        if (*scan->at == '\\') {
            scan->at++;
            good = read_escape(scan, &out);
        } else {
            good = copy_character(scan, &out);
        }
        if (!good)
            return false;
    }
    if (scan->at == scan->end)
        return fail(scan, "the string has no end");
    scan->at++;
    SL_CHECK(out < scan->at && scan->at <= scan->end); /* an escape is longer than its character */
    *text = (struct sluice_text){ start, (size_t)(out - start) };
    return true;
}

static size_t skip_digits(struct sl_json_scan *scan)
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

static bool read_number(struct sl_json_scan *scan, struct sluice_text *text)
{
    char *start = scan->at;
    scan->at += next_is(scan, '-', '-');
    char *whole = scan->at;
    size_t count = skip_digits(scan);
    if (count == 0 || (count > 1 && *whole == '0'))
        return fail(scan, "not a number as JSON writes it");
    if (next_is(scan, '.', '.')) {
        scan->at++;
        if (!skip_digits(scan))
            return fail(scan, "not a number as JSON writes it");
    }
    if (next_is(scan, 'e', 'E')) {
        scan->at++;
        scan->at += next_is(scan, '+', '-');
        if (!skip_digits(scan))
            return fail(scan, "not a number as JSON writes it");
    }
    SL_CHECK(start < scan->at && scan->at <= scan->end);
    *text = (struct sluice_text){ start, (size_t)(scan->at - start) };
    return true;
}

static bool skip_word(struct sl_json_scan *scan, struct sluice_text expected)
{
    if ((size_t)(scan->end - scan->at) < expected.len ||
        memcmp(scan->at, expected.at, expected.len) != 0)
        return false;
    scan->at += expected.len;
    return true;
}

enum sl_json_kind sl_json_scalar(struct sl_json_scan *scan, struct sluice_text *text)
{
    SL_CHECK(scan->start <= scan->at && scan->at <= scan->end);
    sl_json_skip_space(scan);
    if (scan->at == scan->end) {
        fail(scan, "a value is missing");
        return SL_JSON_BAD;
    }
    char c = *scan->at;
    if (c == '"')
        return sl_json_string(scan, text) ? SL_JSON_STRING : SL_JSON_BAD;
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(scan, text) ? SL_JSON_NUMBER : SL_JSON_BAD;
    if (c == '{' || c == '[')
        return SL_JSON_OTHER;
    if (skip_word(scan, SL_TEXT("true")))
        return SL_JSON_TRUE;
    if (skip_word(scan, SL_TEXT("false")))
        return SL_JSON_FALSE;
    if (skip_word(scan, SL_TEXT("null")))
        return SL_JSON_NULL;
    fail(scan, "expected a string, a number, true, false or null");
    return SL_JSON_BAD;
}
