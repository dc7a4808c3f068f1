/* The table of rules in `sluice top`: one column for each figure, as many as fit. */
#ifndef SL_CMD_TOP_TOP_RULES_H
#define SL_CMD_TOP_TOP_RULES_H

#include "cmd/terminal/canvas.h"
#include "cmd/top/top_figures.h"

enum { SL_RULES_COLUMNS = 11 };

/* As in sl_canvas_cell; 0: left out. */
struct sl_rules_layout {
    int widths[SL_RULES_COLUMNS];
};

/* For a line of that width; 0: of any. */
void sl_rules_lay_out(const struct sl_board_figures *figures, size_t width,
                      struct sl_rules_layout *out);

/* On a screen, with an arrow at the column that orders them. */
void sl_rules_draw_headings(const struct sl_rules_layout *layout, enum sl_board_order order,
                            bool reverse, struct sl_canvas *canvas);
void sl_rules_draw(const struct sl_board_rule *rule, const struct sl_rules_layout *layout,
                   struct sl_canvas *canvas);

#endif
