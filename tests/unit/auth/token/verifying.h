/* A verifier with keys of every kind, for tests. */
#ifndef TEST_TOKEN_VERIFYING_H
#define TEST_TOKEN_VERIFYING_H

#include "auth/token/keyset_internal.h"
#include "auth/token/refusal.h"
#include "auth/token/verifier.h"
#include "unit/auth/token/minting.h"

#define S_US   INT64_C(1000000)
#define NOW_US (INT64_C(1700000000) * S_US)

#define ISSUER   "https://login.example.com"
#define AUDIENCE "api"

/* What a good token says, but for its sub and what comes after. */
#define ABOUT                                                                                      \
    "\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE                                                   \
    "\",\"exp\":1700000600,\"nbf\":1699999000,\"iat\":1699999000"
#define GOOD_CLAIMS "{\"sub\":\"u1\"," ABOUT "}"

static struct sl_sha256 *hasher;
static struct sl_verifier *verifier;
static struct sl_keyset *set;
static struct sl_identity identity; /* of the set */

/* Keys out of a JWKS, for these algorithms; the verifier uses them from now on. The
 * identity keeps what a test has set in it. */
static inline void use_keys(uint32_t algorithms, const char *jwks)
{
    struct sluice_error error;
    sl_verifier_use(verifier, NULL);
    sl_keyset_free(set);
    identity.jwt.on = true;
    identity.jwt.algorithms = algorithms;
    set = sl_keyset_of_jwks(&identity, "jwks", sl_text(jwks), &error);
    if (!set)
        fail_msg("%s", error.text);
    sl_verifier_use(verifier, set);
}

/* rsa, p256, ed25519 and hs by these kids; nothing for PS256. */
static inline const char *all_keys(void)
{
    static char jwks[8192];
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s,%s,%s,%s]}",
             mint_jwk(minted_keys.rsa, ",\"kid\":\"rsa\""),
             mint_jwk(minted_keys.p256, ",\"kid\":\"p256\""),
             mint_jwk(minted_keys.ed25519, ",\"kid\":\"ed25519\""),
             mint_jwk(NULL, ",\"kid\":\"hs\""));
    return jwks;
}

#define ALL_BUT_PS256 (BIT(HS256) | BIT(RS256) | BIT(ES256) | BIT(EdDSA))

static inline int open_verifier(void **unused)
{
    (void)unused;
    hasher = sl_sha256_new();
    verifier = sl_verifier_new(hasher);
    identity = (struct sl_identity){ 0 };
    identity.jwt.issuer = ISSUER;
    identity.jwt.audience = AUDIENCE;
    identity.jwt.leeway_us = 60 * S_US;
    use_keys(ALL_BUT_PS256, all_keys());
    return 0;
}

static inline int close_verifier(void **unused)
{
    (void)unused;
    sl_verifier_free(verifier);
    sl_sha256_free(hasher);
    sl_keyset_free(set);
    set = NULL;
    return 0;
}

#define WITH_VERIFIER(name) TEST_WITH(name, open_verifier, close_verifier)

/* SL_ACCEPTED, or the reason whose sentence was given. The token is read out of a block
 * of exactly its size, and nothing of it is left when its values are read. */
static inline enum sl_refusal refusal_of(struct sluice_text token, int64_t now_us,
                                         struct sl_token *out)
{
    const char *why = NULL;
    char *exact = malloc(token.len ? token.len : 1);
    assert_non_null(exact);
    if (token.len)
        memcpy(exact, token.at, token.len);
    bool good =
        sl_verifier_check(verifier, (struct sluice_text){ exact, token.len }, now_us, out, &why);
    free(exact);
    assert_int_equal(ERR_peek_error(), 0);
    assert_int_equal(good, why == NULL);
    for (int i = SL_ACCEPTED + 1; !good && i < SL_REFUSAL_COUNT; i++)
        if (strcmp(why, sl_refusal_text((enum sl_refusal)i)) == 0)
            return (enum sl_refusal)i;
    assert_true(good);
    return SL_ACCEPTED;
}

/* As SAME, and says by which reason instead. */
static inline void is_refused(const char *row, struct sluice_text token, enum sl_refusal wanted)
{
    struct sl_token out;
    enum sl_refusal got = refusal_of(token, NOW_US, &out);
    if (got != wanted)
        fail_msg("%s: \"%s\" instead of \"%s\"", row, got ? sl_refusal_text(got) : "(accepted)",
                 wanted ? sl_refusal_text(wanted) : "(accepted)");
}

#endif
