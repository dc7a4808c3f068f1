/* Draws the table of rules: the columns, and which of them fit. */
#include "cmd/top/top_rules.h"

#include <stddef.h>
#include <stdio.h>

#include "cmd/terminal/printable.h"
#include "cmd/terminal/screen.h"

enum column_kind { TEXT, COUNT, SHARE, LATENCY, CALLERS };

static const struct column {
    const char *heading;
    int width;     /* of numbers; texts are as wide as they need, up to that */
    unsigned rank; /* the highest is left out first; 0 never is */
    enum column_kind kind;
    size_t offset; /* in a rule */
    enum sl_board_order order;
} columns[] = {
#define FIELD(field) offsetof(struct sl_board_rule, field)
    { "RULE", -28, 0, TEXT, FIELD(shown), SL_BY_NAME },
    { "ALGORITHM", -22, 7, TEXT, FIELD(algorithm), SL_ORDERS },
    { "CHECKS/S", 9, 0, COUNT, FIELD(checks_per_s), SL_BY_CHECKS },
    { "ALLOWED", 8, 3, COUNT, FIELD(allowed), SL_BY_ALLOWED },
    { "DENIED", 7, 0, COUNT, FIELD(denied), SL_BY_DENIED },
    { "HIT", 6, 0, SHARE, FIELD(hit_rate), SL_BY_HIT_RATE },
    { "P50", 6, 6, LATENCY, FIELD(p50_us), SL_ORDERS },
    { "P99", 6, 1, LATENCY, FIELD(p99_us), SL_BY_P99 },
    { "IN USE", 6, 5, SHARE, FIELD(in_use), SL_ORDERS },
    { "CALLERS", 11, 4, CALLERS, FIELD(callers), SL_ORDERS },
    { "MOST LIMITED", -1000, 2, TEXT, FIELD(most_limited), SL_ORDERS },
#undef FIELD
};

enum { COLUMNS = SL_RULES_COLUMNS, LAST = COLUMNS - 1, LAST_LEAST = 14 };

_Static_assert(sizeof columns / sizeof *columns == SL_RULES_COLUMNS, "as the header says");

static const void *field_of(const struct sl_board_rule *rule, const struct column *column)
{
    return (const char *)rule + column->offset;
}

static double number_of(const struct sl_board_rule *rule, const struct column *column)
{
    return *(const double *)field_of(rule, column);
}

enum { CELL_MAX = 2 * SL_FIGURE_MAX };

static const char *cell_of(const struct sl_board_rule *rule, const struct column *column,
                           char out[CELL_MAX])
{
    char limited[SL_FIGURE_MAX], all[SL_FIGURE_MAX];
    switch (column->kind) {
    case TEXT:
        return *(const char *const *)field_of(rule, column);
    case COUNT:
        return sl_screen_count(number_of(rule, column), out);
    case SHARE:
        return sl_screen_share(number_of(rule, column), out);
    case LATENCY:
        return sl_screen_latency(number_of(rule, column), out);
    case CALLERS:
        snprintf(out, CELL_MAX, "%s/%s", sl_screen_count(rule->callers_limited, limited),
                 sl_screen_count(rule->callers, all));
        return out;
    }
    return "";
}

/* Returns the width of a column of texts, with its heading and a place for the arrow. */
static int text_width(const struct sl_board_figures *figures, const struct column *column)
{
    size_t widest = sl_printable_width(sl_text(column->heading)) + (column->order == SL_BY_NAME);
    size_t most = (size_t)-column->width;
    char cell[CELL_MAX];
    for (size_t i = 0; i < figures->rule_count; i++) {
        size_t width = sl_printable_width(sl_text(cell_of(&figures->rules[i], column, cell)));
        widest = width > widest ? width : widest;
    }
    return -(int)(widest < most ? widest : most);
}

static int total_width(const struct sl_rules_layout *layout)
{
    int width = -2;
    for (size_t i = 0; i < COLUMNS; i++) {
        int least = i == LAST && layout->widths[i] < -LAST_LEAST ? -LAST_LEAST : layout->widths[i];
        if (least != 0)
            width += 2 + (least < 0 ? -least : least);
    }
    return width;
}

/* Returns the column to leave out first. */
static size_t least_of(const struct sl_rules_layout *layout)
{
    size_t least = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (layout->widths[i] != 0 && columns[i].rank > columns[least].rank)
            least = i;
    }
    return least;
}

/* Starts with all columns and leaves out those that do not fit: the name shrinks last, the last
 * column takes the rest. */
void sl_rules_lay_out(const struct sl_board_figures *figures, size_t width,
                      struct sl_rules_layout *out)
{
    int room = width > 1000 ? 1000 : (int)width;
    for (size_t i = 0; i < COLUMNS; i++)
        out->widths[i] = columns[i].width > 0 ? columns[i].width : text_width(figures, &columns[i]);
    if (width == 0)
        return;
    while (total_width(out) > room && columns[least_of(out)].rank > 0)
        out->widths[least_of(out)] = 0;
    int over = total_width(out) - room;
    if (over > 0)
        out->widths[0] = out->widths[0] + over < -4 ? out->widths[0] + over : -4;
    else if (-out->widths[LAST] > LAST_LEAST - over)
        out->widths[LAST] = over - LAST_LEAST;
}

struct shown_column {
    size_t column;
    int width;
};

/* No blanks behind the last one. */
static void draw_cell(struct sl_canvas *canvas, struct shown_column place, enum sl_style style,
                      const char *text)
{
    int wide = (int)sl_printable_width(sl_text(text));
    bool is_short = place.column == LAST && wide < -place.width;
    sl_canvas_cell(canvas, SL_PLAIN, "", place.column ? 2 : 0);
    sl_canvas_cell(canvas, style, text, is_short ? -wide : place.width);
}

void sl_rules_draw_headings(const struct sl_rules_layout *layout, enum sl_board_order order,
                            bool reverse, struct sl_canvas *canvas)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns[i];
        bool sorted = canvas->live && column->order == order;
        bool down = reverse == (column->order == SL_BY_NAME);
        char heading[32];
        if (layout->widths[i] == 0)
            continue;
        snprintf(heading, sizeof heading, "%s%s", column->heading, !sorted ? "" : down ? "↓" : "↑");
        draw_cell(canvas, (struct shown_column){ i, layout->widths[i] }, SL_BOLD, heading);
    }
    sl_canvas_line(canvas);
}

static enum sl_style style_of(const struct sl_board_rule *rule, const struct column *column)
{
    bool about_denials = column->order == SL_BY_DENIED || column->order == SL_BY_HIT_RATE;
    if (about_denials && rule->denied > 0)
        return rule->shadow ? SL_YELLOW : SL_RED;
    return rule->checks_per_s > 0 ? SL_PLAIN : SL_DIM;
}

void sl_rules_draw(const struct sl_board_rule *rule, const struct sl_rules_layout *layout,
                   struct sl_canvas *canvas)
{
    char cell[CELL_MAX];
    for (size_t i = 0; i < COLUMNS; i++) {
        if (layout->widths[i] != 0)
            draw_cell(canvas, (struct shown_column){ i, layout->widths[i] },
                      style_of(rule, &columns[i]), cell_of(rule, &columns[i], cell));
    }
    sl_canvas_line(canvas);
}
