/* Looking somebody up while the book is written. Why that can be done is said in
 * user_table.c. */
#include "registry/users/user_entry.h"

/* Facts in the order in which a reader comes to need them. */
enum {
    FIRST_WORDS = offsetof(struct sl_facts, days.outcomes) / sizeof(uint64_t),
    DAYS_END = offsetof(struct sl_facts, tier) / sizeof(uint64_t)
};

_Static_assert(offsetof(struct sl_entry, words) + FIRST_WORDS * sizeof(uint64_t) == 64,
               "who it is, and most of what is asked, is on one cache line");

enum look { LOOK_NOBODY, LOOK_FOUND, LOOK_AGAIN };

/* Rings and tier stand on cache lines of their own, of which most users need none. */
static void copy_facts(const struct sl_entry *entry, struct sl_facts *out)
{
    unsigned char *to = (unsigned char *)out;
    sl_words_load(entry->words, FIRST_WORDS, out);
    if (out->days.outcomes_until || out->days.violations_until)
        sl_words_load(entry->words + FIRST_WORDS, DAYS_END - FIRST_WORDS, to + FIRST_WORDS * 8);
    if (out->tier_len)
        sl_words_load(entry->words + DAYS_END, SL_FACT_WORDS - DAYS_END, to + DAYS_END * 8);
}

struct user_search {
    const struct sl_user_table *table;
    struct sl_hash128 key;
    struct sl_facts *out;
    struct sl_user *with;
};

/* The entry, and where its chain goes on. */
static enum look look_at(const struct user_search *search, uint32_t number, uint32_t *next)
{
    const struct sl_entry *entry = sl_entry_at(search->table, number);
    uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
    bool found = sl_entry_has(entry, search->key);
    if (found) {
        copy_facts(entry, search->out);
        sl_forget_old(search->table, search->out);
        if (search->with)
            sl_user_limits_read(search->table, search->out, search->with);
    }
    *next = atomic_load_explicit(&entry->next, memory_order_acquire);
    if (version % 2 || atomic_load_explicit(&entry->version, memory_order_acquire) != version)
        return LOOK_AGAIN;
    return found ? LOOK_FOUND : LOOK_NOBODY;
}

/* Along one chain, from the head as it was loaded. */
static enum look walk(const struct user_search *search, uint32_t number)
{
    enum look look = LOOK_NOBODY;
    while (number && look == LOOK_NOBODY)
        look = look_at(search, number, &number);
    return look;
}

bool sl_user_table_read(const struct sl_user_table *table, struct sl_hash128 key,
                        struct sl_facts *out, struct sl_user *with)
{
    const struct user_search search = { table, key, out, with };
    const _Atomic uint64_t *head = sl_head_of(table, key);
    uint64_t now = atomic_load_explicit(head, memory_order_acquire), first;
    enum look look;
    do {
        first = now;
        look = walk(&search, (uint32_t)first);
        if (look == LOOK_FOUND)
            return true;
        now = atomic_load_explicit(head, memory_order_acquire);
    } while (look == LOOK_AGAIN || now >> 32 != first >> 32);
    return false;
}
