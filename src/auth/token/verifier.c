/* Verifying a token, in this order; it is refused at the first step that fails:
 *
 *   size, three parts, base64url      nothing is computed for rubbish
 *   header                            only to choose among configured keys
 *   key                               by kid; the key says what it may do, not the token
 *   signature                         until here the claims are only bytes
 *   claims                            times, issuer, audience, those that are attributes
 *
 * A good token is cached, by the SHA-256 of the whole token. Not by its signature or claims:
 * two tokens that differ in one bit are two tokens. */
#include "auth/token/verifier.h"

#include <openssl/err.h>
#include <stdlib.h>

#include "auth/token/keyset_internal.h"
#include "auth/token/signature.h"
#include "auth/token/token_cache.h"

struct sl_verifier {
    struct sl_sha256 *hasher;
    const struct sl_keyset *set;
    EVP_MD_CTX *context;
    struct sl_token_cache *cache;
    struct sl_claims claims; /* of the token that was checked last, for its values */
    uint8_t room[SL_TOKEN_MAX_BYTES];
};

struct sl_verifier *sl_verifier_new(struct sl_sha256 *hasher)
{
    struct sl_verifier *verifier = calloc(1, sizeof *verifier);
    if (!verifier)
        return NULL;
    verifier->hasher = hasher;
    verifier->context = EVP_MD_CTX_new();
    verifier->cache = sl_token_cache_new();
    if (!verifier->context || !verifier->cache) {
        sl_verifier_free(verifier);
        return NULL;
    }
    return verifier;
}

void sl_verifier_free(struct sl_verifier *verifier)
{
    if (!verifier)
        return;
    sl_claims_release(&verifier->claims);
    sl_token_cache_free(verifier->cache);
    EVP_MD_CTX_free(verifier->context);
    free(verifier);
}

void sl_verifier_use(struct sl_verifier *verifier, const struct sl_keyset *set)
{
    verifier->set = set;
    sl_token_cache_clear(verifier->cache);
    sl_claims_release(&verifier->claims);
}

/* ---- key and signature ------------------------------------------------------------- */

/* Returns true if there is a key of exactly this id. */
static bool has_kid(const struct sl_keyset *set, struct sluice_text kid)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->keys[i].kid.at && sl_text_equal(set->keys[i].kid, kid))
            return true;
    return false;
}

/* Returns true if this key may be tried. Where the token names a known key, only that one; where
 * it names an unknown one, keys without a name; where it names none, all. */
static bool is_candidate(const struct sl_token_key *key, struct sluice_text kid, bool kid_is_known)
{
    if (!kid.at)
        return true;
    if (!kid_is_known)
        return !key->kid.at;
    return key->kid.at && sl_text_equal(key->kid, kid);
}

/* Tries every candidate that allows the algorithm. Of several refusals the last in the
 * list counts: that of the key which came furthest. */
static enum sl_refusal try_keys(struct sl_verifier *verifier, struct sluice_text kid,
                                const struct sl_signed *what)
{
    const struct sl_keyset *set = verifier->set;
    bool kid_is_known = kid.at && has_kid(set, kid);
    enum sl_refusal refusal = kid.at && !kid_is_known ? SL_REFUSED_KID : SL_REFUSED_ALG_OF_KEY;
    for (size_t i = 0; i < set->count; i++) {
        const struct sl_token_key *key = &set->keys[i];
        if (!is_candidate(key, kid, kid_is_known))
            continue;
        enum sl_refusal one = SL_REFUSED_ALG_OF_KEY;
        if (key->algorithms & 1u << what->algorithm)
            one = sl_signature_check(verifier->context, key, what);
        if (one == SL_ACCEPTED)
            return one;
        if (one > refusal)
            refusal = one;
    }
    return refusal;
}

static enum sl_refusal check_signature(struct sl_verifier *verifier, const struct sl_jwt *jwt)
{
    struct sl_jwt_header header;
    enum sl_refusal refusal = sl_jwt_header_read(jwt->header, &header);
    if (refusal != SL_ACCEPTED)
        return refusal;
    struct sl_signed what = { header.algorithm, jwt->signed_text, jwt->signature };
    if (verifier->set->identity->jwt.algorithms & 1u << header.algorithm)
        refusal = try_keys(verifier, header.kid, &what);
    else
        refusal = SL_REFUSED_ALG;
    sl_jwt_header_release(&header);
    return refusal;
}

/* ---- the whole token --------------------------------------------------------------- */

static enum sl_refusal check_token(struct sl_verifier *verifier, struct sluice_text token,
                                   int64_t now_us)
{
    struct sl_jwt jwt;
    if (!verifier->set)
        return SL_REFUSED_NO_KEYS;
    enum sl_refusal refusal = sl_jwt_split(token, verifier->room, &jwt);
    if (refusal == SL_ACCEPTED)
        refusal = check_signature(verifier, &jwt);
    if (refusal == SL_ACCEPTED)
        refusal = sl_claims_read(jwt.claims, verifier->set->identity, now_us, &verifier->claims);
    return refusal;
}

bool sl_verifier_known(struct sl_verifier *verifier, struct sluice_text token, int64_t now_us,
                       struct sl_token *out)
{
    struct sl_digest digest;
    if (!verifier->set || token.len > SL_TOKEN_MAX_BYTES)
        return false;
    sl_sha256_of(verifier->hasher, token, &digest);
    return sl_token_cache_get(verifier->cache, &digest, now_us, out);
}

bool sl_verifier_check(struct sl_verifier *verifier, struct sluice_text token, int64_t now_us,
                       struct sl_token *out, const char **why)
{
    struct sl_digest digest;
    sl_claims_release(&verifier->claims);
    enum sl_refusal refusal = check_token(verifier, token, now_us);
    if (refusal != SL_ACCEPTED) {
        *why = sl_refusal_text(refusal);
        return false;
    }
    sl_sha256_of(verifier->hasher, token, &digest);
    sl_token_cache_put(verifier->cache, &digest, &verifier->claims);
    *out = (struct sl_token){ verifier->claims.values, verifier->claims.count };
    return true;
}
