/* JSON bodies of the admin API: what is taken, what is refused, how values are printed. */
#include "server/control/admin_json.h"

#include "unit/base/unit.h"

static struct sl_job job;

static void start(struct sluice_text body)
{
    job = (struct sl_job){ .out = sl_buffer(1 << 16), .status = 200 };
    if (body.at)
        job.body = (struct sluice_text){ sl_arena_copy(&job.arena, body), body.len };
}

static void stop(void)
{
    sl_buffer_release(&job.out);
    sl_arena_release(&job.arena);
}

static bool says(const char *what)
{
    return job.out.len && memmem(job.out.at, job.out.len, what, strlen(what));
}

/* ---- values and objects ---- */

TEST(a_body_is_any_json_value_and_nothing_else)
{
    static const struct {
        struct sluice_text body;
        uint32_t status;
    } rows[] = {
        { { 0 }, 400 },
        { SL_TEXT(""), 400 },
        { SL_TEXT("{}"), 200 },
        { SL_TEXT(" [1, 2] \r\n"), 200 },
        { SL_TEXT("7"), 200 },
        { SL_TEXT("null"), 200 },
        { SL_TEXT("\"a\""), 200 },
        { SL_TEXT("{"), 400 },
        { SL_TEXT("{}x"), 400 },
        { SL_TEXT("{} {}"), 400 },
        { SL_TEXT("{,}"), 400 },
        { SL_TEXT("{\"a\": 1,}"), 400 },
        { SL_TEXT("{'a': 1}"), 400 },
        { SL_TEXT("{a: 1}"), 400 },
        { SL_TEXT("NaN"), 400 },
        { SL_TEXT("{\"a\": 01}"), 400 },
        { SL_TEXT("{\"a\": \"\xff\"}"), 400 },
        { SL_TEXT("{\"a\": \"\\u0000\"}"), 400 },
        { SL_TEXT("{\"a\": \"\n\"}"), 400 },
        { SL_TEXT("{}\0"), 400 },
        { SL_TEXT("{\"a\": 1, \"a\": 1}"), 422 },
        { SL_TEXT("{\"b\": {\"a\": 1, \"\\u0061\": 2}}"), 422 },
        { SL_TEXT("{\"a\": 1e999}"), 422 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start(rows[i].body);
        json_t *value = sl_job_json(&job);
        const char *row = rows[i].body.at ? rows[i].body.at : "(none)";
        SAME(row, job.status, rows[i].status);
        SAME(row, value != NULL, rows[i].status == 200);
        json_decref(value);
        stop();
    }
}

TEST(a_problem_says_where_it_is)
{
    start(SL_TEXT("{\"a\": 1,\n \"b\": tru}"));
    assert_null(sl_job_json(&job));
    assert_true(says("\"detail\": \"Line 2, column "));
    stop();
    start((struct sluice_text){ 0 });
    assert_null(sl_job_json(&job));
    assert_true(says("There is no body; send JSON."));
    stop();
}

TEST(an_object_has_no_other_members_than_these)
{
    static const char *const members[] = { "kind", "value", NULL };
    static const struct {
        const char *body;
        uint32_t status;
        const char *says;
    } rows[] = {
        { "{}", 200, "" },
        { "{\"kind\": 1, \"value\": []}", 200, "" },
        { "{\"kinds\": 1}", 422, "There is no member `kinds` here." },
        { "{\"kin\": 1}", 422, "`kin`" },
        { "{\"Kind\": 1}", 422, "`Kind`" },
        { "{\"\": 1}", 422, "There is no member `` here." },
        { "{\"kind\": 1, \"\\\"\\n\": 1}", 422, "`\\\"\\u000a`" },
        { "[]", 422, "Send an object, as in {\\\"kind\\\": " },
        { "7", 422, "Send an object" },
        { "null", 422, "Send an object" },
        { "{", 400, "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start(sl_text(rows[i].body));
        json_t *object = sl_job_object(&job, members);
        SAME(rows[i].body, job.status, rows[i].status);
        SAME(rows[i].body, object != NULL, rows[i].status == 200);
        if (!object && !says(rows[i].says))
            fail_msg("%s: %.*s", rows[i].body, (int)job.out.len, job.out.at);
        json_decref(object);
        stop();
    }
}

/* ---- members ---- */

TEST(a_text_is_not_empty_and_has_no_control_characters)
{
    static const struct {
        const char *body;
        const char *text; /* NULL: none is given */
        bool is_refused;
    } rows[] = {
        { "{}", NULL },
        { "{\"a\": null}", NULL },
        { "{\"b\": \"x\"}", NULL },
        { "{\"a\": \"x\"}", "x" },
        { "{\"a\": \"\\u00e9 \\\"\"}", "\xc3\xa9 \"" },
        { "{\"a\": \"\"}", NULL, true },
        { "{\"a\": 1}", NULL, true },
        { "{\"a\": true}", NULL, true },
        { "{\"a\": [\"x\"]}", NULL, true },
        { "{\"a\": {}}", NULL, true },
        { "{\"a\": \"\\n\"}", NULL, true },
        { "{\"a\": \"x\\u001f\"}", NULL, true },
        { "{\"a\": \"\\u007f\"}", NULL, true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *text = "as it was";
        start(sl_text(rows[i].body));
        json_t *object = sl_job_json(&job);
        SAME(rows[i].body, sl_json_text(&job, object, "a", &text), !rows[i].is_refused);
        SAME(rows[i].body, job.status, rows[i].is_refused ? 422 : 200);
        json_decref(object); /* what was read outlives it */
        if (!rows[i].text)
            assert_null(text);
        else
            assert_string_equal(text, rows[i].text);
        stop();
    }
}

TEST(a_moment_is_seconds_or_rfc_3339_of_the_years_up_to_9999)
{
    static const struct {
        const char *value;
        int64_t us; /* -1: refused; -2: none is given */
    } rows[] = {
        { "null", -2 },
        { "0", 0 },
        { "1767225600", INT64_C(1767225600000000) },
        { "1767225600.5", INT64_C(1767225600500000) },
        { "1767225600.000001", INT64_C(1767225600000001) },
        { "0.0000004", 0 },
        { "0.0000006", 1 },
        { "1e3", INT64_C(1000000000) },
        { "253402300799", INT64_C(253402300799000000) },
        { "253402300799.5", INT64_C(253402300799500000) },
        { "253402300800", -1 },
        { "253402300800.0", -1 },
        { "1e300", -1 },
        { "9223372036854775807", -1 },
        { "-1", -1 },
        { "-0.5", -1 },
        { "\"2026-01-01T00:00:00Z\"", INT64_C(1767225600000000) },
        { "\"2026-01-01T01:00:00+01:00\"", INT64_C(1767225600000000) },
        { "\"2026-01-01T00:00:00.25Z\"", INT64_C(1767225600250000) },
        { "\"1767225600\"", INT64_C(1767225600000000) },
        { "\"2026-01-01\"", -1 },
        { "\"2026-02-30T00:00:00Z\"", -1 },
        { "\"\"", -1 },
        { "\"tomorrow\"", -1 },
        { "true", -1 },
        { "[]", -1 },
        { "{}", -1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[128];
        int64_t us = -7;
        bool has = false;
        snprintf(body, sizeof body, "{\"until\": %s}", rows[i].value);
        start(sl_text(body));
        json_t *object = sl_job_json(&job);
        bool good = sl_json_moment(&job, object, "until", &has, &us);
        SAME(body, good, rows[i].us != -1);
        SAME(body, job.status, good ? 200 : 422);
        if (good)
            SAME(body, has, rows[i].us != -2);
        if (good && has)
            SAME(body, us, rows[i].us);
        SAME(body, says("`until` is seconds since 1970"), !good);
        json_decref(object);
        stop();
    }
    start(SL_TEXT("{}"));
    bool has = true;
    int64_t us = 7;
    json_t *object = sl_job_json(&job);
    assert_true(sl_json_moment(&job, object, "until", &has, &us));
    assert_false(has);
    json_decref(object);
    stop();
}

TEST(a_plain_name_has_1_to_64_letters_digits_and_three_signs)
{
    char name[66];
    memset(name, 'a', sizeof name);
    for (size_t len = 0; len <= 65; len++)
        SAME("length", sl_rule_name_is_good((struct sluice_text){ name, len }),
             len >= 1 && len <= 64);
    for (int c = 0; c < 256; c++) {
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        name[0] = name[2] = 'a';
        name[1] = (char)c;
        SAME("inside", sl_rule_name_is_good((struct sluice_text){ name, 3 }), is_plain);
        SAME("alone", sl_rule_name_is_good((struct sluice_text){ name + 1, 1 }), is_plain);
    }
}

/* ---- printing ---- */

static const char *printed(struct sl_buffer *out)
{
    static char text[512];
    assert_false(out->failed);
    snprintf(text, sizeof text, "%.*s", (int)out->len, out->at);
    sl_buffer_release(out);
    return text;
}

TEST(members_have_commas_between_them_and_none_before_the_first)
{
    struct sl_buffer out = sl_buffer(1024);
    sl_buffer_add(&out, SL_TEXT("{"));
    sl_print_text(&out, "a", "x\"\n");
    sl_print_text(&out, "b", NULL);
    sl_print_bool(&out, "c", true);
    sl_print_bool(&out, "d", false);
    sl_print_i64(&out, "e", INT64_MIN);
    sl_print_raw(&out, "f", "{}");
    sl_print_name(&out, "g");
    sl_buffer_add(&out, SL_TEXT("{"));
    sl_print_i64(&out, "h", 0);
    sl_buffer_add(&out, SL_TEXT("}"));
    sl_print_text(&out, "i", "{");
    sl_print_raw(&out, "j", "[]");
    sl_buffer_add(&out, SL_TEXT("}"));
    assert_string_equal(printed(&out),
                        "{\"a\": \"x\\\"\\u000a\", \"b\": null, \"c\": true, \"d\": false, "
                        "\"e\": -9223372036854775808, \"f\": {}, \"g\": {\"h\": 0}, \"i\": \"{\", "
                        "\"j\": []}");
}

TEST(moments_are_seconds_with_at_most_six_decimals)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 1, "0.000001" },
        { 10, "0.00001" },
        { 100000, "0.1" },
        { 999999, "0.999999" },
        { 1000000, "1" },
        { 1000001, "1.000001" },
        { INT64_C(1767225600000000), "1767225600" },
        { INT64_C(1767225600500000), "1767225600.5" },
        { INT64_C(1700000000000010), "1700000000.00001" },
        { 10000000, "10" },
        { -1, "-0.000001" },
        { -1500000, "-1.5" },
        { INT64_MAX, "9223372036854.775807" },
        { INT64_MIN, "-9223372036854.775808" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wanted[64];
        struct sl_buffer out = sl_buffer(128);
        sl_print_moment(&out, "at", rows[i].us);
        snprintf(wanted, sizeof wanted, "\"at\": %s", rows[i].text);
        assert_string_equal(printed(&out), wanted);
    }
}

TEST(billionths_are_decimals_without_zeros_at_the_end)
{
    static const struct {
        int64_t billionths;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 1, "0.000000001" },
        { 300000000, "0.3" },
        { 850000000, "0.85" },
        { 123456789, "0.123456789" },
        { 1000000000, "1" },
        { 10000000000, "10" },
        { -50000000, "-0.05" },
        { -200000000, "-0.2" },
        { -1, "-0.000000001" },
        { INT64_MIN, "-9223372036.854775808" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wanted[64];
        struct sl_buffer out = sl_buffer(128);
        sl_print_billionths(&out, "value", rows[i].billionths);
        snprintf(wanted, sizeof wanted, "\"value\": %s", rows[i].text);
        assert_string_equal(printed(&out), wanted);
    }
}

TEST(a_tag_is_quoted_and_another_for_every_revision)
{
    start((struct sluice_text){ 0 });
    assert_string_equal(sl_job_etag(&job, 'r', 1), "\"r1\"");
    assert_string_equal(sl_job_etag(&job, 'u', 18), "\"u12\"");
    assert_string_equal(sl_job_etag(&job, 'f', UINT64_MAX), "\"fffffffffffffffff\"");
    stop();
}
