/* A picture of lines and cells, made whole in memory and then written at once: for a
 * terminal, where it replaces the one before it, or as plain text.
 *
 * Texts are printable already (printable.h). What is too wide for its cell or for the line is
 * cut, what is too much for the screen left out: a picture never scrolls. Each character
 * counts as a column; one that takes two only moves what stands to the right of it. */
#ifndef SL_CMD_TERMINAL_CANVAS_H
#define SL_CMD_TERMINAL_CANVAS_H

#include "base/buffer.h"

enum sl_style { SL_PLAIN, SL_BOLD, SL_DIM, SL_RED, SL_YELLOW, SL_REVERSED };

/* Zero, and sl_buffer(…): plain text as long and as wide as it gets. */
struct sl_canvas {
    struct sl_buffer out;
    size_t columns, rows; /* 0: as many as it takes */
    size_t item_rows;     /* items take at most so many lines: others are left out; 0: any number */
    bool colour;
    bool live;          /* erases what stood there before */
    size_t column, row; /* where the next text goes */
};

/* Begins at the top left corner, if it is live. */
void sl_canvas_begin(struct sl_canvas *canvas);
void sl_canvas_end(struct sl_canvas *canvas);

/* As far as the line goes. */
void sl_canvas_text(struct sl_canvas *canvas, enum sl_style style, const char *text);

/* As wide as printf's %*s: to the right, or to the left where the width is negative. */
void sl_canvas_cell(struct sl_canvas *canvas, enum sl_style style, const char *text, int width);

/* Behind what is in the line, two columns apart; if it does not fit, on the next one. */
void sl_canvas_item(struct sl_canvas *canvas, enum sl_style style, const char *text);

/* The same word by word, so that a long text goes on in the next line. */
void sl_canvas_words(struct sl_canvas *canvas, enum sl_style style, const char *text);

/* "[####......]": `part` of a whole that is 1, in so many columns between the brackets. */
void sl_canvas_bar(struct sl_canvas *canvas, double part, int width);

/* Ends the line. */
void sl_canvas_line(struct sl_canvas *canvas);

/* How many lines there is room for; SIZE_MAX: any number. */
size_t sl_canvas_left(const struct sl_canvas *canvas);

#endif
