/* A rules file in, its warnings out: what the tests of the linter share. */
#ifndef TESTS_LINT_CASES_H
#define TESTS_LINT_CASES_H

#include <stdlib.h>

#include "rules/ruleset.h"
#include "unit/base/unit.h"

/* Counts every request, so that none is left anonymous. */
#define PER_IP "  - { name: per-ip, per: ip, limit: 1000/m }\n"
#define RULES  "rules:\n" PER_IP
#define LOG(per, limit)                                                                            \
    "rules:\n  - { name: a, per: " per ", algorithm: sliding_window_log, limit: " limit            \
    ", on_missing: deny }\n"

/* All warnings of a file that has no errors, one a line; the caller frees. */
static inline char *lint(const char *yaml, size_t *count)
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
static inline void warns(const char *yaml, const char *words)
{
    size_t count;
    char *text = lint(yaml, &count);
    if (count != 1 || !strstr(text, words) || !strstr(text, "warning: "))
        fail_msg("wanted one warning with \"%s\", got:\n%s\nof:\n%s", words, text, yaml);
    free(text);
}

static inline void silent(const char *yaml)
{
    size_t count;
    char *text = lint(yaml, &count);
    if (count)
        fail_msg("wanted no warning, got:\n%s\nof:\n%s", text, yaml);
    free(text);
}

#endif
