/* Rules beside each other. */
#include "unit/rules/lint_cases.h"

/* ---- anonymous callers ----------------------------------------------------- */

#define USERS "  - { name: users, resource: /api/*, per: user, limit: 100/m }\n"

TEST(an_endpoint_that_counts_users_alone_is_open_to_others)
{
    warns("rules:\n" USERS, "requests without `user` have no limit on `/api/*`: `users` skips");
    warns("rules:\n  - { name: a, per: [ip, email], limit: 3/m }\n",
          "requests without `email` have no limit on any resource");
    silent("rules:\n  - { name: a, resource: /api/*, per: user, limit: 9/m, on_missing: deny }\n");
    silent("rules:\n  - { name: a, resource: /api/*, per: [ip, resource, method], limit: 9/m }\n");
}

TEST(a_wider_rule_counts_them)
{
    static const char *const wider[] = {
        "per: ip",
        "per: global",
        "per: ip, resource: '*'",
        "per: ip, resource: /api/*",
        "per: ip, resource: /*",
        "per: client, on_missing: deny",
        "per: [ip, method]",
        "per: ip, when: { kind: anonymous }",
        "per: ip, except: [/health]",
        "per: ip, except: [/api/health]",
        "per: ip, when: { user: { not: root } }", /* a request without a user is none of them */
        "per: ip, when: { user: { unlike: '*' } }",
        "per: ip, when: { kind: { not: robot } }",
    };
    static const char *const others[] = {
        "per: client, when: { client: a }",
        "per: ip, resource: /api/videos",
        "per: ip, resource: /*/x",
        "per: ip, resource: api.*",
        "per: ip, shadow: true",
        "per: ip, when: { method: GET }",
        "per: ip, except: [/api/*]",
        "per: ip, when: { user: { like: '*' } }",
        "per: ip, when: { method: { not: GET } }",
        "per: ip, when: { tenant: { not: acme } }",
    };
    char yaml[400];
    for (size_t i = 0; i < sizeof wider / sizeof *wider; i++) {
        snprintf(yaml, sizeof yaml, "rules:\n  - { name: w, limit: 900/m, %s }\n" USERS, wider[i]);
        silent(yaml);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(yaml, sizeof yaml, "rules:\n  - { name: w, limit: 900/m, %s }\n" USERS, others[i]);
        warns(yaml, "requests without `user`");
    }
}

TEST(each_method_may_have_its_own_rule)
{
#define GETS  "  - { name: get, per: ip, limit: 9/m, when: { method: [GET, HEAD] } }\n"
#define POSTS "  - { name: post, per: ip, limit: 9/m, when: { method: POST } }\n"
#define BOTH  "  - { name: both, per: user, limit: 5/m, when: { method: [GET, POST] } }\n"
    silent("rules:\n" GETS POSTS BOTH);
    warns("rules:\n" GETS BOTH, "requests without `user`");
    silent("rules:\n"
           "  - { name: w, per: ip, limit: 9/m, when: { method: { not: [PUT, HEAD] } } }\n" BOTH);
    warns("rules:\n"
          "  - { name: w, per: ip, limit: 9/m, when: { method: { not: POST } } }\n" BOTH,
          "requests without `user`");
}

TEST(what_when_asks_for_is_not_missing)
{
    silent("rules:\n  - { name: a, per: tenant, limit: 9/m, when: { tenant: acme } }\n");
    warns("rules:\n  - { name: a, per: [tenant, user], limit: 9/m, when: { tenant: acme } }\n",
          "requests without `user`");
    silent("rules:\n"
           "  - { name: a, per: [tenant, user], limit: 9/m, when: { tenant: acme } }\n"
           "  - { name: b, per: tenant, limit: 99/m, when: { tenant: [acme, other] } }\n");
    warns("rules:\n"
          "  - { name: a, per: [tenant, user], limit: 9/m, when: { tenant: [acme, third] } }\n"
          "  - { name: b, per: tenant, limit: 99/m, when: { tenant: [acme, other] } }\n",
          "requests without `user`");
    silent("rules:\n  - { name: a, per: plan, limit: 9/m, when: { plan: { like: '*' } } }\n");
    warns("rules:\n  - { name: a, per: plan, limit: 9/m, when: { plan: { not: gold } } }\n",
          "requests without `plan`");
    /* Which tenants these are is not known, so nothing is said. */
    silent("rules:\n"
           "  - { name: a, per: [tenant, user], limit: 9/m, when: { tenant: { like: 'a*' } } }\n"
           "  - { name: b, per: tenant, limit: 99/m, when: { tenant: { like: '*' } } }\n");
}

#define JWT(required)                                                                              \
    "identity: { jwt: { algorithms: [HS256], keys: [{ secret_file: k }], claims: { user: sub },"   \
    " required: " required " } }\n"

TEST(a_required_token_leaves_no_request_anonymous)
{
    silent(JWT("true") "rules:\n" USERS);
    warns(JWT("false") "rules:\n" USERS, "requests without `user`");
    warns(JWT("true") "rules:\n  - { name: a, per: [user, device], limit: 5/m }\n",
          "requests without `device`");
}

TEST(an_open_endpoint_is_told_once)
{
    warns("rules:\n"
          "  - { name: narrow, resource: /api/videos, per: user, limit: 9/m }\n"
          "  - { name: some, resource: /api/*, per: user, limit: 9/m, when: { method: GET } }\n"
          "  - { name: first, resource: /api/*, per: user, limit: 50/m }\n"
          "  - { name: second, resource: /api/*, per: client, limit: 9/m }\n",
          "`first` skips them");
    size_t count;
    char *text = lint("rules:\n"
                      "  - { name: a, resource: /a/*, per: user, limit: 9/m }\n"
                      "  - { name: b, resource: /b/*, per: user, limit: 9/m }\n",
                      &count);
    assert_int_equal(count, 2);
    free(text);
}

/* ---- rules beside each other ----------------------------------------------- */

#define PAIR(first, second)                                                                        \
    "rules:\n  - { name: first, per: ip, " first " }\n  - { name: second, per: ip, " second " }\n"

TEST(the_larger_of_two_alike_limits_never_decides)
{
    warns(PAIR("limit: 10/m", "limit: 20/m"), "3:5: warning: `second` never decides anything: "
                                              "`first` in line 2 counts the same requests");
    warns(PAIR("limit: 20/m", "limit: 10/m"), "2:5: warning: `first` never decides");
    warns(PAIR("limit: 10/m", "limit: 10/m"), "`second` never decides");
    warns(PAIR("algorithm: token_bucket, capacity: 5, refill_rate: 1",
               "algorithm: token_bucket, capacity: 9, refill_rate: 1.5"),
          "`second` never decides");
    warns(PAIR("limit: 10/m, resource: /a, when: { method: [GET, PUT] }",
               "limit: 11/m, resource: /a/, when: { method: [GET, PUT] }"),
          "`second` never decides");
    warns(PAIR("limit: 10/m, when: { a: { not: [b, c], like: d } }",
               "limit: 11/m, when: { a: { like: d, not: [c, b] } }"),
          "`second` never decides");
}

TEST(two_limits_that_differ_in_anything_may_both_decide)
{
    silent(PAIR("limit: 10/s", "limit: 100/m"));
    silent(PAIR("limit: 10/m", "limit: 20/m, shadow: true"));
    silent(PAIR("limit: 10/m", "limit: 20/m, algorithm: fixed_window"));
    silent(PAIR("limit: 10/m", "limit: 20/m, resource: /a"));
    silent(PAIR("limit: 10/m", "limit: 20/m, except: [/a]"));
    silent(PAIR("limit: 10/m, when: { method: GET }", "limit: 20/m, when: { method: PUT }"));
    silent(PAIR("limit: 10/m, when: { a: [b, c] }", "limit: 20/m, when: { a: b, c: d }"));
    silent(PAIR("limit: 10/m, when: { a: b }", "limit: 20/m, when: { a: { not: b } }"));
    silent(PAIR("limit: 10/m, when: { a: { like: b } }", "limit: 20/m, when: { a: b }"));
    silent(PAIR("limit: 10/m, when: { a: { unlike: b } }", "limit: 20/m, when: { a: { not: b } }"));
    silent(PAIR("limit: 10/m, when: { a: { not: b } }", "limit: 20/m, when: { a: { not: c } }"));
    silent(PAIR("limit: 10/m", "limit: 20/m, on_store_failure: deny"));
    silent(PAIR("limit: 10/m", "limit: 20/m, burst_guard: { threshold: 90 }"));
    silent(PAIR("algorithm: token_bucket, capacity: 9, refill_rate: 1",
                "algorithm: token_bucket, capacity: 5, refill_rate: 1.5"));
    silent("rules:\n  - { name: a, per: ip, limit: 9/m }\n"
           "  - { name: b, per: [ip, method], limit: 10/m }\n");
    silent("rules:\n  - { name: a, per: global, limit: 9/m }\n"
           "  - { name: b, per: user, limit: 10/m }\n"
           "  - { name: c, per: user, limit: 11/m, on_missing: deny }\n");
}

TEST(a_tier_can_turn_the_order_of_two_limits)
{
#define TWO(more)                                                                                  \
    "tiers: { pro: { scale: 2 } }\n" PAIR("limit: 10/m", "limit: 20/m, tiers: { pro: " more " }")
    warns(TWO("{ capacity: 21 }"), "`second` never decides");
    warns(TWO("{ unlimited: true }"), "`second` never decides");
    silent(TWO("{ capacity: 19 }"));
    silent("tiers: { pro: { scale: 2 } }\n" PAIR("limit: 10/m, tiers: { pro: { unlimited: true } }",
                                                 "limit: 20/m"));
}
