/* The most frequent keys: Space-Saving with 64 counters (Metwally, Agrawal, El Abbadi, 2005).
 *
 * A known key is counted. A new key takes a free counter or, if there is none, the smallest
 * counter: it starts from that count, which is its possible error. So for every key held
 *
 *     count - error <= true count <= count
 *
 * and a key with more than total/64 is always held. This is true for merged ones too.
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

/* Copies both, up to a zero byte; a missing owner stays NULL. Returns false, and leaves the
 * entry alone, if there is no memory. */
bool sl_top_name(struct sl_top_entry *entry, struct sluice_text owner, struct sluice_text name);

/* Merges two, as if one had counted both streams, as exactly as possible. A name is left out if
 * there is no memory for it. */
void sl_top_merge(struct sl_top *to, const struct sl_top *from);

/* Writes at most `most` entries to `out`, the largest count first, then by name. Returns how
 * many. */
size_t sl_top_sorted(const struct sl_top *top, const struct sl_top_entry **out, size_t most);

/* Removes all entries and frees their memory. */
void sl_top_clear(struct sl_top *top);

static inline void sl_top_release(struct sl_top *top)
{
    sl_top_clear(top);
}

#endif
