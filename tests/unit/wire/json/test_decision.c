#include "wire/json/decision.h"

#include <jansson.h>

#include "unit/base/unit.h"

static char printed[4096];

/* The decision as text, which is also read back by a JSON library. */
static const char *print(const struct sluice_decision *decision,
                         const struct sluice_explained *rows, size_t row_count)
{
    struct sl_buffer out = sl_buffer(sizeof printed - 1);
    sl_json_print_decision(&out, decision, rows, row_count);
    assert_false(out.failed);
    memcpy(printed, out.at, out.len);
    printed[out.len] = 0;
    sl_buffer_release(&out);
    json_t *json = json_loads(printed, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    json_decref(json);
    return printed;
}

TEST(a_denial_has_every_field_of_the_contract)
{
    struct sluice_decision decision = {
        .allowed = false,
        .reason = SLUICE_REASON_LIMITED,
        .rule = "api",
        .algorithm = "token_bucket",
        .limit = 150,
        .remaining = 0,
        .reset_at_us = 1700000014998000,
        .retry_after_us = 98000,
        .delay_us = 0,
    };
    assert_string_equal(
        print(&decision, NULL, 0),
        "{\"allowed\": false, \"rule\": \"api\", \"algorithm\": \"token_bucket\", "
        "\"reason\": \"rate_limit_exceeded\", \"limit\": 150, \"remaining\": 0, "
        "\"reset_at_us\": 1700000014998000, \"retry_after_us\": 98000, \"delay_us\": 0, "
        "\"reset_at\": 1700000015, \"retry_after\": 1}");
}

TEST(what_there_is_none_of_is_null)
{
    struct sluice_decision decision = {
        .allowed = true,
        .reason = SLUICE_REASON_NO_RULE,
        .limit = SLUICE_NONE,
        .remaining = SLUICE_NONE,
        .reset_at_us = SLUICE_NONE,
    };
    assert_string_equal(print(&decision, NULL, 0),
                        "{\"allowed\": true, \"rule\": null, \"algorithm\": null, "
                        "\"reason\": \"no_rule\", \"limit\": null, \"remaining\": -1, "
                        "\"reset_at_us\": null, \"retry_after_us\": 0, \"delay_us\": 0, "
                        "\"reset_at\": null, \"retry_after\": 0}");
}

TEST(never_stays_minus_one)
{
    struct sluice_decision decision = { .reason = SLUICE_REASON_MISSING,
                                        .rule = "r",
                                        .algorithm = "a",
                                        .limit = 7,
                                        .reset_at_us = SLUICE_NONE,
                                        .retry_after_us = SLUICE_NEVER };
    const char *text = print(&decision, NULL, 0);
    assert_non_null(strstr(text, "\"retry_after_us\": -1,"));
    assert_non_null(strstr(text, "\"retry_after\": -1}"));
}

TEST(explained_rules_follow_in_a_list)
{
    struct sluice_decision decision = { .allowed = true, .rule = "a", .algorithm = "fixed_window" };
    static const struct sluice_explained rows[] = {
        { "a", "fixed_window", false, true, 10, 9, 2000000, 0 },
        { "b", "token_bucket", true, false, 0, 0, SLUICE_NONE, SLUICE_NEVER },
    };
    assert_non_null(strstr(
        print(&decision, rows, 2),
        ", \"retry_after\": 0, \"rules\": [{\"rule\": \"a\", \"algorithm\": \"fixed_window\", "
        "\"shadow\": false, \"allowed\": true, \"limit\": 10, \"remaining\": 9, "
        "\"reset_at_us\": 2000000, \"retry_after_us\": 0}, {\"rule\": \"b\", \"algorithm\": "
        "\"token_bucket\", \"shadow\": true, \"allowed\": false, \"limit\": 0, \"remaining\": 0, "
        "\"reset_at_us\": null, \"retry_after_us\": -1}]}"));
    assert_non_null(strstr(print(&decision, rows, 0), ", \"rules\": []}"));
    assert_null(strstr(print(&decision, NULL, 0), "rules"));
}

TEST(seconds_are_rounded_up)
{
    static const struct {
        int64_t us, seconds;
    } rows[] = {
        { -1, -1 },
        { 0, 0 },
        { 1, 1 },
        { 999999, 1 },
        { 1000000, 1 },
        { 1000001, 2 },
        { 4400000000000000, 4400000000 },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(sl_whole_seconds(rows[i].us), rows[i].seconds);
}

TEST(every_reason_has_its_name)
{
    static const char *const names[] = {
        "ok",
        "exempt",
        "no_rule",
        "rate_limit_exceeded",
        "burst_blocked",
        "cost_exceeds_limit",
        "missing_identity",
        "store_unavailable",
        "shadow",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_string_equal(sl_reason_name((enum sluice_reason)i), names[i]);
}

TEST(any_text_becomes_a_json_string)
{
    char text[0x80];
    for (int c = 0; c < 0x80; c++)
        text[c] = (char)c;
    struct sl_buffer out = sl_buffer(1000);
    sl_json_print_string(&out, (struct sluice_text){ text, sizeof text });
    json_t *json = json_loadb(out.at, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    assert_int_equal(json_string_length(json), sizeof text);
    assert_memory_equal(json_string_value(json), text, sizeof text);
    json_decref(json);
    sl_buffer_clear(&out);
    sl_json_print_string(&out, SL_TEXT("a\"b\\c\n\x1f é"));
    SAME_TEXT("escapes", ((struct sluice_text){ out.at, out.len }),
              "\"a\\\"b\\\\c\\u000a\\u001f é\"");
    sl_buffer_clear(&out);
    sl_json_print_string(&out, (struct sluice_text){ 0 });
    SAME_TEXT("none", ((struct sluice_text){ out.at, out.len }), "\"\"");
    sl_buffer_release(&out);
}

/* Whatever bytes: one line, and a string that can be read. */
TEST(what_is_no_text_becomes_one)
{
    static const struct {
        const char *name, *text, *printed;
    } rows[] = {
        { "characters stay", "\u00e9 \u20ac \U0001f600", "\"\u00e9 \u20ac \U0001f600\"" },
        { "a lone byte",
          "a\xff"
          "b",
          "\"a\\ufffdb\"" },
        { "the end is missing", "a\xe2\x82", "\"a\\ufffd\\ufffd\"" },
        { "too long a form", "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
        { "half a pair", "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
        { "beyond the last", "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
        { "delete", "\x7f", "\"\\u007f\"" },
        { "controls of Latin-1", "\xc2\x80\xc2\x85\xc2\x9f\xc2\xa0",
          "\"\\u0080\\u0085\\u009f\u00a0\"" },
        { "separators", "\u2027\u2028\u2029\u202a", "\"\u2027\\u2028\\u2029\u202a\"" },
        { "HTML is nothing special", "<b>&'", "\"<b>&'\"" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_buffer out = sl_buffer(1000);
        sl_json_print_string(&out, sl_text(rows[i].text));
        SAME_TEXT(rows[i].name, ((struct sluice_text){ out.at, out.len }), rows[i].printed);
        json_t *json = json_loadb(out.at, out.len, JSON_DECODE_ANY, NULL);
        SAME(rows[i].name, json_is_string(json), true);
        json_decref(json);
        sl_buffer_release(&out);
    }
}
