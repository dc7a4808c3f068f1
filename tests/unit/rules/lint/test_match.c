/* Which requests a rule matches. */
#include "unit/rules/lint_cases.h"

#define TIERS                                                                                      \
    "tiers: { free: { scale: 1 }, pro: { scale: 10 }, tiny: { scale: 0.001 },"                     \
    " root: { unlimited: true } }\n"

TEST(an_exception_can_swallow_the_rule)
{
    warns(RULES "  - { name: a, resource: /api/v1, except: [/api/*], per: ip, limit: 5/m }\n",
          "`a` matches no request: all of its `resource` `/api/v1` is in its own `except`");
    silent(RULES "  - { name: a, resource: /api/*, except: [/api/v1/*], per: ip, limit: 5/m }\n");
    silent(RULES "  - { name: a, except: ['*'], per: ip, limit: 5/m }\n"); /* no resource sent */
}

TEST(an_exception_can_miss_the_rule)
{
    warns(RULES "  - { name: a, resource: /api/*, except: [/ap/health], per: ip, limit: 5/m }\n",
          "`except` `/ap/health` takes nothing away from `/api/*`");
    warns(RULES "  - { name: a, resource: /api/*, except: [api.health], per: ip, limit: 5/m }\n",
          "takes nothing away");
    silent(RULES "  - { name: a, resource: /*/x, except: [/api/*], per: ip, limit: 5/m }\n");
    silent(RULES "  - { name: a, except: [/health, x.health], per: ip, limit: 5/m }\n");
}

TEST(when_can_ask_for_resources_of_others)
{
#define ASKS(value)                                                                                \
    RULES "  - { name: a, resource: /api/*, except: [/api/x], per: ip, limit: 5/m,"                \
          " when: { resource: " value " } }\n"
    warns(ASKS("/other"), "when` its resource is `/other`: the rule's `resource` does not match");
    warns(ASKS("/api/x"), "the rule's `except` leaves it out");
    warns(ASKS("/api/*"), "values are compared as they are");
    silent(ASKS("[/api/y, /api//z/]"));
}

TEST(when_compares_methods_as_written)
{
    warns(RULES "  - { name: a, per: ip, limit: 5/m, when: { method: [GET, post] } }\n",
          "`post`: methods are compared as they are written; write it in upper case");
    silent(RULES "  - { name: a, per: ip, limit: 5/m, when: { method: [GET, publish] } }\n");
}

TEST(when_can_ask_for_a_tier_that_is_not_there)
{
    warns(TIERS RULES "  - { name: a, per: ip, limit: 5000/m, when: { tier: [free, gold] } }\n",
          "`a` asks for tier `gold`, which is not declared");
    silent(RULES "  - { name: a, per: ip, limit: 5000/m, when: { tier: gold } }\n");
}

TEST(a_condition_can_contradict_itself)
{
#define PLAN(condition)                                                                            \
    RULES "  - { name: a, per: ip, limit: 5/m, when: { plan: " condition " } }\n"
    warns(PLAN("{ is: [gold, tin], not: tin }"),
          "`a` matches no request `when` its plan is `tin`: that is not what");
    warns(PLAN("{ is: gold, like: 's*' }"), "its plan is `gold`");
    warns(PLAN("{ is: gold, unlike: '*d' }"), "its plan is `gold`");
    silent(PLAN("{ is: [gold, tin], not: lead, like: '*', unlike: 's*' }"));
}

TEST(a_value_can_leave_out_nothing)
{
    warns(RULES "  - { name: a, per: ip, limit: 5/m, when: { method: { not: [PUT, get] } } }\n",
          "`a` leaves out nothing by `not` `get`: methods are compared as they are written");
    warns(TIERS RULES "  - { name: a, per: ip, limit: 5000/m, when: { tier: { not: gold } } }\n",
          "`a` leaves out nothing by `not` `gold`: that tier is not declared");
    silent(TIERS RULES "  - { name: a, per: ip, limit: 5000/m, when: { tier: { not: tiny } } }\n");
}

/* Only a tier that can reach it makes `a` a limit of 0. */
TEST(a_tier_that_is_left_out_does_not_reach_the_rule)
{
#define TIER(condition)                                                                            \
    TIERS RULES "  - { name: a, per: ip, limit: 5/m, when: { tier: " condition " } }\n"
    warns(TIER("{ like: '*' }"), "limit of 0 for tier `tiny`");
    silent(TIER("{ not: tiny }"));
    silent(TIER("{ unlike: 't*' }"));
    silent(TIER("{ like: 'p*' }"));
    warns(TIER("{ is: root }"), "`a` never applies");
    silent(TIER("{ not: [free, pro, tiny] }")); /* a request without one */
}

TEST(when_can_ask_for_an_unlimited_tier)
{
    warns("tiers: { root: { unlimited: true } }\n" RULES
          "  - { name: a, per: ip, limit: 5/m, when: { tier: root } }\n",
          "`a` never applies: every tier that its `when` asks for is unlimited");
    warns("tiers: { pro: { scale: 2 } }\n" RULES
          "  - { name: a, per: ip, limit: 5/m, when: { tier: pro },"
          " tiers: { pro: { unlimited: true } } }\n",
          "never applies");
    silent("tiers: { root: { unlimited: true } }\n" RULES
           "  - { name: a, per: ip, limit: 5/m, when: { tier: root },"
           " tiers: { root: { capacity: 7 } } }\n");
    silent("tiers: { root: { unlimited: true } }\n" RULES);
}

TEST(an_attribute_can_be_a_slip)
{
    warns(RULES "  - { name: a, per: users, limit: 5/m }\n",
          "attribute `users`, which requests have to send under this very name; did you mean "
          "`user`?");
    warns(RULES "  - { name: a, per: ip, limit: 5/m, when: { metod: GET } }\n",
          "did you mean `method`?");
    silent(RULES "  - { name: a, per: [vip, email, device], limit: 5/m }\n");
    silent(RULES "  - { name: a, per: method.2, limit: 5/m, when: { user.12: x } }\n");
    warns(RULES "  - { name: a, per: method2, limit: 5/m }\n", "did you mean `method`?");
    silent("identity: { headers: { users: X-Users } }\n" RULES
           "  - { name: a, per: users, limit: 5/m }\n");
}

TEST(trust_is_a_users)
{
    warns(RULES "  - { name: a, per: [tenant, ip], limit: 5/m, adaptive: true }\n",
          "`a` is `adaptive` and counts per tenant and ip");
    silent(RULES "  - { name: a, per: [tenant, user], limit: 5/m, adaptive: true }\n");
}
