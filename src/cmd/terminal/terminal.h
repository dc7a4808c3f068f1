/* The terminal as a screen that is drawn on and keys that are pressed.
 *
 * While it is open there is another screen in front of the one that was there, without a
 * cursor, and keys come one by one, unseen. However the program ends, the old one
 * is back: at exit, on a signal that asks it to end, while it is stopped, and when it
 * breaks. There is one terminal to a process, so its state is the file's own.
 *
 * Signals become events that the one who waits is told of; what other threads have to say
 * comes the same way (sl_terminal_wake). */
#ifndef SL_CMD_TERMINAL_TERMINAL_H
#define SL_CMD_TERMINAL_TERMINAL_H

#include "base/text.h"

enum sl_keypress {
    SL_KEY_NONE, /* nothing that anybody would use; else a character below 128, or: */
    SL_KEY_UP = 256,
    SL_KEY_DOWN,
    SL_KEY_LEFT,
    SL_KEY_RIGHT,
    SL_KEY_PAGE_UP,
    SL_KEY_PAGE_DOWN,
    SL_KEY_HOME,
    SL_KEY_END,
};

/* The first key of what was typed: how many bytes it took, or 0: there is more to come. */
size_t sl_key_parse(struct sluice_text typed, int *key);

/* Standard output is a terminal that can be drawn on. */
bool sl_terminal_is_there(void);

/* False: error->text. */
bool sl_terminal_open(struct sluice_error *error);
void sl_terminal_close(void);

struct sl_terminal_size {
    size_t columns, rows;
};

struct sl_terminal_size sl_terminal_size(void);

/* All of it, however long the terminal takes. False: there is none any more. */
bool sl_terminal_write(struct sluice_text text);

enum sl_event {
    SL_EVENT_NONE,  /* so much time has passed */
    SL_EVENT_KEY,   /* *number is an sl_key */
    SL_EVENT_WOKEN, /* by sl_terminal_wake */
    SL_EVENT_DRAW,  /* another size, or it is in front again */
    SL_EVENT_END,   /* *number is the signal, or 0: nobody is there to press keys any more */
};

/* Waits for at most so long. */
enum sl_event sl_terminal_wait(int64_t at_most_us, int *number);

/* From any thread. */
void sl_terminal_wake(void);

#endif
