/* A user's own limits in the user table: a chain for each user that has some, which is one in a
 * thousand, in slabs of their own. They are written before an entry names them and freed after
 * none does, so that a reader whose entry is unchanged has read them whole (user_table.c). */
#include <string.h>

#include "registry/users/user_table.h"

enum { WORDS = 12 };

/* One limit, as words. */
struct limit {
    uint64_t revision;
    uint64_t capacity;
    uint64_t digits;
    uint32_t places;
    uint32_t name_len;
    char name[SL_RULE_NAME_MAX];
};

struct item {
    _Atomic uint32_t next;
    _Atomic uint64_t words[WORDS];
};

_Static_assert(sizeof(struct limit) == WORDS * sizeof(uint64_t), "in whole words");

bool sl_user_limits_open(struct sl_user_table *table)
{
    return sl_slabs_open(&table->own, sizeof(struct item), table->most * SL_USER_LIMITS_MAX);
}

static bool add_limit(struct sl_user_table *table, const struct sl_user_limit *own, uint32_t *first)
{
    uint32_t number = sl_slabs_take(&table->own);
    if (!number)
        return false;
    struct limit limit = { table->own_revision,
                           own->capacity,
                           own->rate.digits,
                           own->rate.places,
                           (uint32_t)strnlen(own->rule, SL_RULE_NAME_MAX),
                           { 0 } };
    memcpy(limit.name, own->rule, limit.name_len);
    struct item *item = sl_slabs_at(&table->own, number);
    sl_words_store(item->words, WORDS, &limit);
    atomic_store_explicit(&item->next, *first, memory_order_release);
    *first = number;
    return true;
}

/* Adds the limits from the last to the first: the chain then has them in their order. */
bool sl_user_limits_save(struct sl_user_table *table, const struct sl_user_limit *own, size_t count,
                         struct sl_facts *facts)
{
    uint32_t first = 0;
    table->own_revision++;
    for (size_t i = count; i > 0; i--)
        if (!add_limit(table, &own[i - 1], &first)) {
            sl_user_limits_drop(table, first);
            return false;
        }
    facts->own = first;
    facts->own_count = (uint8_t)count;
    return true;
}

void sl_user_limits_drop(struct sl_user_table *table, uint32_t first)
{
    while (first) {
        struct item *item = sl_slabs_at(&table->own, first);
        uint32_t next = atomic_load_explicit(&item->next, memory_order_relaxed);
        sl_slabs_give(&table->own, first);
        first = next;
    }
}

static void read_limit(const struct item *item, struct sl_user_limit *out, uint64_t *revision)
{
    struct limit limit;
    sl_words_load(item->words, WORDS, &limit);
    size_t len = limit.name_len <= SL_RULE_NAME_MAX ? limit.name_len : 0; /* torn, of two limits */
    memcpy(out->rule, limit.name, len);
    out->rule[len] = '\0';
    out->capacity = limit.capacity;
    out->rate = (struct sl_decimal){ limit.digits, limit.places };
    *revision = limit.revision;
}

/* Bounded by the counts, whatever the words have become meanwhile. */
void sl_user_limits_read(const struct sl_user_table *table, const struct sl_facts *facts,
                         struct sl_user *out)
{
    uint32_t number = facts->own;
    out->own_count = 0;
    out->own_revision = 0;
    while (number && out->own_count < facts->own_count && out->own_count < SL_USER_LIMITS_MAX) {
        const struct item *item = sl_slabs_at(&table->own, number);
        read_limit(item, &out->own[out->own_count++], &out->own_revision);
        number = atomic_load_explicit(&item->next, memory_order_acquire);
    }
}
