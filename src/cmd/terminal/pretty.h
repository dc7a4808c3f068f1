/* JSON laid out for people: two blanks a level, a member a line; a list of plain values
 * stays in one line. Numbers and strings stay as they were written. */
#ifndef SL_CMD_TERMINAL_PRETTY_H
#define SL_CMD_TERMINAL_PRETTY_H

#include "base/buffer.h"

/* Appends `json`, which is valid, and a newline. */
void sl_pretty_print(struct sl_buffer *out, struct sluice_text json);

#endif
