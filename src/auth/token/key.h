/* A key that signatures are checked with, and the algorithms it may be used with. */
#ifndef SL_AUTH_TOKEN_KEY_H
#define SL_AUTH_TOKEN_KEY_H

#include <openssl/evp.h>

#include "base/text.h"

/* Either a public key or a secret. */
struct sl_token_key {
    struct sluice_text kid; /* missing: the key has none, and is tried for tokens of any kid */
    uint32_t algorithms;    /* bit i: row i of SL_JWT_ALGORITHMS; never those of two families */
    EVP_PKEY *public;
    struct sluice_text secret;
};

/* The algorithms that a key of this kind is for. Returns 0 if it is too weak, damaged or of a kind
 * that none of them uses; *wrong is then a static sentence that continues the key's or file's
 * name. */
uint32_t sl_public_key_algorithms(const EVP_PKEY *key, const char **wrong);
uint32_t sl_secret_algorithms(struct sluice_text secret, const char **wrong);

void sl_token_key_release(struct sl_token_key *key);

#endif
