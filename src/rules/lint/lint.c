/* The linter: warnings about what is legal, and will surprise.
 *
 * A table of checks, each a small function with one warning. Most look at one
 * rule; a few at rules beside each other, and those go through a trie or a
 * map, so that a file of 10,000 rules is checked in the time of its parsing. Files
 * that large are made by programs, which repeat their mistakes: a check that
 * has given its warning often enough counts the others into one line at the end,
 * so that it does not bury what the next check found.
 *
 * A rule's numbers are judged only for tiers that can reach it: an operator who
 * follows the advice to give a tier its own rule gets no further warning. */
#include "rules/lint/lint.h"

#include "rules/condition.h"

static void warn_no_rules(struct sl_lint *lint)
{
    if (lint->rules->rule_count == 0)
        sl_report_warning(lint->report, (struct sl_mark){ 0 },
                          "there are no rules: every request is allowed; add one under `rules`");
}

static void warn_only_shadows(struct sl_lint *lint)
{
    const struct sl_ruleset *rules = lint->rules;
    for (size_t i = 0; i < rules->rule_count; i++)
        if (!rules->rules[i].shadow)
            return;
    if (rules->rule_count)
        sl_lint_warn(lint, &rules->rules[0],
                     "every rule is a shadow rule: requests are counted and none is denied; "
                     "take `shadow` out of the rules that are to limit");
}

/* One of the two functions, and the subject of its warnings where they are too
 * many to be shown; the first two never are. */
static const struct lint_check {
    sl_lint_file *file;
    sl_lint_rule *rule;
    const char *about;
} checks[] = {
    { .file = warn_no_rules },
    { .file = warn_only_shadows },
    { .file = sl_lint_anonymous, .about = "requests that no rule counts" },
    { .file = sl_lint_useless, .about = "rules that never decide" },
    { .rule = sl_lint_replaces, .about = "rules in place of others" },
    { .rule = sl_lint_excepted, .about = "rules that match no request" },
    { .rule = sl_lint_idle_except, .about = "exceptions that take nothing away" },
    { .rule = sl_lint_when, .about = "values of `when`" },
    { .rule = sl_lint_unlimited_tiers, .about = "rules that never apply" },
    { .rule = sl_lint_attributes, .about = "names of attributes" },
    { .rule = sl_lint_adaptive, .about = "adaptive rules that do not count users" },
    { .rule = sl_lint_zero_tier, .about = "limits of 0" },
    { .rule = sl_lint_rounding, .about = "rates that rounding slows" },
    { .rule = sl_lint_guard, .about = "burst guards that the limit itself sets off" },
    { .rule = sl_lint_huge_log, .about = "huge logs" },
    { .rule = sl_lint_log_room, .about = "logs without room" },
    { .rule = sl_lint_shared_bucket, .about = "buckets that tiers share" },
    { .rule = sl_lint_local_share, .about = "shares of a limit that are 0" },
    { .rule = sl_lint_login_window, .about = "fixed windows on login paths" },
    { .rule = sl_lint_login_burst, .about = "burst allowances on login paths" },
    { .rule = sl_lint_quota_bucket, .about = "quotas in token buckets" },
    { .rule = sl_lint_quota_log, .about = "quotas in logs" },
    { .rule = sl_lint_crowd_log, .about = "logs that crowds fill" },
};

void sl_lint_warn(struct sl_lint *lint, const struct sl_rule *rule, const char *format, ...)
{
    if (lint->said++ >= SL_LINT_SAID_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    const char *text = sl_arena_vprint(&lint->scratch, format, arguments);
    va_end(arguments);
    if (rule->revision)
        lint->report->subject = sl_report_subject(lint->report, "rule", rule->name);
    sl_report_warning(lint->report, rule->mark, "%s", text);
    lint->report->subject = NULL;
}

const char *sl_lint_quote(struct sl_lint *lint, struct sluice_text text)
{
    return lint->said < SL_LINT_SAID_MAX ? sl_report_quote(lint->report, text) : "";
}

static void run_check(struct sl_lint *lint, const struct lint_check *check)
{
    lint->said = 0;
    if (check->file)
        check->file(lint);
    for (size_t i = 0; check->rule && i < lint->rules->rule_count; i++)
        check->rule(lint, &lint->rules->rules[i]);
    if (lint->said <= SL_LINT_SAID_MAX)
        return;
    size_t more = lint->said - SL_LINT_SAID_MAX;
    sl_report_warning(lint->report, SL_MARK_LAST,
                      "%zu more warning%s about %s, like the first %d above", more,
                      more == 1 ? "" : "s", check->about, SL_LINT_SAID_MAX);
}

void sl_ruleset_lint(const struct sl_ruleset *rules, struct sl_report *report)
{
    struct sl_lint lint = { .rules = rules, .report = report };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        run_check(&lint, &checks[i]);
    sl_arena_release(&lint.scratch);
}

const struct sl_condition *sl_lint_condition(const struct sl_rule *rule, struct sluice_text name)
{
    for (size_t i = 0; i < rule->when_count; i++)
        if (sl_text_equal(rule->when[i].attribute.name, name))
            return &rule->when[i];
    return NULL;
}

/* The linter knows only those undeclared tiers that a condition names; for a condition without
 * values, one of them can hold, or none that is sent. */
static bool asks_for_slot(const struct sl_lint *lint, const struct sl_condition *tiers, size_t slot)
{
    if (slot > 0)
        return sl_condition_holds(tiers, lint->rules->tiers[slot - 1].name);
    for (size_t i = 0; i < tiers->value_count; i++)
        if (sl_ruleset_tier(lint->rules, tiers->values[i]) < 0 &&
            sl_condition_holds(tiers, tiers->values[i]))
            return true;
    return tiers->value_count == 0;
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
                          sl_lint_quote(lint, lint->rules->tiers[slot - 1].name));
}

const char *sl_lint_per(struct sl_lint *lint, const struct sl_rule *rule)
{
    const char *text = "";
    for (size_t i = 0; i < rule->per_count; i++)
        text = sl_arena_print(&lint->scratch, "%s%s%s", text, i ? " and " : "",
                              sl_lint_quote(lint, rule->per[i].name));
    return text;
}
