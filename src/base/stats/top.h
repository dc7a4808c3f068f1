/* Who comes most often: Space-Saving with 64 counters (Metwally, Agrawal, El Abbadi, 2005).
 *
 * A key that is known is counted; a new one takes a free counter, or, where there is none,
 * the counter of the one that came least: it begins at that count, which is thereby its
 * possible error. So for every key that is here
 *
 *     count - error <= what it truly had <= count
 *
 * and one that had more than total/64 is here for certain. That holds for a merged one too.
 *
 * Zero is empty. One thread at a time. */
#ifndef SL_BASE_STATS_TOP_H
#define SL_BASE_STATS_TOP_H

#include "base/hash.h"

enum { SL_TOP_ENTRIES = 64 };

struct sl_top_entry {
    struct sl_hash128 key;
    uint64_t count, error;
    char *name, *owner; /* copies of its own; NULL: none was given */
};

struct sl_top {
    uint32_t count;
    uint64_t total; /* all the weight that was ever added */
    struct sl_top_entry entries[SL_TOP_ENTRIES];
};

/* The key's entry, good until the next call. A new one has no name: see sl_top_name. */
struct sl_top_entry *sl_top_add(struct sl_top *top, struct sl_hash128 key, uint64_t weight);

/* Copies both, up to a zero byte; a missing owner stays NULL. False: no memory, and the
 * entry is as it was. */
bool sl_top_name(struct sl_top_entry *entry, struct sluice_text owner, struct sluice_text name);

/* What one would have counted that saw both streams, as nearly as it can be told. A name there is
 * no memory for is left out. */
void sl_top_merge(struct sl_top *to, const struct sl_top *from);

/* At most `most` entries into `out`, the largest count first, those of the same count by
 * name. Returns how many. */
size_t sl_top_sorted(const struct sl_top *top, const struct sl_top_entry **out, size_t most);

/* Forgets all, and holds no memory then. */
void sl_top_clear(struct sl_top *top);

static inline void sl_top_release(struct sl_top *top)
{
    sl_top_clear(top);
}

#endif
