/* JSON laid out for reading: two blanks a level, a member a line; a list of plain values
 * stays in one. Every number and string stays as it was written. */
#ifndef SL_CMD_TERMINAL_PRETTY_H
#define SL_CMD_TERMINAL_PRETTY_H

#include "base/buffer.h"

/* `json` has been parsed and is right. Ends with a newline. */
void sl_pretty_print(struct sl_buffer *out, struct sluice_text json);

#endif
