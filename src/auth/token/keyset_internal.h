/* What is behind struct sl_keyset, for the verifier; and a set out of bytes, for tests. */
#ifndef SL_AUTH_TOKEN_KEYSET_INTERNAL_H
#define SL_AUTH_TOKEN_KEYSET_INTERNAL_H

#include "auth/token/key.h"
#include "auth/token/keyset.h"

enum { SL_KEYS_MAX = 100 };

struct sl_keyset {
    const struct sl_identity *identity;
    struct sl_arena arena; /* keys, kids and secrets */
    struct sl_token_key *keys;
    size_t count;
};

/* A set out of what is in a JWKS file. `name` is what errors call the file. */
struct sl_keyset *sl_keyset_of_jwks(const struct sl_identity *identity, const char *name,
                                    struct sluice_text json, struct sluice_error *error);

#endif
