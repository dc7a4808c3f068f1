/* SHA-256 and comparing without telling where it differs. */
#ifndef SL_BASE_SHA256_H
#define SL_BASE_SHA256_H

#include "base/text.h"

enum { SL_DIGEST_HEX = 64 };

struct sl_digest {
    uint8_t byte[32];
};

/* One thread's: a context that is used again and again, so that a digest allocates
 * nothing. NULL: no memory. */
struct sl_sha256;
struct sl_sha256 *sl_sha256_new(void);
void sl_sha256_free(struct sl_sha256 *hasher);

void sl_sha256_of(struct sl_sha256 *hasher, struct sluice_text text, struct sl_digest *out);

/* The digest of a + "_" + b. */
void sl_sha256_of_pair(struct sl_sha256 *hasher, struct sluice_text a, struct sluice_text b,
                       struct sl_digest *out);

/* Takes as long whether and wherever they differ. */
bool sl_digest_equal(const struct sl_digest *a, const struct sl_digest *b);

/* Lowercase, terminated. */
void sl_digest_print(const struct sl_digest *digest, char out[SL_DIGEST_HEX + 1]);

/* 64 hex digits of either case. */
bool sl_digest_parse(struct sluice_text text, struct sl_digest *out);

#endif
