#include "auth/token/signature.h"

#include "auth/token/jwk.h"
#include "auth/token/jwt.h"
#include "unit/auth/token/examples.h"
#include "unit/auth/token/minting.h"

static const struct sluice_text text = { "header.claims", 13 };

static enum sl_refusal check(const struct sl_token_key *key, enum sl_jwt_algorithm algorithm,
                             const struct bytes *signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t *exact = malloc(signature->len ? signature->len : 1);
    assert_true(context && exact);
    memcpy(exact, signature->at, signature->len);
    struct sl_signed what = { algorithm, text, { (char *)exact, signature->len } };
    enum sl_refusal refusal = sl_signature_check(context, key, &what);
    assert_int_equal(ERR_peek_error(), 0);
    free(exact);
    EVP_MD_CTX_free(context);
    return refusal;
}

/* The key of an algorithm, as the tests have it. */
static struct sl_token_key key_for(enum sl_jwt_algorithm algorithm)
{
    EVP_PKEY *const keys[] = { [SL_JWT_RS256] = minted_keys.rsa,
                               [SL_JWT_PS256] = minted_keys.rsa,
                               [SL_JWT_ES256] = minted_keys.p256,
                               [SL_JWT_EdDSA] = minted_keys.ed25519 };
    struct sl_token_key key = { .algorithms = 1u << algorithm, .public = keys[algorithm] };
    if (algorithm == SL_JWT_HS256)
        key.secret = SL_TEXT(SECRET);
    return key;
}

static const char *const names[] = {
#define SL_JWT_ROW(name, is_secret) #name,
    SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
};

/* ---- published ones ---------------------------------------------------------------- */

TEST(published_signatures_are_good)
{
    static const struct {
        enum sl_jwt_algorithm algorithm;
        const char *jwk, *token;
    } rows[] = {
        { SL_JWT_HS256, RFC_HS256_JWK, RFC_HS256 }, { SL_JWT_RS256, RFC_RSA_JWK, RFC_RS256 },
        { SL_JWT_ES256, RFC_P256_JWK, RFC_ES256 },  { SL_JWT_EdDSA, RFC_ED25519_JWK, RFC_EDDSA },
        { SL_JWT_PS256, RFC_RSA_JWK, PYJWT_PS256 }, { SL_JWT_EdDSA, RFC_ED25519_JWK, PYJWT_EDDSA },
    };
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum sl_strict_wrong wrong;
        struct sl_arena arena = { 0 };
        struct sl_token_key key;
        struct sl_jwt jwt;
        static uint8_t room[SL_TOKEN_MAX_BYTES];
        json_t *json = sl_strict_json(sl_text(rows[i].jwk), &wrong);
        assert_null(sl_jwk_read(&arena, json, 1u << rows[i].algorithm, &key));
        SAME(rows[i].token, sl_jwt_split(sl_text(rows[i].token), room, &jwt), SL_ACCEPTED);
        struct sl_signed what = { rows[i].algorithm, jwt.signed_text, jwt.signature };
        SAME(rows[i].token, sl_signature_check(context, &key, &what), SL_ACCEPTED);
        what.text.len--;
        SAME(rows[i].token, sl_signature_check(context, &key, &what), SL_REFUSED_SIGNATURE);
        sl_token_key_release(&key);
        sl_arena_release(&arena);
        json_decref(json);
    }
    EVP_MD_CTX_free(context);
}

/* ---- each algorithm ---------------------------------------------------------------- */

TEST(a_good_signature_is_good_and_no_bit_of_it_can_change)
{
    for (enum sl_jwt_algorithm i = 0; i < COUNT(names); i++) {
        struct sl_token_key key = key_for(i);
        struct bytes good = mint_signature(key.public, i, text);
        SAME(names[i], check(&key, i, &good), SL_ACCEPTED);
        for (size_t bit = 0; bit<8 * good.len; bit += good.len> 64 ? 31 : 1) {
            struct bytes bad = good;
            bad.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
            SAME(names[i], check(&key, i, &bad), SL_REFUSED_SIGNATURE);
        }
        SAME(names[i], check(&key, i, &good), SL_ACCEPTED); /* nothing is left of the bad ones */
    }
}

TEST(a_signature_has_one_length)
{
    for (enum sl_jwt_algorithm i = 0; i < COUNT(names); i++) {
        struct sl_token_key key = key_for(i);
        struct bytes good = mint_signature(key.public, i, text);
        for (size_t len = 0; len < good.len + 10; len++) {
            struct bytes other = good;
            other.len = len;
            SAME(names[i], check(&key, i, &other),
                 len == good.len ? SL_ACCEPTED : SL_REFUSED_SIGNATURE_LENGTH);
        }
    }
}

TEST(a_signature_of_another_key_is_wrong)
{
    struct sl_token_key rsa2 = { .algorithms = BIT(RS256) | BIT(PS256),
                                 .public = minted_keys.rsa2 };
    struct sl_token_key secret2 = { .algorithms = BIT(HS256), .secret = SL_TEXT(SECRET "x") };
    struct bytes rs = mint_signature(minted_keys.rsa, SL_JWT_RS256, text);
    struct bytes ps = mint_signature(minted_keys.rsa, SL_JWT_PS256, text);
    struct bytes hs = mint_signature(NULL, SL_JWT_HS256, text);
    assert_int_equal(check(&rsa2, SL_JWT_RS256, &rs), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&rsa2, SL_JWT_PS256, &ps), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&secret2, SL_JWT_HS256, &hs), SL_REFUSED_SIGNATURE);
}

TEST(the_two_paddings_of_rsa_are_not_taken_for_each_other)
{
    struct sl_token_key key = { .algorithms = BIT(RS256) | BIT(PS256), .public = minted_keys.rsa };
    struct bytes rs = mint_signature(minted_keys.rsa, SL_JWT_RS256, text);
    struct bytes ps = mint_signature(minted_keys.rsa, SL_JWT_PS256, text);
    assert_int_equal(check(&key, SL_JWT_RS256, &rs), SL_ACCEPTED);
    assert_int_equal(check(&key, SL_JWT_PS256, &ps), SL_ACCEPTED);
    assert_int_equal(check(&key, SL_JWT_PS256, &rs), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&key, SL_JWT_RS256, &ps), SL_REFUSED_SIGNATURE);
}

/* ---- PSS: salt and digests --------------------------------------------------------- */

static struct bytes pss_of(const EVP_MD *digest, const EVP_MD *mask, int salt_len)
{
    struct bytes out = { .len = sizeof out.at };
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *options;
    assert_int_equal(EVP_DigestSignInit(context, &options, digest, NULL, minted_keys.rsa), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_mgf1_md(options, mask), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, salt_len), 1);
    assert_int_equal(EVP_DigestSign(context, out.at, &out.len, (const uint8_t *)text.at, text.len),
                     1);
    EVP_MD_CTX_free(context);
    return out;
}

TEST(pss_is_sha256_throughout_with_a_salt_as_long)
{
    struct sl_token_key key = key_for(SL_JWT_PS256);
    struct bytes good = pss_of(EVP_sha256(), EVP_sha256(), 32);
    struct bytes no_salt = pss_of(EVP_sha256(), EVP_sha256(), 0);
    struct bytes short_salt = pss_of(EVP_sha256(), EVP_sha256(), 31);
    struct bytes long_salt = pss_of(EVP_sha256(), EVP_sha256(), RSA_PSS_SALTLEN_MAX);
    struct bytes mask = pss_of(EVP_sha256(), EVP_sha1(), 32);
    struct bytes digest = pss_of(EVP_sha512(), EVP_sha256(), 32);
    assert_int_equal(check(&key, SL_JWT_PS256, &good), SL_ACCEPTED);
    assert_int_equal(check(&key, SL_JWT_PS256, &no_salt), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&key, SL_JWT_PS256, &short_salt), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&key, SL_JWT_PS256, &long_salt), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&key, SL_JWT_PS256, &mask), SL_REFUSED_SIGNATURE);
    assert_int_equal(check(&key, SL_JWT_PS256, &digest), SL_REFUSED_SIGNATURE);
}

/* ---- ECDSA: r and s ---------------------------------------------------------------- */

TEST(r_and_s_are_numbers_below_the_order_and_not_zero)
{
    static const uint8_t order[32] = {
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
        0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    };
    struct sl_token_key key = key_for(SL_JWT_ES256);
    struct bytes good = mint_signature(minted_keys.p256, SL_JWT_ES256, text), bad;
    for (size_t half = 0; half < 64; half += 32) {
        bad = good;
        memset(bad.at + half, 0, 32);
        assert_int_equal(check(&key, SL_JWT_ES256, &bad), SL_REFUSED_SIGNATURE);
        memset(bad.at + half, 0xff, 32);
        assert_int_equal(check(&key, SL_JWT_ES256, &bad), SL_REFUSED_SIGNATURE);
        memcpy(bad.at + half, order, 32);
        assert_int_equal(check(&key, SL_JWT_ES256, &bad), SL_REFUSED_SIGNATURE);
    }
    bad = good;
    memset(bad.at, 0, 64);
    assert_int_equal(check(&key, SL_JWT_ES256, &bad), SL_REFUSED_SIGNATURE);
}

/* Found by trying: one in 256 has one. */
TEST(leading_zeros_of_r_and_s_stay)
{
    struct sl_token_key key = key_for(SL_JWT_ES256);
    for (int tries = 0; tries < 20000; tries++) {
        struct bytes good = mint_signature(minted_keys.p256, SL_JWT_ES256, text);
        if (good.at[0] != 0 && good.at[32] != 0)
            continue;
        assert_int_equal(check(&key, SL_JWT_ES256, &good), SL_ACCEPTED);
        return;
    }
    fail_msg("no r or s began with a zero in 20000");
}

TESTS_WITH(mint_keys, drop_keys)
