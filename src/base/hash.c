/* XXH3, compiled in, and random seeds. */
#include "base/hash.h"

#include <sys/random.h>

/* Compiled in: a key of 20 bytes hashes in two thirds of the time that a call
 * into the shared library takes. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"

uint64_t sl_hash64(struct sluice_text text, uint64_t seed)
{
    return XXH3_64bits_withSeed(text.at, text.len, seed);
}

struct sl_hash128 sl_hash128(struct sluice_text text, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(text.at, text.len, seed);
    return (struct sl_hash128){ hash.low64, hash.high64 };
}

uint64_t sl_random64(void)
{
    uint64_t value;
    SL_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
}
