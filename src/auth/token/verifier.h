/* One thread's verifier of tokens: signature, times, issuer and audience, and a cache of good
 * tokens. */
#ifndef SL_AUTH_TOKEN_VERIFIER_H
#define SL_AUTH_TOKEN_VERIFIER_H

#include "auth/token/keyset.h"
#include "base/sha256.h"

enum { SL_TOKEN_MAX_BYTES = 8192, SL_TOKEN_DEPTH_MAX = 8, SL_TOKENS_KEPT = 4096 };

struct sl_verifier;

/* `hasher` belongs to the thread. Returns NULL if there is no memory. */
struct sl_verifier *sl_verifier_new(struct sl_sha256 *hasher);
void sl_verifier_free(struct sl_verifier *verifier);

/* Uses these keys from now on (NULL: there are none); forgets tokens verified with others. */
void sl_verifier_use(struct sl_verifier *verifier, const struct sl_keyset *set);

/* The claims that are attributes: values[i] is of row i of identity.jwt.claims (where
 * none are configured, the one value is `sub`). A null `at`: the token has no such claim.
 * Good until the next call on this verifier. */
struct sl_token {
    const struct sluice_text *values;
    size_t count;
};

/* Finds a token that was verified before and has not expired. Computes no signature. */
bool sl_verifier_known(struct sl_verifier *verifier, struct sluice_text token, int64_t now_us,
                       struct sl_token *out);

/* Checks the whole token. Returns false with a static sentence in *why for the error_description
 * of an answer (RFC 6750: no quotes or backslashes in it), such as "the signature is wrong". */
bool sl_verifier_check(struct sl_verifier *verifier, struct sluice_text token, int64_t now_us,
                       struct sl_token *out, const char **why);

#endif
