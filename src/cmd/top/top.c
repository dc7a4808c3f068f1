/* sluice top: its options, and the choice between a server and a table. */
#include "cmd/top/top.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/top/top_picture.h"
#include "rules/tree/report.h"

const char *const sl_window_names[] = { "minute", "hour", "day", NULL };

static const int64_t every_least_us = INT64_C(100000);

int sl_board_watch(const struct sl_command *command, struct sl_live *live)
{
    struct sluice_error error = { 0 };
    int number = sl_live_run(live, &error);
    if (number < 0)
        sl_admin_say(command, "%s", error.text);
    if (number > 0) {
        fflush(NULL);
        raise(number);
    }
    return number < 0 ? 2 : 0;
}

/* ---- options ---- */

#define FIELD(field) offsetof(struct sl_board, field)

static const struct sl_option options[] = {
    { "FILE", NULL, SL_OPTION_OPERAND, FIELD(file), "a table's file, instead of a server" },
    { "--sort", "NAME", SL_OPTION_TEXT, FIELD(sort),
      "name, checks, allowed, denied (if not given), hit_rate or p99" },
    { "--reverse", NULL, SL_OPTION_FLAG, FIELD(reverse), "the other way round" },
    { "--window", "NAME", SL_OPTION_TEXT, FIELD(window), "minute (if not given), hour or day" },
    { "--every", "TIME", SL_OPTION_WAIT, FIELD(every_us), "how often to look (1s)" },
    { "--once", NULL, SL_OPTION_FLAG, FIELD(once), "print one picture, without escapes" },
    SL_ADMIN_SERVER,
};

/* Returns the index of `name` in the list; its length, with a message, if it is not there. */
static size_t choose(const struct sl_command *command, const char *option, const char *name,
                     const char *const *names)
{
    size_t i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    if (names[i])
        return i;
    const char *meant = sl_did_you_mean(sl_text(name), names);
    sl_command_wrong(command, meant ? "`%s %s`: did you mean `%s`?" : "`%s %s` is none of them",
                     option, name, meant);
    return i;
}

/* Returns 0, or 2 with a message. */
static int check_arguments(const struct sl_command *command, struct sl_board *board)
{
    bool of_server = board->sort || board->window || board->reverse || board->admin.client.server;
    if (board->file && board->admin.json)
        return sl_command_wrong(command, "a table's figures as JSON: `sluice table FILE --json`");
    if (board->file && of_server)
        return sl_command_wrong(command, "a table has no rules to sort and no server");
    if (board->every_us && board->every_us < every_least_us)
        return sl_command_wrong(command, "`--every` is at least 100ms");
    board->every_us = board->every_us ? board->every_us : 1000000;
    board->sort = board->sort ? board->sort : "denied";
    board->window = board->window ? board->window : "minute";
    board->order = (enum sl_board_order)choose(command, "--sort", board->sort, sl_order_names);
    if (board->order == SL_ORDERS)
        return 2;
    return sl_window_names[choose(command, "--window", board->window, sl_window_names)] ? 0 : 2;
}

static int run_top(const struct sl_command *command, int argc, char **argv)
{
    struct sl_board board = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &board);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (check_arguments(command, &board) != 0)
        return 2;
    board.once = board.once || board.admin.json || !sl_terminal_is_there();
    return board.file ? sl_board_table(command, &board) : sl_board_server(command, &board);
}

const struct sl_command sl_command_top = {
    .name = "top",
    .summary = "Shows the rules and the callers that they limit, every second.",
    .usage = "[FILE] [options]",
    .more =
        "Asks a running server for GET /v1/stats. Keys: q quit, n c a d h p or < > sort, r "
        "reverse,\n"
        "w minute, hour, day, space pause, arrows scroll, ? help. Where standard output is no\n"
        "terminal, one picture is printed, as with --once.\n\n"
        "With FILE, the file of a table that the rules name as `store: memory:FILE`, it looks at "
        "that\n"
        "instead, and no server needs to run: how many keys, how full, how many come and go. A "
        "table\n"
        "holds digests and no names: only a server can show rules and callers.\n\n" SL_ADMIN_MORE
        "\n  sluice top --sort hit_rate\n"
        "  sluice top /dev/shm/limits.slu\n",
    .options = options,
    .run = run_top,
};
