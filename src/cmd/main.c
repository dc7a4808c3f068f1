#include <stdio.h>

#include "cmd/options.h"
#include "rules/report.h"

static const struct sl_command *const commands[] = {
    &sl_command_check,
    &sl_command_replay,
    &sl_command_lint,
    NULL,
};

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
        fprintf(stderr, ", did you mean `%s`?", meant);
    fprintf(stderr, "; try `sluice --help`\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
        return help();
    if (!strcmp(name, "--version")) {
        puts("sluice " SLUICE_VERSION);
        return 0;
    }
    if (!*name) {
        fprintf(stderr, "sluice: which command? try `sluice --help`\n");
        return 2;
    }
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i]->run(commands[i], argc - 2, argv + 2);
    return unknown(name);
}
