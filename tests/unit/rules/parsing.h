/* What the tests of the rules file's reader share: the ruleset and report of
 * the last parse. Include after cmocka.h. */
#ifndef SL_TESTS_PARSING_H
#define SL_TESTS_PARSING_H

#include "rules/ruleset.h"

static struct sl_ruleset *rules;
static struct sl_report report;

static inline int release(void **state)
{
    (void)state;
    sl_ruleset_free(rules);
    rules = NULL;
    sl_report_release(&report);
    return 0;
}

static inline void parse_text(struct sluice_text yaml)
{
    release(NULL);
    rules = sl_ruleset_parse("etc/rules.yaml", yaml, &report);
}

static inline void parse(const char *yaml)
{
    parse_text(sl_text(yaml));
    if (!rules)
        fail_msg("%s: %s", yaml, report.problems[0].text);
    assert_int_equal(report.count, 0);
}

/* The only rule of a file whose other keys are these. */
static inline const struct sl_rule *parse_rule(const char *keys)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "tiers: { pro: { scale: 10 }, half: { scale: 0.5 }, free: { "
             "unlimited: true } }\nrules: [{ name: r, %s }]\n",
             keys);
    parse(yaml);
    assert_int_equal(rules->rule_count, 1);
    return &rules->rules[0];
}

static inline void refuse(const char *yaml, size_t problems)
{
    parse_text(sl_text(yaml));
    assert_null(rules);
    assert_int_equal(report.count, problems);
    assert_int_equal(report.errors, problems);
}

#endif
