/* Counting the keys of the table in small steps, for a thread that must not be held up.
 *
 *   slots   | part 0 | part 1 | … | part 63 |       one part or more per look, in a circle
 *
 * Counting every slot of a table of gigabytes takes seconds. So each look counts about a mebibyte
 * of slots, whatever the size, and the total is the sum of the latest counts of all parts: with a
 * look every quarter of a second no count is older than 16 s.
 *
 * Up to 64 MiB every slot is counted. In a larger table a part is longer than a look, so each look
 * counts a piece of it, another piece each time around. Keys are spread by their hash, so a piece
 * is a fair sample: with n keys seen in all pieces together, the sum is off by about 1/√n.
 *
 * Pages that are not in memory are skipped, as if they were empty. Most of them never held a key,
 * and reading one would allocate memory, or wait for a disk. If the system does not say which they
 * are (mincore), all are read. */
#ifndef SL_STORE_TABLE_TALLY_H
#define SL_STORE_TABLE_TALLY_H

#include "base/text.h"

struct sl_table;

enum {
    SL_TALLY_PARTS = 64,
    SL_TALLY_LINES = 16384,    /* of the slots, in one look, */
    SL_TALLY_LOG_LINES = 4096, /* and of each extent of the log area */
};

struct sl_tally_part {
    uint64_t live, limiting, log_live;
};

/* All zero: nothing counted yet. */
struct sl_tally {
    uint32_t count; /* parts that the table has */
    uint32_t seen;  /* of these, counted at least once */
    uint32_t next;
    uint64_t rounds;
    struct sl_tally_part parts[SL_TALLY_PARTS];
};

/* Counts the next part, or several, as of now_us. */
void sl_tally_look(struct sl_tally *tally, struct sl_table *table, int64_t now_us);

/* Fills in live, limiting and log_live. Assumes that parts not counted yet are like the others.
 * Call after at least one look. */
void sl_tally_sum(const struct sl_tally *tally, struct sluice_stats *out);

#endif
