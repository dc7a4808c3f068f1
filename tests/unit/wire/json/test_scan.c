#include "wire/json/scan.h"

#include "unit/base/unit.h"

/* A copy exactly as long as the text: reading one byte further is seen. */
static char *copy_of(struct sluice_text text)
{
    char *copy = malloc(text.len ? text.len : 1);
    assert_non_null(copy);
    memcpy(copy, text.at, text.len);
    return copy;
}

struct string {
    struct sluice_text json; /* without the quotes */
    struct sluice_text text;
};
#define STRING(json, text)                                                                         \
    {                                                                                              \
        SL_TEXT("\"" json "\""), SL_TEXT(text)                                                     \
    }

static const struct string strings[] = {
    STRING("", ""),
    STRING("abc", "abc"),
    STRING("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"),
    STRING("\\u0041", "A"),
    STRING("\\u0000", "\0"),
    STRING("\\u001f", "\x1f"),
    STRING("\\u007f\x7f", "\x7f\x7f"),
    STRING("\\u0080", "\xc2\x80"),
    STRING("\\u07ff", "\xdf\xbf"),
    STRING("\\u0800", "\xe0\xa0\x80"),
    STRING("\\ud7ff", "\xed\x9f\xbf"),
    STRING("\\uE000", "\xee\x80\x80"),
    STRING("\\uffff", "\xef\xbf\xbf"),
    STRING("\\ud800\\udc00", "\xf0\x90\x80\x80"),
    STRING("\\uDBFF\\uDFFF", "\xf4\x8f\xbf\xbf"),
    STRING("a\\ud83d\\ude00b", "a\xf0\x9f\x98\x80"
                               "b"),
    STRING("\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf"),
    STRING("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80", "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80"),
    STRING("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
};

TEST(a_string_is_unescaped)
{
    for (size_t i = 0; i < COUNT(strings); i++) {
        char *copy = copy_of(strings[i].json);
        struct sl_json_scan scan = sl_json_scan(copy, strings[i].json.len);
        struct sluice_text text = { 0 };
        SAME(strings[i].json.at, sl_json_string(&scan, &text), true);
        SAME(strings[i].json.at, sl_text_equal(text, strings[i].text), true);
        SAME(strings[i].json.at, scan.at == scan.end, true);
        SAME(strings[i].json.at, scan.error == NULL, true);
        free(copy);
    }
}

static const struct {
    struct sluice_text json;
    const char *error;
} bad_strings[] = {
    { SL_TEXT(""), "expected a string" },
    { SL_TEXT("abc"), "expected a string" },
    { SL_TEXT("'a'"), "expected a string" },
    { SL_TEXT("\""), "the string has no end" },
    { SL_TEXT("\"abc"), "the string has no end" },
    { SL_TEXT("\"abc\\"), "the string has no end" },
    { SL_TEXT("\"abc\\\""), "the string has no end" },
    { SL_TEXT("\"\\x\""), "unknown escape in a string" },
    { SL_TEXT("\"\\'\""), "unknown escape in a string" },
    { SL_TEXT("\"\\U0041\""), "unknown escape in a string" },
    { SL_TEXT("\"\\\0\""), "unknown escape in a string" },
    { SL_TEXT("\"\\u\""), "`\\u` wants four hexadecimal digits" },
    { SL_TEXT("\"\\u004\""), "`\\u` wants four hexadecimal digits" },
    { SL_TEXT("\"\\u00g1\""), "`\\u` wants four hexadecimal digits" },
    { SL_TEXT("\"\\u+041\""), "`\\u` wants four hexadecimal digits" },
    { SL_TEXT("\"\\u00"), "`\\u` wants four hexadecimal digits" },
    { SL_TEXT("\"\\ud800\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\udc00\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\udfff\\ud800\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\ud800\\u0041\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\ud800\\ud800\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\ud800\\n\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\ud800\\ue000\""), "half a surrogate pair is no character" },
    { SL_TEXT("\"\\ud800\\udc0"), "half a surrogate pair is no character" },
    { SL_TEXT("\"\0\""), "a control character in a string must be escaped" },
    { SL_TEXT("\"\x1f\""), "a control character in a string must be escaped" },
    { SL_TEXT("\"a\nb\""), "a control character in a string must be escaped" },
    { SL_TEXT("\"\t\""), "a control character in a string must be escaped" },
    { SL_TEXT("\"\x80\""), "a string is not valid UTF-8" },             /* no start */
    { SL_TEXT("\"\xc0\x80\""), "a string is not valid UTF-8" },         /* overlong */
    { SL_TEXT("\"\xc1\xbf\""), "a string is not valid UTF-8" },         /* overlong */
    { SL_TEXT("\"\xe0\x9f\xbf\""), "a string is not valid UTF-8" },     /* overlong */
    { SL_TEXT("\"\xf0\x8f\xbf\xbf\""), "a string is not valid UTF-8" }, /* overlong */
    { SL_TEXT("\"\xed\xa0\x80\""), "a string is not valid UTF-8" },     /* a surrogate */
    { SL_TEXT("\"\xed\xbf\xbf\""), "a string is not valid UTF-8" },     /* a surrogate */
    { SL_TEXT("\"\xf4\x90\x80\x80\""), "a string is not valid UTF-8" }, /* beyond 10ffff */
    { SL_TEXT("\"\xf5\x80\x80\x80\""), "a string is not valid UTF-8" },
    { SL_TEXT("\"\xff\""), "a string is not valid UTF-8" },
    { SL_TEXT("\"\xc2\""), "a string is not valid UTF-8" }, /* cut off by the quote */
    { SL_TEXT("\"\xe2\x82\""), "a string is not valid UTF-8" },
    { SL_TEXT("\"\xf0\x9f\x98\""), "a string is not valid UTF-8" },
    { SL_TEXT("\"\xe2\x82"), "a string is not valid UTF-8" }, /* cut off by the end */
    { SL_TEXT("\"\xc2"), "a string is not valid UTF-8" },
    { SL_TEXT("\"\xe2(\xa1\""), "a string is not valid UTF-8" },
    { SL_TEXT("\"\xe2\x82(\""), "a string is not valid UTF-8" },
};

TEST(a_bad_string_says_what_is_wrong)
{
    for (size_t i = 0; i < COUNT(bad_strings); i++) {
        char *copy = copy_of(bad_strings[i].json);
        struct sl_json_scan scan = sl_json_scan(copy, bad_strings[i].json.len);
        struct sluice_text text = SL_TEXT("as it was");
        SAME(bad_strings[i].json.at, sl_json_string(&scan, &text), false);
        SAME_TEXT(bad_strings[i].json.at, sl_text(scan.error), bad_strings[i].error);
        SAME_TEXT(bad_strings[i].json.at, text, "as it was");
        free(copy);
    }
}

TEST(a_scalar_is_known_by_its_first_letters)
{
    static const struct {
        const char *json;
        enum sl_json_kind kind;
        const char *text;
        const char *rest;
    } rows[] = {
        { "true", SL_JSON_TRUE, NULL, "" },
        { " \t\r\n false,", SL_JSON_FALSE, NULL, "," },
        { "null}", SL_JSON_NULL, NULL, "}" },
        { "\"a\" ", SL_JSON_STRING, "a", " " },
        { "{\"a\":1}", SL_JSON_OTHER, NULL, "{\"a\":1}" },
        { "[1]", SL_JSON_OTHER, NULL, "[1]" },
        { "0", SL_JSON_NUMBER, "0", "" },
        { "-0", SL_JSON_NUMBER, "-0", "" },
        { "10,", SL_JSON_NUMBER, "10", "," },
        { "-12.50e+03]", SL_JSON_NUMBER, "-12.50e+03", "]" },
        { "1E5", SL_JSON_NUMBER, "1E5", "" },
        { "1e-5", SL_JSON_NUMBER, "1e-5", "" },
        { "0.0", SL_JSON_NUMBER, "0.0", "" },
        { "0e0", SL_JSON_NUMBER, "0e0", "" },
        { "1x", SL_JSON_NUMBER, "1", "x" }, /* for the next reader to refuse */
        { "123456789012345678901234567890", SL_JSON_NUMBER, "123456789012345678901234567890", "" },
        { "truely", SL_JSON_TRUE, NULL, "ly" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *copy = copy_of(sl_text(rows[i].json));
        struct sl_json_scan scan = sl_json_scan(copy, strlen(rows[i].json));
        struct sluice_text text = { 0 };
        SAME(rows[i].json, sl_json_scalar(&scan, &text), rows[i].kind);
        SAME(rows[i].json, text.at != NULL, rows[i].text != NULL);
        if (rows[i].text)
            SAME_TEXT(rows[i].json, text, rows[i].text);
        struct sluice_text rest = { scan.at, (size_t)(scan.end - scan.at) };
        SAME_TEXT(rows[i].json, rest, rows[i].rest);
        free(copy);
    }
}

TEST(what_is_no_scalar_says_so)
{
    static const struct {
        const char *json, *error;
    } rows[] = {
        { "", "a value is missing" },
        { "  ", "a value is missing" },
        { "tru", "expected a string, a number, true, false or null" },
        { "True", "expected a string, a number, true, false or null" },
        { "nul", "expected a string, a number, true, false or null" },
        { "fals\0", "expected a string, a number, true, false or null" },
        { "NaN", "expected a string, a number, true, false or null" },
        { "Infinity", "expected a string, a number, true, false or null" },
        { ",", "expected a string, a number, true, false or null" },
        { "}", "expected a string, a number, true, false or null" },
        { "'a'", "expected a string, a number, true, false or null" },
        { "+1", "expected a string, a number, true, false or null" },
        { ".5", "expected a string, a number, true, false or null" },
        { "// a", "expected a string, a number, true, false or null" },
        { "\v1", "expected a string, a number, true, false or null" },
        { "\xc2\xa0"
          "1",
          "expected a string, a number, true, false or null" },
        { "-", "not a number as JSON writes it" },
        { "-x", "not a number as JSON writes it" },
        { "-Infinity", "not a number as JSON writes it" },
        { "01", "not a number as JSON writes it" },
        { "-01", "not a number as JSON writes it" },
        { "00", "not a number as JSON writes it" },
        { "1.", "not a number as JSON writes it" },
        { "1.e5", "not a number as JSON writes it" },
        { "1e", "not a number as JSON writes it" },
        { "1e+", "not a number as JSON writes it" },
        { "1e+-5", "not a number as JSON writes it" },
        { "-.5", "not a number as JSON writes it" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *copy = copy_of(sl_text(rows[i].json));
        struct sl_json_scan scan = sl_json_scan(copy, strlen(rows[i].json));
        struct sluice_text text = { 0 };
        SAME(rows[i].json, sl_json_scalar(&scan, &text), SL_JSON_BAD);
        SAME_TEXT(rows[i].json, sl_text(scan.error), rows[i].error);
        free(copy);
    }
}

TEST(a_character_is_taken_if_it_is_next)
{
    char text[] = " \n{ }";
    struct sl_json_scan scan = sl_json_scan(text, strlen(text));
    assert_false(sl_json_take(&scan, '}'));
    assert_true(sl_json_take(&scan, '{'));
    assert_false(sl_json_take(&scan, '{'));
    assert_true(sl_json_take(&scan, '}'));
    assert_false(sl_json_take(&scan, '}'));
    assert_false(sl_json_take(&scan, 0));
    assert_null(scan.error);
}
