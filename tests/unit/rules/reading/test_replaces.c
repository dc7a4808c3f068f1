/* Which rules a rule stands in for, also where some lie on top of the file. */
#include "unit/rules/overlaying.h"

#define FILE_RULES                                                                                 \
    "rules:\n"                                                                                     \
    "  - { name: a, per: ip, limit: 1/s, replaces: [c, b] }\n"                                     \
    "  - { name: b, per: ip, limit: 2/s }\n"                                                       \
    "  - { name: c, per: ip, limit: 3/s }\n"
#define JSON(more) "{\"per\": \"ip\", \"limit\": \"1/s\"" more "}"

/* "b c": the rules that this one replaces, in its own order. */
static void assert_replaces(const char *name, const char *wanted)
{
    char names[256] = "";
    const struct sl_rule *rule = rule_named(name);
    for (size_t i = 0; i < rule->replaces_count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "",
                 rules->rules[rule->replaces[i]].name);
    SAME_TEXT(name, sl_text(names), wanted);
}

TEST(names_become_the_rules_places)
{
    lay_well(FILE_RULES, NULL);
    assert_true(rules->has_replaces);
    assert_replaces("a", "c b");
    assert_replaces("b", "");
    lay_well("rules: [{ name: a, per: ip, limit: 1/s }]", NULL);
    assert_false(rules->has_replaces);
}

TEST(what_lies_on_top_is_found_and_finds)
{
    struct sl_overlay_rule over[] = {
        { "d", NULL, JSON(", \"replaces\": \"a\""), 1 },
        { "c", NULL, JSON(", \"replaces\": [\"d\", \"b\"]"), 2 },
    };
    lay_well(FILE_RULES, &(struct sl_overlay){ RULES_OF(over) });
    assert_rules("a b c d");
    assert_replaces("a", "c b");
    assert_replaces("c", "d b");
    assert_replaces("d", "a");
    assert_string_equal(rule_named("d")->json, "{\"name\": \"d\", \"per\": \"ip\", "
                                               "\"limit\": \"1/s\", \"replaces\": \"a\"}");
}

TEST(a_hidden_rule_may_still_be_named)
{
    struct sl_overlay_rule over[] = { { "c", NULL, NULL, 1 } };
    lay_well(FILE_RULES, &(struct sl_overlay){ RULES_OF(over) });
    assert_rules("a b");
    assert_replaces("a", "b");
    struct sl_overlay_rule both[] = { { "c", NULL, NULL, 1 }, { "b", NULL, NULL, 2 } };
    lay_well(FILE_RULES, &(struct sl_overlay){ RULES_OF(both) });
    assert_replaces("a", "");
    assert_false(rules->has_replaces);
}

TEST(a_rule_that_is_gone_may_not)
{
    struct sl_overlay_rule over[] = { { "d", NULL, JSON(", \"replaces\": [\"b\", \"e\"]"), 1 } };
    lay(FILE_RULES, &(struct sl_overlay){ RULES_OF(over) });
    assert_printed("rule `d`:1:49: no rule is called `e`; write another rule's name\n");
}

TEST(a_tenants_rule_replaces_its_tenants_alone)
{
    struct sl_overlay_rule over[] = {
        { "own", "acme", JSON(", \"replaces\": \"b\""), 1 },
        { "b", "acme", JSON(""), 2 },
        { "b", "other", JSON(""), 3 },
    };
    lay_well(FILE_RULES, &(struct sl_overlay){ RULES_OF(over) });
    assert_replaces("acme/own", "acme/b");
    over[1].tenant = "third";
    lay(FILE_RULES, &(struct sl_overlay){ RULES_OF(over) });
    assert_printed("rule `acme/own`:1:43: no rule of tenant `acme` is called `b`, and it can "
                   "replace no others; name one of its own\n");
}

/* Whose name could not be read may be the one that is meant. */
TEST(one_mistake_is_one_problem)
{
    lay("rules:\n"
        "  - { name: a, per: ip, limit: 1/s, replaces: b }\n"
        "  - { name: b!, per: ip, limit: 2/s }\n",
        NULL);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.problems[0].mark.line, 3);
    lay("rules:\n"
        "  - { name: a, per: ip, limit: 1/s, replaces: b }\n"
        "  - { name: b, per: ip, limit: x }\n",
        NULL);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.problems[0].mark.line, 3);
}

TESTS_WITH(NULL, release)
