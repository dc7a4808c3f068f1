/* A picture that is kept up to date on a terminal until somebody has seen enough.
 *
 * Looking may take its time (a server that does not answer, a table of gigabytes), and keys
 * must not wait for it: a thread of its own looks, the one that draws takes over
 * what it has seen. One look follows the other after `every_us`, and not before as much time
 * has passed as the last one took. */
#ifndef SL_CMD_TERMINAL_LIVE_H
#define SL_CMD_TERMINAL_LIVE_H

#include "cmd/terminal/canvas.h"
#include "cmd/terminal/terminal.h"

enum sl_pressed {
    SL_PRESSED_NOTHING, /* it means nothing here */
    SL_PRESSED_DRAW,
    SL_PRESSED_LOOK, /* now, and not when it is time */
};

struct sl_live {
    void *about;
    int64_t every_us;
    void (*look)(void *about);                           /* on its thread */
    void (*show)(void *about);                           /* shows from now on what was looked at */
    void (*draw)(void *about, struct sl_canvas *canvas); /* from top to bottom */
    enum sl_pressed (*press)(void *about, int key);      /* q, Q and ^C end it */
    bool paused;                                         /* by the space bar */
};

/* Until it is told to end. 0, or the signal that ended it, to be raised again; -1 and
 * error->text: it cannot start. While a look is on its way it does not come back: it ends the
 * program itself, because nobody knows how long that takes. */
int sl_live_run(struct sl_live *live, struct sluice_error *error);

/* One picture of what was looked at, on standard output and without escapes; as wide as the
 * terminal, or as it gets where there is none. */
void sl_live_print(const struct sl_live *live);

#endif
