/* sluice top: what a server or a table is doing, now and again. */
#ifndef SL_CMD_TOP_TOP_H
#define SL_CMD_TOP_TOP_H

#include "cmd/admin/admin.h"
#include "cmd/terminal/live.h"
#include "cmd/top/top_figures.h"

/* What was told on the command line. */
struct sl_board {
    struct sl_admin admin; /* first: its options are the admin commands' */
    const char *file;      /* a table, instead of a server */
    const char *sort, *window;
    int64_t every_us;
    bool reverse, once;
    enum sl_board_order order; /* that `sort` names */
};

/* minute, hour, day, NULL. */
extern const char *const sl_window_names[];

/* The exit code. */
int sl_board_server(const struct sl_command *command, const struct sl_board *board);
int sl_board_table(const struct sl_command *command, const struct sl_board *board);

/* Runs it to its end, and the program's too if that was a signal's. The exit code. */
int sl_board_watch(const struct sl_command *command, struct sl_live *live);

#endif
