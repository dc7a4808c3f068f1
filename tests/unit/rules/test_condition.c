/* What an attribute must be: as it is written, and asked. */
#include "rules/condition.h"

#include "rules/index.h"
#include "unit/base/unit.h"
#include "unit/rules/parsing.h"

/* The condition on `plan` that a rules file would have. */
static const struct sl_condition *plan(const char *value)
{
    char keys[256];
    snprintf(keys, sizeof keys, "per: ip, limit: 1/s, when: { plan: %s }", value);
    const struct sl_rule *rule = parse_rule(keys);
    assert_int_equal(rule->when_count, 1);
    return &rule->when[0];
}

TEST(each_part_says_what_it_lets_through)
{
    static const struct {
        const char *plan, *yes, *no; /* values by spaces; `-`: no such attribute, or an empty one */
    } rows[] = {
        { "gold", "gold", "- Gold golden g" },
        { "[gold, 7, true]", "gold 7 true", "- 07 silver" },
        { "'g*'", "g*", "- gold g" },
        { "{ is: gold }", "gold", "- g" },
        { "{ is: [gold, 'g*'] }", "gold g*", "- go" },
        { "{ not: gold }", "- silver gol goldd", "gold" },
        { "{ not: [bb, a, ccc, aa, b] }", "- c bbb d cc", "a b aa bb ccc" },
        { "{ like: 'g*' }", "g gold g*", "- old" },
        { "{ like: ['g*', '*r'] }", "gold silver r", "- bronze" },
        { "{ like: gold }", "gold", "- golden" },
        { "{ like: '*' }", "gold x", "-" },
        { "{ unlike: 'g*' }", "- old", "g gold" },
        { "{ unlike: ['g*', '*r'] }", "- bronze", "gold silver" },
        { "{ unlike: '*' }", "-", "gold" },
        { "{ is: [a, b, c], not: b }", "a c", "- b d" },
        { "{ like: 'g*', not: gold, unlike: '*x' }", "go g", "- gold gx x" },
        { "{ not: [gold], unlike: ['s*'] }", "- bronze", "gold silver" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct sl_condition *when = plan(rows[i].plan);
        for (int want = 0; want <= 1; want++) {
            char words[128], *rest = words, *word;
            snprintf(words, sizeof words, "%s", want ? rows[i].yes : rows[i].no);
            while ((word = strsep(&rest, " "))) {
                struct sluice_text value = sl_text(strcmp(word, "-") ? word : NULL);
                SAME(rows[i].plan, sl_condition_holds(when, value), want);
                value.at = value.len ? value.at : "";
                SAME(rows[i].plan, sl_condition_holds(when, value), want);
            }
        }
    }
}

TEST(what_needs_a_value_does_not_hold_without)
{
    static const char *const rows[] = {
        "a",          "{ is: a }",     "{ like: '*' }",        "{ not: a, like: a }",
        "{ not: a }", "{ unlike: a }", "{ not: a, unlike: b }"
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct sl_condition *when = plan(rows[i]);
        bool holds = sl_condition_holds(when, (struct sluice_text){ 0 });
        SAME(rows[i], sl_condition_needs_value(when), !holds);
        SAME(rows[i], holds, i >= 4);
    }
    assert_int_equal(sl_condition_size(plan("{ is: [a, b], not: c, like: d, unlike: [e, f] }")), 6);
}

TEST(values_are_read_as_requests_have_them)
{
    const struct sl_rule *rule =
        parse_rule("per: ip, limit: 1/s, when: { ip: { not: '2001:DB8::0:1' },"
                   " resource: { not: [/a//b/, /c/%64], like: '/*' } }");
    assert_false(sl_condition_holds(&rule->when[0], sl_text("2001:db8::1")));
    assert_true(sl_condition_holds(&rule->when[0], sl_text("2001:db8::2")));
    assert_false(sl_condition_holds(&rule->when[1], sl_text("/a/b")));
    assert_false(sl_condition_holds(&rule->when[1], sl_text("/c/d")));
    assert_true(sl_condition_holds(&rule->when[1], sl_text("/a")));
}

static struct sluice_request with_plan(const char *tenant, const struct sluice_attribute *attribute)
{
    struct sluice_request request = sluice_request();
    request.tenant = sl_text(tenant);
    request.others = attribute;
    request.other_count = attribute->value.len ? 1 : 0;
    return request;
}

TEST(the_index_finds_rules_with_and_without_values)
{
    static const struct {
        const char *tenant, *plan;
        const char *matched; /* places of the rules, in their order */
    } rows[] = {
        { "acme", "gold", "034" }, { "acme", "silver", "0125" }, { "other", "gold", "34" },
        { "acme", "", "015" },     { "other", "x", "15" },
    };
    parse("rules:\n"
          "  - { name: a, per: ip, limit: 1/s, when: { tenant: acme } }\n"
          "  - { name: b, per: ip, limit: 2/s, when: { plan: { not: gold } } }\n"
          "  - { name: c, per: ip, limit: 3/s, when: { tenant: acme, plan: { like: 's*' } } }\n"
          "  - { name: d, per: ip, limit: 4/s, when: { plan: { is: [gold, x], not: x } } }\n"
          "  - { name: e, per: ip, limit: 5/s, when: { plan: { like: 'g*' } } }\n"
          "  - { name: f, per: ip, limit: 6/s, when: { plan: { unlike: 'g*' } } }\n");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct sl_rule *matched[6];
        char got[7] = "";
        struct sluice_attribute attribute = { SL_TEXT("plan"), sl_text(rows[i].plan) };
        struct sluice_request request = with_plan(rows[i].tenant, &attribute);
        size_t count = sl_index_match(rules, &request, matched);
        for (size_t k = 0; k < count; k++)
            got[k] = (char)('0' + matched[k]->index);
        SAME_TEXT(rows[i].plan, sl_text(got), rows[i].matched);
    }
}

/* A rule for all values that have none of their own. */
TEST(thousands_of_values_may_be_left_out)
{
    enum { VALUES = 5000 };
    char *yaml = malloc(VALUES * 8 + 100), name[16];
    assert_non_null(yaml);
    size_t len =
        (size_t)sprintf(yaml, "rules: [{ name: a, per: ip, limit: 1/s, when: { plan: { not: [");
    for (int i = 0; i < VALUES; i++)
        len += (size_t)sprintf(yaml + len, "%sp%d", i ? "," : "", i * 7919 % VALUES);
    strcpy(yaml + len, "] } } }]");
    parse(yaml);
    free(yaml);
    for (int i = 0; i < 2 * VALUES; i++) {
        snprintf(name, sizeof name, "p%d", i);
        SAME(name, sl_condition_holds(rules->rules[0].when, sl_text(name)), i >= VALUES);
    }
}

TESTS_WITH(NULL, release)
