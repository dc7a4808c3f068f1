/* The terminal: a screen to draw on, and keys.
 *
 * While it is open it shows the alternate screen, without a cursor, and keys come one by
 * one, without echo. However the program ends, the old screen is back: at exit, on a signal
 * that ends it, while it is stopped, and when it crashes. A process has one terminal, so
 * its state is static.
 *
 * sl_terminal_wait returns signals as events, and the wake-ups of other threads too
 * (sl_terminal_wake). */
#ifndef SL_CMD_TERMINAL_TERMINAL_H
#define SL_CMD_TERMINAL_TERMINAL_H

#include "base/text.h"

enum sl_keypress {
    SL_KEY_NONE, /* no key that is of use; else a character below 128, or: */
    SL_KEY_UP = 256,
    SL_KEY_DOWN,
    SL_KEY_LEFT,
    SL_KEY_RIGHT,
    SL_KEY_PAGE_UP,
    SL_KEY_PAGE_DOWN,
    SL_KEY_HOME,
    SL_KEY_END,
};

/* Reads the first key of what was typed. Returns how many bytes it used; 0 if the key is not
 * complete. */
size_t sl_key_parse(struct sluice_text typed, int *key);

/* Returns true if standard output is a terminal that can be drawn on. */
bool sl_terminal_is_there(void);

/* Returns false with error->text set. */
bool sl_terminal_open(struct sluice_error *error);
void sl_terminal_close(void);

struct sl_terminal_size {
    size_t columns, rows;
};

struct sl_terminal_size sl_terminal_size(void);

/* Writes all of it, however long the terminal takes. Returns false if the terminal is gone. */
bool sl_terminal_write(struct sluice_text text);

enum sl_event {
    SL_EVENT_NONE,  /* the time is over */
    SL_EVENT_KEY,   /* *number is an sl_key */
    SL_EVENT_WOKEN, /* by sl_terminal_wake */
    SL_EVENT_DRAW,  /* another size, or it is in front again */
    SL_EVENT_END,   /* *number is the signal, or 0: the terminal is gone */
};

/* Waits for an event, at most that long. */
enum sl_event sl_terminal_wait(int64_t at_most_us, int *number);

/* Wakes sl_terminal_wait; any thread may call it. */
void sl_terminal_wake(void);

#endif
