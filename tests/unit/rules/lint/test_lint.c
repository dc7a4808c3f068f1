/* The linter as a whole. Here as in its parts, every warning has a file that
 * earns it, and a near miss that does not. */
#include "unit/rules/lint_cases.h"

/* ---- the file as a whole --------------------------------------------------- */

TEST(a_file_without_rules_allows_everything)
{
    warns("rules: []\n", "there are no rules: every request is allowed");
    warns("store: 'memory:'\n", "there are no rules: every request is allowed");
    silent("rules:\n" PER_IP);
}

TEST(shadow_rules_alone_deny_nothing)
{
    warns("rules:\n  - { name: a, per: ip, limit: 5/m, shadow: true }\n"
          "  - { name: b, per: user, limit: 5/m, shadow: true }\n",
          "every rule is a shadow rule");
    silent(RULES "  - { name: b, per: user, limit: 5/m, shadow: true }\n");
}

TEST(an_ordinary_file_is_left_in_peace)
{
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
           "  - { name: device, resource: /oauth/device, per: [ip, tier], algorithm: token_bucket,"
           " capacity: 10, refill_rate: 0.033, window: 60, burst_allowance: 1 }\n"
           "  - { name: login, resource: /login, per: [ip, user], algorithm: sliding_window_log,"
           " limit: 5/15m }\n"
           "  - { name: hooks, resource: hooks.send, per: host, algorithm: leaky_bucket,"
           " capacity: 100, refill_rate: 5 }\n");
}

TEST(a_warning_names_the_line_of_its_rule)
{
    warns(RULES "  - name: open\n    resource: /login\n    per: ip\n"
                "    algorithm: fixed_window\n    limit: 5/m\n",
          "rules.yaml:3:5: warning: `open` is a fixed window");
}

/* ---- large files ----------------------------------------------------------- */

enum { MANY = 10000 };

/* The warnings of a file of MANY rules, each printed from its number; the last
 * ends with `end`. */
static void expect_many(const char *format, size_t count, const char *end)
{
    char *yaml = NULL;
    size_t len = 0, found;
    FILE *out = open_memstream(&yaml, &len);
    fputs("rules:\n", out);
    for (int i = 0; i < MANY; i++)
        fprintf(out, format, i, i / 2, i % 2 ? "ip" : "user");
    fclose(out);
    char *text = lint(yaml, &found);
    assert_int_equal(found, count);
    size_t text_len = strlen(text), end_len = strlen(end);
    if (text_len < end_len || strcmp(text + text_len - end_len, end) != 0)
        fail_msg("wanted \"%s\" at the end of:\n%s", end, text);
    free(text);
    free(yaml);
}

TEST(ten_thousand_rules_are_all_looked_at)
{
    /* one endpoint each pair, counted per user and per address */
    expect_many("  - { name: r%d, resource: /api/e%d, per: %s, limit: 9/m }\n", 0, "");
    /* and a rule that counts only users */
    expect_many("  - { name: r%1$d, resource: /api/e%1$d/*, per: user, limit: 9/m }\n", 11,
                "rules.yaml: warning: 9990 more warnings about requests that no rule counts, like "
                "the first 10 above\n");
    /* one pattern for all */
    expect_many("  - { name: r%1$d, resource: /a, per: ip, limit: 9/m, when: { t: v%1$d } }\n", 0,
                "");
    expect_many("  - { name: r%1$d, resource: /a, per: ip, limit: 9%1$d/m }\n", 11,
                "9989 more warnings about rules that never decide, like the first 10 above\n");
}

TEST(each_check_says_its_first_ten_and_buries_no_other)
{
    size_t count;
    char *text = NULL, *yaml = NULL;
    size_t len = 0;
    for (int rules = 10; rules <= 11; rules++) {
        FILE *out = open_memstream(&yaml, &len);
        fputs("rules:\n" PER_IP, out);
        for (int i = 0; i < rules; i++)
            fprintf(out,
                    "  - { name: r%d, resource: /%d/login, per: ip, limit: 9/d,"
                    " algorithm: fixed_window }\n",
                    i, i);
        fputs("  - { name: last, per: ip, algorithm: token_bucket, limit: 100/d }\n", out);
        fclose(out);
        text = lint(yaml, &count);
        assert_int_equal(count, rules + 1);
        assert_non_null(strstr(text, "`last` is a quota in a token bucket"));
        assert_non_null(strstr(text, "`r9` is a fixed window on a login path"));
        assert_null(strstr(text, "`r10`"));
        const char *more = strstr(text, "rules.yaml: warning: 1 more warning about fixed windows "
                                        "on login paths, like the first 10 above\n");
        assert_int_equal(more != NULL, rules == 11);
        free(text);
        free(yaml);
    }
}
