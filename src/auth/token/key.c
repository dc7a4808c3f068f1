/* Checking a key, and finding the algorithms it may be used with.
 *
 * They follow from the key itself, never from the token: so a public RSA key, which any client may
 * know, is never taken for a secret. */
#include "auth/token/key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/rsa.h>

#include "rules/reading/jwt_algorithms.h"

enum {
    RSA_MIN_BITS = 2048,
    RSA_MAX_BITS = OPENSSL_RSA_MAX_MODULUS_BITS, /* OpenSSL checks no signature of longer ones */
    EXPONENT_MAX_BITS = OPENSSL_RSA_MAX_PUBEXP_BITS,
    SECRET_MIN_BYTES = 32,
};

#define BIT(name) (1u << SL_JWT_##name)

#define DAMAGED "is damaged: its numbers are no public key; copy it again"

/* Reads a number of an RSA key. Returns NULL if it has none, or there is no memory. */
static BIGNUM *read_rsa_number(const EVP_PKEY *key, const char *name)
{
    BIGNUM *number = NULL;
    return EVP_PKEY_get_bn_param(key, name, &number) == 1 ? number : NULL;
}

/* Does not check that the modulus may be a product of two primes, as OpenSSL could. That takes
 * 5 ms, for longer keys seconds, and finds few damaged ones. */
static const char *wrong_numbers(const BIGNUM *n, const BIGNUM *e)
{
    if (!n || !e || !BN_is_odd(n))
        return DAMAGED;
    if (!BN_is_odd(e) || BN_is_one(e))
        return "has a public exponent that is even or below 3; make one with 65537";
    if (BN_num_bits(e) > EXPONENT_MAX_BITS)
        return "has a public exponent of more than 64 bits; make one with 65537";
    return NULL;
}

static const char *wrong_rsa(const EVP_PKEY *key)
{
    int bits = EVP_PKEY_get_bits(key);
    if (bits < RSA_MIN_BITS)
        return "is an RSA key below 2048 bits; make one of at least that";
    if (bits > RSA_MAX_BITS)
        return "is an RSA key above 16384 bits; make one of 2048 to 4096";
    BIGNUM *n = read_rsa_number(key, OSSL_PKEY_PARAM_RSA_N),
           *e = read_rsa_number(key, OSSL_PKEY_PARAM_RSA_E);
    const char *wrong = wrong_numbers(n, e);
    BN_free(n);
    BN_free(e);
    return wrong;
}

static bool is_p256(const EVP_PKEY *key)
{
    char group[32] = "";
    return EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
           strcmp(group, "prime256v1") == 0;
}

/* Returns true if the key's point is on the curve, and not the one at infinity. */
static bool is_on_curve(const EVP_PKEY *key)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, (EVP_PKEY *)key, NULL);
    bool is = context && EVP_PKEY_public_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return is;
}

static const char *wrong_ec(const EVP_PKEY *key)
{
    if (!is_p256(key))
        return "is on another curve than P-256; make one on that";
    return is_on_curve(key) ? NULL : DAMAGED;
}

uint32_t sl_public_key_algorithms(const EVP_PKEY *key, const char **wrong)
{
    uint32_t algorithms = 0;
    const char *why = NULL;
    if (EVP_PKEY_is_a(key, "RSA")) {
        algorithms = BIT(RS256) | BIT(PS256);
        why = wrong_rsa(key);
    } else if (EVP_PKEY_is_a(key, "EC")) {
        algorithms = BIT(ES256);
        why = wrong_ec(key);
    } else if (EVP_PKEY_is_a(key, "ED25519")) {
        algorithms = BIT(EdDSA);
    } else {
        why = "is of a kind that no algorithm here takes; use RSA, P-256 or Ed25519";
    }
    if (why)
        *wrong = why;
    return why ? 0 : algorithms;
}

uint32_t sl_secret_algorithms(struct sluice_text secret, const char **wrong)
{
    static const char pem[] = "-----BEGIN ";
    if (secret.len < SECRET_MIN_BYTES) {
        *wrong = "is a secret below 32 bytes, which can be guessed; "
                 "`openssl rand -base64 48` makes a good one";
        return 0;
    }
    if (memcmp(secret.at, pem, sizeof pem - 1) == 0) {
        *wrong = "is PEM, and no secret; name a public key as `pem_file`";
        return 0;
    }
    return BIT(HS256);
}

void sl_token_key_release(struct sl_token_key *key)
{
    EVP_PKEY_free(key->public);
    if (key->secret.len)
        OPENSSL_cleanse((char *)key->secret.at, key->secret.len);
    *key = (struct sl_token_key){ 0 };
}
