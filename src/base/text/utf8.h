/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SL_BASE_TEXT_UTF8_H
#define SL_BASE_TEXT_UTF8_H

#include "base/text.h"

enum { SL_UTF8_MAX_BYTES = 4 };

/* How many bytes the character has that the text begins with; 0: it is none. */
size_t sl_utf8_len(struct sluice_text text);

/* Writes a character that is no surrogate, and returns how many bytes it took. */
size_t sl_utf8_put(char *out, uint32_t character);

/* Characters from one end to the other. */
bool sl_utf8_is_text(struct sluice_text text);

#endif
