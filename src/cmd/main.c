/* The main function: runs the command that the first argument names. */
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

/* Returns the exit code, or 2 if standard output could not be written. */
static int flush_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("sluice: writing");
    return 2;
}

static int print_help(void)
{
    printf("Sluice " SLUICE_VERSION ": may this request pass?\n\n"
           "usage: sluice COMMAND [options]\n\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n  sluice COMMAND --help    what a command takes\n"
           "  sluice --version\n");
    return 0;
}

static int refuse_command(const char *name)
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

static int run_command(const char *name, int argc, char **argv)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i]->run(commands[i], argc, argv);
    return refuse_command(name);
}

/* Runs `help rules set` as `rules set --help`: the word `help` leaves one free place in
 * argv. */
static int help_about(int argc, char **argv)
{
    static char flag[] = "--help";
    const char *name = argv[2];
    memmove(argv, argv + 3, (size_t)(argc - 3) * sizeof *argv);
    argv[argc - 3] = flag;
    argv[argc - 2] = NULL;
    return run_command(name, argc - 2, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "help") && argc > 2)
        return flush_output(help_about(argc, argv));
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
        return flush_output(print_help());
    if (!strcmp(name, "--version"))
        return flush_output(puts("sluice " SLUICE_VERSION) < 0);
    if (!*name) {
        fprintf(stderr, "sluice: which command? try `sluice --help`\n");
        return 2;
    }
    return flush_output(run_command(name, argc - 2, argv + 2));
}
