/* The user table: a hash table of chains that is read without a lock.
 *
 *   heads    | first, version | …          as many as users, when all room is taken
 *                 |
 *                 v
 *   entries  [ next | version | list | facts ] -> [ … ] -> 0
 *
 * Facts are never changed in place. The writer fills the spare entry with the new facts,
 * puts it in the old entry's place in the chain by one store, and the old entry is the
 * next spare. So a writer that is stopped anywhere leaves a chain that can be read, and
 * a reader does not wait for it.
 *
 * A reader must not believe words of an entry that became another user's while it was
 * reading. An entry's version is odd while it is in no chain, and grows each time that it
 * enters one. A reader copies between two loads of the version: even, and the same, means
 * that all it copied (and the own limits, which are freed after their entry) was of one
 * user at one time.
 *
 * A reader must not miss a user either because it was led into another chain. An entry
 * leads elsewhere only after it has left its chain, and between the two the writer raises
 * the version of the chain's head:
 *
 *   unlink: 1. the entry before leads past it    2. head version + 1
 *           3. entry version odd                 4. the entry is used again, elsewhere
 *
 * A reader that loads the head after 2 does not come to the entry, for 1 was before. A
 * reader that loaded it before and follows the entry after 4 has then read a word that was
 * stored after 2, and so finds the head's version raised when it looks again at the end.
 * It starts over. If the version is the same, the chain was whole all along: insertions
 * are at its head, and change nothing behind it. A reader starts over only if a user of
 * the same chain is changed in that moment; the seed is secret, so no client can arrange
 * for it. After a bounded number of steps a reader takes the writers' lock (user_read.c).
 *
 * Loads acquire and stores release, which costs nothing on x86 and is all that the above
 * needs. Everything a reader touches is atomic. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "registry/users/user_entry.h"

enum { LISTS = 3 };

/* ---- lists ---- */

static void list_init(struct sl_user_table *table, uint32_t list)
{
    struct sl_entry *end = sl_entry_at(table, list);
    end->before = end->after = list;
}

static void list_remove(struct sl_user_table *table, uint32_t number)
{
    struct sl_entry *entry = sl_entry_at(table, number);
    if (!entry->after)
        return;
    sl_entry_at(table, entry->before)->after = entry->after;
    sl_entry_at(table, entry->after)->before = entry->before;
    entry->before = entry->after = 0;
}

/* In front of `place`; in front of a list is at its end. */
static void list_insert(struct sl_user_table *table, uint32_t place, uint32_t number)
{
    struct sl_entry *behind = sl_entry_at(table, place), *entry = sl_entry_at(table, number);
    entry->before = behind->before;
    entry->after = place;
    sl_entry_at(table, behind->before)->after = number;
    behind->before = number;
}

static bool is_stranger(const struct sl_facts *facts)
{
    return !(facts->flags & (SL_FACT_RECORD | SL_FACT_EXEMPT));
}

static bool is_nothing(const struct sl_facts *facts)
{
    return is_stranger(facts) && sl_days_newest(&facts->days) < 0;
}

/* Puts the entry in its list: a stranger that is heard of again is the newest; an exempt user
 * keeps its place, also in `leaving`. Then removes the old entry from its list. */
static void move_in_list(struct sl_user_table *table, uint32_t old, uint32_t number,
                         const struct sl_facts *facts, bool was_exempt)
{
    uint32_t place = 0;
    if (facts->flags & SL_FACT_EXEMPT)
        place = was_exempt ? old : table->exempt;
    else if (is_stranger(facts))
        place = table->strangers;
    if (place)
        list_insert(table, place, number);
    if (old)
        list_remove(table, old);
}

/* ---- chains ---- */

static uint64_t head_word(uint32_t version, uint32_t number)
{
    return (uint64_t)version << 32 | number;
}

/* Only for the thread that writes. */
static uint32_t next_of(const struct sl_user_table *table, uint32_t number)
{
    return atomic_load_explicit(&sl_entry_at(table, number)->next, memory_order_relaxed);
}

/* Puts `to` in the chain in the place of `old`. */
static void replace_in_chain(struct sl_user_table *table, struct sl_hash128 key, uint32_t old,
                             uint32_t to)
{
    _Atomic uint64_t *head = sl_head_of(table, key);
    uint64_t word = atomic_load_explicit(head, memory_order_relaxed);
    uint32_t first = (uint32_t)word, before = 0;
    for (uint32_t number = first; number != old; number = next_of(table, number)) {
        SL_CHECK(number);
        before = number;
    }
    if (before)
        atomic_store_explicit(&sl_entry_at(table, before)->next, to, memory_order_release);
    else
        first = to;
    atomic_store_explicit(head, head_word((uint32_t)(word >> 32) + 1, first), memory_order_release);
}

static void insert_in_chain(struct sl_user_table *table, struct sl_hash128 key, uint32_t number)
{
    _Atomic uint64_t *head = sl_head_of(table, key);
    uint64_t word = atomic_load_explicit(head, memory_order_relaxed);
    atomic_store_explicit(&sl_entry_at(table, number)->next, (uint32_t)word, memory_order_release);
    atomic_store_explicit(head, head_word((uint32_t)(word >> 32), number), memory_order_release);
}

/* Makes the version even before the entry is linked, and odd after it was unlinked. */
static void step_version(struct sl_user_table *table, uint32_t number)
{
    _Atomic uint32_t *version = &sl_entry_at(table, number)->version;
    atomic_store_explicit(version, atomic_load_explicit(version, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* ---- writing ---- */

static void add_known(struct sl_user_table *table, int more)
{
    uint32_t known = atomic_load_explicit(table->known, memory_order_relaxed);
    atomic_store_explicit(table->known, known + (uint32_t)more, memory_order_relaxed);
}

/* Takes an entry in no chain and no list; 0: no memory. */
static uint32_t take_entry(struct sl_user_table *table)
{
    uint32_t number = sl_slabs_take(&table->entries);
    if (number &&
        atomic_load_explicit(&sl_entry_at(table, number)->version, memory_order_relaxed) == 0)
        step_version(table, number);
    return number;
}

static void erase_entry(struct sl_user_table *table, uint32_t number, const struct sl_facts *facts)
{
    replace_in_chain(table, facts->key, number, next_of(table, number));
    step_version(table, number);
    list_remove(table, number);
    sl_slabs_give(&table->entries, number);
    add_known(table, -1);
}

/* Evicts the stranger not heard of for longest. */
static bool evict_stranger(struct sl_user_table *table)
{
    struct sl_facts facts;
    uint32_t oldest = sl_entry_at(table, table->strangers)->after;
    if (oldest == table->strangers)
        return false;
    sl_user_table_at(table, oldest, &facts);
    erase_entry(table, oldest, &facts);
    return true;
}

static uint32_t write_spare(struct sl_user_table *table, const struct sl_facts *facts)
{
    struct sl_facts of_now = *facts;
    of_now.generation = sl_generation_of(table);
    sl_words_store(sl_entry_at(table, table->spare)->words, SL_FACT_WORDS, &of_now);
    return table->spare;
}

static enum sl_saved add_entry(struct sl_user_table *table, uint32_t *number,
                               const struct sl_facts *facts)
{
    bool is_full = atomic_load_explicit(table->known, memory_order_relaxed) >= table->most;
    if (is_full && !evict_stranger(table))
        return SL_NOT_SAVED;
    uint32_t spare = take_entry(table);
    if (!spare)
        return SL_NOT_SAVED;
    *number = write_spare(table, facts);
    table->spare = spare;
    step_version(table, *number);
    insert_in_chain(table, facts->key, *number);
    move_in_list(table, 0, *number, facts, false);
    add_known(table, 1);
    return is_full ? SL_SAVED_BY_EVICTING : SL_SAVED;
}

static void replace_entry(struct sl_user_table *table, uint32_t *number,
                          const struct sl_facts *facts, const struct sl_facts *was)
{
    uint32_t old = *number;
    *number = write_spare(table, facts);
    atomic_store_explicit(&sl_entry_at(table, *number)->next, next_of(table, old),
                          memory_order_release);
    step_version(table, *number);
    replace_in_chain(table, facts->key, old, *number);
    step_version(table, old);
    move_in_list(table, old, *number, facts, was->flags & SL_FACT_EXEMPT);
    table->spare = old;
}

enum sl_saved sl_user_table_save(struct sl_user_table *table, uint32_t *number,
                                 const struct sl_facts *facts)
{
    struct sl_facts was;
    if (!*number)
        return is_nothing(facts) ? SL_SAVED : add_entry(table, number, facts);
    sl_words_load(sl_entry_at(table, *number)->words, SL_FACT_WORDS, &was);
    if (is_nothing(facts)) {
        erase_entry(table, *number, facts);
        *number = 0;
    } else {
        replace_entry(table, number, facts, &was);
    }
    if (was.own != facts->own)
        sl_user_limits_drop(table, was.own);
    return SL_SAVED;
}

/* ---- finding, for the writer ---- */

bool sl_user_table_at(const struct sl_user_table *table, uint32_t number, struct sl_facts *out)
{
    const struct sl_entry *entry = sl_entry_at(table, number);
    if (atomic_load_explicit(&entry->version, memory_order_relaxed) % 2)
        return false;
    sl_words_load(entry->words, SL_FACT_WORDS, out);
    sl_forget_old(table, out);
    return true;
}

uint32_t sl_user_table_find(const struct sl_user_table *table, struct sl_hash128 key,
                            struct sl_facts *out)
{
    uint32_t number = (uint32_t)atomic_load_explicit(sl_head_of(table, key), memory_order_relaxed);
    while (number && !sl_entry_has(sl_entry_at(table, number), key))
        number = next_of(table, number);
    *out = (struct sl_facts){ .key = key };
    if (number)
        sl_user_table_at(table, number, out);
    return number;
}

void sl_user_table_forget_all(struct sl_user_table *table)
{
    atomic_store_explicit(&table->generation, (uint8_t)(sl_generation_of(table) + 1),
                          memory_order_release);
}

/* ---- exempt users ---- */

/* The list `exempt` is appended to `leaving`: users that were leaving already go first. */
void sl_user_table_ask_exempt(struct sl_user_table *table)
{
    struct sl_entry *from = sl_entry_at(table, table->exempt),
                    *to = sl_entry_at(table, table->leaving);
    if (from->after == table->exempt)
        return;
    sl_entry_at(table, to->before)->after = from->after;
    sl_entry_at(table, from->after)->before = to->before;
    sl_entry_at(table, from->before)->after = table->leaving;
    to->before = from->before;
    list_init(table, table->exempt);
}

void sl_user_table_stays_exempt(struct sl_user_table *table, uint32_t number)
{
    list_remove(table, number);
    list_insert(table, table->exempt, number);
}

uint32_t sl_user_table_leaving(const struct sl_user_table *table, struct sl_facts *out)
{
    uint32_t number = sl_entry_at(table, table->leaving)->after;
    if (number == table->leaving)
        return 0;
    sl_user_table_at(table, number, out);
    return number;
}

/* ---- opening ---- */

/* A head for each user there can be: with a quarter of them, a search for an unknown user would
 * look at four entries, each a cache miss. Heads are memory that is touched only when used. */
bool sl_user_table_open(struct sl_user_table *table, uint32_t most, _Atomic uint32_t *known,
                        pthread_mutex_t *writers)
{
    uint32_t bits = 1;
    while (most >> bits > 1)
        bits++;
    *table = (struct sl_user_table){
        .most = most, .known = known, .writers = writers, .head_shift = 64 - bits
    };
    table->heads = calloc((size_t)1 << bits, sizeof *table->heads);
    if (!table->heads || !sl_user_limits_open(table) ||
        !sl_slabs_open(&table->entries, sizeof(struct sl_entry), most + LISTS + 1))
        return false;
    uint32_t *const taken[] = { &table->strangers, &table->exempt, &table->leaving, &table->spare };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        *taken[i] = take_entry(table);
    if (!table->spare)
        return false;
    list_init(table, table->strangers);
    list_init(table, table->exempt);
    list_init(table, table->leaving);
    return true;
}

void sl_user_table_close(struct sl_user_table *table)
{
    free(table->heads);
    sl_slabs_close(&table->entries);
    sl_slabs_close(&table->own);
}
