#include "auth/token/strict_json.h"

#include "auth/token/verifier.h"
#include "unit/base/unit.h"

enum { GOOD = -1 };

/* GOOD, or what is wrong; read out of a block of exactly that size. */
static int reading(struct sluice_text text)
{
    enum sl_strict_wrong wrong = SL_STRICT_NO_MEMORY;
    char *copy = malloc(text.len ? text.len : 1);
    assert_non_null(copy);
    if (text.len)
        memcpy(copy, text.at, text.len);
    json_t *json = sl_strict_json((struct sluice_text){ copy, text.len }, &wrong);
    free(copy);
    bool good = json != NULL;
    json_decref(json);
    return good ? GOOD : (int)wrong;
}

TEST(only_one_meaning_is_read)
{
    static const struct {
        struct sluice_text text;
        int wanted;
    } rows[] = {
        { SL_TEXT("{}"), GOOD },
        { SL_TEXT(" \r\n\t{ \"a\" : [1, -2.5e3, true, null, \"\\u00e9\\ud83d\\ude00\"] } "), GOOD },
        { SL_TEXT("{\"a\":{\"b\":1},\"b\":{\"b\":1}}"), GOOD },
        { SL_TEXT("{\"a\":9223372036854775807}"), GOOD },
        { SL_TEXT("{\"a\":1e308}"), GOOD },
        { SL_TEXT("{\"a\":9223372036854775808}"), SL_STRICT_NUMBER },
        { SL_TEXT("{\"a\":-9223372036854775809}"), SL_STRICT_NUMBER },
        { SL_TEXT("{\"a\":1e400}"), SL_STRICT_NUMBER },
        { SL_TEXT("{\"a\":1,\"a\":1}"), SL_STRICT_TWICE },
        { SL_TEXT("{\"a\":1,\"\\u0061\":1}"), SL_STRICT_TWICE },
        { SL_TEXT("{\"b\":[{\"a\":1,\"a\":2}]}"), SL_STRICT_TWICE },
        { SL_TEXT("{\"a\":\"\\u0000\"}"), SL_STRICT_NUL },
        { SL_TEXT("{\"a\":\"x\\u0000y\"}"), SL_STRICT_NUL },
        { SL_TEXT("{\"a\\u0000\":1}"), SL_STRICT_NUL },
        { SL_TEXT("{\"a\":\"\xff\"}"), SL_STRICT_NOT_UTF8 },
        { SL_TEXT("{\"a\":\"\xc0\xaf\"}"), SL_STRICT_NOT_UTF8 },     /* overlong */
        { SL_TEXT("{\"a\":\"\xed\xa0\x80\"}"), SL_STRICT_NOT_UTF8 }, /* half a pair */
        { SL_TEXT("{\"a\":\"\xf4\x90\x80\x80\"}"), SL_STRICT_NOT_UTF8 },
        { SL_TEXT("{\"a\":\"\xe2\x82"), SL_STRICT_NOT_UTF8 }, /* ends within a character */
        { SL_TEXT("{\"a\":\"\\ud800\"}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{\"a\":\"\0\"}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{}\0"), SL_STRICT_NOT_JSON },
        { SL_TEXT("\xef\xbb\xbf{}"), SL_STRICT_NOT_JSON }, /* byte order mark */
        { SL_TEXT("{} {}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{}x"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{\"a\":1,}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{'a':1}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{\"a\":01}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{\"a\":NaN}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{\"a\":Infinity}"), SL_STRICT_NOT_JSON },
        { SL_TEXT("{\"a\":1/**/}"), SL_STRICT_NOT_JSON },
        { SL_TEXT(""), SL_STRICT_NOT_JSON },
        { SL_TEXT(" "), SL_STRICT_NOT_JSON },
        { SL_TEXT("[]"), SL_STRICT_NOT_OBJECT },
        { SL_TEXT("\"{}\""), SL_STRICT_NOT_OBJECT },
        { SL_TEXT("null"), SL_STRICT_NOT_OBJECT },
        { SL_TEXT("1"), SL_STRICT_NOT_OBJECT },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].text.at, reading(rows[i].text), rows[i].wanted);
}

/* {"a":[[…{}…]]}, so many deep. */
static struct sluice_text nested(int depth, const char *inside)
{
    static char text[20000];
    size_t len = (size_t)sprintf(text, "{\"a\":");
    for (int i = 1; i < depth; i++)
        text[len++] = '[';
    len += (size_t)sprintf(text + len, "%s", inside);
    for (int i = 1; i < depth; i++)
        text[len++] = ']';
    text[len++] = '}';
    return (struct sluice_text){ text, len };
}

TEST(eight_deep_is_deep_enough)
{
    assert_int_equal(reading(nested(SL_TOKEN_DEPTH_MAX, "0")), GOOD);
    assert_int_equal(reading(nested(SL_TOKEN_DEPTH_MAX + 1, "0")), SL_STRICT_TOO_DEEP);
    assert_int_equal(reading(nested(SL_TOKEN_DEPTH_MAX, "{}")), SL_STRICT_TOO_DEEP);
    assert_int_equal(reading(nested(9000, "0")), SL_STRICT_TOO_DEEP);
    assert_int_equal(reading(SL_TEXT("{\"a\":[[],[],[],[],[],[],[],[],[],[],[]]}")), GOOD);
}

TEST(brackets_in_strings_are_no_depth)
{
    assert_int_equal(reading(SL_TEXT("{\"a\":\"[[[[[[[[[[\\\"[[[[[\\\\\",\"{{{{{{{{{{\":1}")),
                     GOOD);
    assert_int_equal(reading(nested(SL_TOKEN_DEPTH_MAX, "\"]]]]\\\"]]]]\",[]")),
                     SL_STRICT_TOO_DEEP);
    assert_int_equal(reading(SL_TEXT("]]]]]]]][[[[[[[[[[")), SL_STRICT_NOT_JSON);
}

TEST(a_text_is_given_of_strings_alone)
{
    json_t *string = json_string("x"), *number = json_integer(1);
    assert_true(sl_text_is(sl_strict_text(string), "x"));
    assert_null(sl_strict_text(number).at);
    assert_null(sl_strict_text(NULL).at);
    json_decref(string);
    json_decref(number);
}
