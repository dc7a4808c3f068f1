/* Base64url as RFC 7515 has it: no padding, no white space, nothing ignored. One text
 * for one sequence of bytes, so that a token cannot be spelled in two ways. */
#ifndef SL_AUTH_TOKEN_BASE64URL_H
#define SL_AUTH_TOKEN_BASE64URL_H

#include "base/text.h"

/* How many bytes so many characters can stand for at most. */
static inline size_t sl_base64url_room(size_t characters)
{
    return characters / 4 * 3 + characters % 4;
}

/* `room` has sl_base64url_room(text.len) bytes. False: it is no base64url, or its last
 * character has bits that stand for nothing. */
bool sl_base64url_decode(struct sluice_text text, uint8_t *room, struct sluice_text *out);

#endif
