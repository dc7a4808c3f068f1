/* SHA-256 by OpenSSL's SHA256_ functions.
 *
 * They are deprecated since 3.0, in favour of EVP. But in 3.0 EVP_DigestInit allocates
 * each time, even for a context that is used again; and every token and key on the way
 * to a decision is digested. If OpenSSL drops them, EVP fits behind the same functions. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>

#include "base/check.h"

struct sl_sha256 {
    SHA256_CTX context;
};

static void begin_digest(struct sl_sha256 *hasher)
{
    SL_CHECK(SHA256_Init(&hasher->context) == 1);
}

static void add_bytes(struct sl_sha256 *hasher, struct sluice_text text)
{
    if (text.len)
        SL_CHECK(SHA256_Update(&hasher->context, text.at, text.len) == 1);
}

static void end_digest(struct sl_sha256 *hasher, struct sl_digest *out)
{
    SL_CHECK(SHA256_Final(out->byte, &hasher->context) == 1);
}

struct sl_sha256 *sl_sha256_new(void)
{
    return calloc(1, sizeof(struct sl_sha256));
}

void sl_sha256_free(struct sl_sha256 *hasher)
{
    free(hasher);
}

void sl_sha256_of(struct sl_sha256 *hasher, struct sluice_text text, struct sl_digest *out)
{
    begin_digest(hasher);
    add_bytes(hasher, text);
    end_digest(hasher, out);
}

void sl_sha256_of_pair(struct sl_sha256 *hasher, struct sluice_text a, struct sluice_text b,
                       struct sl_digest *out)
{
    begin_digest(hasher);
    add_bytes(hasher, a);
    add_bytes(hasher, SL_TEXT("_"));
    add_bytes(hasher, b);
    end_digest(hasher, out);
}

bool sl_digest_equal(const struct sl_digest *a, const struct sl_digest *b)
{
    return CRYPTO_memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

void sl_digest_print(const struct sl_digest *digest, char out[SL_DIGEST_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof digest->byte; i++) {
        *out++ = digits[digest->byte[i] >> 4];
        *out++ = digits[digest->byte[i] & 15];
    }
    *out = 0;
}

bool sl_digest_parse(struct sluice_text text, struct sl_digest *out)
{
    struct sl_digest digest;
    if (text.len != SL_DIGEST_HEX)
        return false;
    for (size_t i = 0; i < sizeof digest.byte; i++) {
        int high = sl_hex_digit(text.at[2 * i]), low = sl_hex_digit(text.at[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest.byte[i] = (uint8_t)(high << 4 | low);
    }
    *out = digest;
    return true;
}
