/* A key that signatures are checked with, and what it may do. */
#ifndef SL_AUTH_TOKEN_KEY_H
#define SL_AUTH_TOKEN_KEY_H

#include <openssl/evp.h>

#include "base/text.h"

/* Either a public key or a secret. */
struct sl_token_key {
    struct sluice_text kid; /* not given: it has none, and tokens of any kid may be its */
    uint32_t algorithms;    /* bit i: row i of SL_JWT_ALGORITHMS; never those of two families */
    EVP_PKEY *public;
    struct sluice_text secret;
};

/* The algorithms that a key of this kind is for. 0: it is too weak, damaged or of a kind
 * that none of them takes; *wrong is a static sentence that goes on after the key's or
 * file's name. */
uint32_t sl_public_key_algorithms(const EVP_PKEY *key, const char **wrong);
uint32_t sl_secret_algorithms(struct sluice_text secret, const char **wrong);

void sl_token_key_release(struct sl_token_key *key);

#endif
