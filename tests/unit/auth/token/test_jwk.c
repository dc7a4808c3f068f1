#include "auth/token/jwk.h"

#include "unit/auth/token/examples.h"
#include "unit/auth/token/minting.h"

#define ALL (BIT(HS256) | BIT(RS256) | BIT(PS256) | BIT(ES256) | BIT(EdDSA))

/* NULL and the algorithms, or the sentence. */
static const char *read_jwk(const char *json, uint32_t algorithms, uint32_t *can, char kid[64])
{
    enum sl_strict_wrong wrong;
    struct sl_arena arena = { 0 };
    struct sl_token_key key = { .algorithms = 12345 };
    json_t *jwk = sl_strict_json(sl_text(json), &wrong);
    if (!jwk)
        fail_msg("the test's own JSON is wrong: %s", json);
    const char *sentence = sl_jwk_read(&arena, jwk, algorithms, &key);
    if (!sentence) {
        *can = key.algorithms;
        snprintf(kid, 64, "%.*s", (int)key.kid.len, key.kid.at ? key.kid.at : "(none)");
        if (!key.kid.at)
            strcpy(kid, "(none)");
        sl_token_key_release(&key);
    } else {
        assert_int_equal(key.algorithms, 12345); /* left alone */
    }
    sl_arena_release(&arena);
    json_decref(jwk);
    return sentence;
}

static void takes(const char *json, uint32_t algorithms, uint32_t wanted)
{
    uint32_t can = 0;
    char kid[64];
    const char *sentence = read_jwk(json, algorithms, &can, kid);
    if (sentence)
        fail_msg("%s: %s", json, sentence);
    SAME(json, can, wanted);
}

static void refuses(const char *json, const char *words)
{
    uint32_t can = 0;
    char kid[64];
    const char *sentence = read_jwk(json, ALL, &can, kid);
    if (!sentence || !strstr(sentence, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", json, sentence ? sentence : "(taken)", words);
}

TEST(every_kind_is_for_its_algorithms)
{
    takes(mint_jwk(NULL, ""), ALL, BIT(HS256));
    takes(mint_jwk(minted_keys.rsa, ""), ALL, BIT(RS256) | BIT(PS256));
    takes(mint_jwk(minted_keys.p256, ""), ALL, BIT(ES256));
    takes(mint_jwk(minted_keys.ed25519, ""), ALL, BIT(EdDSA));
    takes(mint_jwk(minted_keys.rsa, ",\"use\":\"sig\",\"key_ops\":[\"sign\",\"verify\"]"), ALL,
          BIT(RS256) | BIT(PS256));
}

TEST(alg_and_configuration_narrow_it)
{
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"RS256\""), ALL, BIT(RS256));
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"PS256\""), ALL, BIT(PS256));
    takes(mint_jwk(minted_keys.rsa, ""), BIT(PS256) | BIT(ES256), BIT(PS256));
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"RS256\""), BIT(PS256), 0);
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"RS512\""), ALL, 0);
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"RSA-OAEP\""), ALL, 0);
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"rs256\""), ALL, 0);
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"none\""), ALL, 0);
    takes(mint_jwk(NULL, ""), ALL & ~BIT(HS256), 0);
    /* An RSA key for HMAC, a secret for RSA: nothing at all. */
    takes(mint_jwk(minted_keys.rsa, ",\"alg\":\"HS256\""), ALL, 0);
    takes(mint_jwk(NULL, ",\"alg\":\"RS256\""), ALL, 0);
    takes(mint_jwk(minted_keys.p256, ",\"alg\":\"EdDSA\""), ALL, 0);
}

TEST(keys_for_something_else_are_passed_over)
{
    static const char *const rows[] = {
        "{}",
        "{\"kty\":\"LMS\"}",
        "{\"kty\":\"rsa\",\"n\":\"\"}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"AA\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"EC\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"RSA\",\"use\":\"enc\",\"n\":7,\"d\":\"AA\"}",
        "{\"kty\":\"RSA\",\"alg\":\"RS384\",\"d\":\"AA\"}",
        "{\"kty\":\"RSA\",\"key_ops\":[\"encrypt\",1]}",
        "{\"kty\":\"oct\",\"key_ops\":[]}",
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        takes(rows[i], ALL, 0);
    takes(mint_jwk(minted_keys.p384, ""), ALL, 0);
}

TEST(a_key_for_us_that_is_damaged_is_refused)
{
    char json[3000];
    refuses("{\"kty\":\"RSA\"}", "lacks its `n` or `e`");
    refuses("{\"kty\":\"RSA\",\"n\":\"AQAB\"}", "lacks its `n` or `e`");
    refuses("{\"kty\":\"RSA\",\"n\":3,\"e\":\"AQAB\"}", "lacks its `n` or `e`");
    refuses("{\"kty\":\"RSA\",\"n\":\"AQ==\",\"e\":\"AQAB\"}", "not base64url");
    refuses("{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", "below 2048 bits");
    refuses("{\"kty\":\"RSA\",\"n\":\"AAAA\",\"e\":\"AQAB\"}", "RSA key");
    refuses("{\"kty\":\"EC\",\"crv\":\"P-256\"}", "lacks its `x` or `y`");
    refuses("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}", "32 bytes each");
    refuses(
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
        "no point of P-256");
    refuses(
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
        "\"y\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}",
        "no point of P-256");
    refuses("{\"kty\":\"OKP\",\"crv\":\"Ed25519\"}", "lacks its `x`");
    refuses("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}", "32 bytes");
    refuses("{\"kty\":\"oct\"}", "lacks its `k`");
    refuses("{\"kty\":\"oct\",\"k\":\"\"}", "lacks its `k`");
    refuses("{\"kty\":\"oct\",\"k\":\"AAA+\"}", "not base64url");
    refuses("{\"kty\":\"oct\",\"k\":\"AyM1SysPpbyDfgZld3umj1qzKObwVMko\"}", "below 32 bytes");
    snprintf(json, sizeof json, "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"%02800d\"}", 1);
    refuses(json, "at most 16384 bits");
}

TEST(weak_rsa_keys_are_refused)
{
    EVP_PKEY *weak = mint_rsa(1024, 65537);
    refuses(mint_jwk(weak, ""), "below 2048 bits");
    EVP_PKEY_free(weak);
    char json[1000];
    const char *rsa = RFC_RSA_JWK;
    size_t before = (size_t)(strstr(rsa, "\"AQAB\"") - rsa);
    snprintf(json, sizeof json, "%.*s\"AQ\"}", (int)before, rsa);
    refuses(json, "even or below 3");
    snprintf(json, sizeof json, "%.*s\"BA\"}", (int)before, rsa);
    refuses(json, "even or below 3");
    snprintf(json, sizeof json, "%.*s\"AQAAAAAAAAAB\"}", (int)before, rsa);
    refuses(json, "more than 64 bits");
    snprintf(json, sizeof json, "%.*s\"AAAAAQAB\"}", (int)before, rsa); /* zeros before it */
    takes(json, ALL, BIT(RS256) | BIT(PS256));
}

TEST(a_private_key_is_refused_whatever_its_kind)
{
    static const char *const members[] = { "d", "p", "q", "dp", "dq", "qi", "oth" };
    for (size_t i = 0; i < COUNT(members); i++) {
        char more[32];
        snprintf(more, sizeof more, ",\"%s\":\"AQAB\"", members[i]);
        refuses(mint_jwk(minted_keys.rsa, more), "is a private key");
    }
    refuses(mint_jwk(minted_keys.p256, ",\"d\":null"), "is a private key");
    refuses(mint_jwk(minted_keys.ed25519, ",\"d\":\"AA\""), "is a private key");
}

TEST(members_are_of_their_type)
{
    static const char *const members[] = { "kty", "use", "alg", "kid" };
    for (size_t i = 0; i < COUNT(members); i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"%s\":1}", members[i]);
        refuses(json, "not a string");
    }
    refuses("{\"kty\":\"RSA\",\"key_ops\":\"verify\"}", "not a list");
    struct sl_token_key key;
    struct sl_arena arena = { 0 };
    json_t *list = json_array();
    assert_non_null(strstr(sl_jwk_read(&arena, list, ALL, &key), "not an object"));
    assert_non_null(strstr(sl_jwk_read(&arena, NULL, ALL, &key), "not an object"));
    json_decref(list);
}

TEST(its_kid_is_kept)
{
    char kid[64];
    uint32_t can;
    assert_null(read_jwk(mint_jwk(minted_keys.p256, ",\"kid\":\"k \\u00e9\""), ALL, &can, kid));
    assert_string_equal(kid, "k \xc3\xa9");
    assert_null(read_jwk(mint_jwk(minted_keys.p256, ",\"kid\":\"\""), ALL, &can, kid));
    assert_string_equal(kid, "");
    assert_null(read_jwk(mint_jwk(minted_keys.p256, ""), ALL, &can, kid));
    assert_string_equal(kid, "(none)");
}

TEST(what_is_unknown_is_ignored)
{
    takes(
        mint_jwk(minted_keys.p256, ",\"x5c\":[\"AA\"],\"x5u\":\"https://a.example\",\"ext\":true"),
        ALL, BIT(ES256));
}

TESTS_WITH(mint_keys, drop_keys)
