/* The linter: declarations that its files share, and only for them. A check adds its
 * warning where it is sure that the file will surprise, and is silent where it
 * is not: a warning that is wrong once is not read the second time. */
#ifndef SL_RULES_LINT_LINT_H
#define SL_RULES_LINT_LINT_H

#include <inttypes.h>

#include "rules/ruleset.h"

struct sl_lint {
    const struct sl_ruleset *rules;
    struct sl_report *report;
    size_t said;             /* warnings of the check that runs */
    struct sl_arena scratch; /* gone when the linter is done */
};

/* A check of one rule, or of how the rules of the file stand together. */
typedef void sl_lint_rule(struct sl_lint *lint, const struct sl_rule *rule);
typedef void sl_lint_file(struct sl_lint *lint);

/* match.c: the requests that a rule matches */
sl_lint_rule sl_lint_excepted, sl_lint_idle_except, sl_lint_when, sl_lint_unlimited_tiers,
    sl_lint_attributes, sl_lint_adaptive;
/* numbers.c: the effects of its numbers */
sl_lint_rule sl_lint_zero_tier, sl_lint_rounding, sl_lint_guard, sl_lint_huge_log, sl_lint_log_room,
    sl_lint_shared_bucket, sl_lint_local_share;
/* advice.c: whether its algorithm suits it */
sl_lint_rule sl_lint_login_window, sl_lint_login_burst, sl_lint_quota_bucket, sl_lint_quota_log,
    sl_lint_crowd_log;
/* pairs.c: rules beside each other */
sl_lint_file sl_lint_anonymous, sl_lint_useless;
/* replaces.c: rules that replace each other */
sl_lint_rule sl_lint_replaces;

/* Where a check finds the same in thousands of rules, only so many warnings are shown. */
enum { SL_LINT_SAID_MAX = 10 };

/* Adds a check's warning on a rule; beyond SL_LINT_SAID_MAX it is only counted. */
__attribute__((format(printf, 3, 4))) void
sl_lint_warn(struct sl_lint *lint, const struct sl_rule *rule, const char *format, ...);

/* Quotes a text from the file for a warning. */
const char *sl_lint_quote(struct sl_lint *lint, struct sluice_text text);

/* Returns true if numbers[slot] of the rule can decide a request. They cannot if the tier is
 * unlimited, or `when` asks for another. Slot 0: no tier, or an unknown one. */
bool sl_lint_reaches(const struct sl_lint *lint, const struct sl_rule *rule, size_t slot);

/* Returns the first numbers that can decide, or NULL: the rule never applies. */
const struct sl_numbers *sl_lint_numbers(const struct sl_lint *lint, const struct sl_rule *rule);

/* Returns the rule's condition on this attribute, or NULL. */
const struct sl_condition *sl_lint_condition(const struct sl_rule *rule, struct sluice_text name);

/* For messages; the texts live in lint->scratch. */
const char *sl_lint_duration(struct sl_lint *lint, int64_t duration_us); /* "15m" */
const char *sl_lint_memory(struct sl_lint *lint, int64_t units);         /* a log's: "80 kB" */
const char *sl_lint_tier(struct sl_lint *lint, size_t slot); /* " for tier `pro`", or nothing */
const char *sl_lint_per(struct sl_lint *lint, const struct sl_rule *rule); /* "ip and user" */

/* Above this a log is large for any identifier, and sl_lint_huge_log warns of it. */
enum { SL_LINT_HUGE_LOG = 10000 };

#endif
