/* Commands are no part of the library, so the files themselves are taken in. */
#include "cmd/terminal/canvas.h"
#include "cmd/terminal/printable.h"

#include "unit/base/unit.h"

static struct sl_canvas canvas_of(size_t columns, size_t rows)
{
    return (struct sl_canvas){ .out = sl_buffer(SIZE_MAX), .columns = columns, .rows = rows };
}

static void it_is(struct sl_canvas *canvas, const char *wanted)
{
    SAME_TEXT("canvas", ((struct sluice_text){ canvas->out.at, canvas->out.len }), wanted);
    sl_buffer_release(&canvas->out);
}

TEST(a_cell_stands_left_or_right_and_is_cut)
{
    struct sl_canvas canvas = canvas_of(0, 0);
    sl_canvas_begin(&canvas);
    sl_canvas_cell(&canvas, SL_BOLD, "ab", 4);
    sl_canvas_cell(&canvas, SL_PLAIN, "ab", -4);
    sl_canvas_cell(&canvas, SL_PLAIN, "abcdef", 4);
    sl_canvas_cell(&canvas, SL_PLAIN, "r\xc3\xb6\xc3\xb6t", -4);
    sl_canvas_cell(&canvas, SL_PLAIN, "r\xc3\xb6\xc3\xb6t", 3);
    sl_canvas_cell(&canvas, SL_PLAIN, "none", 0);
    sl_canvas_line(&canvas);
    sl_canvas_end(&canvas);
    it_is(&canvas, "  abab  abc…r\xc3\xb6\xc3\xb6tr\xc3\xb6…\n");
}

TEST(nothing_goes_past_the_right_edge)
{
    for (size_t columns = 1; columns < 12; columns++) {
        struct sl_canvas canvas = canvas_of(columns, 0);
        sl_canvas_begin(&canvas);
        sl_canvas_cell(&canvas, SL_PLAIN, "abc", 5);
        sl_canvas_text(&canvas, SL_PLAIN, "defghi");
        sl_canvas_cell(&canvas, SL_PLAIN, "j", -9);
        sl_canvas_bar(&canvas, 0.5, 4);
        struct sluice_text line = { canvas.out.at, canvas.out.len };
        assert_int_equal(sl_printable_width(line), columns);
        assert_int_equal(canvas.column, columns);
        sl_buffer_release(&canvas.out);
    }
}

TEST(a_picture_does_not_scroll)
{
    struct sl_canvas canvas = canvas_of(3, 2);
    canvas.live = true;
    sl_canvas_begin(&canvas);
    for (int i = 0; i < 5; i++) {
        sl_canvas_text(&canvas, SL_RED, "abcd");
        sl_canvas_line(&canvas);
    }
    sl_canvas_end(&canvas);
    it_is(&canvas, "\033[Hab…\r\nab…");
}

TEST(what_stood_there_before_is_erased)
{
    struct sl_canvas canvas = canvas_of(3, 4);
    canvas.live = canvas.colour = true;
    sl_canvas_begin(&canvas);
    sl_canvas_text(&canvas, SL_RED, "ab");
    sl_canvas_line(&canvas);
    sl_canvas_line(&canvas);
    sl_canvas_text(&canvas, SL_PLAIN, "c");
    sl_canvas_end(&canvas);
    it_is(&canvas, "\033[H\033[31mab\033[0m\033[K\r\n\033[K\r\nc\033[J");
}

TEST(items_go_on_in_the_next_line)
{
    struct sl_canvas canvas = canvas_of(10, 0);
    sl_canvas_begin(&canvas);
    sl_canvas_item(&canvas, SL_PLAIN, "abcd");
    sl_canvas_item(&canvas, SL_PLAIN, "efgh");
    sl_canvas_item(&canvas, SL_PLAIN, "i");
    sl_canvas_words(&canvas, SL_PLAIN, "j kl mnop and_much_longer");
    sl_canvas_line(&canvas);
    it_is(&canvas, "abcd  efgh\ni  j kl\nmnop\nand_much_…\n");
}

TEST(items_past_their_lines_are_left_out)
{
    struct sl_canvas canvas = canvas_of(10, 0);
    canvas.item_rows = 2;
    sl_canvas_begin(&canvas);
    sl_canvas_item(&canvas, SL_PLAIN, "abcdefgh");
    sl_canvas_item(&canvas, SL_PLAIN, "ijklmn");
    sl_canvas_item(&canvas, SL_PLAIN, "too much");
    sl_canvas_item(&canvas, SL_PLAIN, "op");
    sl_canvas_line(&canvas);
    it_is(&canvas, "abcdefgh\nijklmn  op\n");
}

TEST(a_bar_is_empty_or_full_only_if_it_is)
{
    static const struct {
        double part;
        const char *text;
    } rows[] = {
        { -1, "[....]" },  { 0, "[....]" },      { 0.0001, "[#...]" }, { 0.5, "[##..]" },
        { 0.8, "[###.]" }, { 0.9999, "[###.]" }, { 1, "[####]" },      { 7, "[####]" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_canvas canvas = canvas_of(0, 0);
        sl_canvas_begin(&canvas);
        sl_canvas_bar(&canvas, rows[i].part, 4);
        it_is(&canvas, rows[i].text);
    }
}
