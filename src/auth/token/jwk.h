/* One JSON Web Key (RFC 7517, 7518, 8037). */
#ifndef SL_AUTH_TOKEN_JWK_H
#define SL_AUTH_TOKEN_JWK_H

#include "auth/token/key.h"
#include "auth/token/strict_json.h"
#include "base/arena.h"

/* Reads `jwk` for use with some of `algorithms`. NULL: *out is it, or has no algorithms:
 * then it is a key for something else, and is passed over. Otherwise a static sentence
 * that goes on after the key's name. kid and secret are put into the arena; the caller
 * releases the key. */
const char *sl_jwk_read(struct sl_arena *arena, const json_t *jwk, uint32_t algorithms,
                        struct sl_token_key *out);

#endif
