/* What the table holds, counted bit by bit, for who must not be held up.
 *
 *   slots   | part 0 | part 1 | … | part 63 |       a part or more a look, around and around
 *
 * Counting every slot at once takes seconds where there are gigabytes. So each look counts about
 * a mebibyte of slots, whatever the size, and the whole is the sum of the parts as each was
 * seen last: with a look every quarter of a second none of it is older than 16 s.
 *
 * Up to 64 MiB every slot is counted. In a larger table a part is longer than a look, and stands
 * for itself by a piece of it, another one each time around. Keys are spread by their hash, so a
 * piece is a fair sample: with n keys seen in all pieces together, the sum is off by about 1/√n.
 *
 * Pages that are not in memory are passed over, as if they held nothing, and cost nothing. Most
 * never held anything, and to look at one would give it memory, or wait for a disk. Where the
 * system does not say which they are (mincore), all are looked at. */
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

/* A zeroed one has seen nothing. */
struct sl_tally {
    uint32_t count; /* parts that the table has */
    uint32_t seen;  /* of these, at least once */
    uint32_t next;
    uint64_t rounds;
    struct sl_tally_part parts[SL_TALLY_PARTS];
};

/* Counts the next part, or more of them, as of now_us. */
void sl_tally_look(struct sl_tally *tally, struct sl_table *table, int64_t now_us);

/* Fills in live, limiting and log_live; parts that were not seen yet are taken to be like those
 * that were. It has looked at least once. */
void sl_tally_sum(const struct sl_tally *tally, struct sluice_stats *out);

#endif
