/* An entry of the user table, for the two files that work on it: user_table.c, which writes
 * entries and says why they can be read meanwhile, and user_read.c. */
#ifndef SL_REGISTRY_USERS_USER_ENTRY_H
#define SL_REGISTRY_USERS_USER_ENTRY_H

#include "registry/users/user_table.h"

enum { SL_FACT_WORDS = sizeof(struct sl_facts) / sizeof(uint64_t) };

struct sl_entry {
    _Atomic uint32_t next; /* in its chain, or in the free list */
    _Atomic uint32_t version;
    uint32_t before, after; /* in its list; 0: in none. For the writer alone */
    _Atomic uint64_t words[SL_FACT_WORDS];
};

_Static_assert(sizeof(struct sl_facts) == SL_FACT_WORDS * sizeof(uint64_t), "in whole words");
_Static_assert(sizeof(struct sl_entry) == 256, "four cache lines");

static inline struct sl_entry *sl_entry_at(const struct sl_user_table *table, uint32_t number)
{
    return sl_slabs_at(&table->entries, number);
}

static inline _Atomic uint64_t *sl_head_of(const struct sl_user_table *table, struct sl_hash128 key)
{
    return &table->heads[key.low >> table->head_shift];
}

static inline bool sl_entry_has(const struct sl_entry *entry, struct sl_hash128 key)
{
    return atomic_load_explicit(&entry->words[0], memory_order_acquire) == key.low &&
           atomic_load_explicit(&entry->words[1], memory_order_acquire) == key.high;
}

static inline uint8_t sl_generation_of(const struct sl_user_table *table)
{
    return atomic_load_explicit(&table->generation, memory_order_acquire);
}

/* Of facts of an older generation only exemptions count. */
static inline void sl_forget_old(const struct sl_user_table *table, struct sl_facts *facts)
{
    if (facts->generation != sl_generation_of(table))
        *facts = (struct sl_facts){ .key = facts->key,
                                    .flags = facts->flags & SL_FACT_EXEMPT,
                                    .exempt_until_us = facts->exempt_until_us };
}

#endif
