/* Any bytes as a rules file: parsed, linted, printed and freed. */
#include "rules/ruleset.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void print(struct sl_report *report)
{
    char *text = NULL;
    size_t text_len = 0;
    FILE *out = open_memstream(&text, &text_len);
    if (!out)
        return;
    sl_report_print(report, out);
    fclose(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sluice_text text = { (const char *)bytes, len };
    struct sl_ruleset *rules = sl_ruleset_parse("etc/rules.yaml", text, &report);
    if (!rules != (report.errors > 0))
        abort();
    if (rules)
        sl_ruleset_lint(rules, &report);
    print(&report);
    sl_ruleset_free(rules);
    sl_report_release(&report);
    return 0;
}
