/* What one would write instead of a lock-free table, written well: the same token
 * bucket in maps that one mutex guards. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include "measure.h"

/* A chained hash map: nodes allocated once, a power of two of buckets, XXH3-64, keys
 * kept whole and compared. */
struct chained;
struct chained *chained_new(const struct keys *keys);
uint64_t chained_run(const struct side *side, uint64_t at, uint64_t count);

/* Sluice's own layout (16-byte slots with a fingerprint, four to a line, half of
 * them used) with plain loads and stores. */
struct plain;
struct plain *plain_new(const struct keys *keys);
uint64_t plain_run(const struct side *side, uint64_t at, uint64_t count);

#endif
