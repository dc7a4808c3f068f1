/* sluice lint: checks a rules file for errors and surprises. */
#include <stddef.h>
#include <stdio.h>

#include "cmd/input/load.h"
#include "cmd/options.h"
#include "rules/tree/keys.h"

struct lint {
    const char *file;
    bool keys;
};

static const struct sl_option options[] = {
    { "FILE", NULL, SL_OPTION_OPERAND, offsetof(struct lint, file), "the rules file, or -" },
    { "--keys", NULL, SL_OPTION_FLAG, offsetof(struct lint, keys),
      "print every key of a rules file with its default, and stop" },
    { 0 },
};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void summarise(const struct sl_report *report, const struct sl_ruleset *rules)
{
    size_t warnings = report->count - report->errors;
    fprintf(stderr, "%s: %zu error%s, %zu warning%s", report->file, report->errors,
            plural(report->errors), warnings, plural(warnings));
    if (rules)
        fprintf(stderr, ", %zu rule%s", rules->rule_count, plural(rules->rule_count));
    fputc('\n', stderr);
}

static int lint_text(const char *file, struct sluice_text text)
{
    struct sl_report report = { .file = file };
    struct sl_ruleset *rules = sl_ruleset_parse(file, text, &report);
    if (rules)
        sl_ruleset_lint(rules, &report);
    sl_report_print(&report, stdout);
    fflush(stdout);
    summarise(&report, rules);
    int code = rules ? 0 : 1;
    sl_ruleset_free(rules);
    sl_report_release(&report);
    return code;
}

static int run_lint(const struct sl_command *command, int argc, char **argv)
{
    struct lint lint = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &lint);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (lint.keys) {
        sl_ruleset_print_keys(stdout);
        return 0;
    }
    if (!lint.file)
        return sl_command_wrong(command, "which file?");
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    int code = 2;
    if (sl_load_file(lint.file, &text))
        code = lint_text(lint.file, (struct sluice_text){ text.at, text.len });
    sl_buffer_release(&text);
    return code;
}

const struct sl_command sl_command_lint = {
    .name = "lint",
    .summary = "Checks a rules file: every problem with its place, and what will surprise.",
    .usage = "FILE",
    .more = "Problems go to standard output. Exit: 0 no error (warnings or not), 1 errors,\n"
            "2 the file cannot be read.\n",
    .options = options,
    .run = run_lint,
};
