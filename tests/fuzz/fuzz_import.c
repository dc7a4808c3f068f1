/* Any bytes as a configuration of Envoy's rate limit server. Whatever is taken becomes rules that
 * are right, and of which the linter has nothing to say that a rule is twice or never decides. */
#include "import/envoy.h"

#include <stdio.h>
#include <stdlib.h>

#include "rules/tree/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_rules(struct sluice_text text)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_ruleset_parse("rules.yaml", text, &report);
    if (!rules) {
        sl_report_print(&report, stderr);
        fprintf(stderr, "%.*s", (int)text.len, text.at);
        abort();
    }
    sl_ruleset_lint(rules, &report);
    sl_ruleset_free(rules);
    sl_report_release(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sl_envoy envoy = { .listen = "127.0.0.1:8081" };
    struct sl_envoy_file file = { .name = "config.yaml" };
    struct sl_envoy_file *files[] = { &file };
    struct sl_buffer out = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    if (sl_envoy_read(&envoy, &file, (struct sluice_text){ (const char *)bytes, len })) {
        sl_envoy_print(&envoy, files, 1, &out);
        if (envoy.lost != file.report.errors)
            abort();
        if (!out.failed)
            check_rules((struct sluice_text){ out.at, out.len });
    } else if (file.report.errors == 0) {
        abort();
    }
    sl_buffer_release(&out);
    sl_report_release(&file.report);
    sl_envoy_release(&envoy);
    return 0;
}
