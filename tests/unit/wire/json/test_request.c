#include "wire/json/request.h"

#include "algo/algo.h"
#include "unit/base/unit.h"

static struct sl_json_room room;
static char *copy; /* exactly as long as the text: reading one byte further is seen */

static bool read_bytes(struct sluice_text json, struct sluice_request *out)
{
    free(copy);
    copy = malloc(json.len ? json.len : 1);
    assert_non_null(copy);
    memcpy(copy, json.at, json.len);
    return sl_json_read_request(copy, json.len, &room, out);
}

static struct sluice_request read_good(const char *json)
{
    struct sluice_request request;
    if (!read_bytes(sl_text(json), &request))
        fail_msg("%s: %s", json, room.error);
    return request;
}

static void assert_refused(const char *json, const char *error)
{
    struct sluice_request request = { .cost = 4711 };
    SAME(json, read_bytes(sl_text(json), &request), false);
    SAME(json, request.cost, 4711);
    SAME_TEXT(json, sl_text(room.error), error);
    SAME(json, room.unfit, error[0] == '`'); /* else it names the byte where JSON ends */
}

TEST(every_member_goes_to_its_place)
{
    struct sluice_request request = read_good(
        " {\"at_us\": 1700000000000000, \"tenant\": \"acme\", \"resource\": \"/api/videos\",\r\n"
        "\t\"method\":\"GET\",\"user\":\"u1\",\"ip\":\"192.0.2.1\",\"client\":\"c\",\"tier\":"
        "\"pro\","
        "\"cost\":7,\"trust_score\":0.25,\"peek\":true,\"wait\":true,\"explain\":true,"
        "\"plan\":\"gold\"} ");
    SAME_TEXT("tenant", request.tenant, "acme");
    SAME_TEXT("resource", request.resource, "/api/videos");
    SAME_TEXT("method", request.method, "GET");
    SAME_TEXT("user", request.user, "u1");
    SAME_TEXT("ip", request.ip, "192.0.2.1");
    SAME_TEXT("client", request.client, "c");
    SAME_TEXT("tier", request.tier, "pro");
    assert_int_equal(request.at_us, 1700000000000000);
    assert_int_equal(request.cost, 7);
    assert_int_equal(request.trust_thousandths, 250);
    assert_true(request.peek && request.wait && request.explain);
    assert_int_equal(request.other_count, 1);
    SAME_TEXT("other", request.others[0].name, "plan");
    SAME_TEXT("other", request.others[0].value, "gold");
}

TEST(what_is_not_given_has_its_default)
{
    static const char *const texts[] = {
        "{}",
        " { } ",
        "{\"tenant\":null,\"resource\":null,\"method\":null,\"user\":null,\"ip\":null,"
        "\"client\":null,\"tier\":null,\"cost\":null,\"at_us\":null,\"peek\":null,\"wait\":null,"
        "\"explain\":null,\"trust_score\":null}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sluice_request request = read_good(texts[i]);
        assert_null(request.tenant.at);
        assert_null(request.resource.at);
        assert_null(request.method.at);
        assert_null(request.user.at);
        assert_null(request.ip.at);
        assert_null(request.client.at);
        assert_null(request.tier.at);
        assert_int_equal(request.cost, 1);
        assert_int_equal(request.at_us, SLUICE_NOW);
        assert_int_equal(request.trust_thousandths, SLUICE_NO_TRUST);
        assert_false(request.peek || request.wait || request.explain);
        assert_int_equal(request.other_count, 0);
    }
    struct sluice_request request = read_good("{\"user\":\"\",\"plan\":null}");
    assert_true(request.user.at && request.user.len == 0);
    assert_null(request.others[0].value.at);
}

TEST(attributes_are_texts_as_written)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        { "\"x\"", "x" },
        { "1", "1" },
        { "1.0", "1.0" },
        { "-0", "-0" },
        { "1e400", "1e400" },
        { "true", "true" },
        { "false", "false" },
        { "\"\"", "" },
        { "18446744073709551616", "18446744073709551616" },
        { "\"\\u00e9\"", "é" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"user\": %s, \"plan\": %s}", rows[i].json, rows[i].json);
        struct sluice_request request = read_good(json);
        SAME_TEXT(json, request.user, rows[i].text);
        SAME_TEXT(json, request.others[0].value, rows[i].text);
    }
}

#define TEXT_WANTED  " must be a string, a number, true or false"
#define COST_WANTED  "`cost` must be a whole number from 0 to 4294967295"
#define TIME_WANTED  "`at_us` must be a whole number of microseconds from 0 to 4400000000000000"
#define TRUST_WANTED "`trust_score` must be a number from 0 to 1"

TEST(a_value_of_the_wrong_type_or_range_is_refused)
{
    static const struct {
        const char *json, *error;
    } rows[] = {
        { "{\"tenant\":{}}", "`tenant`" TEXT_WANTED },
        { "{\"resource\":[]}", "`resource`" TEXT_WANTED },
        { "{\"method\":[1]}", "`method`" TEXT_WANTED },
        { "{\"user\":{\"a\":1}}", "`user`" TEXT_WANTED },
        { "{\"ip\":[]}", "`ip`" TEXT_WANTED },
        { "{\"client\":[]}", "`client`" TEXT_WANTED },
        { "{\"tier\":{}}", "`tier`" TEXT_WANTED },
        { "{\"plan\":{}}", "`plan`" TEXT_WANTED },
        { "{\"plan\":[\"a\"]}", "`plan`" TEXT_WANTED },
        { "{\"cost\":\"1\"}", COST_WANTED },
        { "{\"cost\":true}", COST_WANTED },
        { "{\"cost\":[]}", COST_WANTED },
        { "{\"cost\":-1}", COST_WANTED },
        { "{\"cost\":-0}", COST_WANTED },
        { "{\"cost\":1.0}", COST_WANTED },
        { "{\"cost\":1e0}", COST_WANTED },
        { "{\"cost\":4294967296}", COST_WANTED },
        { "{\"cost\":99999999999999999999}", COST_WANTED },
        { "{\"at_us\":\"0\"}", TIME_WANTED },
        { "{\"at_us\":false}", TIME_WANTED },
        { "{\"at_us\":-1}", TIME_WANTED },
        { "{\"at_us\":0.5}", TIME_WANTED },
        { "{\"at_us\":1.7e15}", TIME_WANTED },
        { "{\"at_us\":4400000000000001}", TIME_WANTED },
        { "{\"at_us\":18446744073709551616}", TIME_WANTED },
        { "{\"trust_score\":\"0.5\"}", TRUST_WANTED },
        { "{\"trust_score\":true}", TRUST_WANTED },
        { "{\"trust_score\":{}}", TRUST_WANTED },
        { "{\"trust_score\":-0.1}", TRUST_WANTED },
        { "{\"trust_score\":1.0001}", TRUST_WANTED },
        { "{\"trust_score\":2}", TRUST_WANTED },
        { "{\"peek\":1}", "`peek` must be true or false" },
        { "{\"peek\":\"true\"}", "`peek` must be true or false" },
        { "{\"wait\":0}", "`wait` must be true or false" },
        { "{\"wait\":[]}", "`wait` must be true or false" },
        { "{\"explain\":\"\"}", "`explain` must be true or false" },
        { "{\"explain\":{}}", "`explain` must be true or false" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_refused(rows[i].json, rows[i].error);
    assert_int_equal(read_good("{\"cost\":0}").cost, 0);
    assert_int_equal(read_good("{\"cost\":4294967295}").cost, UINT32_MAX);
    assert_int_equal(read_good("{\"at_us\":0}").at_us, 0);
    assert_int_equal(read_good("{\"at_us\":4400000000000000}").at_us, SL_TIME_MAX_US);
}

TEST(what_is_no_object_is_refused_with_its_place)
{
    static const struct {
        const char *json, *error;
    } rows[] = {
        { "{\"user\":\"a\"", "byte 12: expected `,` or `}`" },
        { "{\"user\":\"a\" \"b\":1}", "byte 13: expected `,` or `}`" },
        { "{\"a\":1,}", "byte 8: expected a string" },
        { "{,}", "byte 2: expected a string" },
        { "{a:1}", "byte 2: expected a string" },
        { "{\"a\"}", "byte 5: expected `:` behind a member's name" },
        { "{\"a\":}", "byte 6: expected a string, a number, true, false or null" },
        { "{\"a\":", "byte 6: a value is missing" },
        { "{\"a\":tru}", "byte 6: expected a string, a number, true, false or null" },
        { "{\"a\":01}", "byte 8: not a number as JSON writes it" },
        { "{\"a\":\"x}", "byte 9: the string has no end" },
        { "{\"a\":1}}", "byte 8: there is something behind the object" },
        { "{\"a\":1} {}", "byte 9: there is something behind the object" },
        { "{\"a\":1x}", "byte 7: expected `,` or `}`" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_refused(rows[i].json, rows[i].error);
    static const char *const others[] = {
        "", " ", "[]", "null", "1", "\"a\"", "}", "{\"a\":1}\v", "{", "[{}]", "\xef\xbb\xbf{}"
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        struct sluice_request request;
        SAME(others[i], read_bytes(sl_text(others[i]), &request), false);
        SAME(others[i], strncmp(room.error, "byte ", 5), 0);
    }
    struct sluice_request request;
    assert_false(read_bytes(SL_TEXT("{}\0"), &request));
    assert_false(room.unfit);
}

#define OBJECT_WANTED "expected a JSON object, as in {\"user\": \"u1\"}"

TEST(json_that_is_no_object_is_unfit_and_other_text_is_not_json)
{
    static const struct {
        const char *text, *error;
        bool unfit;
    } rows[] = {
        { "[]", "byte 1: " OBJECT_WANTED, true },
        { " \"a\"", "byte 2: " OBJECT_WANTED, true },
        { "\"\\u00e9\"", "byte 1: " OBJECT_WANTED, true },
        { "-1.5e3", "byte 1: " OBJECT_WANTED, true },
        { "true", "byte 1: " OBJECT_WANTED, true },
        { "false", "byte 1: " OBJECT_WANTED, true },
        { "null", "byte 1: " OBJECT_WANTED, true },
        { "", "byte 1: " OBJECT_WANTED, false },
        { "  ", "byte 3: " OBJECT_WANTED, false },
        { "x", "byte 1: " OBJECT_WANTED, false },
        { "}", "byte 1: " OBJECT_WANTED, false },
        { "nul", "byte 1: " OBJECT_WANTED, false },
        { "01", "byte 1: " OBJECT_WANTED, false },
        { "\"a", "byte 1: " OBJECT_WANTED, false },
        { "\xef\xbb\xbf{}", "byte 1: " OBJECT_WANTED, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_request request;
        SAME(rows[i].text, read_bytes(sl_text(rows[i].text), &request), false);
        SAME_TEXT(rows[i].text, sl_text(room.error), rows[i].error);
        SAME(rows[i].text, room.unfit, rows[i].unfit);
    }
}

/* Reads `[{…}, {…}]` as far as it is good; the number of requests. */
static int read_array(const char *json, struct sl_json_scan *scan, struct sluice_request *last)
{
    int count = 0;
    free(copy);
    copy = strdup(json);
    assert_non_null(copy);
    *scan = sl_json_scan(copy, strlen(json));
    assert_true(sl_json_take(scan, '['));
    do {
        if (!sl_json_next_request(scan, &room, last))
            return count;
        count++;
    } while (sl_json_take(scan, ','));
    return count;
}

TEST(one_object_after_another_is_read_off_an_array)
{
    struct sl_json_scan scan;
    struct sluice_request last;
    assert_int_equal(
        read_array("[{\"user\":\"a\",\"cost\":2,\"x\":1} , {\"user\":\"b\", \"y\": \"z\"}\n] 7",
                   &scan, &last),
        2);
    SAME_TEXT("user", last.user, "b");
    assert_int_equal(last.cost, 1); /* nothing is left of the one before */
    assert_int_equal(last.other_count, 1);
    SAME_TEXT("name", last.others[0].name, "y");
    assert_true(sl_json_take(&scan, ']'));
    SAME_TEXT("behind", ((struct sluice_text){ scan.at, (size_t)(scan.end - scan.at) }), " 7");
    assert_null(scan.error);
}

TEST(what_is_wrong_in_an_array_is_said_with_its_place_in_the_whole)
{
    static const struct {
        const char *json, *error;
        int good;
        bool unfit;
    } rows[] = {
        { "[{},{\"a\":tru}]", "byte 10: expected a string, a number, true, false or null", 1,
          false },
        { "[{}, {} {}]", "", 2, false }, /* the array's reader sees it */
        { "[{},]", "byte 5: " OBJECT_WANTED, 1, false },
        { "[{}, 7]", "byte 6: " OBJECT_WANTED, 1, true },
        { "[[{}]]", "byte 2: " OBJECT_WANTED, 0, true },
        { "[{\"cost\":1},{\"cost\":-1}]", COST_WANTED, 1, true },
        { "[{\"user\":1},{\"user\":1}]", "", 2, false }, /* twice, but not in one */
        { "[{},{", "byte 6: expected a string", 1, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_json_scan scan;
        struct sluice_request last;
        SAME(rows[i].json, read_array(rows[i].json, &scan, &last), rows[i].good);
        SAME_TEXT(rows[i].json, sl_text(room.error), rows[i].error);
        SAME(rows[i].json, room.unfit, rows[i].unfit);
    }
}

TEST(a_member_given_twice_is_refused)
{
    assert_refused("{\"user\":\"a\",\"user\":\"a\"}", "`user` is given twice");
    assert_refused("{\"user\":null,\"user\":\"a\"}", "`user` is given twice");
    assert_refused("{\"cost\":1,\"cost\":1}", "`cost` is given twice");
    assert_refused("{\"plan\":1,\"x\":2,\"plan\":null}", "`plan` is given twice");
    assert_refused("{\"user\":1,\"\\u0075ser\":2}", "`user` is given twice");
    assert_int_equal(read_good("{\"User\":1,\"user\":2,\"user \":3}").other_count, 2);
}

/* {"a0":0,"a1":1,…} */
static const char *object_of(int count, char *out)
{
    char *end = out + sprintf(out, "{\"user\":\"u\"");
    for (int i = 0; i < count; i++)
        end += sprintf(end, ",\"a%d\":%d", i, i);
    strcpy(end, "}");
    return out;
}

TEST(sixty_four_attributes_have_room)
{
    char json[2048];
    assert_int_equal(read_good(object_of(64, json)).other_count, 64);
    SAME_TEXT("the last", room.others[63].value, "63");
    assert_refused(object_of(65, json),
                   "`a64` is one attribute too many; at most 64 have names of their own");
}

TEST(a_long_name_is_cut_in_an_error)
{
    char json[1024], name[501];
    memset(name, 'n', 500);
    name[500] = 0;
    snprintf(json, sizeof json, "{\"%s\":[]}", name);
    struct sluice_request request;
    assert_false(read_bytes(sl_text(json), &request));
    assert_non_null(strstr(room.error, TEXT_WANTED));
    assert_true(strlen(room.error) < SL_JSON_ERROR_MAX - 1);
}

TEST(a_name_is_not_cut_inside_a_character)
{
    static const char *const letters[] = { "é", "€", "😀" };
    for (size_t i = 0; i < COUNT(letters); i++)
        for (size_t before = 0; before < 4; before++) {
            char json[512], wanted[512];
            char *end = json + sprintf(json, "{\"%.*s", (int)before, "abcd");
            for (int k = 0; k < 40; k++)
                end = stpcpy(end, letters[i]);
            strcpy(end, "\":[]}");
            size_t len = strlen(letters[i]);
            size_t shown = before + (64 - before) / len * len;
            snprintf(wanted, sizeof wanted, "`%.*s`" TEXT_WANTED, (int)shown, json + 2);
            assert_refused(json, wanted);
        }
}

TEST(escapes_count_in_names_and_values)
{
    struct sluice_request request =
        read_good("{\"\\u0075\\u0073er\":\"\\ud83d\\ude00\\n\",\"a\\u0000b\":\"\\u0000\"}");
    SAME_TEXT("user", request.user, "\xf0\x9f\x98\x80\n");
    assert_true(sl_text_equal(request.others[0].name, SL_TEXT("a\0b")));
    assert_true(sl_text_equal(request.others[0].value, SL_TEXT("\0")));
}

TEST(trust_is_read_exactly_and_rounded_down)
{
    static const struct {
        const char *text;
        int32_t thousandths; /* -1: refused */
    } rows[] = {
        { "0", 0 },
        { "0.0", 0 },
        { "0e5", 0 },
        { "0.0e-99999999999999999999", 0 },
        { "0e99999999999999999999", 0 },
        { "0.7", 700 },
        { "0.29", 290 }, /* 0.29 · 1000 is 289.99… in doubles */
        { "0.57", 570 },
        { "0.001", 1 },
        { "0.0009999", 0 },
        { "0.9999", 999 },
        { "0.99999999999999999999", 999 }, /* a double of that is 1 */
        { "0.1239", 123 },
        { "1", 1000 },
        { "1.0", 1000 },
        { "1.000000000000000", 1000 },
        { "1e0", 1000 },
        { "1E+0", 1000 },
        { "10e-1", 1000 },
        { "1000e-3", 1000 },
        { "0.001e3", 1000 },
        { "5e-1", 500 },
        { "50e-2", 500 },
        { "0.05e1", 500 },
        { "123e-3", 123 },
        { "1239e-4", 123 },
        { "1e-3", 1 },
        { "1e-4", 0 },
        { "1e-400", 0 },
        { "9e-99999999999999999999", 0 },
        { "1.0001", -1 },
        { "1.0000000000000000000001", -1 }, /* a double of that is 1 */
        { "1.001", -1 },
        { "10e-1000000000", 0 },
        { "1001e-3", -1 },
        { "10001e-4", -1 },
        { "1e1", -1 },
        { "2", -1 },
        { "1e99999999999999999999", -1 },
        { "0.0001e5", -1 },
        { "-0", -1 },
        { "-0.5", -1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int32_t value = -4711;
        SAME(rows[i].text, sl_json_read_trust(sl_text(rows[i].text), &value),
             rows[i].thousandths >= 0);
        SAME(rows[i].text, value, rows[i].thousandths >= 0 ? rows[i].thousandths : -4711);
    }
}

static int release(void **unused)
{
    (void)unused;
    free(copy);
    return 0;
}

TESTS_WITH(NULL, release)
