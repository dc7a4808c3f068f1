#include "base/sha256.h"

#include "unit/base/unit.h"

static struct sl_sha256 *hasher;

static int open_hasher(void **unused)
{
    (void)unused;
    hasher = sl_sha256_new();
    return hasher ? 0 : -1;
}

static int close_hasher(void **unused)
{
    (void)unused;
    sl_sha256_free(hasher);
    return 0;
}

static const char *hex_of(struct sluice_text text)
{
    static char hex[SL_DIGEST_HEX + 1];
    struct sl_digest digest;
    sl_sha256_of(hasher, text, &digest);
    sl_digest_print(&digest, hex);
    return hex;
}

TEST(digests_are_those_of_fips_180)
{
    static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_string_equal(hex_of(SL_TEXT("")), empty);
    assert_string_equal(hex_of((struct sluice_text){ 0 }), empty);
    assert_string_equal(hex_of(SL_TEXT("abc")),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(hex_of(SL_TEXT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_string_equal(hex_of(SL_TEXT("")), empty); /* nothing is left of the one before */
}

TEST(a_pair_is_joined_by_an_underscore)
{
    struct sl_digest pair, whole;
    sl_sha256_of_pair(hasher, SL_TEXT("a@example.com"), SL_TEXT("192.0.2.1"), &pair);
    sl_sha256_of(hasher, SL_TEXT("a@example.com_192.0.2.1"), &whole);
    assert_true(sl_digest_equal(&pair, &whole));
    sl_sha256_of_pair(hasher, (struct sluice_text){ 0 }, SL_TEXT(""), &pair);
    sl_sha256_of(hasher, SL_TEXT("_"), &whole);
    assert_true(sl_digest_equal(&pair, &whole));
}

TEST(digests_differ_by_any_bit)
{
    struct sl_digest a = { { 0 } };
    for (size_t i = 0; i < 256; i++) {
        struct sl_digest b = a;
        b.byte[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(sl_digest_equal(&a, &b));
    }
    assert_true(sl_digest_equal(&a, &a));
}

TEST(what_is_printed_is_read_in_either_case)
{
    struct sl_digest digest, again;
    char hex[SL_DIGEST_HEX + 1];
    for (size_t i = 0; i < sizeof digest.byte; i++)
        digest.byte[i] = (uint8_t)(i * 37 + 5);
    sl_digest_print(&digest, hex);
    assert_int_equal(strlen(hex), SL_DIGEST_HEX);
    assert_true(sl_digest_parse(sl_text(hex), &again));
    assert_true(sl_digest_equal(&digest, &again));
    for (char *at = hex; *at; at++)
        *at = (char)(*at >= 'a' ? *at - 32 : *at);
    assert_true(sl_digest_parse(sl_text(hex), &again));
    assert_true(sl_digest_equal(&digest, &again));
}

TEST(what_is_not_64_hex_digits_is_no_digest)
{
    char hex[SL_DIGEST_HEX + 2];
    struct sl_digest digest = { { 7 } };
    memset(hex, 'a', sizeof hex);
    assert_false(sl_digest_parse((struct sluice_text){ hex, SL_DIGEST_HEX - 1 }, &digest));
    assert_false(sl_digest_parse((struct sluice_text){ hex, SL_DIGEST_HEX + 1 }, &digest));
    assert_false(sl_digest_parse((struct sluice_text){ 0 }, &digest));
    for (size_t i = 0; i < SL_DIGEST_HEX; i++) {
        hex[i] = "g/:@`G"[i % 6];
        assert_false(sl_digest_parse((struct sluice_text){ hex, SL_DIGEST_HEX }, &digest));
        hex[i] = 'a';
    }
    assert_int_equal(digest.byte[0], 7);
}

TESTS_WITH(open_hasher, close_hasher)
