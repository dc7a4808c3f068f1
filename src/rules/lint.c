/* The linter: what is legal, and will surprise.
 *
 * A table of checks, each a small function with one warning. Most look at one
 * rule; a few at rules beside each other, and those go through a trie or a
 * map, so that a file of 10,000 rules is read in the time of its parsing.
 *
 * A rule's numbers are judged only for tiers that can reach it: someone who
 * follows the advice to give a tier its own rule must be left in peace. */
#include "rules/lint.h"

static void no_rules(struct sl_lint *lint)
{
    if (lint->rules->rule_count == 0)
        sl_report_warning(lint->report, (struct sl_mark){ 0 },
                          "there are no rules: every request is allowed; add one under `rules`");
}

static void only_shadows(struct sl_lint *lint)
{
    const struct sl_ruleset *rules = lint->rules;
    for (size_t i = 0; i < rules->rule_count; i++)
        if (!rules->rules[i].shadow)
            return;
    if (rules->rule_count)
        sl_report_warning(lint->report, rules->rules[0].mark,
                          "every rule is a shadow rule: requests are counted and none is denied; "
                          "take `shadow` out of the rules that are to limit");
}

static sl_lint_file *const file_checks[] = {
    no_rules,
    only_shadows,
    sl_lint_anonymous,
    sl_lint_useless,
};

static sl_lint_rule *const rule_checks[] = {
    sl_lint_excepted,     sl_lint_idle_except, sl_lint_when,         sl_lint_unlimited_tiers,
    sl_lint_attributes,   sl_lint_adaptive,    sl_lint_zero_tier,    sl_lint_rounding,
    sl_lint_guard,        sl_lint_huge_log,    sl_lint_login_window, sl_lint_login_burst,
    sl_lint_quota_bucket, sl_lint_quota_log,   sl_lint_crowd_log,
};

void sl_ruleset_lint(const struct sl_ruleset *rules, struct sl_report *report)
{
    struct sl_lint lint = { .rules = rules, .report = report };
    for (size_t i = 0; i < sizeof file_checks / sizeof *file_checks; i++)
        file_checks[i](&lint);
    for (size_t r = 0; r < rules->rule_count; r++)
        for (size_t i = 0; i < sizeof rule_checks / sizeof *rule_checks; i++)
            rule_checks[i](&lint, &rules->rules[r]);
    sl_arena_release(&lint.scratch);
}

const struct sl_condition *sl_lint_condition(const struct sl_rule *rule, struct sluice_text name)
{
    for (size_t i = 0; i < rule->when_count; i++)
        if (sl_text_equal(rule->when[i].attribute.name, name))
            return &rule->when[i];
    return NULL;
}

static bool asks_for_slot(const struct sl_lint *lint, const struct sl_condition *tiers, size_t slot)
{
    for (size_t i = 0; i < tiers->value_count; i++)
        if (sl_ruleset_tier(lint->rules, tiers->values[i]) + 1 == (ptrdiff_t)slot)
            return true;
    return false;
}

bool sl_lint_reaches(const struct sl_lint *lint, const struct sl_rule *rule, size_t slot)
{
    const struct sl_condition *tiers = sl_lint_condition(rule, SL_TEXT("tier"));
    return !rule->numbers[slot].unlimited && (!tiers || asks_for_slot(lint, tiers, slot));
}

const struct sl_numbers *sl_lint_numbers(const struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t slot = 0; slot <= lint->rules->tier_count; slot++)
        if (sl_lint_reaches(lint, rule, slot))
            return &rule->numbers[slot];
    return NULL;
}

const char *sl_lint_duration(struct sl_lint *lint, int64_t duration_us)
{
    static const struct {
        int64_t us;
        const char *name;
    } units[] = { { INT64_C(86400000000), "d" },
                  { INT64_C(3600000000), "h" },
                  { 60000000, "m" },
                  { 1000000, "s" },
                  { 1000, "ms" },
                  { 1, "us" } };
    size_t i = 0;
    while (duration_us % units[i].us)
        i++;
    return sl_arena_print(&lint->scratch, "%" PRId64 "%s", duration_us / units[i].us,
                          units[i].name);
}

const char *sl_lint_memory(struct sl_lint *lint, int64_t units)
{
    int64_t size_bytes = units * 8;
    if (size_bytes < 1000)
        return sl_arena_print(&lint->scratch, "%" PRId64 " bytes", size_bytes);
    if (size_bytes < 1000000)
        return sl_arena_print(&lint->scratch, "%" PRId64 " kB", size_bytes / 1000);
    return sl_arena_print(&lint->scratch, "%" PRId64 ".%" PRId64 " MB", size_bytes / 1000000,
                          size_bytes / 100000 % 10);
}

const char *sl_lint_tier(struct sl_lint *lint, size_t slot)
{
    if (slot == 0)
        return "";
    return sl_arena_print(&lint->scratch, " for tier `%s`",
                          sl_report_quote(lint->report, lint->rules->tiers[slot - 1].name));
}

const char *sl_lint_per(struct sl_lint *lint, const struct sl_rule *rule)
{
    const char *text = "";
    for (size_t i = 0; i < rule->per_count; i++)
        text = sl_arena_print(&lint->scratch, "%s%s%s", text, i ? " and " : "",
                              sl_report_quote(lint->report, rule->per[i].name));
    return text;
}
