/* Draws texts and cells into a picture, cut to its size. */
#include "cmd/terminal/canvas.h"

#include "base/arena.h"
#include "cmd/terminal/printable.h"

static const char *const styles[] = {
    [SL_PLAIN] = "",       [SL_BOLD] = "\033[1m",    [SL_DIM] = "\033[2m",
    [SL_RED] = "\033[31m", [SL_YELLOW] = "\033[33m", [SL_REVERSED] = "\033[7m",
};

static void add_text(struct sl_canvas *canvas, const char *text)
{
    sl_buffer_add(&canvas->out, sl_text(text));
}

size_t sl_canvas_left(const struct sl_canvas *canvas)
{
    if (canvas->rows == 0)
        return SIZE_MAX;
    return canvas->row < canvas->rows ? canvas->rows - canvas->row : 0;
}

static size_t columns_left(const struct sl_canvas *canvas)
{
    if (canvas->columns == 0)
        return SIZE_MAX;
    return canvas->column < canvas->columns ? canvas->columns - canvas->column : 0;
}

/* Returns the length in bytes of the first `most` characters. */
static size_t bytes_of(struct sluice_text text, size_t most)
{
    size_t at = 0;
    for (; at < text.len; at++) {
        if (!sl_utf8_continues(text.at[at]) && most-- == 0)
            break;
    }
    return at;
}

/* Writes the text in at most that many columns; the last one marks a cut. */
static void put_cut(struct sl_canvas *canvas, enum sl_style style, const char *text, size_t most)
{
    struct sluice_text all = sl_text(text);
    size_t width = sl_printable_width(all), room = columns_left(canvas);
    most = most < room ? most : room;
    if (most == 0 || width == 0 || sl_canvas_left(canvas) == 0)
        return;
    bool whole = width <= most, styled = canvas->colour && style != SL_PLAIN;
    add_text(canvas, styled ? styles[style] : "");
    sl_buffer_add(&canvas->out,
                  (struct sluice_text){ text, whole ? all.len : bytes_of(all, most - 1) });
    add_text(canvas, whole ? "" : "…");
    add_text(canvas, styled ? "\033[0m" : "");
    canvas->column += whole ? width : most;
}

static void put_blanks(struct sl_canvas *canvas, size_t count)
{
    size_t room = sl_canvas_left(canvas) ? columns_left(canvas) : 0;
    count = count < room ? count : room;
    canvas->column += count;
    for (; count > 0; count--)
        add_text(canvas, " ");
}

void sl_canvas_begin(struct sl_canvas *canvas)
{
    sl_buffer_clear(&canvas->out);
    canvas->column = canvas->row = 0;
    add_text(canvas, canvas->live ? "\033[H" : "");
}

/* Below the last line the previous picture may have left lines: they are erased. */
void sl_canvas_end(struct sl_canvas *canvas)
{
    if (canvas->live && sl_canvas_left(canvas) > 0 && columns_left(canvas) > 0)
        add_text(canvas, "\033[J");
}

void sl_canvas_text(struct sl_canvas *canvas, enum sl_style style, const char *text)
{
    put_cut(canvas, style, text, SIZE_MAX);
}

void sl_canvas_cell(struct sl_canvas *canvas, enum sl_style style, const char *text, int width)
{
    size_t wide = (size_t)(width < 0 ? -width : width);
    size_t took = sl_printable_width(sl_text(text));
    size_t blanks = took < wide ? wide - took : 0;
    if (width > 0)
        put_blanks(canvas, blanks);
    put_cut(canvas, style, text, wide);
    if (width < 0)
        put_blanks(canvas, blanks);
}

/* Writes behind the last text, `gap` columns apart. */
static void put_behind(struct sl_canvas *canvas, enum sl_style style, const char *text, size_t gap)
{
    size_t width = sl_printable_width(sl_text(text)), left = columns_left(canvas);
    if (canvas->column > 0 && (left < gap || left - gap < width)) {
        if (canvas->item_rows > 0 && canvas->row + 1 >= canvas->item_rows)
            return;
        sl_canvas_line(canvas);
    }
    if (canvas->column > 0)
        put_blanks(canvas, gap);
    sl_canvas_text(canvas, style, text);
}

void sl_canvas_item(struct sl_canvas *canvas, enum sl_style style, const char *text)
{
    put_behind(canvas, style, text, 2);
}

void sl_canvas_words(struct sl_canvas *canvas, enum sl_style style, const char *text)
{
    struct sl_arena arena = { 0 };
    char *rest = sl_arena_copy(&arena, sl_text(text)), *word;
    for (size_t gap = 2; (word = strsep(&rest, " ")) != NULL; gap = 1)
        put_behind(canvas, style, word, gap);
    sl_arena_release(&arena);
}

void sl_canvas_bar(struct sl_canvas *canvas, double part, int width)
{
    int filled = part <= 0 ? 0 : part >= 1 ? width : (int)(part * width);
    /* Show a little for nearly nothing, and a gap for nearly all. */
    filled = part > 0 && filled == 0 ? 1 : part < 1 && filled == width ? width - 1 : filled;
    sl_canvas_text(canvas, SL_PLAIN, "[");
    for (int i = 0; i < width; i++)
        sl_canvas_text(canvas, SL_PLAIN, i < filled ? "#" : ".");
    sl_canvas_text(canvas, SL_PLAIN, "]");
}

/* On a screen a line end goes before each line but the first: one behind the last line would
 * scroll. After a full line the cursor stands on its last character, which must not be erased. */
void sl_canvas_line(struct sl_canvas *canvas)
{
    if (sl_canvas_left(canvas) == 0)
        return;
    if (canvas->live && columns_left(canvas) > 0)
        add_text(canvas, "\033[K");
    canvas->row++;
    canvas->column = 0;
    if (!canvas->live || sl_canvas_left(canvas) > 0)
        add_text(canvas, canvas->live ? "\r\n" : "\n");
}
