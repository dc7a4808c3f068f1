/* Counts different values: a HyperLogLog of 256 registers of a byte.
 *
 *   hash   …0110100 10110011      register 10110011 has seen a rank of 3:
 *              rank register      the place of the lowest 1 above it
 *
 * Of n different hashes that fall on a register the highest rank is about log2 n, and
 * 256 registers together give the count with a standard error of 6.5 %; small counts are more
 * exact, by the number of registers still untouched. A hash that comes again
 * changes nothing, and the maximum of two sketches is the sketch of both.
 *
 * All zero is empty. */
#ifndef SL_BASE_STATS_DISTINCT_H
#define SL_BASE_STATS_DISTINCT_H

#include <stdatomic.h>
#include <stdint.h>

enum { SL_DISTINCT_REGISTERS = 256, SL_DISTINCT_RANK_MAX = 57 };

struct sl_distinct {
    uint8_t registers[SL_DISTINCT_REGISTERS];
};

/* Returns the rank of the 56 bits above the register's number; 57 if all are zero. */
static inline uint8_t sl_distinct_rank(uint64_t hash)
{
    return (uint8_t)(1 + __builtin_ctzll(hash >> 8 | UINT64_C(1) << 56));
}

/* For the one thread that writes these registers: mostly a load and a comparison. */
static inline void sl_distinct_see(_Atomic uint8_t *registers, uint64_t hash)
{
    _Atomic uint8_t *seen = &registers[hash % SL_DISTINCT_REGISTERS];
    uint8_t rank = sl_distinct_rank(hash);
    if (rank > atomic_load_explicit(seen, memory_order_relaxed))
        atomic_store_explicit(seen, rank, memory_order_relaxed);
}

/* For any one thread, while another writes: merges the registers into `into` and empties them.
 * Nothing is lost in between: a register is emptied by an exchange, and a rank stored right after
 * it stays for the next call. */
void sl_distinct_take(struct sl_distinct *into, _Atomic uint8_t *registers);

void sl_distinct_add(struct sl_distinct *distinct, uint64_t hash);
void sl_distinct_merge(struct sl_distinct *to, const struct sl_distinct *from);
uint64_t sl_distinct_count(const struct sl_distinct *distinct);

#endif
