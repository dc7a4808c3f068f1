/* Reading one JSON Web Key.
 *
 * A set holds keys for all its owner does: encryption, other algorithms, kinds that were
 * invented later. Those are passed over. A key that is for us must be right in everything:
 * a damaged, weak or secret key is a mistake that the operator must hear of, not one key
 * less. */
#include "auth/token/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>

#include "auth/token/base64url.h"
#include "base/check.h"
#include "rules/reading/jwt_algorithms.h"

enum {
    NUMBER_MAX_BYTES =
        16384 / 8 + 1,     /* the longest modulus, and the zero that some programs put before */
    COORDINATE_BYTES = 32, /* of P-256 and of Ed25519 */
};

/* A number's bytes, decoded from base64url. */
struct number {
    uint8_t byte[NUMBER_MAX_BYTES];
    struct sluice_text text;
};

static bool read_number(const json_t *jwk, const char *member, struct number *out)
{
    struct sluice_text text = sl_strict_text(json_object_get(jwk, member));
    return text.len > 0 && sl_base64url_room(text.len) <= sizeof out->byte &&
           sl_base64url_decode(text, out->byte, &out->text);
}

static EVP_PKEY *build_key(const char *type, OSSL_PARAM_BLD *builder)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!parameters || !context || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    return key;
}

static BIGNUM *number_to_bignum(const struct number *number)
{
    return BN_bin2bn(number->byte, (int)number->text.len, NULL);
}

/* ---- kinds ------------------------------------------------------------------------- */

static const char *read_rsa(struct sl_arena *arena, const json_t *jwk, struct sl_token_key *out)
{
    struct number n, e;
    (void)arena;
    if (!read_number(jwk, "n", &n) || !read_number(jwk, "e", &e))
        return "lacks its `n` or `e`, or they are not base64url of at most 16384 bits";
    BIGNUM *modulus = number_to_bignum(&n), *exponent = number_to_bignum(&e);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (modulus && exponent && builder &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        out->public = build_key("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    BN_free(modulus);
    BN_free(exponent);
    return out->public ? NULL : "has an `n` or `e` that is no RSA key";
}

static const char *read_ec(struct sl_arena *arena, const json_t *jwk, struct sl_token_key *out)
{
    struct number x, y;
    (void)arena;
    if (!read_number(jwk, "x", &x) || x.text.len != COORDINATE_BYTES ||
        !read_number(jwk, "y", &y) || y.text.len != COORDINATE_BYTES)
        return "lacks its `x` or `y`, or they are not base64url of 32 bytes each";
    uint8_t point[1 + 2 * COORDINATE_BYTES] = { POINT_CONVERSION_UNCOMPRESSED };
    memcpy(point + 1, x.byte, COORDINATE_BYTES);
    memcpy(point + 1 + COORDINATE_BYTES, y.byte, COORDINATE_BYTES);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) ==
            1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) ==
            1)
        out->public = build_key("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return out->public ? NULL : "has an `x` and `y` that are no point of P-256";
}

static const char *read_okp(struct sl_arena *arena, const json_t *jwk, struct sl_token_key *out)
{
    struct number x;
    (void)arena;
    if (!read_number(jwk, "x", &x) || x.text.len != COORDINATE_BYTES)
        return "lacks its `x`, or it is not base64url of 32 bytes";
    out->public = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, x.byte, x.text.len);
    return out->public ? NULL : "has an `x` that is no Ed25519 key";
}

static const char *read_oct(struct sl_arena *arena, const json_t *jwk, struct sl_token_key *out)
{
    struct sluice_text text = sl_strict_text(json_object_get(jwk, "k"));
    uint8_t *room = sl_arena_take(arena, sl_base64url_room(text.len) + 1);
    if (text.len == 0 || !sl_base64url_decode(text, room, &out->secret))
        return "lacks its `k`, or it is not base64url";
    return NULL;
}

struct key_type {
    const char *kty, *crv;
    uint32_t algorithms;
    const char *(*read)(struct sl_arena *arena, const json_t *jwk, struct sl_token_key *out);
};

static const struct key_type kinds[] = {
    { "RSA", NULL, 1u << SL_JWT_RS256 | 1u << SL_JWT_PS256, read_rsa },
    { "EC", "P-256", 1u << SL_JWT_ES256, read_ec },
    { "OKP", "Ed25519", 1u << SL_JWT_EdDSA, read_okp },
    { "oct", NULL, 1u << SL_JWT_HS256, read_oct },
};

/* Returns NULL if it is a kind that we do not use. */
static const struct key_type *find_key_type(const json_t *jwk)
{
    struct sluice_text kty = sl_strict_text(json_object_get(jwk, "kty"));
    struct sluice_text crv = sl_strict_text(json_object_get(jwk, "crv"));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (sl_text_is(kty, kinds[i].kty) && (!kinds[i].crv || sl_text_is(crv, kinds[i].crv)))
            return &kinds[i];
    return NULL;
}

/* ---- what the key is for ---- */

/* Returns 0 if it is not one of ours. */
static uint32_t algorithm_bit(struct sluice_text name)
{
#define SL_JWT_ROW(row, is_secret)                                                                 \
    if (sl_text_is(name, #row))                                                                    \
        return 1u << SL_JWT_##row;
    SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
    return 0;
}

/* A key without `key_ops` may do everything. */
static bool may_verify(const json_t *operations)
{
    size_t i;
    const json_t *operation;
    if (!operations)
        return true;
    json_array_foreach(operations, i, operation)
    {
        if (sl_text_is(sl_strict_text(operation), "verify"))
            return true;
    }
    return false;
}

/* Checks the members that say what a key is for: strings and a list, if they are there. */
static const char *wrong_members(const json_t *jwk)
{
    static const char *const strings[] = { "kty", "use", "alg", "kid" };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const json_t *member = json_object_get(jwk, strings[i]);
        if (member && !json_is_string(member))
            return "has a `kty`, `use`, `alg` or `kid` that is not a string";
    }
    const json_t *operations = json_object_get(jwk, "key_ops");
    return operations && !json_is_array(operations) ? "has `key_ops` that are not a list" : NULL;
}

static uint32_t algorithms_of_purpose(const json_t *jwk, const struct key_type *kind)
{
    const json_t *use = json_object_get(jwk, "use"), *alg = json_object_get(jwk, "alg");
    if (use && !sl_text_is(sl_strict_text(use), "sig"))
        return 0;
    if (!may_verify(json_object_get(jwk, "key_ops")))
        return 0;
    return alg ? kind->algorithms & algorithm_bit(sl_strict_text(alg)) : kind->algorithms;
}

static bool has_private_member(const json_t *jwk)
{
    static const char *const members[] = { "d", "p", "q", "dp", "dq", "qi", "oth" };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(jwk, members[i]))
            return true;
    return false;
}

/* ---- the whole key ----------------------------------------------------------------- */

static const char *check_strength(const struct sl_token_key *key)
{
    const char *wrong = NULL;
    uint32_t can = key->public ? sl_public_key_algorithms(key->public, &wrong)
                               : sl_secret_algorithms(key->secret, &wrong);
    SL_CHECK(wrong || (key->algorithms & ~can) == 0);
    return wrong;
}

const char *sl_jwk_read(struct sl_arena *arena, const json_t *jwk, uint32_t algorithms,
                        struct sl_token_key *out)
{
    struct sl_token_key key = { 0 };
    if (!json_is_object(jwk))
        return "is not an object";
    const char *wrong = wrong_members(jwk);
    const struct key_type *kind = wrong ? NULL : find_key_type(jwk);
    key.algorithms = kind ? algorithms_of_purpose(jwk, kind) & algorithms : 0;
    if (key.algorithms && has_private_member(jwk))
        wrong = "is a private key, which does not belong here; leave the public members alone";
    else if (key.algorithms)
        wrong = kind->read(arena, jwk, &key);
    if (key.algorithms && !wrong)
        wrong = check_strength(&key);
    if (wrong) {
        sl_token_key_release(&key);
        return wrong;
    }
    struct sluice_text kid = sl_strict_text(json_object_get(jwk, "kid"));
    if (kid.at)
        key.kid = (struct sluice_text){ sl_arena_copy(arena, kid), kid.len };
    *out = key;
    return NULL;
}
