/* Makes foreign text safe for a terminal: it cannot move the cursor, change colours or
 * turn the direction of writing. Such characters are escaped as in JSON (\u001b), and
 * bytes that are no UTF-8 as \xNN. */
#ifndef SL_CMD_TERMINAL_PRINTABLE_H
#define SL_CMD_TERMINAL_PRINTABLE_H

#include <stdio.h>

#include "base/arena.h"
#include "base/buffer.h"

enum sl_printable { SL_ONE_LINE, SL_KEEP_LINES /* \n and \t stay as they are */ };

void sl_printable_add(struct sl_buffer *out, struct sluice_text text, enum sl_printable how);

/* Returns a copy on one line, in the arena. */
const char *sl_printable_copy(struct sl_arena *arena, struct sluice_text text);

/* Returns how many columns such a text takes on a terminal, one for each character. */
size_t sl_printable_width(struct sluice_text text);

#endif
