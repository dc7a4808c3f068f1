/* sluice top for a table: its figures as levels and as rates, without a server.
 *
 * A rate is the change since the previous look, so it takes two looks to show one. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cmd/input/table_look.h"
#include "cmd/terminal/printable.h"
#include "cmd/terminal/screen.h"
#include "cmd/top/top.h"

struct table_reading {
    struct sl_table_figures figures;
    int64_t at_ns;
};

struct table_view {
    const struct sl_board *board;
    struct sl_live live;
    /* The looking thread's: */
    struct sl_store *store;
    dev_t device; /* which file it is: another file may get its name */
    ino_t file;
    struct table_reading next;
    struct sluice_error error;
    /* The drawing thread's: */
    struct table_reading before, shown;
    char failure[sizeof(struct sluice_error)];
    bool has_shown, has_before, helps;
};

/* ---- looking ---- */

static void close_store(struct table_view *view)
{
    sl_table_look_close(view->store);
    view->store = NULL;
}

/* Opens the table that has the name now. */
static bool open_store(struct table_view *view)
{
    struct stat status = { 0 };
    bool is_there = stat(view->board->file, &status) == 0;
    if (!is_there || status.st_dev != view->device || status.st_ino != view->file)
        close_store(view);
    if (!view->store)
        view->store = sl_table_look_open(view->board->file, &view->error);
    view->device = status.st_dev;
    view->file = status.st_ino;
    return view->store != NULL;
}

static void look_at_table(void *about)
{
    struct table_view *view = about;
    view->error = (struct sluice_error){ 0 };
    view->next = (struct table_reading){ 0 };
    if (open_store(view) &&
        sl_table_look_now(view->store, view->board->file, &view->next.figures, &view->error))
        view->next.at_ns = sl_monotonic_ns();
}

/* Returns true if both looks were at the same table and nothing was lost: there is a rate. */
static bool goes_on(const struct table_reading *before, const struct table_reading *next)
{
    return before->figures.created_at_us == next->figures.created_at_us &&
           before->figures.stats.insertions <= next->figures.stats.insertions;
}

static void show_reading(void *about)
{
    struct table_view *view = about;
    bool good = view->next.at_ns != 0;
    snprintf(view->failure, sizeof view->failure, "%s", good ? "" : view->error.text);
    if (!good)
        return;
    view->has_before = view->has_shown && goes_on(&view->shown, &view->next);
    view->before = view->shown;
    view->shown = view->next;
    view->has_shown = true;
}

/* ---- drawing ---- */

enum { BAR = 20 };

#define STAT(field) offsetof(struct sluice_stats, field)
#define NO_WHOLE    SIZE_MAX

static const struct row {
    const char *name;
    size_t offset;
    size_t whole; /* the bar shows this row as a part of it */
    const char *of;
    bool bytes;
} rows[] = {
    { "keys live", STAT(live), STAT(slots), "of those it is meant for", false },
    { "limiting", STAT(limiting), STAT(live), "of the live ones", false },
    { "insertions", STAT(insertions), NO_WHOLE, "new keys", false },
    { "evictions", STAT(evictions), NO_WHOLE, "live states given up for want of room", false },
    { "full answers", STAT(full), NO_WHOLE, "only limiting states were left", false },
    { "reservations", STAT(reservations), NO_WHOLE, "held", false },
    { "keys with logs", STAT(log_live), NO_WHOLE, "", false },
    { "log area", STAT(log_used_bytes), STAT(log_bytes), "in use", true },
};

static uint64_t stat_of(const struct table_reading *seen, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)&seen->figures.stats + offset);
}

enum { RATE_MAX = SL_FIGURE_MAX + 1 };

/* "+1.5", "-3"; "0" where nothing changed. */
static const char *rate_of(const struct table_view *view, const struct row *row, char out[RATE_MAX])
{
    char number[SL_FIGURE_MAX];
    uint64_t now = stat_of(&view->shown, row->offset), then = stat_of(&view->before, row->offset);
    double seconds = (double)(view->shown.at_ns - view->before.at_ns) / 1e9;
    double change = (double)(now > then ? now - then : then - now) / seconds;
    if (!view->has_before)
        return "-";
    if (row->bytes)
        sl_screen_bytes((uint64_t)change, number);
    else
        sl_screen_count(change, number);
    snprintf(out, RATE_MAX, "%s%s", now == then ? "" : now > then ? "+" : "-", number);
    return out;
}

static void draw_part(const struct table_view *view, const struct row *row,
                      struct sl_canvas *canvas)
{
    char share[SL_FIGURE_MAX];
    uint64_t whole = stat_of(&view->shown, row->whole);
    /* Half of the slots should be free. */
    double of = row->whole == STAT(slots) ? (double)whole / 2 : (double)whole;
    double part = of > 0 ? (double)stat_of(&view->shown, row->offset) / of : 0;
    sl_canvas_bar(canvas, part, BAR);
    sl_canvas_cell(canvas, part >= 1 ? SL_RED : SL_PLAIN, sl_screen_share(part, share), 7);
    sl_canvas_text(canvas, SL_PLAIN, " ");
}

static void draw_row(const struct table_view *view, const struct row *row, struct sl_canvas *canvas)
{
    char number[SL_FIGURE_MAX], rate[RATE_MAX];
    uint64_t level = stat_of(&view->shown, row->offset);
    bool is_bad = (row->offset == STAT(evictions) || row->offset == STAT(full)) && level > 0;
    if (row->bytes)
        sl_screen_bytes(level, number);
    else
        snprintf(number, sizeof number, "%" PRIu64, level);
    sl_canvas_cell(canvas, SL_PLAIN, row->name, -14);
    sl_canvas_cell(canvas, is_bad ? SL_RED : SL_PLAIN, number, 12);
    sl_canvas_cell(canvas, SL_PLAIN, rate_of(view, row, rate), 10);
    sl_canvas_text(canvas, SL_PLAIN, "  ");
    if (row->whole != NO_WHOLE)
        draw_part(view, row, canvas);
    sl_canvas_text(canvas, SL_DIM, row->of);
    sl_canvas_line(canvas);
}

static void draw_items(const struct table_view *view, struct sl_arena *arena,
                       struct sl_canvas *canvas)
{
    const struct sl_table_figures *figures = &view->shown.figures;
    char text[SL_FIGURE_MAX], age[SL_DURATION_MAX];
    int64_t age_us = figures->now_us - figures->created_at_us;
    sl_canvas_item(canvas, SL_BOLD, sl_printable_copy(arena, sl_text(view->board->file)));
    if (view->has_shown) {
        sl_canvas_item(canvas, SL_PLAIN, sl_screen_bytes(figures->stats.size_bytes, text));
        sl_canvas_item(canvas, SL_PLAIN,
                       sl_arena_print(arena, "%" PRIu64 " slots", figures->stats.slots));
        sl_canvas_item(canvas, SL_PLAIN,
                       sl_arena_print(arena, "created %s ago", sl_screen_age(age_us, age)));
    }
    if (*view->failure)
        sl_canvas_words(canvas, SL_RED, sl_printable_copy(arena, sl_text(view->failure)));
    else if (!view->has_shown)
        sl_canvas_item(canvas, SL_PLAIN, "counting keys, slot by slot");
    if (view->live.paused)
        sl_canvas_item(canvas, SL_REVERSED, "paused");
    sl_canvas_line(canvas);
}

static void draw_help(struct sl_canvas *canvas)
{
    static const char *const lines[] = {
        "space   pause, and go on",
        "q       quit",
        "",
        "A rate is the change since the previous look. A table",
        "holds digests and no names: only a server can show rules",
        "and callers (sluice top, without a file).",
        "",
        "any key: back",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        sl_canvas_text(canvas, SL_PLAIN, lines[i]);
        sl_canvas_line(canvas);
    }
}

static void draw_view(void *about, struct sl_canvas *canvas)
{
    struct table_view *view = about;
    struct sl_arena arena = { 0 };
    if (view->helps) {
        draw_help(canvas);
        return;
    }
    draw_items(view, &arena, canvas);
    sl_arena_release(&arena);
    if (!view->has_shown)
        return;
    sl_canvas_line(canvas);
    sl_canvas_cell(canvas, SL_BOLD, "NOW", 26);
    sl_canvas_cell(canvas, SL_BOLD, "A SECOND", 10);
    sl_canvas_line(canvas);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        draw_row(view, &rows[i], canvas);
    if (canvas->rows == 0)
        return;
    while (sl_canvas_left(canvas) > 1)
        sl_canvas_line(canvas);
    sl_canvas_text(canvas, SL_DIM, "? help  q quit");
}

static enum sl_pressed press_key(void *about, int key)
{
    struct table_view *view = about;
    view->helps = !view->helps && key == '?';
    return SL_PRESSED_DRAW;
}

/* ---- the command ---- */

static int print_once(const struct sl_command *command, struct table_view *view)
{
    look_at_table(view);
    show_reading(view);
    if (view->has_shown) {
        sl_sleep_us(view->board->every_us);
        look_at_table(view);
        show_reading(view);
    }
    if (*view->failure)
        sl_admin_say(command, "%s", view->failure);
    else
        sl_live_print(&view->live);
    return *view->failure ? 2 : 0;
}

int sl_board_table(const struct sl_command *command, const struct sl_board *board)
{
    struct table_view view = { .board = board };
    view.live = (struct sl_live){
        .about = &view,
        .every_us = board->every_us,
        .look = look_at_table,
        .show = show_reading,
        .draw = draw_view,
        .press = press_key,
    };
    int code = board->once ? print_once(command, &view) : sl_board_watch(command, &view.live);
    close_store(&view);
    return code;
}
