/* Text from elsewhere, made fit for a terminal: nothing in it moves the cursor, changes
 * colours, turns the direction of writing, or is no character at all. What would is
 * written as JSON writes it (\u001b); a byte that is no UTF-8 as \xNN. */
#ifndef SL_CMD_TERMINAL_PRINTABLE_H
#define SL_CMD_TERMINAL_PRINTABLE_H

#include <stdio.h>

#include "base/arena.h"
#include "base/buffer.h"

enum sl_printable { SL_ONE_LINE, SL_KEEP_LINES /* \n and \t stay as they are */ };

void sl_printable_add(struct sl_buffer *out, struct sluice_text text, enum sl_printable how);

/* One line, in the arena. */
const char *sl_printable_copy(struct sl_arena *arena, struct sluice_text text);

/* How many columns of a terminal such a text takes, a character each. */
size_t sl_printable_width(struct sluice_text text);

#endif
