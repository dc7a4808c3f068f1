#include "registry/users/limits_json.h"

#include "rules/reading/parts.h"
#include "unit/base/unit.h"

struct good {
    const char *json;
    const char *printed;
};

TEST(limits_are_read_and_printed_as_they_were_written)
{
    static const struct good rows[] = {
        { "{}", "{}" },
        { " { } \n", "{}" },
        { "{\"api\": {\"capacity\": 500, \"refill_rate\": 50}}",
          "{\"api\": {\"capacity\": 500, \"refill_rate\": 50}}" },
        { "{\"api\":{\"refill_rate\":0.083}}", "{\"api\": {\"refill_rate\": 0.083}}" },
        { "{\"b\":{\"refill_rate\":1.50,\"capacity\":1},\"a\":{\"capacity\":9007199254740992}}",
          "{\"b\": {\"capacity\": 1, \"refill_rate\": 1.5}, \"a\": {\"capacity\": "
          "9007199254740992}}" },
        { "{\"a\":{\"refill_rate\":0.000000001}}", "{\"a\": {\"refill_rate\": 0.000000001}}" },
        { "{\"a\":{\"refill_rate\":1000000000.000}}", "{\"a\": {\"refill_rate\": 1000000000}}" },
        { "{\"a\":{\"refill_rate\":10.01}}", "{\"a\": {\"refill_rate\": 10.01}}" },
        { "{\"\\u0061.B_c-9\":{\"capacity\":1}}", "{\"a.B_c-9\": {\"capacity\": 1}}" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_user_limit own[SL_USER_LIMITS_MAX];
        struct sluice_error error = { "" };
        struct sl_buffer out = sl_buffer(4096);
        size_t count = 99;
        if (!sl_limits_read(sl_text(rows[i].json), own, &count, &error))
            fail_msg("%s: %s", rows[i].json, error.text);
        sl_limits_print(&out, own, count);
        struct sluice_text printed = { out.at, out.len };
        SAME_TEXT(rows[i].json, printed, rows[i].printed);
        /* And once more, to the same. */
        if (!sl_limits_read(printed, own, &count, &error))
            fail_msg("%s: %s", rows[i].printed, error.text);
        sl_buffer_clear(&out);
        sl_limits_print(&out, own, count);
        SAME_TEXT(rows[i].json, ((struct sluice_text){ out.at, out.len }), rows[i].printed);
        sl_buffer_release(&out);
    }
}

TEST(a_decimal_is_exact)
{
    struct sl_user_limit own[SL_USER_LIMITS_MAX];
    struct sluice_error error;
    size_t count;
    const char *json =
        "{\"api\": {\"capacity\": 7, \"refill_rate\": 0.083}, \"b\": {\"capacity\": 1}}";
    assert_true(sl_limits_read(sl_text(json), own, &count, &error));
    assert_int_equal(count, 2);
    assert_string_equal(own[0].rule, "api");
    assert_int_equal(own[0].capacity, 7);
    assert_int_equal(own[0].rate.digits, 83);
    assert_int_equal(own[0].rate.places, 3);
    assert_string_equal(own[1].rule, "b");
    assert_int_equal(own[1].rate.digits, 0);
}

TEST(what_no_rule_can_have_is_refused)
{
    static const struct {
        const char *json;
        const char *words;
    } rows[] = {
        { "", "object" },
        { "[]", "object" },
        { "null", "object" },
        { "{", "a string" },
        { "{}x", "nothing more" },
        { "{\"a\":{\"capacity\":1}", "`,` or `}`" },
        { "{\"a\":{\"capacity\":1},}", "a string" },
        { "{\"a\"}", "name" },
        { "{\"a\":1}", "limits.a" },
        { "{\"a\":null}", "limits.a" },
        { "{\"a\":{}}", "or both" },
        { "{\"a\":{\"capacity\":1,}}", "limits.a" },
        { "{\"a\":{\"window\":1}}", "only `capacity`" },
        { "{\"a\":{\"capacity\":1,\"unlimited\":true}}", "only `capacity`" },
        { "{\"\":{\"capacity\":1}}", "name" },
        { "{\"a b\":{\"capacity\":1}}", "name" },
        { "{\"acme/api\":{\"capacity\":1}}", "name" },
        { "{\"\\u00e4\":{\"capacity\":1}}", "name" },
        { "{\"a\\u0000\":{\"capacity\":1}}", "name" },
        { "{\"a\":{\"capacity\":1},\"a\":{\"capacity\":2}}", "twice" },
        { "{\"a\":{\"capacity\":1,\"capacity\":1}}", "twice" },
        { "{\"a\":{\"refill_rate\":1,\"refill_rate\":1}}", "twice" },
        { "{\"a\":{\"capacity\":0}}", "from 1" },
        { "{\"a\":{\"capacity\":-1}}", "from 1" },
        { "{\"a\":{\"capacity\":1.0}}", "whole" },
        { "{\"a\":{\"capacity\":1e3}}", "whole" },
        { "{\"a\":{\"capacity\":\"5\"}}", "whole" },
        { "{\"a\":{\"capacity\":null}}", "whole" },
        { "{\"a\":{\"capacity\":{}}}", "whole" },
        { "{\"a\":{\"capacity\":9007199254740993}}", "to 9007199254740992" },
        { "{\"a\":{\"capacity\":99999999999999999999}}", "whole" },
        { "{\"a\":{\"refill_rate\":0}}", "above 0" },
        { "{\"a\":{\"refill_rate\":0.0}}", "above 0" },
        { "{\"a\":{\"refill_rate\":-1}}", "above 0" },
        { "{\"a\":{\"refill_rate\":1e-3}}", "decimal" },
        { "{\"a\":{\"refill_rate\":0.0000000001}}", "9 places" },
        { "{\"a\":{\"refill_rate\":1000000000.1}}", "at most 1000000000" },
        { "{\"a\":{\"refill_rate\":true}}", "decimal" },
        { "{\"a\":{\"capacity\":01}}", "JSON" },
        { "{\"a\":{\"capacity\":1}}}", "nothing more" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_user_limit own[SL_USER_LIMITS_MAX] = { { .capacity = 42 } };
        struct sluice_error error = { "" };
        size_t count = 99;
        SAME(rows[i].json, sl_limits_read(sl_text(rows[i].json), own, &count, &error), false);
        if (!strstr(error.text, rows[i].words))
            fail_msg("%s: %s", rows[i].json, error.text);
        SAME(rows[i].json, count, 99); /* nothing was written */
        SAME(rows[i].json, own[0].capacity, 42);
    }
}

static bool reads(size_t rules, size_t name_len)
{
    struct sl_buffer json = sl_buffer(SIZE_MAX);
    struct sl_user_limit own[SL_USER_LIMITS_MAX];
    struct sluice_error error;
    size_t count;
    for (size_t i = 0; i < rules; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s\"%0*zu\":{\"capacity\":1}", i ? "," : "{", (int)name_len,
                 i);
        sl_buffer_add(&json, sl_text(name));
    }
    sl_buffer_add(&json, SL_TEXT("}"));
    bool good = sl_limits_read((struct sluice_text){ json.at, json.len }, own, &count, &error);
    sl_buffer_release(&json);
    return good;
}

TEST(there_are_at_most_16_with_names_of_at_most_64)
{
    assert_true(reads(SL_USER_LIMITS_MAX, 64));
    assert_false(reads(SL_USER_LIMITS_MAX + 1, 64));
    assert_true(reads(1, 64));
    assert_false(reads(1, 65));
}

TEST(ranges_are_those_of_a_rules_file)
{
    char json[128];
    struct sl_user_limit own[SL_USER_LIMITS_MAX];
    struct sluice_error error;
    size_t count;
    assert_int_equal(sl_capacity_range.min, 1);
    snprintf(json, sizeof json, "{\"a\":{\"capacity\":%llu}}",
             (unsigned long long)sl_capacity_range.max);
    assert_true(sl_limits_read(sl_text(json), own, &count, &error));
    snprintf(json, sizeof json, "{\"a\":{\"capacity\":%llu}}",
             (unsigned long long)sl_capacity_range.max + 1);
    assert_false(sl_limits_read(sl_text(json), own, &count, &error));
    assert_int_equal(sl_rate_range.min, 1); /* in billionths */
    assert_int_equal(sl_rate_range.max, UINT64_C(1000000000) * 1000000000);
}
