#include <stdio.h>

#include "cmd/admin/admin.h"
#include "cmd/options.h"
#include "rules/tree/report.h"

static const struct sl_command *const commands[] = {
    &sl_command_serve,
    &sl_command_check,
    &sl_command_replay,
    &sl_command_lint,
    &sl_command_import,
    &sl_command_rules,
    &sl_command_tier,
    &sl_command_exempt,
    &sl_command_user,
    &sl_command_tenant,
    &sl_call_reset.command,
    &sl_call_reload.command,
    &sl_command_top,
    &sl_command_audit,
    &sl_command_table,
    &sl_command_bench,
    NULL,
};

/* A report that could not be written is not a report. */
static int flushed(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("sluice: writing");
    return 2;
}

static int help(void)
{
    printf("Sluice " SLUICE_VERSION ": may this request pass?\n\n"
           "usage: sluice COMMAND [options]\n\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n  sluice COMMAND --help    what a command takes\n"
           "  sluice --version\n");
    return 0;
}

static int unknown(const char *name)
{
    const char *names[sizeof commands / sizeof *commands] = { 0 };
    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    const char *meant = sl_did_you_mean(sl_text(name), names);
    fprintf(stderr, "sluice: unknown command `%s`", name);
    if (meant)
        fprintf(stderr, " (did you mean `%s`?)", meant);
    fprintf(stderr, "; try `sluice --help`\n");
    return 2;
}

static int run(const char *name, int argc, char **argv)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i]->run(commands[i], argc, argv);
    return unknown(name);
}

/* `help rules set` is `rules set --help`: argv has one place more than it needs, that of
 * the word `help`. */
static int help_about(int argc, char **argv)
{
    static char flag[] = "--help";
    const char *name = argv[2];
    memmove(argv, argv + 3, (size_t)(argc - 3) * sizeof *argv);
    argv[argc - 3] = flag;
    argv[argc - 2] = NULL;
    return run(name, argc - 2, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "help") && argc > 2)
        return flushed(help_about(argc, argv));
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
        return flushed(help());
    if (!strcmp(name, "--version"))
        return flushed(puts("sluice " SLUICE_VERSION) < 0);
    if (!*name) {
        fprintf(stderr, "sluice: which command? try `sluice --help`\n");
        return 2;
    }
    return flushed(run(name, argc - 2, argv + 2));
}
