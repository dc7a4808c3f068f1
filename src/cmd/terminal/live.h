/* A live picture: refreshed on a terminal until a key or a signal ends it.
 *
 * A look may take long (a server that does not answer, a table of gigabytes), and keys must
 * not wait for it: one thread looks, another draws what was seen last. The next look starts
 * after `every_us`, but not before a pause as long as the last look took. */
#ifndef SL_CMD_TERMINAL_LIVE_H
#define SL_CMD_TERMINAL_LIVE_H

#include "cmd/terminal/canvas.h"
#include "cmd/terminal/terminal.h"

enum sl_pressed {
    SL_PRESSED_NOTHING, /* the key has no meaning here */
    SL_PRESSED_DRAW,
    SL_PRESSED_LOOK, /* look now, before the next look is due */
};

struct sl_live {
    void *about;
    int64_t every_us;
    void (*look)(void *about); /* on its thread */
    void (*show)(void *about); /* makes the last look the one that is drawn */
    void (*draw)(void *about, struct sl_canvas *canvas); /* from top to bottom */
    enum sl_pressed (*press)(void *about, int key);      /* q, Q and ^C end it */
    bool paused;                                         /* by the space bar */
};

/* Runs until a key or a signal ends it. Returns 0, or the signal, to be raised again; -1 with
 * error->text if it cannot start. If a look is under way it ends the program and does not
 * return: the look may take any time. */
int sl_live_run(struct sl_live *live, struct sluice_error *error);

/* Prints one picture of the last look on standard output, without escapes; as wide as the
 * terminal, or of any width without one. */
void sl_live_print(const struct sl_live *live);

#endif
