/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SL_BASE_TEXT_UTF8_H
#define SL_BASE_TEXT_UTF8_H

#include "base/text.h"

enum { SL_UTF8_MAX_BYTES = 4 };

/* Returns the length of the character at the start of the text; 0 if there is none. */
size_t sl_utf8_len(struct sluice_text text);

/* Writes a character, which is no surrogate; returns its length in bytes. */
size_t sl_utf8_put(char *out, uint32_t character);

/* Returns true if all of the text is valid UTF-8. */
bool sl_utf8_is_text(struct sluice_text text);

#endif
