/* Reading one user from the user table while writers change it. user_table.c says why that
 * is safe without a lock. A read that meets too many changes ends under the writers' lock:
 * it then waits for one writer and cannot be disturbed again. */
#include "registry/users/user_entry.h"

/* Facts in the order in which a reader comes to need them. */
enum {
    FIRST_WORDS = offsetof(struct sl_facts, days.outcomes) / sizeof(uint64_t),
    DAYS_END = offsetof(struct sl_facts, tier) / sizeof(uint64_t)
};

/* How many entries and fresh starts one read without the lock may take. Several times the
 * longest chain that a million users have by chance, and a few microseconds. */
enum { STEPS_MAX = 64 };

_Static_assert(offsetof(struct sl_entry, words) + FIRST_WORDS * sizeof(uint64_t) == 64,
               "the key, and most of what a decision reads, is on one cache line");

enum look { LOOK_ABSENT, LOOK_FOUND, LOOK_AGAIN, LOOK_NO_STEPS };

struct user_search {
    const struct sl_user_table *table;
    struct sl_hash128 key;
    struct sl_facts *out;
    struct sl_user *with;
    int steps; /* that are left */
};

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

static void copy_user(const struct user_search *search, const struct sl_entry *entry)
{
    copy_facts(entry, search->out);
    sl_forget_old(search->table, search->out);
    if (search->with)
        sl_user_limits_read(search->table, search->out, search->with);
}

/* Reads one entry; *next is where its chain goes on. */
static enum look look_at_entry(const struct user_search *search, uint32_t number, uint32_t *next)
{
    const struct sl_entry *entry = sl_entry_at(search->table, number);
    uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
    bool found = sl_entry_has(entry, search->key);
    if (found)
        copy_user(search, entry);
    *next = atomic_load_explicit(&entry->next, memory_order_acquire);
    if (version % 2 || atomic_load_explicit(&entry->version, memory_order_acquire) != version)
        return LOOK_AGAIN;
    return found ? LOOK_FOUND : LOOK_ABSENT;
}

/* Follows one chain from the head as it was loaded. A reader that changes lead from chain to
 * chain need not come to an end by itself: it runs out of steps. */
static enum look walk_chain(struct user_search *search, uint32_t number)
{
    enum look look = LOOK_ABSENT;
    while (number && look == LOOK_ABSENT) {
        if (search->steps-- <= 0)
            return LOOK_NO_STEPS;
        look = look_at_entry(search, number, &number);
    }
    return look;
}

static enum look read_without_lock(struct user_search *search)
{
    const _Atomic uint64_t *head = sl_head_of(search->table, search->key);
    uint64_t now = atomic_load_explicit(head, memory_order_acquire);
    while (search->steps-- > 0) {
        uint64_t first = now;
        enum look look = walk_chain(search, (uint32_t)first);
        if (look == LOOK_FOUND)
            return LOOK_FOUND;
        now = atomic_load_explicit(head, memory_order_acquire);
        if (look == LOOK_ABSENT && now >> 32 == first >> 32)
            return LOOK_ABSENT;
    }
    return LOOK_NO_STEPS;
}

/* To answer "unknown" instead would not be safe: it would end an exemption, and give a user
 * with a smaller limit the rule's. No writer is at work under the lock, so that versions say
 * nothing and the chain is whole. */
static bool read_under_lock(const struct user_search *search)
{
    const struct sl_user_table *table = search->table;
    pthread_mutex_lock(table->writers);
    uint32_t number = sl_user_table_find(table, search->key, search->out);
    if (number)
        copy_user(search, sl_entry_at(table, number));
    pthread_mutex_unlock(table->writers);
    return number != 0;
}

bool sl_user_table_read(const struct sl_user_table *table, struct sl_hash128 key,
                        struct sl_facts *out, struct sl_user *with)
{
    struct user_search search = { table, key, out, with, STEPS_MAX };
    enum look look = read_without_lock(&search);
    return look == LOOK_NO_STEPS ? read_under_lock(&search) : look == LOOK_FOUND;
}
