/* Space-Saving by plain walks over 64 entries: there are some thousand calls a second, none of
 * them on the path of a request. */
#include "base/stats/top.h"

#include <stdlib.h>

static void forget_name(struct sl_top_entry *entry)
{
    free(entry->name);
    free(entry->owner);
    entry->name = entry->owner = NULL;
}

static const struct sl_top_entry *find_entry(const struct sl_top *top, struct sl_hash128 key)
{
    for (uint32_t i = 0; i < top->count; i++) {
        const struct sl_top_entry *entry = &top->entries[i];
        if (entry->key.low == key.low && entry->key.high == key.high)
            return entry;
    }
    return NULL;
}

/* `top` is full. */
static struct sl_top_entry *smallest(struct sl_top *top)
{
    struct sl_top_entry *least = top->entries;
    for (uint32_t i = 1; i < top->count; i++) {
        if (top->entries[i].count < least->count)
            least = &top->entries[i];
    }
    return least;
}

struct sl_top_entry *sl_top_add(struct sl_top *top, struct sl_hash128 key, uint64_t weight)
{
    const struct sl_top_entry *known = find_entry(top, key);
    struct sl_top_entry *entry = top->entries + (known ? known - top->entries : top->count);
    top->total += weight;
    if (known) {
        entry->count += weight;
        return entry;
    }
    if (top->count < SL_TOP_ENTRIES) {
        top->count++;
        *entry = (struct sl_top_entry){ .key = key, .count = weight };
        return entry;
    }
    entry = smallest(top);
    forget_name(entry);
    *entry = (struct sl_top_entry){ key, entry->count + weight, entry->count, NULL, NULL };
    return entry;
}

bool sl_top_name(struct sl_top_entry *entry, struct sluice_text owner, struct sluice_text name)
{
    char *name_copy = sl_text_copy(name);
    char *owner_copy = sl_text_missing(owner) ? NULL : sl_text_copy(owner);
    if (!name_copy || (!owner_copy && !sl_text_missing(owner))) {
        free(name_copy);
        free(owner_copy);
        return false;
    }
    forget_name(entry);
    entry->name = name_copy;
    entry->owner = owner_copy;
    return true;
}

/* ---- merging ----
 *
 * A key that a full side does not hold may have had as much there as that side's smallest
 * count: that much is added to count and error. Of up to 128 entries the 64 largest stay. Their
 * counts still sum up to no more than both totals, so the smallest is at most total/64; and no
 * key that was dropped had more than it (Agarwal et al., "Mergeable summaries", 2012). */

/* An entry and whether its names are the other side's. */
struct merged {
    struct sl_top_entry entry;
    bool borrowed;
};

static uint64_t most_unseen(const struct sl_top *top)
{
    uint64_t least = top->count == SL_TOP_ENTRIES ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < top->count && least > 0; i++)
        least = top->entries[i].count < least ? top->entries[i].count : least;
    return least;
}

static void add_other(struct sl_top_entry *entry, const struct sl_top_entry *other, uint64_t unseen)
{
    entry->count += other ? other->count : unseen;
    entry->error += other ? other->error : unseen;
}

static void copy_name(struct sl_top_entry *entry, const struct sl_top_entry *from)
{
    if (from->name)
        sl_top_name(entry, sl_text(from->owner), sl_text(from->name));
}

static size_t join_entries(struct sl_top *to, const struct sl_top *from, struct merged *all)
{
    uint64_t unseen_to = most_unseen(to), unseen_from = most_unseen(from);
    size_t count = 0;
    for (uint32_t i = 0; i < to->count; i++) {
        const struct sl_top_entry *other = find_entry(from, to->entries[i].key);
        struct merged *one = &all[count++];
        *one = (struct merged){ to->entries[i], false };
        add_other(&one->entry, other, unseen_from);
        if (other && !one->entry.name)
            copy_name(&one->entry, other);
    }
    for (uint32_t i = 0; i < from->count; i++) {
        if (find_entry(to, from->entries[i].key))
            continue;
        all[count] = (struct merged){ from->entries[i], true };
        add_other(&all[count++].entry, NULL, unseen_to);
    }
    return count;
}

static int larger_first(const void *left, const void *right)
{
    const struct merged *a = left, *b = right;
    return (a->entry.count < b->entry.count) - (a->entry.count > b->entry.count);
}

void sl_top_merge(struct sl_top *to, const struct sl_top *from)
{
    struct merged all[2 * SL_TOP_ENTRIES];
    size_t count = join_entries(to, from, all);
    qsort(all, count, sizeof *all, larger_first);
    to->total += from->total;
    to->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct sl_top_entry theirs = all[i].entry;
        if (all[i].borrowed)
            all[i].entry.name = all[i].entry.owner = NULL;
        if (to->count == SL_TOP_ENTRIES) {
            forget_name(&all[i].entry);
            continue;
        }
        if (all[i].borrowed)
            copy_name(&all[i].entry, &theirs);
        to->entries[to->count++] = all[i].entry;
    }
}

/* ---- reading ---- */

static int compare_names(const char *a, const char *b)
{
    if (!a || !b)
        return !a - !b;
    return strcmp(a, b);
}

static int in_order(const void *left, const void *right)
{
    const struct sl_top_entry *a = *(const struct sl_top_entry *const *)left;
    const struct sl_top_entry *b = *(const struct sl_top_entry *const *)right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    int by_name = compare_names(a->name, b->name);
    return by_name != 0 ? by_name : compare_names(a->owner, b->owner);
}

size_t sl_top_sorted(const struct sl_top *top, const struct sl_top_entry **out, size_t most)
{
    const struct sl_top_entry *all[SL_TOP_ENTRIES];
    for (uint32_t i = 0; i < top->count; i++)
        all[i] = &top->entries[i];
    qsort(all, top->count, sizeof *all, in_order);
    size_t count = top->count < most ? top->count : most;
    for (size_t i = 0; i < count; i++)
        out[i] = all[i];
    return count;
}

void sl_top_clear(struct sl_top *top)
{
    for (uint32_t i = 0; i < top->count; i++)
        forget_name(&top->entries[i]);
    top->count = 0;
    top->total = 0;
}
