#include "rules/tree/node_json.h"

#include "rules/reading/parts.h"
#include "rules/tree/tree_json.h"
#include "unit/base/unit.h"

static struct sl_arena arena;
static struct sl_report report;

static int release(void **unused)
{
    (void)unused;
    sl_arena_release(&arena);
    sl_report_release(&report);
    return 0;
}

static const char *json_of(const struct sl_node *map, const struct sl_key_table *table)
{
    if (!map)
        fail_msg("%s", report.problems[0].text);
    return sl_node_json(&arena, map, table);
}

/* What a map in a file says, as JSON. */
static const char *print(const char *yaml, const struct sl_key_table *table)
{
    release(NULL);
    return json_of(sl_tree_parse(&arena, sl_text(yaml), &report), table);
}

static void assert_prints(const char *yaml, const struct sl_key_table *table, const char *wanted)
{
    SAME_TEXT(yaml, sl_text(print(yaml, table)), wanted);
    /* And it means the same to its own reader: what that prints is this again. */
    const struct sl_node *again = sl_tree_json_parse(&arena, sl_text(wanted), &report);
    SAME_TEXT(yaml, sl_text(json_of(again, table)), wanted);
    SAME(yaml, report.count, 0);
}

TEST(a_rule_is_printed_as_it_was_written)
{
    assert_prints("name: api\nper: [tenant, user]\nwhen:\n  method: GET\n  plan: [a, b]\n  x: { "
                  "not: 07, like: [a*] }\n"
                  "capacity: 100\nrefill_rate: 0.50\nshadow: true\nburst_guard: {}\nexcept: []\n",
                  &sl_rule_table,
                  "{\"name\": \"api\", \"per\": [\"tenant\", \"user\"], "
                  "\"when\": {\"method\": \"GET\", \"plan\": [\"a\", \"b\"], "
                  "\"x\": {\"not\": \"07\", \"like\": [\"a*\"]}}, "
                  "\"capacity\": 100, \"refill_rate\": 0.50, \"shadow\": true, "
                  "\"burst_guard\": {}, \"except\": []}");
    assert_prints("{}", &sl_tier_table, "{}");
}

TEST(what_json_can_write_bare_stays_bare_and_all_else_is_a_string)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        { "5", "5" },
        { "-5", "-5" },
        { "1.50", "1.50" },
        { "1e3", "1e3" },
        { "1E+3", "1E+3" },
        { "-0", "-0" },
        { "9007199254740993", "9007199254740993" },
        { "true", "true" },
        { "false", "false" },
        { "True", "\"True\"" },
        { "yes", "\"yes\"" },
        { "no", "\"no\"" },
        { "on", "\"on\"" },
        { "off", "\"off\"" },
        { "0x10", "\"0x10\"" },
        { "0o7", "\"0o7\"" },
        { "+1", "\"+1\"" },
        { ".5", "\".5\"" },
        { "5.", "\"5.\"" },
        { "1_000", "\"1_000\"" },
        { ".inf", "\".inf\"" },
        { ".nan", "\".nan\"" },
        { "010", "\"010\"" },
        { "1m", "\"1m\"" },
        { "2026-01-01", "\"2026-01-01\"" },
        { "~", "null" },
        { "null", "null" },
        { "Null", "null" },
        { "NULL", "null" },
        { "", "null" },
        { "nULL", "\"nULL\"" },
        { "\"5\"", "\"5\"" },
        { "'true'", "\"true\"" },
        { "\"null\"", "\"null\"" },
        { "\"\"", "\"\"" },
        { "'~'", "\"~\"" },
        { "a b", "\"a b\"" },
        { "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
        { "'a\"b\\c'", "\"a\\\"b\\\\c\"" },
        { "\"a\\n\\t\\x01/\"", "\"a\\u000a\\u0009\\u0001/\"" },
        { "\"\\u20ac\\U0001f600\"", "\"\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "\"\\x7f\"", "\"\x7f\"" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[64], json[96];
        snprintf(yaml, sizeof yaml, "when:\n  a: %s\n", rows[i].yaml);
        snprintf(json, sizeof json, "{\"when\": {\"a\": %s}}", rows[i].json);
        assert_prints(yaml, &sl_rule_table, json);
    }
}

TEST(zeros_in_front_are_a_numbers_only_where_a_number_is_read)
{
    static const struct {
        const struct sl_key_table *table;
        const char *yaml, *json;
    } rows[] = {
        { &sl_rule_table, "capacity: 007", "{\"capacity\": 7}" },
        { &sl_rule_table, "capacity: 000", "{\"capacity\": 0}" },
        { &sl_rule_table, "refill_rate: 00.50", "{\"refill_rate\": 0.50}" },
        { &sl_rule_table, "burst_allowance: 01.5", "{\"burst_allowance\": 1.5}" },
        { &sl_rule_table, "lease: 010", "{\"lease\": 10}" },
        { &sl_rule_table, "burst_guard: { threshold: 010 }",
          "{\"burst_guard\": {\"threshold\": 10}}" },
        { &sl_rule_table, "tiers: { 007: { capacity: 008, refill_rate: 01 } }",
          "{\"tiers\": {\"007\": {\"capacity\": 8, \"refill_rate\": 1}}}" },
        { &sl_tier_table, "scale: 01.50", "{\"scale\": 1.50}" },
        /* read as texts and durations: */
        { &sl_rule_table, "name: 007", "{\"name\": \"007\"}" },
        { &sl_rule_table, "window: 060", "{\"window\": \"060\"}" },
        { &sl_rule_table, "limit: 05/m", "{\"limit\": \"05/m\"}" },
        { &sl_rule_table, "except: [007, 7]", "{\"except\": [\"007\", 7]}" },
        { &sl_rule_table, "when: { capacity: 007, tiers: 08 }",
          "{\"when\": {\"capacity\": \"007\", \"tiers\": \"08\"}}" },
        { &sl_rule_table, "burst_guard: { window: 010 }",
          "{\"burst_guard\": {\"window\": \"010\"}}" },
        /* texts that are no numbers: */
        { &sl_rule_table, "capacity: '007'", "{\"capacity\": \"007\"}" },
        { &sl_rule_table, "capacity: 0x7", "{\"capacity\": \"0x7\"}" },
        { &sl_rule_table, "capacity: 00e1", "{\"capacity\": \"00e1\"}" },
        { &sl_rule_table, "capacity: 00.", "{\"capacity\": \"00.\"}" },
        { &sl_rule_table, "colour: 007", "{\"colour\": \"007\"}" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_prints(rows[i].yaml, rows[i].table, rows[i].json);
}

TEST(lists_and_maps_of_any_depth_are_printed)
{
    assert_prints("a: [[], [1, [2]], {b: {c: [x]}}]", &sl_rule_table,
                  "{\"a\": [[], [1, [2]], {\"b\": {\"c\": [\"x\"]}}]}");
}

TESTS_WITH(NULL, release)
