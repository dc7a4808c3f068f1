/* What a token claims, once its signature was found good: when it holds, who issued it
 * for whom, and the claims that become attributes. */
#ifndef SL_AUTH_TOKEN_CLAIMS_H
#define SL_AUTH_TOKEN_CLAIMS_H

#include "auth/token/jwt.h"
#include "rules/ruleset.h"

enum { SL_CLAIMS_MAX = 64, SL_NUMBER_MAX_BYTES = 32 };

/* When a token is good: from_us <= now < until_us, leeway included. */
struct sl_token_span {
    int64_t from_us, until_us;
};

/* A zeroed struct holds nothing. `values` are in `json` or in `numbers`. */
struct sl_claims {
    json_t *json;
    struct sl_token_span span;
    struct sluice_text values[SL_CLAIMS_MAX];
    size_t count;
    char numbers[SL_CLAIMS_MAX][SL_NUMBER_MAX_BYTES];
};

/* `*out` holds nothing before; SL_ACCEPTED: for sl_claims_release. */
enum sl_refusal sl_claims_read(struct sluice_text bytes, const struct sl_identity *identity,
                               int64_t now_us, struct sl_claims *out);
void sl_claims_release(struct sl_claims *claims);

#endif
