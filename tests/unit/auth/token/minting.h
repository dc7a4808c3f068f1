/* Keys and tokens for tests, made when they run, by OpenSSL and without any of the code
 * that is tested: each token can be wrong in exactly one way. */
#ifndef TEST_TOKEN_MINTING_H
#define TEST_TOKEN_MINTING_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "rules/reading/jwt_algorithms.h"
#include "rules/ruleset.h"
#include "unit/store/folder.h"

#define BIT(name) (1u << SL_JWT_##name)

/* In base64url it has one of each kind of character. */
#define SECRET "0123456789abcdef0123456789abcdef-_ and more"

enum { MINT_MAX_BYTES = 32 << 10 };

struct bytes {
    uint8_t at[1100];
    size_t len;
};

/* ---- base64url --------------------------------------------------------------------- */

/* Terminated; returns the length without that. By OpenSSL's own, which is not ours. */
static inline size_t mint_base64url(const void *from, size_t len, char *out)
{
    size_t written = (size_t)EVP_EncodeBlock((unsigned char *)out, from, (int)len);
    while (written && out[written - 1] == '=')
        written--;
    for (size_t i = 0; i < written; i++)
        out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
    out[written] = 0;
    return written;
}

/* ---- keys -------------------------------------------------------------------------- */

/* RSA with a public exponent. */
static inline EVP_PKEY *mint_rsa(int bits, unsigned exponent)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    BIGNUM *e = BN_new();
    assert_true(context && e && BN_set_word(e, exponent) == 1);
    assert_int_equal(EVP_PKEY_keygen_init(context), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits), 1);
    assert_int_equal(EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context, e), 1);
    assert_int_equal(EVP_PKEY_generate(context, &key), 1);
    BN_free(e);
    EVP_PKEY_CTX_free(context);
    return key;
}

/* The five that most tests need: another RSA key, and one of the wrong curve. */
static struct {
    EVP_PKEY *rsa, *rsa2, *p256, *p384, *ed25519;
} minted_keys;

static inline int mint_keys(void **unused)
{
    (void)unused;
    minted_keys.rsa = mint_rsa(2048, 65537);
    minted_keys.rsa2 = mint_rsa(2048, 65537);
    minted_keys.p256 = EVP_EC_gen("P-256");
    minted_keys.p384 = EVP_EC_gen("P-384");
    minted_keys.ed25519 = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return 0;
}

static inline int drop_keys(void **unused)
{
    (void)unused;
    EVP_PKEY_free(minted_keys.rsa);
    EVP_PKEY_free(minted_keys.rsa2);
    EVP_PKEY_free(minted_keys.p256);
    EVP_PKEY_free(minted_keys.p384);
    EVP_PKEY_free(minted_keys.ed25519);
    return 0;
}

/* ---- signatures -------------------------------------------------------------------- */

static inline struct bytes mint_hmac(struct sluice_text secret, struct sluice_text text)
{
    struct bytes out = { 0 };
    unsigned len = 0;
    assert_non_null(HMAC(EVP_sha256(), secret.at, (int)secret.len, (const uint8_t *)text.at,
                         text.len, out.at, &len));
    out.len = len;
    return out;
}

/* As OpenSSL makes it: ECDSA in DER. */
static inline struct bytes mint_signature_raw(EVP_PKEY *key, enum sl_jwt_algorithm algorithm,
                                              struct sluice_text text)
{
    struct bytes out = { .len = sizeof out.at };
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *options;
    const char *digest = algorithm == SL_JWT_EdDSA ? NULL : "SHA256";
    assert_int_equal(EVP_DigestSignInit_ex(context, &options, digest, NULL, NULL, key, NULL), 1);
    if (algorithm == SL_JWT_PS256) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST), 1);
    }
    assert_int_equal(EVP_DigestSign(context, out.at, &out.len, (const uint8_t *)text.at, text.len),
                     1);
    EVP_MD_CTX_free(context);
    return out;
}

/* r and s in `each` bytes. */
static inline struct bytes mint_r_and_s(struct bytes der, int each)
{
    struct bytes out = { .len = 2 * (size_t)each };
    const unsigned char *at = der.at;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)der.len);
    assert_non_null(pair);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), out.at, each), each);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), out.at + each, each), each);
    ECDSA_SIG_free(pair);
    return out;
}

/* As a token has it. key NULL: SECRET. */
static inline struct bytes mint_signature(EVP_PKEY *key, enum sl_jwt_algorithm algorithm,
                                          struct sluice_text text)
{
    if (!key)
        return mint_hmac(SL_TEXT(SECRET), text);
    struct bytes raw = mint_signature_raw(key, algorithm, text);
    return algorithm == SL_JWT_ES256 ? mint_r_and_s(raw, (EVP_PKEY_get_bits(key) + 7) / 8) : raw;
}

/* ---- tokens ------------------------------------------------------------------------ */

/* header.claims, good until the next call. */
static inline struct sluice_text mint_unsigned(struct sluice_text header, struct sluice_text claims)
{
    static char text[MINT_MAX_BYTES];
    assert_true(header.len + claims.len < MINT_MAX_BYTES / 2);
    size_t len = mint_base64url(header.at, header.len, text);
    text[len++] = '.';
    len += mint_base64url(claims.at, claims.len, text + len);
    return (struct sluice_text){ text, len };
}

/* text.signature; good until the fourth call after it. */
static inline struct sluice_text mint_joined(struct sluice_text text, struct bytes signature)
{
    static char tokens[4][MINT_MAX_BYTES];
    static unsigned turn;
    char *out = tokens[turn++ % 4];
    memcpy(out, text.at, text.len);
    out[text.len] = '.';
    size_t len = text.len + 1;
    len += mint_base64url(signature.at, signature.len, out + len);
    return (struct sluice_text){ out, len };
}

static inline struct sluice_text mint(EVP_PKEY *key, enum sl_jwt_algorithm algorithm,
                                      const char *header, const char *claims)
{
    struct sluice_text text = mint_unsigned(sl_text(header), sl_text(claims));
    return mint_joined(text, mint_signature(key, algorithm, text));
}

/* ---- files ------------------------------------------------------------------------- */

/* The path of a file in the test's folder, good until it was called 16 times more. */
static inline const char *in_folder(const char *name)
{
    static char paths[16][128];
    static unsigned turn;
    char *out = paths[turn++ % 16];
    snprintf(out, sizeof paths[0], "%s/%s", folder, name);
    return out;
}

static inline const char *save_bytes(const char *name, struct sluice_text bytes)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.at, 1, bytes.len, file), bytes.len);
    fclose(file);
    return in_folder(name);
}

static inline const char *save_text(const char *name, const char *text)
{
    return save_bytes(name, sl_text(text));
}

/* mode "a": behind what is there. */
static inline const char *save_public(const char *name, const char *mode, EVP_PKEY *key)
{
    FILE *file = fopen(in_folder(name), mode);
    assert_non_null(file);
    assert_int_equal(PEM_write_PUBKEY(file, key), 1);
    fclose(file);
    return in_folder(name);
}

/* ---- JWK --------------------------------------------------------------------------- */

/* A number of a key, as a member of a JWK. */
static inline size_t mint_number(EVP_PKEY *key, const char *parameter, char *out)
{
    BIGNUM *number = NULL;
    uint8_t bytes[1100];
    assert_int_equal(EVP_PKEY_get_bn_param(key, parameter, &number), 1);
    int len = BN_num_bytes(number);
    if (EVP_PKEY_is_a(key, "EC"))
        len = (EVP_PKEY_get_bits(key) + 7) / 8;
    assert_int_equal(BN_bn2binpad(number, bytes, len), len);
    BN_free(number);
    return mint_base64url(bytes, (size_t)len, out);
}

/* {"kty":…, MORE}; good until the eighth call after it. `more` begins with a comma, or is
 * empty. key NULL: SECRET. */
static inline const char *mint_jwk(EVP_PKEY *key, const char *more)
{
    static char jwks[8][4096];
    static unsigned turn;
    char *out = jwks[turn++ % 8], first[1500], second[1500];
    uint8_t raw[64];
    size_t raw_len = sizeof raw;
    if (!key) {
        mint_base64url(SECRET, strlen(SECRET), first);
        snprintf(out, sizeof jwks[0], "{\"kty\":\"oct\",\"k\":\"%s\"%s}", first, more);
    } else if (EVP_PKEY_is_a(key, "RSA")) {
        mint_number(key, OSSL_PKEY_PARAM_RSA_N, first);
        mint_number(key, OSSL_PKEY_PARAM_RSA_E, second);
        snprintf(out, sizeof jwks[0], "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"%s}", first,
                 second, more);
    } else if (EVP_PKEY_is_a(key, "EC")) {
        mint_number(key, OSSL_PKEY_PARAM_EC_PUB_X, first);
        mint_number(key, OSSL_PKEY_PARAM_EC_PUB_Y, second);
        snprintf(out, sizeof jwks[0],
                 "{\"kty\":\"EC\",\"crv\":\"P-%d\",\"x\":\"%s\",\"y\":\"%s\"%s}",
                 EVP_PKEY_get_bits(key), first, second, more);
    } else {
        assert_int_equal(EVP_PKEY_get_raw_public_key(key, raw, &raw_len), 1);
        mint_base64url(raw, raw_len, first);
        snprintf(out, sizeof jwks[0], "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"%s}", first,
                 more);
    }
    return out;
}

#endif
