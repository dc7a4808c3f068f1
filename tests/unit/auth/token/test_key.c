#include "auth/token/key.h"

#include "unit/auth/token/minting.h"

/* An RSA public key of any numbers. */
static EVP_PKEY *rsa_of(const BIGNUM *n, unsigned long e)
{
    EVP_PKEY *key = NULL;
    BIGNUM *exponent = BN_new();
    uint8_t bytes[2][2100];
    BN_set_word(exponent, e);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, bytes[0], (size_t)BN_num_bytes(n)),
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_E, bytes[1], (size_t)BN_num_bytes(exponent)),
        OSSL_PARAM_construct_end(),
    };
    assert_true(BN_bn2nativepad(n, bytes[0], BN_num_bytes(n)) > 0);
    assert_true(BN_bn2nativepad(exponent, bytes[1], BN_num_bytes(exponent)) > 0);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    assert_int_equal(EVP_PKEY_fromdata_init(context), 1);
    assert_int_equal(EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters), 1);
    EVP_PKEY_CTX_free(context);
    BN_free(exponent);
    return key;
}

static BIGNUM *modulus_of(EVP_PKEY *key)
{
    BIGNUM *n = NULL;
    assert_int_equal(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n), 1);
    return n;
}

/* Takes the key. words NULL: it is good. */
static void is_for(const char *row, EVP_PKEY *key, uint32_t wanted, const char *words)
{
    const char *wrong = NULL;
    assert_non_null(key);
    SAME(row, sl_public_key_algorithms(key, &wrong), wanted);
    SAME(row, wrong != NULL, words != NULL);
    if (words && !strstr(wrong, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", row, wrong, words);
    EVP_PKEY_free(key);
    ERR_clear_error();
}

TEST(a_key_is_for_the_algorithms_of_its_kind)
{
    is_for("RSA 2048", mint_rsa(2048, 65537), BIT(RS256) | BIT(PS256), NULL);
    is_for("RSA 2048, e = 3", mint_rsa(2048, 3), BIT(RS256) | BIT(PS256), NULL);
    is_for("RSA 3072", mint_rsa(3072, 65537), BIT(RS256) | BIT(PS256), NULL);
    is_for("P-256", EVP_EC_gen("P-256"), BIT(ES256), NULL);
    is_for("Ed25519", EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), BIT(EdDSA), NULL);
}

TEST(other_kinds_are_refused)
{
    is_for("P-384", EVP_EC_gen("P-384"), 0, "another curve than P-256");
    is_for("secp256k1", EVP_EC_gen("secp256k1"), 0, "another curve than P-256");
    is_for("X25519", EVP_PKEY_Q_keygen(NULL, NULL, "X25519"), 0, "of a kind that no algorithm");
    is_for("Ed448", EVP_PKEY_Q_keygen(NULL, NULL, "ED448"), 0, "of a kind that no algorithm");
    EVP_PKEY *pss = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA-PSS", NULL);
    assert_int_equal(EVP_PKEY_keygen_init(context), 1);
    assert_int_equal(EVP_PKEY_generate(context, &pss), 1);
    EVP_PKEY_CTX_free(context);
    is_for("RSA-PSS", pss, 0, "of a kind that no algorithm");
}

TEST(weak_and_absurd_rsa_keys_are_refused)
{
    EVP_PKEY *good = mint_rsa(2048, 65537);
    BIGNUM *n = modulus_of(good), *other = BN_dup(n);
    is_for("1024 bits", mint_rsa(1024, 65537), 0, "below 2048 bits");
    is_for("2047 bits", (BN_rshift1(other, n), rsa_of(other, 65537)), 0, "below 2048 bits");
    is_for("e = 1", rsa_of(n, 1), 0, "even or below 3");
    is_for("e = 2", rsa_of(n, 2), 0, "even or below 3");
    is_for("e = 65536", rsa_of(n, 65536), 0, "even or below 3");
    is_for("n is even", (BN_copy(other, n), BN_clear_bit(other, 0), rsa_of(other, 65537)), 0,
           "damaged");
    is_for("16385 bits", (BN_lshift(other, n, 16385 - 2048), rsa_of(other, 65537)), 0,
           "above 16384 bits");
    is_for("as it was", rsa_of(n, 65537), BIT(RS256) | BIT(PS256), NULL);
    BN_free(n);
    BN_free(other);
    EVP_PKEY_free(good);
}

TEST(a_secret_has_32_bytes_and_is_no_pem)
{
    static const struct {
        struct sluice_text secret;
        const char *words; /* NULL: good */
    } rows[] = {
        { SL_TEXT("0123456789abcdef0123456789abcdef"), NULL },
        { SL_TEXT("0123456789abcdef\0 123456789abcdef"), NULL },
        { SL_TEXT("0123456789abcdef0123456789abcde"), "below 32 bytes" },
        { SL_TEXT(""), "below 32 bytes" },
        { { 0 }, "below 32 bytes" },
        { SL_TEXT("-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI"), "is PEM" },
        { SL_TEXT("-----BEGIN RSA PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI"), "is PEM" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *wrong = NULL;
        SAME(rows[i].secret.at, sl_secret_algorithms(rows[i].secret, &wrong),
             rows[i].words ? 0 : BIT(HS256));
        if (rows[i].words && (!wrong || !strstr(wrong, rows[i].words)))
            fail_msg("row %zu: not \"%s\"", i, rows[i].words);
    }
}

TEST(a_released_key_leaves_no_secret)
{
    char bytes[] = SECRET;
    struct sl_token_key key = { .algorithms = BIT(HS256), .secret = { bytes, strlen(bytes) } };
    sl_token_key_release(&key);
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0);
    assert_int_equal(key.algorithms, 0);
}
