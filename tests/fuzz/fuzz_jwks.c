/* Any bytes as a file of keys.
 *
 *   a set has 1 to 100 keys, each a public key or a secret and for algorithms of one
 *   family; no two have the same kid;
 *   what is no set comes with a sentence that names file and setting;
 *   with fewer algorithms there are no other keys than with all;
 *   a token is checked by them without harm. */
#include <openssl/err.h>

#include "auth/token/keyset_internal.h"
#include "auth/token/verifier.h"
#include "base/check.h"
#include "rules/reading/jwt_algorithms.h"
#include "unit/auth/token/examples.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define BIT(name) (1u << SL_JWT_##name)

enum { ALL = 31, FILE_MAX_BYTES = 1 << 20 };

static struct sl_keyset *read_set(uint32_t algorithms, struct sluice_text json)
{
    static struct sl_identity identities[ALL + 1]; /* must outlive their sets */
    struct sluice_error error = { "as it was" };
    struct sl_identity *identity = &identities[algorithms];
    identity->jwt.on = true;
    identity->jwt.algorithms = algorithms;
    struct sl_keyset *set = sl_keyset_of_jwks(identity, "FILE", json, &error);
    SL_CHECK(ERR_peek_error() == 0);
    if (set)
        SL_CHECK(strcmp(error.text, "as it was") == 0);
    else
        SL_CHECK(strstr(error.text, "identity.jwt.jwks_file: ") && strstr(error.text, "`FILE`"));
    return set;
}

static void check_set(const struct sl_keyset *set, uint32_t algorithms)
{
    static const uint32_t families[] = { BIT(HS256), BIT(RS256) | BIT(PS256), BIT(ES256),
                                         BIT(EdDSA) };
    SL_CHECK(set->count >= 1 && set->count <= SL_KEYS_MAX);
    for (size_t i = 0; i < set->count; i++) {
        const struct sl_token_key *key = &set->keys[i];
        size_t of = 0;
        for (size_t j = 0; j < sizeof families / sizeof *families; j++)
            of += (key->algorithms & families[j]) != 0;
        SL_CHECK(of == 1 && (key->algorithms & ~algorithms) == 0);
        SL_CHECK(!key->public == (key->algorithms == BIT(HS256)));
        SL_CHECK(!key->public == (key->secret.len >= 32));
        for (size_t j = 0; key->kid.at && j < i; j++)
            SL_CHECK(!set->keys[j].kid.at || !sl_text_equal(set->keys[j].kid, key->kid));
    }
}

static void check_tokens(const struct sl_keyset *set)
{
    static const char *const tokens[] = { RFC_HS256, RFC_RS256, RFC_ES256, PYJWT_PS256,
                                          PYJWT_EDDSA };
    static struct sl_verifier *verifier;
    struct sl_token out;
    const char *why;
    if (!verifier)
        verifier = sl_verifier_new(sl_sha256_new());
    sl_verifier_use(verifier, set);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        sl_verifier_check(verifier, sl_text(tokens[i]), 0, &out, &why);
    sl_verifier_use(verifier, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sluice_text json = { len ? (const char *)bytes : "", len };
    if (len > FILE_MAX_BYTES)
        return 0;
    struct sl_keyset *set = read_set(ALL, json);
    struct sl_keyset *fewer = read_set(BIT(PS256) | BIT(EdDSA), json);
    if (set) {
        check_set(set, ALL);
        check_tokens(set);
    }
    if (fewer)
        check_set(fewer, BIT(PS256) | BIT(EdDSA));
    SL_CHECK(!set || !fewer || fewer->count <= set->count);
    sl_keyset_free(set);
    sl_keyset_free(fewer);
    return 0;
}
