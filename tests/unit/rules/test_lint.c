/* Every warning: a file that earns it, and a near miss that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rules/ruleset.h"

/* Whoever asks is counted by this, so that nobody is left anonymous. */
#define PER_IP "  - { name: per-ip, per: ip, limit: 1000/m }\n"
#define RULES  "rules:\n" PER_IP
#define TIERS                                                                                      \
    "tiers: { free: { scale: 1 }, pro: { scale: 10 }, tiny: { scale: 0.001 },"                     \
    " root: { unlimited: true } }\n"

/* All warnings of a file that has no errors, one a line; the caller frees. */
static char *lint(const char *yaml, size_t *count)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_ruleset_parse("rules.yaml", sl_text(yaml), &report);
    if (rules)
        sl_ruleset_lint(rules, &report);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    sl_report_print(&report, out);
    fclose(out);
    if (!rules)
        fail_msg("the file has errors:\n%s\n%s", text, yaml);
    assert_int_equal(report.errors, 0);
    *count = report.count;
    sl_ruleset_free(rules);
    sl_report_release(&report);
    return text;
}

/* One warning and no other, with these words in it. */
static void warns(const char *yaml, const char *words)
{
    size_t count;
    char *text = lint(yaml, &count);
    if (count != 1 || !strstr(text, words) || !strstr(text, "warning: "))
        fail_msg("wanted one warning with \"%s\", got:\n%s\nof:\n%s", words, text, yaml);
    free(text);
}

static void silent(const char *yaml)
{
    size_t count;
    char *text = lint(yaml, &count);
    if (count)
        fail_msg("wanted no warning, got:\n%s\nof:\n%s", text, yaml);
    free(text);
}

/* ---- the file as a whole --------------------------------------------------- */

static void a_file_without_rules_allows_everything(void **unused)
{
    (void)unused;
    warns("rules: []\n", "there are no rules: every request is allowed");
    warns("store: 'memory:'\n", "there are no rules: every request is allowed");
    silent("rules:\n" PER_IP);
}

static void shadow_rules_alone_deny_nothing(void **unused)
{
    (void)unused;
    warns("rules:\n  - { name: a, per: ip, limit: 5/m, shadow: true }\n"
          "  - { name: b, per: user, limit: 5/m, shadow: true }\n",
          "every rule is a shadow rule");
    silent(RULES "  - { name: b, per: user, limit: 5/m, shadow: true }\n");
}

static void an_ordinary_file_is_left_in_peace(void **unused)
{
    (void)unused;
    silent("tiers: { free: { scale: 1 }, pro: { scale: 10 }, admin: { unlimited: true } }\n"
           "rules:\n"
           "  - { name: global, per: global, algorithm: fixed_window, limit: 500000/s }\n"
           "  - { name: per-ip, per: ip, algorithm: fixed_window, limit: 6000/m,"
           " except: [/health] }\n"
           "  - { name: tenant, per: tenant, limit: 100000/h }\n"
           "  - { name: api, resource: /api/*, except: [/api/health], when: { method: [GET] },"
           " per: user, algorithm: token_bucket, capacity: 100, refill_rate: 10,"
           " burst_allowance: 1.5, adaptive: true,"
           " burst_guard: { window: 10s, threshold: 5000 } }\n"
           "  - { name: day, resource: /api/*, per: user, algorithm: fixed_window,"
           " limit: 10000/d }\n"
           "  - { name: token, resource: /oauth/token, per: client, algorithm: token_bucket,"
           " capacity: 5, refill_rate: 0.083, window: 60 }\n"
           "  - { name: device, resource: /oauth/device, per: ip, algorithm: token_bucket,"
           " capacity: 10, refill_rate: 0.033, window: 60, burst_allowance: 1 }\n"
           "  - { name: login, resource: /login, per: [ip, user], algorithm: sliding_window_log,"
           " limit: 5/15m }\n"
           "  - { name: hooks, resource: hooks.send, per: host, algorithm: leaky_bucket,"
           " capacity: 100, refill_rate: 5 }\n");
}

static void a_warning_names_the_line_of_its_rule(void **unused)
{
    (void)unused;
    warns(RULES "  - name: open\n    resource: /login\n    per: ip\n"
                "    algorithm: fixed_window\n    limit: 5/m\n",
          "rules.yaml:3:5: warning: `open` is a fixed window");
}

/* ---- anonymous callers ----------------------------------------------------- */

#define USERS "  - { name: users, resource: /api/*, per: user, limit: 100/m }\n"

static void an_endpoint_that_counts_users_alone_is_open_to_others(void **unused)
{
    (void)unused;
    warns("rules:\n" USERS, "requests without `user` have no limit on `/api/*`: `users` skips");
    warns("rules:\n  - { name: a, per: [ip, email], limit: 3/m }\n",
          "requests without `email` have no limit on any resource");
    silent("rules:\n  - { name: a, resource: /api/*, per: user, limit: 9/m, on_missing: deny }\n");
    silent("rules:\n  - { name: a, resource: /api/*, per: [ip, resource, method], limit: 9/m }\n");
}

static void a_wider_rule_counts_them(void **unused)
{
    (void)unused;
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
    };
    static const char *const others[] = {
        "per: client, when: { client: a }",
        "per: ip, resource: /api/videos",
        "per: ip, resource: /*/x",
        "per: ip, resource: api.*",
        "per: ip, shadow: true",
        "per: ip, when: { method: GET }",
        "per: ip, except: [/api/*]",
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

static void each_method_may_have_its_own_rule(void **unused)
{
    (void)unused;
#define GETS  "  - { name: get, per: ip, limit: 9/m, when: { method: [GET, HEAD] } }\n"
#define POSTS "  - { name: post, per: ip, limit: 9/m, when: { method: POST } }\n"
#define BOTH  "  - { name: both, per: user, limit: 5/m, when: { method: [GET, POST] } }\n"
    silent("rules:\n" GETS POSTS BOTH);
    warns("rules:\n" GETS BOTH, "requests without `user`");
}

static void what_when_asks_for_is_not_missing(void **unused)
{
    (void)unused;
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
}

#define JWT(required)                                                                              \
    "identity: { jwt: { algorithms: [HS256], keys: [{ secret_file: k }], claims: { user: sub },"   \
    " required: " required " } }\n"

static void a_required_token_leaves_nobody_anonymous(void **unused)
{
    (void)unused;
    silent(JWT("true") "rules:\n" USERS);
    warns(JWT("false") "rules:\n" USERS, "requests without `user`");
    warns(JWT("true") "rules:\n  - { name: a, per: [user, device], limit: 5/m }\n",
          "requests without `device`");
}

static void an_open_endpoint_is_told_once(void **unused)
{
    (void)unused;
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

/* ---- whom a rule meets ----------------------------------------------------- */

static void an_exception_can_swallow_the_rule(void **unused)
{
    (void)unused;
    warns(RULES "  - { name: a, resource: /api/v1, except: [/api/*], per: ip, limit: 5/m }\n",
          "`a` matches no request: all of its `resource` `/api/v1` is in its own `except`");
    silent(RULES "  - { name: a, resource: /api/*, except: [/api/v1/*], per: ip, limit: 5/m }\n");
    silent(RULES "  - { name: a, except: ['*'], per: ip, limit: 5/m }\n"); /* no resource sent */
}

static void an_exception_can_miss_the_rule(void **unused)
{
    (void)unused;
    warns(RULES "  - { name: a, resource: /api/*, except: [/ap/health], per: ip, limit: 5/m }\n",
          "`except` `/ap/health` takes nothing away from `/api/*`");
    warns(RULES "  - { name: a, resource: /api/*, except: [api.health], per: ip, limit: 5/m }\n",
          "takes nothing away");
    silent(RULES "  - { name: a, resource: /*/x, except: [/api/*], per: ip, limit: 5/m }\n");
    silent(RULES "  - { name: a, except: [/health, x.health], per: ip, limit: 5/m }\n");
}

static void when_can_ask_for_resources_of_others(void **unused)
{
    (void)unused;
#define ASKS(value)                                                                                \
    RULES "  - { name: a, resource: /api/*, except: [/api/x], per: ip, limit: 5/m,"                \
          " when: { resource: " value " } }\n"
    warns(ASKS("/other"), "when` its resource is `/other`: the rule's `resource` does not match");
    warns(ASKS("/api/x"), "the rule's `except` leaves it out");
    warns(ASKS("/api/*"), "values are compared as they are");
    silent(ASKS("[/api/y, /api//z/]"));
}

static void when_compares_methods_as_written(void **unused)
{
    (void)unused;
    warns(RULES "  - { name: a, per: ip, limit: 5/m, when: { method: [GET, post] } }\n",
          "`post`: methods are compared as they are written; write it in upper case");
    silent(RULES "  - { name: a, per: ip, limit: 5/m, when: { method: [GET, publish] } }\n");
}

static void when_can_ask_for_a_tier_that_is_not_there(void **unused)
{
    (void)unused;
    warns(TIERS RULES "  - { name: a, per: ip, limit: 5000/m, when: { tier: [free, gold] } }\n",
          "`a` asks for tier `gold`, which is not declared");
    silent(RULES "  - { name: a, per: ip, limit: 5000/m, when: { tier: gold } }\n");
}

static void when_can_ask_for_an_unlimited_tier(void **unused)
{
    (void)unused;
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

static void an_attribute_can_be_a_slip(void **unused)
{
    (void)unused;
    warns(RULES "  - { name: a, per: users, limit: 5/m }\n",
          "attribute `users`, which requests have to send under this very name; did you mean "
          "`user`?");
    warns(RULES "  - { name: a, per: ip, limit: 5/m, when: { metod: GET } }\n",
          "did you mean `method`?");
    silent(RULES "  - { name: a, per: [vip, email, device], limit: 5/m }\n");
    silent("identity: { headers: { users: X-Users } }\n" RULES
           "  - { name: a, per: users, limit: 5/m }\n");
}

static void trust_is_a_users(void **unused)
{
    (void)unused;
    warns(RULES "  - { name: a, per: [tenant, ip], limit: 5/m, adaptive: true }\n",
          "`a` is `adaptive` and counts per tenant and ip");
    silent(RULES "  - { name: a, per: [tenant, user], limit: 5/m, adaptive: true }\n");
}

/* ---- numbers --------------------------------------------------------------- */

static void a_scale_can_leave_nothing(void **unused)
{
    (void)unused;
    warns(TIERS "rules:\n  - { name: a, per: ip, limit: 999/m }\n",
          "`a` has a limit of 0 for tier `tiny`");
    silent(TIERS "rules:\n  - { name: a, per: ip, limit: 1000/m }\n");
    silent(TIERS
           "rules:\n  - { name: a, per: ip, limit: 5/m, tiers: { tiny: { capacity: 1 } } }\n");
    silent(TIERS RULES "  - { name: a, per: ip, limit: 5/m, when: { tier: pro } }\n");
}

static void a_fast_bucket_is_slowed_by_rounding(void **unused)
{
    (void)unused;
#define RATE(rate)                                                                                 \
    "rules:\n  - { name: a, per: ip, algorithm: token_bucket, capacity: 100, refill_rate: " rate   \
    " }\n"
    warns(RATE("3000000"), "`a` refills up to 0.2 % slower than asked: a token takes whole "
                           "nanoseconds, here 334, which makes 2994011 a second");
    warns("tiers: { pro: { scale: 100 } }\n" RATE("30000"), "slower than asked for tier `pro`");
    warns(RULES "  - { name: a, per: user, algorithm: token_bucket, capacity: 100,"
                " refill_rate: 2000000, adaptive: true }\n", /* 333.3 ns */
          "slower than asked at full trust");
    silent(RATE("2000000")); /* 500 ns */
    silent(RATE("1000001")); /* 999.999 ns: 0.0001 % */
    silent(RATE("0.083"));
}

static void exactly_a_thousandth_slower_is_no_matter(void **unused)
{
    (void)unused;
#define WINDOW(window)                                                                             \
    "rules:\n  - { name: a, per: ip, algorithm: leaky_bucket, capacity: 10000, window: " window    \
    " }\n"
    silent(WINDOW("7.992ms")); /* 799.2 ns a token, rounded to 800 */
    warns(WINDOW("7.991ms"), "slower than asked");
}

#define GUARDED(limit, guard)                                                                      \
    "rules:\n  - { name: a, per: ip, " limit ", burst_guard: { " guard " } }\n"
#define THRESHOLD(window, threshold) "window: " window ", threshold: " threshold

static void a_guard_must_not_block_within_the_limit(void **unused)
{
    (void)unused;
    static const struct {
        const char *limit;
        const char *window;
        int most; /* requests that pass in one window of the guard */
    } cases[] = {
        { "algorithm: fixed_window, limit: 60/m", "10s", 60 },
        { "algorithm: fixed_window, limit: 60/m", "1m", 60 },
        { "algorithm: fixed_window, limit: 60/m", "3m", 180 },
        { "algorithm: fixed_window, limit: 60/m", "7s", 120 },  /* crosses an edge */
        { "algorithm: fixed_window, limit: 60/m", "90s", 120 }, /* 30 s apart: never three */
        { "algorithm: fixed_window, limit: 60/m, align: first_request", "10s", 120 },
        { "algorithm: sliding_window_log, limit: 60/m", "7s", 60 },
        { "algorithm: sliding_window_log, limit: 60/m", "90s", 120 },
        { "algorithm: sliding_window_counter, limit: 60/m", "10s", 60 },
        { "algorithm: sliding_window_counter, limit: 60/m", "7s", 66 },
        { "algorithm: sliding_window_counter, limit: 60/m", "2m", 120 },
        { "algorithm: token_bucket, capacity: 60, refill_rate: 10", "10s", 160 },
        { "algorithm: token_bucket, limit: 60/m, burst_allowance: 1.5", "10s", 100 },
        { "algorithm: leaky_bucket, limit: 60/m", "10s", 70 },
    };
    char yaml[300], words[60];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int less = 0; less < 2; less++) {
            snprintf(yaml, sizeof yaml, GUARDED("%s", "window: %s, threshold: %d"), cases[i].limit,
                     cases[i].window, cases[i].most - less);
            snprintf(words, sizeof words, "raise `threshold` to %d", cases[i].most);
            if (less)
                warns(yaml, words);
            else
                silent(yaml);
        }
    }
}

static void a_guard_serves_every_tier(void **unused)
{
    (void)unused;
    warns("tiers: { pro: { scale: 10 } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "100")),
          "it lets up to 600 requests pass in 10s for tier `pro`, and");
    warns("tiers: { pro: { scale: 10 } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "50")),
          "600 requests pass in 10s for tier `pro` (and 60 without a tier)");
    silent("tiers: { pro: { scale: 10 } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "600")));
    silent("tiers: { pro: { unlimited: true } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "60")));
    silent("tiers: { free: { scale: 1 }, pro: { scale: 10 } }\n" RULES
           "  - { name: a, per: ip, limit: 60/m, when: { tier: free },"
           " burst_guard: { threshold: 60 } }\n");
}

static void a_guard_allows_for_full_trust(void **unused)
{
    (void)unused;
#define TRUSTED(threshold)                                                                         \
    RULES "  - { name: a, per: user, limit: 60/m, adaptive: true, burst_guard: { "                 \
          "threshold: " threshold " } }\n"
    warns(TRUSTED("119"), "up to 120 requests pass in 10s at full trust");
    silent(TRUSTED("120"));
}

#define LOG(per, limit)                                                                            \
    "rules:\n  - { name: a, per: " per ", algorithm: sliding_window_log, limit: " limit            \
    ", on_missing: deny }\n"

static void a_log_of_a_huge_limit_is_large(void **unused)
{
    (void)unused;
    warns(LOG("user", "10001/m"), "8 bytes each: up to 80 kB for one identifier, whose limit is "
                                  "10001; use `sliding_window_counter`");
    silent(LOG("user", "10000/m"));
    warns("tiers: { big: { scale: 1000 } }\n" LOG("user", "1000/h"),
          "up to 8.0 MB for one identifier for tier `big`, whose limit is 1000000");
    silent("tiers: { big: { unlimited: true } }\n" LOG("user", "1000/h"));
}

/* ---- advice ---------------------------------------------------------------- */

#define AT_PATH(path, rest)                                                                        \
    RULES "  - { name: a, resource: " path ", limit: 5/m, algorithm: " rest " }\n"

static void a_fixed_window_doubles_the_guesses_at_a_login(void **unused)
{
    (void)unused;
    static const char *const logins[] = { "/login", "/v1/Sign-In/*", "/oauth/token", "auth.otp",
                                          "/users/*/password" };
    char yaml[300];
    for (size_t i = 0; i < sizeof logins / sizeof *logins; i++) {
        snprintf(yaml, sizeof yaml, AT_PATH("%s", "fixed_window, per: ip"), logins[i]);
        warns(yaml, "up to 10 attempts pass within moments around a window's edge");
    }
    warns(AT_PATH("/login", "fixed_window, per: ip, align: first_request"), "up to 9 attempts");
    silent(AT_PATH("/login", "sliding_window_log, per: ip"));
    silent(AT_PATH("/login", "fixed_window, per: global"));
    silent(AT_PATH("/logins", "fixed_window, per: ip"));
    silent(AT_PATH("/token-count", "fixed_window, per: ip"));
}

static void a_burst_allowance_is_more_guesses_at_a_login(void **unused)
{
    (void)unused;
    warns(AT_PATH("/login", "token_bucket, per: ip, burst_allowance: 2"),
          "10 attempts pass at once, where 5 come back in 1m; leave `burst_allowance` out");
    silent(AT_PATH("/login", "token_bucket, per: ip, burst_allowance: 1"));
    silent(AT_PATH("/api", "token_bucket, per: ip, burst_allowance: 2"));
}

static void a_quota_is_not_a_bucket(void **unused)
{
    (void)unused;
#define BUCKET(numbers) "rules:\n  - { name: a, per: ip, algorithm: token_bucket, " numbers " }\n"
    warns(BUCKET("limit: 1000/d"),
          "a full bucket and what it refills let 2000 pass in 1d, where the limit says 1000");
    silent(BUCKET("limit: 1000/23h"));
    silent(BUCKET("capacity: 100, refill_rate: 10, window: 1d"));
    silent("rules:\n  - { name: a, per: ip, algorithm: fixed_window, limit: 1000/d }\n");
}

static void a_quota_is_not_a_log(void **unused)
{
    (void)unused;
    warns(LOG("user", "1000/d"), "each identifier takes up to 8 kB for 1d; use `fixed_window`");
    silent(LOG("user", "100/d")); /* three resets a day: exact, and small */
    silent(LOG("user", "1000/23h"));
}

static void a_log_is_not_for_a_crowd(void **unused)
{
    (void)unused;
    warns(LOG("ip", "1001/m"), "a log of up to 8 kB for every address");
    warns(LOG("global", "1001/m"), "all the world's requests in one log");
    silent(LOG("ip", "1000/m"));
    silent(LOG("user", "1001/m"));
    silent(LOG("[ip, user]", "1001/m"));
}

/* ---- rules beside each other ----------------------------------------------- */

#define PAIR(first, second)                                                                        \
    "rules:\n  - { name: first, per: ip, " first " }\n  - { name: second, per: ip, " second " }\n"

static void the_larger_of_two_alike_limits_never_decides(void **unused)
{
    (void)unused;
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
}

static void two_limits_that_differ_in_anything_may_both_decide(void **unused)
{
    (void)unused;
    silent(PAIR("limit: 10/s", "limit: 100/m"));
    silent(PAIR("limit: 10/m", "limit: 20/m, shadow: true"));
    silent(PAIR("limit: 10/m", "limit: 20/m, algorithm: fixed_window"));
    silent(PAIR("limit: 10/m", "limit: 20/m, resource: /a"));
    silent(PAIR("limit: 10/m", "limit: 20/m, except: [/a]"));
    silent(PAIR("limit: 10/m, when: { method: GET }", "limit: 20/m, when: { method: PUT }"));
    silent(PAIR("limit: 10/m, when: { a: [b, c] }", "limit: 20/m, when: { a: b, c: d }"));
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

static void a_tier_can_turn_the_order_of_two_limits(void **unused)
{
    (void)unused;
#define TWO(more)                                                                                  \
    "tiers: { pro: { scale: 2 } }\n" PAIR("limit: 10/m", "limit: 20/m, tiers: { pro: " more " }")
    warns(TWO("{ capacity: 21 }"), "`second` never decides");
    warns(TWO("{ unlimited: true }"), "`second` never decides");
    silent(TWO("{ capacity: 19 }"));
    silent("tiers: { pro: { scale: 2 } }\n" PAIR("limit: 10/m, tiers: { pro: { unlimited: true } }",
                                                 "limit: 20/m"));
}

/* ---- large files ----------------------------------------------------------- */

enum { MANY = 10000 };

/* `count` warnings of a file of MANY rules, each printed from its number. */
static void expect_many(const char *format, size_t count)
{
    char *yaml = NULL;
    size_t len = 0, found;
    FILE *out = open_memstream(&yaml, &len);
    fputs("rules:\n", out);
    for (int i = 0; i < MANY; i++)
        fprintf(out, format, i, i / 2, i % 2 ? "ip" : "user");
    fclose(out);
    free(lint(yaml, &found));
    assert_int_equal(found, count);
    free(yaml);
}

static void ten_thousand_rules_are_all_looked_at(void **unused)
{
    (void)unused;
    /* one endpoint each pair, counted per user and per address */
    expect_many("  - { name: r%d, resource: /api/e%d, per: %s, limit: 9/m }\n", 0);
    /* and nobody counted but users */
    expect_many("  - { name: r%1$d, resource: /api/e%1$d/*, per: user, limit: 9/m }\n", MANY);
    /* one pattern for all */
    expect_many("  - { name: r%1$d, resource: /a, per: ip, limit: 9/m, when: { t: v%1$d } }\n", 0);
    expect_many("  - { name: r%1$d, resource: /a, per: ip, limit: 9%1$d/m }\n", MANY - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_without_rules_allows_everything),
        cmocka_unit_test(shadow_rules_alone_deny_nothing),
        cmocka_unit_test(an_ordinary_file_is_left_in_peace),
        cmocka_unit_test(a_warning_names_the_line_of_its_rule),
        cmocka_unit_test(an_endpoint_that_counts_users_alone_is_open_to_others),
        cmocka_unit_test(a_wider_rule_counts_them),
        cmocka_unit_test(each_method_may_have_its_own_rule),
        cmocka_unit_test(what_when_asks_for_is_not_missing),
        cmocka_unit_test(a_required_token_leaves_nobody_anonymous),
        cmocka_unit_test(an_open_endpoint_is_told_once),
        cmocka_unit_test(an_exception_can_swallow_the_rule),
        cmocka_unit_test(an_exception_can_miss_the_rule),
        cmocka_unit_test(when_can_ask_for_resources_of_others),
        cmocka_unit_test(when_compares_methods_as_written),
        cmocka_unit_test(when_can_ask_for_a_tier_that_is_not_there),
        cmocka_unit_test(when_can_ask_for_an_unlimited_tier),
        cmocka_unit_test(an_attribute_can_be_a_slip),
        cmocka_unit_test(trust_is_a_users),
        cmocka_unit_test(a_scale_can_leave_nothing),
        cmocka_unit_test(a_fast_bucket_is_slowed_by_rounding),
        cmocka_unit_test(exactly_a_thousandth_slower_is_no_matter),
        cmocka_unit_test(a_guard_must_not_block_within_the_limit),
        cmocka_unit_test(a_guard_serves_every_tier),
        cmocka_unit_test(a_guard_allows_for_full_trust),
        cmocka_unit_test(a_log_of_a_huge_limit_is_large),
        cmocka_unit_test(a_fixed_window_doubles_the_guesses_at_a_login),
        cmocka_unit_test(a_burst_allowance_is_more_guesses_at_a_login),
        cmocka_unit_test(a_quota_is_not_a_bucket),
        cmocka_unit_test(a_quota_is_not_a_log),
        cmocka_unit_test(a_log_is_not_for_a_crowd),
        cmocka_unit_test(the_larger_of_two_alike_limits_never_decides),
        cmocka_unit_test(two_limits_that_differ_in_anything_may_both_decide),
        cmocka_unit_test(a_tier_can_turn_the_order_of_two_limits),
        cmocka_unit_test(ten_thousand_rules_are_all_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
