/* Rules in place of each other. */
#include "unit/rules/lint_cases.h"

#define TWO(first, second)                                                                         \
    "rules:\n  - { name: first, per: ip, limit: 10/m, " first " }\n"                               \
    "  - { name: second, per: ip, limit: 20/m, resource: /x, " second " }\n"                       \
    "  - { name: all, per: ip, limit: 100/h }\n"

TEST(rules_that_replace_each_other_count_nothing)
{
    warns(TWO("replaces: second", "replaces: first"),
          "2:5: warning: `first` and `second` replace each other: where both match, neither");
    silent(TWO("replaces: second", "shadow: false"));
}

TEST(a_rule_that_is_tried_should_replace_nothing)
{
    warns(TWO("replaces: all, shadow: true", "shadow: false"),
          "2:5: warning: `first` is only tried (`shadow`), and yet the rules that it replaces are");
    silent("rules:\n  - { name: all, per: ip, limit: 10/m }\n"
           "  - { name: lifted, resource: /x, per: ip, algorithm: fixed_window, shadow: true,\n"
           "      limit: 4294967295/s, replaces: all }\n");
}

TEST(rules_of_different_tenants_never_meet)
{
    warns(TWO("replaces: second, when: { tenant: a }", "when: { tenant: [b, c] }"),
          "`first` replaces `second`, and no request meets both: their tenants differ");
    warns(TWO("replaces: second, when: { tenant: a }", "when: { tenant: { not: a } }"),
          "their tenants differ");
    warns(TWO("replaces: second, when: { tenant: { unlike: 'b*' } }", "when: { tenant: b1 }"),
          "their tenants differ");
    silent(TWO("replaces: second, when: { tenant: [a, c] }", "when: { tenant: [b, c] }"));
    silent(TWO("replaces: second, when: { tenant: a }", "when: { plan: gold }"));
    silent(TWO("replaces: second, when: { plan: tin }", "when: { plan: gold }"));
    silent(TWO("replaces: second, when: { tenant: { like: 'a*' } }",
               "when: { tenant: { like: 'b*' } }")); /* so it seems, and is not looked into */
}

TEST(a_rule_in_place_of_another_is_not_useless)
{
#define ALIKE(first, second)                                                                       \
    "rules:\n  - { name: tight, per: ip, limit: 10/m" first " }\n"                                 \
    "  - { name: loose, per: ip, limit: 20/m" second " }\n"                                        \
    "  - { name: other, resource: /x, per: ip, limit: 5/m" OTHER " }\n"
#define OTHER ""
    warns(ALIKE("", ""), "`loose` never decides");
    silent(ALIKE("", ", replaces: other"));
#undef OTHER
#define OTHER ", replaces: tight"
    silent(ALIKE("", "")); /* there `loose` decides */
}

/* A rule that skips a request does not count it, and so replaces nothing. */
TEST(requests_that_a_rule_skips_are_counted_by_the_rule_it_replaces)
{
    silent("rules:\n  - { name: all, per: ip, limit: 10/m }\n"
           "  - { name: users, resource: /x, per: user, limit: 5/m, replaces: all }\n");
}
