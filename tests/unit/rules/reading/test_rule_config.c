#include "rules/reading/rule_config.h"

#include "unit/limiter/rules.h"

#define S INT64_C(1000000)

TEST(a_programs_numbers_make_the_rule_that_a_file_would)
{
    static const struct {
        struct sluice_limit_config config;
        const char *rule;
    } rows[] = {
        { { "a.b_c-9", NULL, 1, 1000, NULL, NULL, false }, "name: a.b_c-9, limit: 1/1ms" },
        { { "a", NULL, 5, 366 * 86400 * S, NULL, NULL, false }, "name: a, limit: 5/366d" },
        { { "a", NULL, 5, 1234567, NULL, NULL, false }, "name: a, limit: 5/1.234567s" },
        { { "a", "fixed_window", 5, S, NULL, NULL, true },
          "name: a, algorithm: fixed_window, limit: 5/s, align: first_request" },
        { { "a", "sliding_window_log", 5000, S, NULL, NULL, false },
          "name: a, algorithm: sliding_window_log, limit: 5000/s" },
        { { "a", "token_bucket", 100, 0, "0.083", "1.5", false },
          "name: a, algorithm: token_bucket, capacity: 100, refill_rate: 0.083, "
          "burst_allowance: 1.5" },
        { { "a", "token_bucket", 100, 60 * S, "7", NULL, false },
          "name: a, algorithm: token_bucket, limit: 100/m, refill_rate: 7" },
        { { "a", "leaky_bucket", 7, 3 * S, NULL, NULL, false },
          "name: a, algorithm: leaky_bucket, limit: 7/3s" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml, "rules: [{ per: global, %s }]\n", rows[i].rule);
        struct sl_ruleset *rules = rules_of(yaml);
        struct sl_report report = { .file = "limit" };
        struct sl_arena arena = { 0 };
        struct sl_rule rule;
        SAME(yaml, sl_rule_of_config(&arena, &rows[i].config, &report, &rule), true);
        const struct sl_rule *same = rules->rules;
        const struct sl_limit *got = &rule.numbers->limit, *wanted = &same->numbers->limit;
        SAME_TEXT(yaml, sl_text(rule.name), same->name);
        SAME(yaml, rule.algo == same->algo, true);
        SAME(yaml, rule.ring_len, same->ring_len);
        SAME(yaml, got->capacity, wanted->capacity);
        SAME(yaml, got->window_us, wanted->window_us);
        SAME(yaml, got->token_ns, wanted->token_ns);
        SAME(yaml, got->token_form, wanted->token_form);
        SAME(yaml, got->first_request, wanted->first_request);
        SAME(yaml, report.count, 0);
        sl_arena_release(&arena);
        sl_report_release(&report);
        sl_ruleset_free(rules);
    }
}

TEST(what_a_file_may_not_say_a_program_may_not_either)
{
    static const struct {
        const char *name;
        struct sluice_limit_config config;
    } rows[] = {
        { "nothing", { 0 } },
        { "no name", { NULL, NULL, 1, S, NULL, NULL, false } },
        { "a newline in the name", { "a\nb", NULL, 1, S, NULL, NULL, false } },
        { "a name too long",
          { "0123456789012345678901234567890123456789012345678901234567890123x", NULL, 1, S, NULL,
            NULL, false } },
        { "no window", { "a", NULL, 1, 0, NULL, NULL, false } },
        { "a window too short", { "a", NULL, 1, 999, NULL, NULL, false } },
        { "a window too long", { "a", NULL, 1, 366 * 86400 * S + 1, NULL, NULL, false } },
        { "the least window", { "a", NULL, 1, INT64_MIN, NULL, NULL, false } },
        { "the largest window", { "a", NULL, 1, INT64_MAX, NULL, NULL, false } },
        { "the least capacity", { "a", NULL, INT64_MIN, S, NULL, NULL, false } },
        { "the largest capacity", { "a", NULL, INT64_MAX, S, NULL, NULL, false } },
        { "an empty algorithm", { "a", "", 1, S, NULL, NULL, false } },
        { "an empty rate", { "a", "token_bucket", 1, 0, "", NULL, false } },
        { "no rate at all", { "a", "token_bucket", 1, 0, "0", NULL, false } },
        { "a span too long", { "a", "token_bucket", 1, 91 * 86400 * S, NULL, NULL, false } },
        { "a burst below 1", { "a", "token_bucket", 1, S, NULL, "0.5", false } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_report report = { .file = "limit" };
        struct sl_arena arena = { 0 };
        struct sl_rule rule = { .name = "untouched" };
        SAME(rows[i].name, sl_rule_of_config(&arena, &rows[i].config, &report, &rule), false);
        SAME(rows[i].name, report.errors > 0, true);
        SAME_TEXT(rows[i].name, sl_text(rule.name), "untouched");
        sl_arena_release(&arena);
        sl_report_release(&report);
    }
}
