/* The members of struct sl_keyset, for the verifier; and a set made of bytes, for tests. */
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

/* Makes a set of the content of a JWKS file. `name` is the file's name in errors. */
struct sl_keyset *sl_keyset_of_jwks(const struct sl_identity *identity, const char *name,
                                    struct sluice_text json, struct sluice_error *error);

#endif
