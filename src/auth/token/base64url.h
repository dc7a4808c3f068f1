/* Decoding base64url as RFC 7515 has it: no padding, no white space, nothing ignored. One text
 * for one sequence of bytes, so that a token cannot be spelled in two ways. */
#ifndef SL_AUTH_TOKEN_BASE64URL_H
#define SL_AUTH_TOKEN_BASE64URL_H

#include "base/text.h"

/* The largest number of bytes that so many characters can stand for. */
static inline size_t sl_base64url_room(size_t characters)
{
    return characters / 4 * 3 + characters % 4;
}

/* `room` has sl_base64url_room(text.len) bytes. Returns false if it is not base64url, or its last
 * character has unused bits that are not zero. */
bool sl_base64url_decode(struct sluice_text text, uint8_t *room, struct sluice_text *out);

#endif
