/* Checking a signature: one function per algorithm, each for one kind of key (RFC 7518, 8037).
 *
 * Lengths are fixed by algorithm and key, and checked first: OpenSSL would accept an
 * RSA signature without its leading zeros, and ECDSA in DER, so that one signature
 * could be written in several ways. */
#include "auth/token/signature.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include "base/check.h"

enum {
    HMAC_BYTES = 32,
    ED25519_BYTES = 64,
    P256_BYTES = 32, /* of r and of s */
    DER_ROOM = 80,   /* of both as ASN.1: 72 at most */
};

/* The arguments of EVP_DigestVerifyInit, and how to set the padding. */
struct start {
    const char *digest; /* NULL: the algorithm has its own */
    bool pss;
};

static const unsigned char *text_bytes(struct sluice_text text)
{
    return (const unsigned char *)text.at;
}

static bool use_pss(EVP_PKEY_CTX *context)
{
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

static enum sl_refusal verify_digest(EVP_MD_CTX *context, EVP_PKEY *key, struct start start,
                                     const struct sl_signed *what)
{
    EVP_PKEY_CTX *options = NULL; /* the context's own */
    bool good =
        EVP_DigestVerifyInit_ex(context, &options, start.digest, NULL, NULL, key, NULL) == 1 &&
        (!start.pss || use_pss(options)) &&
        EVP_DigestVerify(context, text_bytes(what->signature), what->signature.len,
                         text_bytes(what->text), what->text.len) == 1;
    EVP_MD_CTX_reset(context);
    return good ? SL_ACCEPTED : SL_REFUSED_SIGNATURE;
}

static enum sl_refusal check_hs256(EVP_MD_CTX *context, const struct sl_token_key *key,
                                   const struct sl_signed *what)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    (void)context;
    if (what->signature.len != HMAC_BYTES)
        return SL_REFUSED_SIGNATURE_LENGTH;
    bool made = HMAC(EVP_sha256(), key->secret.at, (int)key->secret.len, text_bytes(what->text),
                     what->text.len, mac, &len) != NULL;
    bool good = made && len == HMAC_BYTES && CRYPTO_memcmp(mac, what->signature.at, len) == 0;
    OPENSSL_cleanse(mac, sizeof mac);
    return good ? SL_ACCEPTED : SL_REFUSED_SIGNATURE;
}

static enum sl_refusal check_rsa(EVP_MD_CTX *context, const struct sl_token_key *key,
                                 const struct sl_signed *what)
{
    if (what->signature.len != (size_t)EVP_PKEY_get_size(key->public))
        return SL_REFUSED_SIGNATURE_LENGTH;
    struct start start = { "SHA256", what->algorithm == SL_JWT_PS256 };
    return verify_digest(context, key->public, start, what);
}

/* Encodes r and s as OpenSSL wants them. Returns the length, 0 if there is no memory. */
static size_t encode_der(struct sluice_text raw, unsigned char der[DER_ROOM])
{
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(text_bytes(raw), P256_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(text_bytes(raw) + P256_BYTES, P256_BYTES, NULL);
    int len = 0;
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
        r = s = NULL; /* the pair owns them now */
        len = i2d_ECDSA_SIG(pair, NULL);
        SL_CHECK(len <= DER_ROOM);
        unsigned char *at = der;
        len = len > 0 ? i2d_ECDSA_SIG(pair, &at) : 0;
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return len > 0 ? (size_t)len : 0;
}

static enum sl_refusal check_es256(EVP_MD_CTX *context, const struct sl_token_key *key,
                                   const struct sl_signed *what)
{
    if (what->signature.len != 2 * P256_BYTES)
        return SL_REFUSED_SIGNATURE_LENGTH;
    unsigned char der[DER_ROOM];
    size_t len = encode_der(what->signature, der);
    struct sl_signed in_der = { what->algorithm, what->text, { (char *)der, len } };
    return len ? verify_digest(context, key->public, (struct start){ "SHA256", false }, &in_der)
               : SL_REFUSED_SIGNATURE;
}

static enum sl_refusal check_eddsa(EVP_MD_CTX *context, const struct sl_token_key *key,
                                   const struct sl_signed *what)
{
    if (what->signature.len != ED25519_BYTES)
        return SL_REFUSED_SIGNATURE_LENGTH;
    return verify_digest(context, key->public, (struct start){ NULL, false }, what);
}

enum sl_refusal sl_signature_check(EVP_MD_CTX *context, const struct sl_token_key *key,
                                   const struct sl_signed *what)
{
    /* However the caller chose the key: a confusion of algorithms ends here. */
    SL_CHECK(key->algorithms & 1u << what->algorithm);
    SL_CHECK(!key->public == (what->algorithm == SL_JWT_HS256));
    enum sl_refusal refusal = SL_REFUSED_SIGNATURE;
    switch (what->algorithm) {
    case SL_JWT_HS256:
        refusal = check_hs256(context, key, what);
        break;
    case SL_JWT_RS256:
    case SL_JWT_PS256:
        refusal = check_rsa(context, key, what);
        break;
    case SL_JWT_ES256:
        refusal = check_es256(context, key, what);
        break;
    case SL_JWT_EdDSA:
        refusal = check_eddsa(context, key, what);
        break;
    }
    ERR_clear_error(); /* a wrong signature leaves its reasons in the queue */
    return refusal;
}
