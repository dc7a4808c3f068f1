/* Draws the picture of `sluice top` for a server. */
#include "cmd/top/top_picture.h"

#include <stdarg.h>
#include <stdio.h>

#include "cmd/terminal/printable.h"
#include "cmd/terminal/screen.h"
#include "cmd/top/top_rules.h"

const char *const sl_order_names[] = {
    [SL_BY_NAME] = "name",     [SL_BY_CHECKS] = "checks",     [SL_BY_ALLOWED] = "allowed",
    [SL_BY_DENIED] = "denied", [SL_BY_HIT_RATE] = "hit_rate", [SL_BY_P99] = "p99",
    [SL_ORDERS] = NULL,
};

/* ---- head ---- */

__attribute__((format(printf, 3, 4))) static void item(struct sl_canvas *canvas,
                                                       enum sl_style style, const char *format, ...)
{
    struct sl_arena arena = { 0 };
    va_list arguments;
    va_start(arguments, format);
    sl_canvas_item(canvas, style, sl_arena_vprint(&arena, format, arguments));
    va_end(arguments);
    sl_arena_release(&arena);
}

static void draw_store(const struct sl_board_figures *figures, struct sl_canvas *canvas)
{
    char share[SL_FIGURE_MAX];
    if (figures->store_why)
        item(canvas, SL_RED, "store %s fails: %s", figures->store, figures->store_why);
    else
        item(canvas, SL_PLAIN, "store %s", figures->store);
    /* Half of the slots should be free. */
    if (figures->slots > 0)
        item(canvas, SL_PLAIN, "table %s full",
             sl_screen_share(figures->live / (figures->slots / 2), share));
}

static void draw_decisions(const struct sl_picture *picture, struct sl_canvas *canvas)
{
    const struct sl_board_figures *figures = picture->figures;
    char text[SL_FIGURE_MAX], up[SL_DURATION_MAX];
    if (figures->uptime_s >= 0 && figures->uptime_s < 1e10)
        item(canvas, SL_PLAIN, "up %s", sl_screen_age((int64_t)figures->uptime_s * 1000000, up));
    item(canvas, SL_PLAIN, "last %s:", picture->window);
    item(canvas, SL_PLAIN, "%s checks/s", sl_screen_count(figures->checks_per_s, text));
    item(canvas, figures->denied_share > 0 ? SL_YELLOW : SL_PLAIN, "%s denied",
         sl_screen_share(figures->denied_share, text));
    item(canvas, SL_PLAIN, "p50 %s", sl_screen_latency(figures->p50_us, text));
    item(canvas, SL_PLAIN, "p99 %s", sl_screen_latency(figures->p99_us, text));
    draw_store(figures, canvas);
    if (figures->rules_total > (double)figures->rule_count)
        item(canvas, SL_PLAIN, "the %zu busiest of %s rules", figures->rule_count,
             sl_screen_count(figures->rules_total, text));
}

/* Draws what is wrong, and the age of the figures. A look under way is shown only once it has
 * taken a while. */
static void draw_state(const struct sl_picture *picture, struct sl_canvas *canvas)
{
    char age[SL_DURATION_MAX];
    bool is_old = picture->age_us > picture->every_us + 3000000;
    if (picture->failure)
        sl_canvas_words(canvas, SL_RED, picture->failure);
    if (picture->failure && !picture->paused)
        sl_canvas_words(canvas, SL_RED, "(asking again)");
    if (picture->paused)
        item(canvas, SL_REVERSED, "paused");
    if (picture->figures && is_old)
        item(canvas, SL_YELLOW, "figures are %s old", sl_screen_age(picture->age_us, age));
    else if (!picture->figures && !picture->failure)
        item(canvas, SL_PLAIN, "asking");
}

/* Rules need most of the screen. */
static void draw_head(const struct sl_picture *picture, struct sl_canvas *canvas)
{
    canvas->item_rows = canvas->rows > 0 ? canvas->rows / 4 + 1 : 0;
    sl_canvas_item(canvas, SL_BOLD, picture->server);
    draw_state(picture, canvas);
    if (picture->figures)
        draw_decisions(picture, canvas);
    sl_canvas_line(canvas);
    canvas->item_rows = 0;
}

/* ---- rules, and the callers they limit ---- */

static void draw_rules(struct sl_picture *picture, size_t room, struct sl_canvas *canvas)
{
    const struct sl_board_figures *figures = picture->figures;
    struct sl_rules_layout layout;
    size_t page = room < figures->rule_count ? room : figures->rule_count;
    if (picture->scrolled > figures->rule_count - page)
        picture->scrolled = figures->rule_count - page;
    picture->page = page;
    sl_rules_lay_out(figures, canvas->columns, &layout);
    sl_rules_draw_headings(&layout, picture->order, picture->reverse, canvas);
    for (size_t i = 0; i < page; i++)
        sl_rules_draw(&figures->rules[picture->scrolled + i], &layout, canvas);
}

/* Returns "12", or "9-12" if the exact count is unknown. */
static const char *count_of(const struct sl_board_who *who, char out[2 * SL_FIGURE_MAX])
{
    char least[SL_FIGURE_MAX], most[SL_FIGURE_MAX];
    sl_screen_count(who->count, most);
    sl_screen_count(who->error < who->count ? who->count - who->error : 0, least);
    if (who->error > 0)
        snprintf(out, 2 * SL_FIGURE_MAX, "%s-%s", least, most);
    else
        snprintf(out, 2 * SL_FIGURE_MAX, "%s", most);
    return out;
}

static int rules_width(const struct sl_board_figures *figures, size_t count)
{
    size_t widest = 4;
    for (size_t i = 0; i < count; i++) {
        size_t width = sl_printable_width(sl_text(figures->limited[i].rule));
        widest = width > widest ? width : widest;
    }
    return -(int)(widest < 20 ? widest : 20);
}

static void draw_limited_heading(const struct sl_board_figures *figures, int width,
                                 struct sl_canvas *canvas)
{
    char unseen[SL_FIGURE_MAX];
    sl_canvas_line(canvas);
    sl_canvas_cell(canvas, SL_BOLD, "DENIED", 11);
    sl_canvas_text(canvas, SL_PLAIN, "  ");
    sl_canvas_cell(canvas, SL_BOLD, "RULE", width);
    sl_canvas_text(canvas, SL_BOLD, "  LIMITED MOST");
    sl_canvas_text(canvas, SL_PLAIN, ", in the last hour");
    if (figures->unseen > 0) {
        sl_canvas_text(canvas, SL_YELLOW, "; too quick to tell whose: ");
        sl_canvas_text(canvas, SL_YELLOW, sl_screen_count(figures->unseen, unseen));
    }
    sl_canvas_line(canvas);
}

/* Identifiers stand last: wide characters then shift nothing. */
static void draw_limited(const struct sl_board_figures *figures, size_t count,
                         struct sl_canvas *canvas)
{
    char text[2 * SL_FIGURE_MAX];
    int width = rules_width(figures, count);
    draw_limited_heading(figures, width, canvas);
    for (size_t i = 0; i < count; i++) {
        const struct sl_board_who *who = &figures->limited[i];
        sl_canvas_cell(canvas, SL_PLAIN, count_of(who, text), 11);
        sl_canvas_text(canvas, SL_PLAIN, "  ");
        sl_canvas_cell(canvas, SL_PLAIN, who->rule, width);
        sl_canvas_text(canvas, SL_PLAIN, "  ");
        sl_canvas_text(canvas, SL_PLAIN, who->who);
        sl_canvas_line(canvas);
    }
}

/* ---- the picture ---- */

enum { LIMITED_MOST = 10 };

/* Returns how many lines the list of callers takes with the two above it: the lines that rules
 * leave, or a third. */
static size_t lines_for_limited(const struct sl_board_figures *figures, size_t room)
{
    size_t count = figures->limited_count < LIMITED_MOST ? figures->limited_count : LIMITED_MOST;
    size_t spare = room > figures->rule_count ? room - figures->rule_count : 0;
    size_t most = spare > room / 3 ? spare : room / 3;
    size_t lines = most < count + 2 ? most : count + 2;
    return lines < 3 ? 0 : lines;
}

static void draw_footer(const struct sl_picture *picture, struct sl_canvas *canvas)
{
    const struct sl_board_figures *figures = picture->figures;
    if (figures->rule_count > picture->page)
        item(canvas, SL_DIM, "rules %zu-%zu of %zu", picture->scrolled + 1,
             picture->scrolled + picture->page, figures->rule_count);
    item(canvas, SL_DIM, "by %s%s", sl_order_names[picture->order],
         picture->reverse ? ", reversed" : "");
    item(canvas, SL_DIM, "? help");
    item(canvas, SL_DIM, "q quit");
}

/* Draws a blank line and a footer, if there is room for them. */
void sl_picture_draw(struct sl_picture *picture, struct sl_canvas *canvas)
{
    const struct sl_board_figures *figures = picture->figures;
    draw_head(picture, canvas);
    if (!figures)
        return;
    size_t left = sl_canvas_left(canvas), taken = left > 6 ? 3 : 1;
    size_t room = left > taken ? left - taken : 0;
    size_t limited = lines_for_limited(figures, room);
    if (taken > 1)
        sl_canvas_line(canvas);
    draw_rules(picture, room - limited, canvas);
    if (limited > 0)
        draw_limited(figures, limited - 2, canvas);
    if (taken == 1 || canvas->rows == 0)
        return;
    while (sl_canvas_left(canvas) > 1)
        sl_canvas_line(canvas);
    draw_footer(picture, canvas);
}

void sl_picture_draw_help(struct sl_canvas *canvas)
{
    static const char *const lines[] = {
        "n c a d h p  sort by name, checks, allowed, denied,",
        "             hit rate, p99",
        "< >          sort by the column to the left or right",
        "r            the other way round",
        "w            last minute, hour, day",
        "arrows, PgUp, PgDn, Home, End    scroll",
        "space        pause, and go on",
        "q            quit",
        "",
        "CHECKS/S is the mean of the window, other counts are all",
        "of it. HIT: the share that was denied. IN USE: how much of",
        "the limit decisions found in use. CALLERS: those limited,",
        "of all that the rule saw. ~ is a shadow rule: DENIED is",
        "what it would have denied.",
        "",
        "any key: back",
    };
    sl_canvas_text(canvas, SL_BOLD, "sluice top");
    sl_canvas_line(canvas);
    sl_canvas_line(canvas);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        sl_canvas_text(canvas, SL_PLAIN, lines[i]);
        sl_canvas_line(canvas);
    }
}
