/* sluice top: live figures of a server or a table. */
#ifndef SL_CMD_TOP_TOP_H
#define SL_CMD_TOP_TOP_H

#include "cmd/admin/admin.h"
#include "cmd/terminal/live.h"
#include "cmd/top/top_figures.h"

/* The arguments. */
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

/* Returns the exit code. */
int sl_board_server(const struct sl_command *command, const struct sl_board *board);
int sl_board_table(const struct sl_command *command, const struct sl_board *board);

/* Runs the picture to its end; a signal that ends it ends the program too. Returns the exit code.
 */
int sl_board_watch(const struct sl_command *command, struct sl_live *live);

#endif
