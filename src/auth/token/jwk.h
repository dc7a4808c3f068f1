/* One JSON Web Key (RFC 7517, 7518, 8037). */
#ifndef SL_AUTH_TOKEN_JWK_H
#define SL_AUTH_TOKEN_JWK_H

#include "auth/token/key.h"
#include "auth/token/strict_json.h"
#include "base/arena.h"

/* Reads `jwk` for use with some of `algorithms`. Returns NULL and the key in *out; a key for
 * something else has no algorithms, and is passed over. Otherwise returns a static sentence that
 * continues the key's name. kid and secret are put into the arena; the caller releases the key. */
const char *sl_jwk_read(struct sl_arena *arena, const json_t *jwk, uint32_t algorithms,
                        struct sl_token_key *out);

#endif
