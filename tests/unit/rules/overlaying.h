/* A file and what lies on it in, a ruleset or its problems out: what the tests of overlays
 * share. */
#ifndef TESTS_OVERLAYING_H
#define TESTS_OVERLAYING_H

#include "rules/reading/overlay.h"
#include "unit/base/unit.h"

static struct sl_ruleset *rules;
static struct sl_report report;

static inline int release(void **unused)
{
    (void)unused;
    sl_ruleset_free(rules);
    rules = NULL;
    sl_report_release(&report);
    return 0;
}

static inline void lay(const char *yaml, const struct sl_overlay *overlay)
{
    release(NULL);
    rules = sl_ruleset_parse_over("rules.yaml", sl_text(yaml), overlay, &report);
    assert_int_equal(rules != NULL, report.errors == 0);
}

/* With no problem. */
static inline void lay_well(const char *yaml, const struct sl_overlay *overlay)
{
    lay(yaml, overlay);
    if (report.count)
        fail_msg("%s: %s", report.problems[0].subject, report.problems[0].text);
}

/* Of arrays. */
#define RULES_OF(array)  .rules = (array), .rule_count = COUNT(array)
#define TIERS_OF(array)  .tiers = (array), .tier_count = COUNT(array)
#define EXEMPT_OF(array) .exemptions = (array), .exemption_count = COUNT(array)

static inline char *printed(void)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    sl_report_print(&report, out);
    fclose(out);
    return text;
}

/* All that is printed, a line a problem. */
static inline void assert_printed(const char *wanted)
{
    char *text = printed();
    assert_string_equal(text, wanted);
    free(text);
}

static inline const struct sl_rule *rule_named(const char *name)
{
    for (size_t i = 0; i < rules->rule_count; i++)
        if (strcmp(rules->rules[i].name, name) == 0)
            return &rules->rules[i];
    fail_msg("no rule is called `%s`", name);
    return NULL;
}

/* "a b c": the rules in their order. */
static inline void assert_rules(const char *wanted)
{
    char names[512] = "";
    for (size_t i = 0; i < rules->rule_count; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "",
                 rules->rules[i].name);
        assert_int_equal(rules->rules[i].index, i);
    }
    assert_string_equal(names, wanted);
}

#endif
