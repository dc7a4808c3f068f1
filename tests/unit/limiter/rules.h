/* Rules out of a text, for the tests of the limiter. */
#ifndef TEST_LIMITER_RULES_H
#define TEST_LIMITER_RULES_H

#include "rules/ruleset.h"
#include "unit/base/unit.h"

static inline struct sl_ruleset *rules_of(const char *yaml)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_ruleset_parse("rules.yaml", sl_text(yaml), &report);
    if (!rules)
        sl_report_print(&report, stderr);
    sl_report_release(&report);
    assert_non_null(rules);
    return rules;
}

#endif
