/* Commands are no part of the library, so the files themselves are taken in. */
#include "cmd/terminal/canvas.h"
#include "cmd/terminal/printable.h"
#include "cmd/top/top_picture.h"
#include "cmd/top/top_rules.h"

#include "cmd/terminal/screen.h"

#include "unit/base/unit.h"

static struct sl_board_rule api = {
    .name = "api",
    .shown = "api",
    .algorithm = "token_bucket",
    .checks_per_s = 166.7,
    .allowed = 8000,
    .denied = 2000,
    .hit_rate = 0.2,
    .p50_us = 1.2,
    .p99_us = 4.1,
    .in_use = 0.41,
    .callers = 30,
    .callers_limited = 4,
    .most_limited = "acme/somebody@example.com",
};

static struct sl_board_who limited[] = {
    { "acme/somebody@example.com", "api", 1500, 0 },
    { "u2", "~trial", 500, 20 },
    { "u3", "api", 2, 0 },
};

static struct sl_board_figures figures_of(struct sl_board_rule *rules, size_t count)
{
    return (struct sl_board_figures){
        .uptime_s = 8000,
        .checks_per_s = 166.7,
        .denied_share = 0.2,
        .p50_us = 1.2,
        .p99_us = 4.1,
        .store = "memory:",
        .slots = 100,
        .live = 10,
        .rules = rules,
        .rule_count = count,
        .rules_total = (double)count,
        .limited = limited,
        .limited_count = COUNT(limited),
    };
}

static struct sl_picture picture_of(const struct sl_board_figures *figures)
{
    return (struct sl_picture){
        .server = "http://x",
        .window = "minute",
        .figures = figures,
        .every_us = 1000000,
        .order = SL_BY_DENIED,
    };
}

/* As one text, to be freed. */
static char *drawn(struct sl_picture *picture, size_t wide, size_t high)
{
    struct sl_canvas canvas = { .out = sl_buffer(SIZE_MAX), .columns = wide, .rows = high };
    sl_canvas_begin(&canvas);
    sl_picture_draw(picture, &canvas);
    sl_canvas_end(&canvas);
    sl_buffer_add(&canvas.out, (struct sluice_text){ "", 1 });
    return canvas.out.at;
}

static void it_draws(struct sl_picture *picture, size_t wide, size_t high, const char *wanted)
{
    char *text = drawn(picture, wide, high);
    assert_string_equal(text, wanted);
    free(text);
}

TEST(there_is_room_for_all_of_it)
{
    struct sl_board_figures figures = figures_of(&api, 1);
    struct sl_picture picture = picture_of(&figures);
    it_draws(&picture, 0, 0,
             "http://x  up 2h 13m  last minute:  167 checks/s  20.0% denied  p50 1.2us  p99 4.1us"
             "  store memory:  table 20.0% full\n"
             "\n"
             "RULE   ALGORITHM      CHECKS/S   ALLOWED   DENIED     HIT     P50     P99  IN USE"
             "      CALLERS  MOST LIMITED\n"
             "api    token_bucket        167      8000     2000   20.0%   1.2us   4.1us   41.0%"
             "         4/30  acme/somebody@example.com\n"
             "\n"
             "     DENIED  RULE    LIMITED MOST, in the last hour\n"
             "       1500  api     acme/somebody@example.com\n"
             "    480-500  ~trial  u2\n"
             "          2  api     u3\n");
}

TEST(at_sixty_columns_some_are_left_out)
{
    struct sl_board_figures figures = figures_of(&api, 1);
    struct sl_picture picture = picture_of(&figures);
    figures.limited_count = 1;
    it_draws(&picture, 60, 13,
             "http://x  up 2h 13m  last minute:  167 checks/s\n"
             "20.0% denied  p50 1.2us  p99 4.1us  store memory:\n"
             "table 20.0% full\n"
             "\n"
             "RULE    CHECKS/S   DENIED     HIT     P99  MOST LIMITED\n"
             "api          167     2000   20.0%   4.1us  acme/somebody@ex…\n"
             "\n"
             "     DENIED  RULE  LIMITED MOST, in the last hour\n"
             "       1500  api   acme/somebody@example.com\n"
             "\n\n\n"
             "by denied  ? help  q quit");
}

static size_t width_of(const struct sl_rules_layout *layout)
{
    int width = -2;
    for (size_t i = 0; i < SL_RULES_COLUMNS; i++)
        width += layout->widths[i] ? abs(layout->widths[i]) + 2 : 0;
    return (size_t)width;
}

TEST(columns_fit_however_narrow_it_is)
{
    struct sl_board_rule rules[] = { api, api };
    rules[1].shown = "a-name-of-thirty-characters-is-long";
    struct sl_board_figures figures = figures_of(rules, 2);
    size_t before = 0;
    for (size_t width = 36; width < 300; width++) {
        struct sl_rules_layout layout;
        size_t shown = 0;
        sl_rules_lay_out(&figures, width, &layout);
        assert_true(width_of(&layout) <= width);
        for (size_t i = 0; i < SL_RULES_COLUMNS; i++)
            shown += layout.widths[i] != 0;
        assert_true(shown >= before && shown >= 4);
        assert_true(layout.widths[0] <= -4 && layout.widths[0] >= -28);
        before = shown;
    }
    assert_int_equal(before, SL_RULES_COLUMNS);
}

enum { MANY = 40 };

static void fill_rules(struct sl_board_rule *rules, char names[MANY][16])
{
    for (int i = 0; i < MANY; i++) {
        rules[i] = api;
        snprintf(names[i], sizeof names[i], "r%02d", i);
        rules[i].name = rules[i].shown = names[i];
    }
}

static size_t lines_of(const char *text)
{
    size_t lines = 1;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

TEST(rules_are_scrolled_and_the_screen_never_is)
{
    struct sl_board_rule rules[MANY];
    char names[MANY][16];
    fill_rules(rules, names);
    struct sl_board_figures figures = figures_of(rules, MANY);
    for (size_t rows = 1; rows < 60; rows++) {
        struct sl_picture picture = picture_of(&figures);
        picture.scrolled = 1000;
        char *text = drawn(&picture, 80, rows);
        /* Behind the last line of a text there is an end, too. */
        assert_in_range(lines_of(text), 1, rows + 1);
        assert_int_equal(picture.scrolled + picture.page, MANY);
        if (rows > 5) {
            assert_true(picture.page > 0);
            assert_non_null(strstr(text, "\nr39 "));
        }
        if (rows > 12 && picture.page < MANY)
            assert_non_null(strstr(text, "-40 of 40"));
        free(text);
    }
}

TEST(rules_and_identifiers_share_what_there_is)
{
    struct sl_board_rule rules[MANY];
    char names[MANY][16];
    fill_rules(rules, names);
    struct sl_board_figures figures = figures_of(rules, MANY);
    struct sl_picture picture = picture_of(&figures);
    free(drawn(&picture, 200, 20)); /* head, blank, headings, footer: 16 are left */
    assert_int_equal(picture.page, 11);
    figures.rule_count = 12;
    free(drawn(&picture, 200, 20));
    assert_int_equal(picture.page, 11);
    figures.rule_count = 11;
    free(drawn(&picture, 200, 20));
    assert_int_equal(picture.page, 11);
    figures.limited_count = 0;
    figures.rule_count = 16;
    free(drawn(&picture, 200, 20));
    assert_int_equal(picture.page, 16);
}

TEST(what_is_wrong_stands_in_the_head)
{
    struct sl_board_figures figures = figures_of(&api, 1);
    struct sl_picture picture = picture_of(NULL);
    it_draws(&picture, 0, 0, "http://x  asking\n");
    picture.failure = "no answer from `http://x` within 5s";
    it_draws(&picture, 0, 0, "http://x  no answer from `http://x` within 5s  (asking again)\n");
    it_draws(&picture, 30, 0, "http://x  no answer from\n`http://x` within 5s  (asking\nagain)\n");
    picture.figures = &figures;
    picture.age_us = 12400000;
    picture.paused = true;
    figures.store_why = "timed out";
    char *text = drawn(&picture, 0, 0);
    assert_non_null(strstr(text, "within 5s  paused  figures are 12s old  up 2h 13m"));
    assert_non_null(strstr(text, "  store memory: fails: timed out  "));
    free(text);
    picture.age_us = 2000000;
    text = drawn(&picture, 0, 0);
    assert_null(strstr(text, "old"));
    free(text);
}

TEST(the_busiest_are_not_all)
{
    struct sl_board_figures figures = figures_of(&api, 1);
    struct sl_picture picture = picture_of(&figures);
    figures.rules_total = 3000;
    figures.unseen = 7;
    picture.reverse = true;
    char *text = drawn(&picture, 200, 20);
    assert_non_null(strstr(text, "  the 1 busiest of 3000 rules\n"));
    assert_non_null(strstr(text, "\nby denied, reversed  ? help"));
    assert_non_null(strstr(text, "in the last hour; too quick to tell whose: 7\n"));
    free(text);
}

TEST(the_column_that_sorts_has_an_arrow)
{
    static const struct {
        enum sl_board_order order;
        bool reverse;
        const char *heading;
    } rows[] = {
        { SL_BY_DENIED, false, "DENIED↓" },   { SL_BY_DENIED, true, "DENIED↑" },
        { SL_BY_NAME, false, "RULE↑" },       { SL_BY_NAME, true, "RULE↓" },
        { SL_BY_CHECKS, false, "CHECKS/S↓" }, { SL_BY_P99, false, "P99↓" },
        { SL_BY_HIT_RATE, false, "HIT↓" },    { SL_BY_ALLOWED, false, "ALLOWED↓" },
    };
    struct sl_board_figures figures = figures_of(&api, 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_canvas canvas = { .out = sl_buffer(SIZE_MAX), .live = true };
        struct sl_rules_layout layout;
        sl_rules_lay_out(&figures, 200, &layout);
        sl_rules_draw_headings(&layout, rows[i].order, rows[i].reverse, &canvas);
        sl_buffer_add(&canvas.out, (struct sluice_text){ "", 1 });
        assert_non_null(strstr(canvas.out.at, rows[i].heading));
        sl_buffer_release(&canvas.out);
    }
}
