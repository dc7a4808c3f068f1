/* A picture of lines and cells, made whole in memory and then written at once: for a
 * terminal, where it replaces the previous one, or as plain text.
 *
 * Texts are printable already (printable.h). Text too wide for its cell or line is cut, and
 * lines beyond the screen are left out: a picture never scrolls. Each character counts as
 * one column; a wide character only shifts the rest of its line. */
#ifndef SL_CMD_TERMINAL_CANVAS_H
#define SL_CMD_TERMINAL_CANVAS_H

#include "base/buffer.h"

enum sl_style { SL_PLAIN, SL_BOLD, SL_DIM, SL_RED, SL_YELLOW, SL_REVERSED };

/* Zero, and sl_buffer(…): plain text as long and as wide as it gets. */
struct sl_canvas {
    struct sl_buffer out;
    size_t columns, rows; /* 0: no limit */
    size_t item_rows;     /* the most lines for items: further items are left out; 0: no limit */
    bool colour;
    bool live;          /* erases the previous picture */
    size_t column, row; /* where the next text goes */
};

/* Begins a picture; a live one at the top left corner. */
void sl_canvas_begin(struct sl_canvas *canvas);
void sl_canvas_end(struct sl_canvas *canvas);

/* Adds text, cut at the end of the line. */
void sl_canvas_text(struct sl_canvas *canvas, enum sl_style style, const char *text);

/* Adds a cell, aligned as by printf's %*s: to the right, or to the left for a negative width. */
void sl_canvas_cell(struct sl_canvas *canvas, enum sl_style style, const char *text, int width);

/* Adds an item two columns behind the last one, or on the next line if it does not fit. */
void sl_canvas_item(struct sl_canvas *canvas, enum sl_style style, const char *text);

/* The same word by word, so that a long text continues on the next line. */
void sl_canvas_words(struct sl_canvas *canvas, enum sl_style style, const char *text);

/* "[####......]": `part` of a whole that is 1, in so many columns between the brackets. */
void sl_canvas_bar(struct sl_canvas *canvas, double part, int width);

/* Ends the line. */
void sl_canvas_line(struct sl_canvas *canvas);

/* Returns how many more lines fit; SIZE_MAX: no limit. */
size_t sl_canvas_left(const struct sl_canvas *canvas);

#endif
