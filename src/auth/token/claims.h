/* The claims of a token whose signature is good: when it is valid, its issuer and audience, and
 * the claims that become attributes. */
#ifndef SL_AUTH_TOKEN_CLAIMS_H
#define SL_AUTH_TOKEN_CLAIMS_H

#include "auth/token/jwt.h"
#include "rules/ruleset.h"

enum { SL_CLAIMS_MAX = 64, SL_NUMBER_MAX_BYTES = 32 };

/* A token is valid while from_us <= now < until_us, leeway included. */
struct sl_token_span {
    int64_t from_us, until_us;
};

/* Zeroed: no claims. `values` are in `json` or in `numbers`. */
struct sl_claims {
    json_t *json;
    struct sl_token_span span;
    struct sluice_text values[SL_CLAIMS_MAX];
    size_t count;
    char numbers[SL_CLAIMS_MAX][SL_NUMBER_MAX_BYTES];
};

/* `*out` is empty before; after SL_ACCEPTED the caller calls sl_claims_release. */
enum sl_refusal sl_claims_read(struct sluice_text bytes, const struct sl_identity *identity,
                               int64_t now_us, struct sl_claims *out);
void sl_claims_release(struct sl_claims *claims);

#endif
