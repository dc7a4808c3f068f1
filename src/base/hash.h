/* XXH3, the one hash of the project. */
#ifndef SL_BASE_HASH_H
#define SL_BASE_HASH_H

#include "base/text.h"

struct sl_hash128 {
    uint64_t low;
    uint64_t high;
};

uint64_t sl_hash64(struct sluice_text text, uint64_t seed);
struct sl_hash128 sl_hash128(struct sluice_text text, uint64_t seed);

/* Returns a number from the kernel's random source, for seeds that cannot be guessed. */
uint64_t sl_random64(void);

#endif
