/* SHA-256, and comparison of digests in constant time. */
#ifndef SL_BASE_SHA256_H
#define SL_BASE_SHA256_H

#include "base/text.h"

enum { SL_DIGEST_HEX = 64 };

struct sl_digest {
    uint8_t byte[32];
};

/* A context for one thread, used again and again so that a digest allocates nothing.
 * sl_sha256_new returns NULL if there is no memory. */
struct sl_sha256;
struct sl_sha256 *sl_sha256_new(void);
void sl_sha256_free(struct sl_sha256 *hasher);

void sl_sha256_of(struct sl_sha256 *hasher, struct sluice_text text, struct sl_digest *out);

/* The digest of a + "_" + b. */
void sl_sha256_of_pair(struct sl_sha256 *hasher, struct sluice_text a, struct sluice_text b,
                       struct sl_digest *out);

/* Takes the same time wherever they differ, and if they do not. */
bool sl_digest_equal(const struct sl_digest *a, const struct sl_digest *b);

/* Prints lowercase hex digits, terminated. */
void sl_digest_print(const struct sl_digest *digest, char out[SL_DIGEST_HEX + 1]);

/* Parses 64 hex digits of either case. */
bool sl_digest_parse(struct sluice_text text, struct sl_digest *out);

#endif
