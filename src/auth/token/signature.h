/* Checking a token's signature with a key. */
#ifndef SL_AUTH_TOKEN_SIGNATURE_H
#define SL_AUTH_TOKEN_SIGNATURE_H

#include "auth/token/key.h"
#include "auth/token/refusal.h"
#include "rules/reading/jwt_algorithms.h"

struct sl_signed {
    enum sl_jwt_algorithm algorithm;
    struct sluice_text text;
    struct sluice_text signature;
};

/* The algorithm must be one of the key's. `context` belongs to the thread; its content is lost.
 * Returns SL_ACCEPTED, SL_REFUSED_SIGNATURE or SL_REFUSED_SIGNATURE_LENGTH. */
enum sl_refusal sl_signature_check(EVP_MD_CTX *context, const struct sl_token_key *key,
                                   const struct sl_signed *what);

#endif
