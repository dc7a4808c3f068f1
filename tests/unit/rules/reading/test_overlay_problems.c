/* What is wrong with an overlay, and where: in which rule or tier, and in which place of
 * its JSON. */
#include "unit/rules/overlaying.h"

static const char file[] =
    "tiers: { free: {}, pro: { scale: 10 } }\n"
    "rules:\n"
    "  - { name: a, per: user, limit: 3/s, tiers: { pro: { capacity: 9 } } }\n";

/* In which only this rule of the overlay is wrong. */
static const struct {
    const char *name, *json;
    uint32_t line, column;
    const char *says;
} bad[] = {
    { "r", "", 1, 1, "this is not JSON: it ends where a value belongs" },
    { "r", "[]", 1, 1, "this is a list; write an object" },
    { "r", "{\"per\": \"ip\",\n \"limit\": 1/s}", 2, 12, "a `,` or `}` belongs here" },
    { "r", "{\"limit\": \"1/s\"}", 1, 1, "a rule needs `per`" },
    { "r", "{\"per\": \"ip\", \"window\": \"1s\"}", 1, 1, "a rule needs `capacity`" },
    { "r", "{\"per\": \"ip\", \"limit\": \"0/s\"}", 1, 24, "a number from 1 to" },
    { "r", "{\"per\": \"ip\", \"limit\": 5}", 1, 24, "`limit` cannot be `5`; write N/D" },
    { "r", "{\"per\": \"ip\", \"limit\": null}", 1, 24, "`limit` has no value; write N/D" },
    { "r", "{\"per\": \"ip\", \"capacity\": \"5\", \"window\": \"1s\"}", 1, 27, "without quotes" },
    { "r", "{\"per\": \"ip\", \"capacity\": 1e3, \"window\": \"1s\"}", 1, 27, "cannot be `1e3`" },
    { "r", "{\"per\": \"ip\", \"capacity\": 5.0, \"window\": \"1s\"}", 1, 27, "cannot be `5.0`" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\", \"shadow\": \"true\"}", 1, 41,
      "true, without quotes" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\", \"shadwo\": true}", 1, 31,
      "unknown key `shadwo`; did you mean `shadow`?" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\", \"tenant\": \"t\"}", 1, 31,
      "unknown key `tenant`" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\",\n\n \"limit\": \"2/s\"}", 3, 2,
      "`limit` is here a second time; the first is in line 1" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\", \"tiers\": {\"gold\": {\"capacity\": 1}}}", 1, 41,
      "tier `gold` is not declared" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\", \"resource\": \"a/b\"}", 1, 43,
      "a path that starts with `/`" },
    { "r", "{\"per\": \"ip\", \"limit\": \"1/s\", \"resource\": \"/a\\nb\"}", 1, 43,
      "a text without control characters" },
    { "r", "{\"name\": \"q\", \"per\": \"ip\", \"limit\": \"1/s\"}", 1, 10,
      "`name` is `q` here, and the rule is called `r`; leave it out" },
    { "r", "{\"name\": \"a\", \"per\": \"ip\", \"limit\": \"1/s\"}", 1, 10,
      "`name` is `a` here" }, /* and not that there is another of that name */
    { "r", "{\"name\": [\"r\"], \"per\": \"ip\", \"limit\": \"1/s\"}", 1, 10,
      "`name` cannot be a list" },
    { "r", "{\"name\": null, \"per\": \"ip\", \"limit\": \"1/s\"}", 1, 10,
      "`name` is `null` here" },
    { "a b", "{\"per\": \"ip\", \"limit\": \"1/s\"}", 1, 1, "`name` cannot be `\"a b\"`" },
    { "", "{\"per\": \"ip\", \"limit\": \"1/s\"}", 1, 1, "1 to 64 letters" },
    { "a/b", "\n {\"per\": \"ip\", \"limit\": \"1/s\"}", 2, 2, "1 to 64 letters" },
};

TEST(a_problem_of_a_rule_says_which_and_where_in_its_json)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct sl_overlay_rule over[] = { { bad[i].name, NULL, bad[i].json, 1 } };
        char subject[64];
        snprintf(subject, sizeof subject, "rule `%s`", bad[i].name);
        lay(file, &(struct sl_overlay){ RULES_OF(over) });
        SAME(bad[i].json, rules == NULL, true);
        SAME(bad[i].json, report.count, 1);
        SAME(bad[i].json, report.problems[0].mark.line, bad[i].line);
        SAME(bad[i].json, report.problems[0].mark.column, bad[i].column);
        SAME_TEXT(bad[i].json, sl_text(report.problems[0].subject), subject);
        if (!strstr(report.problems[0].text, bad[i].says))
            fail_msg("%s: `%s` is not in `%s`", bad[i].json, bad[i].says, report.problems[0].text);
    }
}

TEST(a_problem_of_a_tier_says_which_and_where_in_its_json)
{
    static const struct {
        const char *name, *json;
        uint32_t column;
        const char *says;
    } rows[] = {
        { "gold", "{\"scale\": 0}", 11, "a decimal above 0" },
        { "gold", "{\"scale\": 2, \"unlimited\": true}", 2, "an unlimited tier has no `scale`" },
        { "gold", "{\"algorithms\": []}", 16, "at least one algorithm" },
        { "gold", "{\"algorithms\": [\"token_bukket\"]}", 17, "did you mean `token_bucket`?" },
        { "gold", "{\"name\": \"gold\"}", 2, "unknown key `name`" },
        { "gold", "nothing", 1, "`nothing` is no value" },
        { "", "{}", 1, "write a text" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_overlay_tier tiers[] = { { rows[i].name, rows[i].json, 1 } };
        char subject[64];
        snprintf(subject, sizeof subject, "tier `%s`", rows[i].name);
        lay(file, &(struct sl_overlay){ TIERS_OF(tiers) });
        SAME(rows[i].json, report.count, 1);
        SAME(rows[i].json, report.problems[0].mark.column, rows[i].column);
        SAME_TEXT(rows[i].json, sl_text(report.problems[0].subject), subject);
        if (!strstr(report.problems[0].text, rows[i].says))
            fail_msg("%s: `%s` is not in `%s`", rows[i].json, rows[i].says,
                     report.problems[0].text);
    }
}

/* One that cannot be read is still a tier: rules that name it have no mistake. */
TEST(a_tiers_problem_is_not_repeated_by_rules)
{
    static const struct sl_overlay_tier tiers[] = { { "pro", "{", 1 } };
    lay(file, &(struct sl_overlay){ TIERS_OF(tiers) });
    assert_printed(
        "tier `pro`:1:2: this is not JSON: it ends inside an object; close it with `}`\n");
}

TEST(problems_of_the_overlay_stand_behind_the_files)
{
    static const struct sl_overlay_rule over[] = {
        { "z", NULL, "{\"per\": \"ip\",\n \"limit\": \"1/y\", \"lease\": true}", 1 },
        { "own", "acme", "[1]", 1 },
        { "b", NULL, "{\"per\": \"ip\", \"limit\": 5}", 1 },
    };
    static const struct sl_overlay_tier tiers[] = { { "pro", "{\"scale\": -1}", 1 } };
    lay("workers: 0\ntiers: { pro: {} }\nrules:\n  - { name: b, per: ip, limit: 2/x }\n"
        "  - { name: c, per: ip, limit: 2/x }\n",
        &(struct sl_overlay){ RULES_OF(over), TIERS_OF(tiers) });
    assert_printed(
        "rules.yaml:1:10: `workers` cannot be `0`; write a whole number from 1 to 1024\n"
        "rules.yaml:5:32: `limit` cannot be `2/x`; write N/D, such as 100/m, 5/15m or 1000/24h\n"
        "rule `acme/own`:1:1: this is a list; write an object, such as {\"a\": 1}\n"
        "rule `b`:1:24: `limit` cannot be `5`; write N/D, such as 100/m, 5/15m or 1000/24h\n"
        "rule `z`:2:11: `limit` cannot be `\"1/y\"`; write N/D, such as 100/m, 5/15m or 1000/24h\n"
        "rule `z`:2:27: `lease` cannot be `true`; write `off`, `auto`, or how many units to take "
        "at "
        "once\n"
        "tier `pro`:1:11: `scale` cannot be `-1`; write a decimal above 0 with at most 9 places\n");
    assert_null(report.subject);
}

/* What a file's rule comes to under a tier of the overlay is a problem of the rule. */
TEST(a_file_that_does_not_fit_the_overlay_is_reported_in_the_file)
{
    static const struct sl_overlay_tier tiers[] = { { "pro", "{\"scale\": 1000000000}", 1 } };
    lay("rules: [{ name: a, per: ip, capacity: 1000000, window: 1s }]",
        &(struct sl_overlay){ TIERS_OF(tiers) });
    assert_int_equal(report.count, 1);
    assert_null(report.problems[0].subject);
    assert_int_equal(report.problems[0].mark.column, 39);
    assert_non_null(strstr(report.problems[0].text, "tier `pro`: "));
}

/* The linter's, which come check by check and not rule by rule. */
TEST(a_warning_about_a_rule_of_the_overlay_says_which)
{
    static const struct sl_overlay_rule over[] = {
        { "loose", NULL, "{\"per\": \"ip\", \"limit\": \"200/m\"}", 1 },
        { "own", "acme",
          "\n {\"per\": \"ip\", \"limit\": \"5/m\", \"resource\": \"/login\", "
          "\"algorithm\": \"fixed_window\"}",
          1 },
    };
    lay_well("rules:\n  - { name: ip, per: ip, limit: 100/m }\n"
             "  - { name: late, per: ip, limit: 300/m }\n",
             &(struct sl_overlay){ RULES_OF(over) });
    sl_ruleset_lint(rules, &report);
    assert_null(report.subject);
    assert_printed(
        "rules.yaml:3:5: warning: `late` never decides anything: `ip` in line 2 counts the same "
        "requests against a limit that is never larger; keep one of them\n"
        "rule `acme/own`:2:2: warning: `acme/own` is a fixed window on a login path: up to 10 "
        "attempts pass within moments around a window's edge, where the limit says 5; use "
        "`sliding_window_log`\n"
        "rule `loose`:1:1: warning: `loose` never decides anything: `ip` in line 2 counts the same "
        "requests against a limit that is never larger; keep one of them\n");
}

TEST(a_line_in_a_rules_json_is_not_said_to_be_the_files)
{
    static const struct sl_overlay_rule over[] = {
        { "tight", NULL, "{\"per\": \"ip\", \"limit\": \"2/m\"}", 1 },
    };
    lay_well("rules: [{ name: ip, per: ip, limit: 100/m }]",
             &(struct sl_overlay){ RULES_OF(over) });
    sl_ruleset_lint(rules, &report);
    assert_printed("rules.yaml:1:9: warning: `ip` never decides anything: `tight` counts the same "
                   "requests against a limit that is never larger; keep one of them\n");
}

TESTS_WITH(NULL, release)
