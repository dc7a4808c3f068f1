/* One thread's way to believe a token: signature, times, issuer and audience, and a
 * cache of those that were good. */
#ifndef SL_AUTH_TOKEN_VERIFIER_H
#define SL_AUTH_TOKEN_VERIFIER_H

#include "auth/token/keyset.h"
#include "base/sha256.h"

enum { SL_TOKEN_MAX_BYTES = 8192, SL_TOKEN_DEPTH_MAX = 8, SL_TOKENS_KEPT = 4096 };

struct sl_verifier;

/* `hasher` is the thread's. NULL: no memory. */
struct sl_verifier *sl_verifier_new(struct sl_sha256 *hasher);
void sl_verifier_free(struct sl_verifier *verifier);

/* From now on by these keys (NULL: there are none); what was verified by others is
 * forgotten. */
void sl_verifier_use(struct sl_verifier *verifier, const struct sl_keyset *set);

/* The claims that are attributes: values[i] is of row i of identity.jwt.claims (where
 * none are configured, the one value is `sub`). A null `at`: the token has no such claim.
 * Good until the next call on this verifier. */
struct sl_token {
    const struct sluice_text *values;
    size_t count;
};

/* A token that was found good before and has not expired. No signature is computed. */
bool sl_verifier_known(struct sl_verifier *verifier, struct sluice_text token, int64_t now_us,
                       struct sl_token *out);

/* Checks it whole. False: *why is a static sentence for the error_description of an
 * answer (RFC 6750: no quotes or backslashes in it), such as "the signature is wrong". */
bool sl_verifier_check(struct sl_verifier *verifier, struct sluice_text token, int64_t now_us,
                       struct sl_token *out, const char **why);

#endif
