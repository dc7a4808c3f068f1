/* Ways to make a token wrong, in its signature or as a text, and a table's row that is
 * wrong in one of them. */
#ifndef TEST_TOKEN_FORGING_H
#define TEST_TOKEN_FORGING_H

#include "unit/auth/token/verifying.h"

/* ---- signatures -------------------------------------------------------------------- */

typedef struct bytes sign_text(struct sluice_text text);

static struct bytes by_another_rsa_key(struct sluice_text text)
{
    return mint_signature(minted_keys.rsa2, SL_JWT_RS256, text);
}

static struct bytes by_another_p256_key(struct sluice_text text)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    struct bytes out = mint_signature(key, SL_JWT_ES256, text);
    EVP_PKEY_free(key);
    return out;
}

static struct bytes by_another_secret(struct sluice_text text)
{
    return mint_hmac(SL_TEXT("fedcba9876543210fedcba9876543210"), text);
}

static struct bytes by_no_secret(struct sluice_text text)
{
    return mint_hmac(SL_TEXT(""), text);
}

/* The public RSA key, used as if it were a secret. */
static struct bytes by_the_pem(struct sluice_text text)
{
    char *pem;
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PUBKEY(bio, minted_keys.rsa), 1);
    long len = BIO_get_mem_data(bio, &pem);
    struct bytes out = mint_hmac((struct sluice_text){ pem, (size_t)len }, text);
    BIO_free(bio);
    return out;
}

static struct bytes by_the_der(struct sluice_text text)
{
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(minted_keys.rsa, &der);
    assert_true(len > 0);
    struct bytes out = mint_hmac((struct sluice_text){ (char *)der, (size_t)len }, text);
    OPENSSL_free(der);
    return out;
}

static struct bytes by_the_jwk(struct sluice_text text)
{
    return mint_hmac(sl_text(mint_jwk(minted_keys.rsa, "")), text);
}

static struct bytes by_sha1(struct sluice_text text)
{
    struct bytes out = { .len = sizeof out.at };
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(context, NULL, EVP_sha1(), NULL, minted_keys.rsa), 1);
    assert_int_equal(EVP_DigestSign(context, out.at, &out.len, (const uint8_t *)text.at, text.len),
                     1);
    EVP_MD_CTX_free(context);
    return out;
}

static struct bytes by_pss(struct sluice_text text)
{
    return mint_signature(minted_keys.rsa, SL_JWT_PS256, text);
}

static struct bytes in_der(struct sluice_text text)
{
    return mint_signature_raw(minted_keys.p256, SL_JWT_ES256, text);
}

static struct bytes by_p384(struct sluice_text text)
{
    return mint_signature(minted_keys.p384, SL_JWT_ES256, text);
}

static struct bytes by_p384_in_64_bytes(struct sluice_text text)
{
    struct bytes out = by_p384(text);
    out.len = 64;
    return out;
}

static struct bytes es256(struct sluice_text text)
{
    return mint_signature(minted_keys.p256, SL_JWT_ES256, text);
}

static struct bytes with_r_zero(struct sluice_text text)
{
    struct bytes out = es256(text);
    memset(out.at, 0, 32);
    return out;
}

static struct bytes with_s_zero(struct sluice_text text)
{
    struct bytes out = es256(text);
    memset(out.at + 32, 0, 32);
    return out;
}

static struct bytes of_zeros(struct sluice_text text)
{
    (void)text;
    return (struct bytes){ .len = 64 };
}

/* r and s in 33 bytes each, with a zero before. */
static struct bytes with_r_and_s_too_long(struct sluice_text text)
{
    return mint_r_and_s(in_der(text), 33);
}

static struct bytes with_s_too_short(struct sluice_text text)
{
    struct bytes out = es256(text);
    out.len = 63;
    return out;
}

static struct bytes one_byte_short(struct sluice_text text)
{
    struct bytes out = mint_signature(minted_keys.rsa, SL_JWT_RS256, text);
    out.len--;
    return out;
}

static struct bytes one_byte_long(struct sluice_text text)
{
    struct bytes out = mint_signature(minted_keys.rsa, SL_JWT_RS256, text);
    out.at[out.len++] = 0;
    return out;
}

static struct bytes a_zero_before_it(struct sluice_text text)
{
    struct bytes out = mint_signature(minted_keys.rsa, SL_JWT_RS256, text);
    memmove(out.at + 1, out.at, out.len++);
    out.at[0] = 0;
    return out;
}

static struct bytes hmac_cut_to_16(struct sluice_text text)
{
    struct bytes out = mint_hmac(SL_TEXT(SECRET), text);
    out.len = 16;
    return out;
}

static struct bytes ed25519_with_a_bit_turned(struct sluice_text text)
{
    struct bytes out = mint_signature(minted_keys.ed25519, SL_JWT_EdDSA, text);
    out.at[63] ^= 0x80;
    return out;
}

static struct bytes ed25519_of_another_text(struct sluice_text text)
{
    text.len--;
    return mint_signature(minted_keys.ed25519, SL_JWT_EdDSA, text);
}

/* ---- the token as a text ----------------------------------------------------------- */

/* Changes a terminated token, in a room of MINT_MAX_BYTES. */
typedef void damage_token(char *token);

static void append(char *token, const char *more)
{
    strcpy(token + strlen(token), more);
}

static void pad_signature(char *token)
{
    append(token, "=");
}

static void pad_header(char *token)
{
    char *dot = strchr(token, '.');
    memmove(dot + 1, dot, strlen(dot) + 1);
    *dot = '=';
}

static void put_plus(char *token)
{
    strrchr(token, '.')[3] = '+';
}

static void put_slash(char *token)
{
    strrchr(token, '.')[3] = '/';
}

static void end_with_newline(char *token)
{
    append(token, "\n");
}

static void begin_with_space(char *token)
{
    memmove(token + 1, token, strlen(token) + 1);
    token[0] = ' ';
}

static void break_claims(char *token)
{
    strchr(token, '.')[5] = '\n';
}

/* The last of 86 characters has four bits that stand for nothing. */
static void set_stray_bits(char *token)
{
    char *last = token + strlen(token) - 1;
    assert_non_null(strchr("AQgw", *last));
    ++*last;
}

static void drop_signature(char *token)
{
    strrchr(token, '.')[1] = 0;
}

static void drop_signature_and_dot(char *token)
{
    *strrchr(token, '.') = 0;
}

static void drop_header(char *token)
{
    memmove(token, strchr(token, '.'), strlen(strchr(token, '.')) + 1);
}

static void drop_claims(char *token)
{
    char *last = strrchr(token, '.');
    memmove(strchr(token, '.') + 1, last, strlen(last) + 1);
}

static void add_part(char *token)
{
    append(token, ".AAAA");
}

static void add_two_parts(char *token)
{
    append(token, ".AAAA.AAAA");
}

static void end_with_dot(char *token)
{
    append(token, ".");
}

static void exchange_claims(char *token)
{
    char *dot = strchr(token, '.');
    dot[30] = dot[30] == 'A' ? 'B' : 'A';
}

/* ---- rows --------------------------------------------------------------------- */

struct row {
    const char *name;
    enum sl_jwt_algorithm by;
    const char *header; /* NULL: {"alg":…} */
    const char *claims; /* NULL: GOOD_CLAIMS */
    sign_text *sign;    /* NULL: as `by` says */
    damage_token *damage;
    enum sl_refusal wanted;
};

#define HS SL_JWT_HS256
#define RS SL_JWT_RS256
#define ES SL_JWT_ES256
#define ED SL_JWT_EdDSA

static EVP_PKEY *key_of(enum sl_jwt_algorithm by)
{
    EVP_PKEY *const keys[] = { NULL, minted_keys.rsa, minted_keys.rsa, minted_keys.p256,
                               minted_keys.ed25519 };
    return keys[by];
}

static const char *plain_header(enum sl_jwt_algorithm by)
{
    static const char *const headers[] = {
#define SL_JWT_ROW(name, is_secret) "{\"alg\":\"" #name "\"}",
        SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
    };
    return headers[by];
}

static struct sluice_text token_of(const struct row *row)
{
    static char token[MINT_MAX_BYTES];
    struct sluice_text text =
        mint_unsigned(sl_text(row->header ? row->header : plain_header(row->by)),
                      sl_text(row->claims ? row->claims : GOOD_CLAIMS));
    struct bytes signature =
        row->sign ? row->sign(text) : mint_signature(key_of(row->by), row->by, text);
    struct sluice_text joined = mint_joined(text, signature);
    memcpy(token, joined.at, joined.len);
    token[joined.len] = 0;
    if (row->damage)
        row->damage(token);
    return sl_text(token);
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row good = { "good", rows[i].by };
        is_refused(rows[i].name, token_of(&rows[i]), rows[i].wanted);
        is_refused("the same without its fault", token_of(&good), SL_ACCEPTED);
    }
}

#endif
