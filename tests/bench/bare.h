/* The least that a decision on a shared table can cost: hash the key, go to a line, swap
 * sixteen bytes there. What Sluice's decision takes beyond it is Sluice's. */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include "base/atomic128.h"
#include "measure.h"

/* Lines in a mapping of the caller. A swap writes back what it read, so these may be
 * those of a table in use. */
struct bare {
    struct sl_word *lines; /* four words each */
    uint64_t line_count;
    uint64_t seed;
};

/* A bare of one line of its own: for a hot key. */
struct bare bare_hot(void);

/* Sides whose context is a struct bare. `clocked` reads the clock for each, `unclocked`
 * never; `ahead` is `clocked` that fetches the line while it reads the clock; `batch`
 * hashes, prefetches and swaps 16 at once, without a clock. */
uint64_t bare_clocked(const struct side *side, uint64_t at, uint64_t count);
uint64_t bare_unclocked(const struct side *side, uint64_t at, uint64_t count);
uint64_t bare_ahead(const struct side *side, uint64_t at, uint64_t count);
uint64_t bare_batch(const struct side *side, uint64_t at, uint64_t count);

/* CLOCK_BOOTTIME, as the table reads it. */
int64_t boot_ns(void);

#endif
