/* The denial cache: a hash table in sets of eight places. A lookup begins with the marks and ends
 * of a set, which are two cache lines; the rest of each denial is in an entry of its own:
 *
 *   set    | mark × 8 | until × 8 |           8,192 of them
 *   entry  | sequence | key, limit, cost, state, times |
 *
 * Most requests were not denied before: they read one line and find no mark of theirs. An entry's
 * sequence is odd while a thread writes it, and a different number afterwards: a reader uses an
 * entry only if the sequence was the same before and after reading it. Every word is read and
 * written separately, in order (acquire, release), so that this holds without a fence.
 *
 * A claim is found by its key and the numbers of its limit, all of them compared: the same key
 * under another tier, or after a change of the rule, is another claim.
 *
 * Zero is an empty table: a place whose end is 0 is free. */
#include "store/cache/denial_cache.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/check.h"

enum { WAYS = 8, SETS = SL_DENIAL_CACHE_MAX / WAYS };

struct set {
    _Alignas(64) _Atomic uint64_t marks[WAYS];
    _Atomic int64_t until_us[WAYS];
};

/* The words of an entry: those that identify the claim, then its denial. */
enum word {
    KEY_LOW,
    KEY_HIGH,
    CAPACITY,
    SPAN,
    KIND, /* algorithm and first_request */
    SAME, /* the number of words that identify the claim */
    COST = SAME,
    GENERATION,
    ASKED,
    HEARD,
    NOW,
    UNTIL,
    BLOCKED,
    STATE,
    WORDS = STATE + SL_TOLD
};

struct denial {
    _Alignas(64) _Atomic uint64_t sequence;
    _Atomic uint64_t words[WORDS];
};
_Static_assert(sizeof(struct denial) == 128, "two cache lines");

struct sl_denial_cache {
    _Alignas(64) _Atomic uint64_t generation;
    _Alignas(64) struct set sets[SETS];
    struct denial entries[SL_DENIAL_CACHE_MAX];
};

/* 9 MiB of zeros; the kernel provides only the pages that are touched. */
struct sl_denial_cache *sl_denial_cache_new(void)
{
    void *memory = mmap(NULL, sizeof(struct sl_denial_cache), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void sl_denial_cache_free(struct sl_denial_cache *denied)
{
    if (denied)
        munmap(denied, sizeof *denied);
}

uint64_t sl_denial_cache_generation(const struct sl_denial_cache *denied)
{
    return atomic_load(&denied->generation);
}

void sl_denial_cache_forget(struct sl_denial_cache *denied)
{
    atomic_fetch_add(&denied->generation, 1);
}

/* ---- naming a claim ---- */

/* Fills in the words that identify the claim. */
static void name_claim(const struct sl_claim *claim, uint64_t same[SAME])
{
    const struct sl_limit *limit = &claim->limit;
    same[KEY_LOW] = claim->key.low;
    same[KEY_HIGH] = claim->key.high;
    same[CAPACITY] = (uint64_t)limit->capacity;
    same[SPAN] = (uint64_t)(claim->algo->is_bucket ? limit->token_ns : limit->window_us);
    same[KIND] = (uint64_t)limit->first_request << 32 | claim->algo->number;
}

/* Never 0. The key is a hash already; the numbers only have to change it. */
static uint64_t mark_of(const uint64_t same[SAME])
{
    uint64_t numbers = same[CAPACITY] * UINT64_C(0x9e3779b97f4a7c15);
    numbers = (numbers ^ same[SPAN]) * UINT64_C(0xbf58476d1ce4e5b9);
    numbers = (numbers ^ same[KIND]) * UINT64_C(0x94d049bb133111eb);
    return (same[KEY_LOW] ^ numbers ^ numbers >> 29) | 1;
}

static size_t set_of(uint64_t mark)
{
    return mark >> 1 & (SETS - 1);
}

/* ---- reading ---- */

static bool read_entry(const struct denial *entry, uint64_t words[WORDS])
{
    uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
    for (size_t i = 0; i < WORDS; i++)
        words[i] = atomic_load_explicit(&entry->words[i], memory_order_acquire);
    return !(sequence & 1) &&
           atomic_load_explicit(&entry->sequence, memory_order_relaxed) == sequence;
}

static bool is_same_claim(const uint64_t *words, const uint64_t *same)
{
    return memcmp(words, same, SAME * sizeof *same) == 0;
}

static void unpack_denial(const uint64_t words[WORDS], struct sl_denial *out)
{
    *out = (struct sl_denial){ .asked_us = (int64_t)words[ASKED],
                               .heard_us = (int64_t)words[HEARD],
                               .now_us = (int64_t)words[NOW],
                               .until_us = (int64_t)words[UNTIL],
                               .blocked_until_us = (int64_t)words[BLOCKED],
                               .generation = words[GENERATION],
                               .cost = (uint32_t)words[COST] };
    memcpy(out->state, words + STATE, sizeof out->state);
}

bool sl_denial_cache_find(const struct sl_denial_cache *denied, const struct sl_claim *claim,
                          struct sl_ask ask, struct sl_denial *out)
{
    uint64_t same[SAME], words[WORDS];
    SL_CHECK(ask.cost > 0);
    name_claim(claim, same);
    uint64_t mark = mark_of(same);
    size_t number = set_of(mark);
    for (size_t i = 0; i < WAYS; i++) {
        const struct set *set = &denied->sets[number];
        if (__builtin_expect(atomic_load_explicit(&set->marks[i], memory_order_relaxed) != mark, 1))
            continue;
        if (!read_entry(&denied->entries[number * WAYS + i], words) || !is_same_claim(words, same))
            continue;
        unpack_denial(words, out);
        SL_CHECK(out->cost > 0);
        return ask.cost >= out->cost && ask.now_us < out->until_us &&
               out->generation == sl_denial_cache_generation(denied);
    }
    return false;
}

/* ---- writing ---- */

static void write_entry(struct denial *entry, const uint64_t words[WORDS])
{
    for (size_t i = 0; i < WORDS; i++)
        atomic_store_explicit(&entry->words[i], words[i], memory_order_release);
}

/* Returns the claim's own place, or the one that ends soonest. */
static size_t choose_way(const struct set *set, uint64_t mark)
{
    size_t best = 0;
    int64_t best_us = INT64_MAX;
    for (size_t i = 0; i < WAYS; i++) {
        int64_t until_us = atomic_load_explicit(&set->until_us[i], memory_order_relaxed);
        if (atomic_load_explicit(&set->marks[i], memory_order_relaxed) == mark)
            return i;
        if (until_us < best_us) {
            best_us = until_us;
            best = i;
        }
    }
    return best;
}

/* Is the entry that is there the better one: the same claim denied at a lower cost, and still
 * valid?
 */
static bool is_better_entry(const struct sl_denial_cache *denied, const uint64_t *words,
                            const uint64_t *new)
{
    return is_same_claim(words, new) && words[COST] < new[COST] &&
           words[GENERATION] == sl_denial_cache_generation(denied) &&
           (int64_t)words[UNTIL] > (int64_t) new[ASKED];
}

void sl_denial_cache_put(struct sl_denial_cache *denied, const struct sl_claim *claim,
                         const struct sl_denial *denial)
{
    uint64_t words[WORDS] = { [COST] = denial->cost,
                              [GENERATION] = denial->generation,
                              [ASKED] = (uint64_t)denial->asked_us,
                              [HEARD] = (uint64_t)denial->heard_us,
                              [NOW] = (uint64_t)denial->now_us,
                              [UNTIL] = (uint64_t)denial->until_us,
                              [BLOCKED] = (uint64_t)denial->blocked_until_us };
    uint64_t there[WORDS];
    SL_CHECK(denial->cost > 0);
    name_claim(claim, words);
    memcpy(words + STATE, denial->state, sizeof denial->state);
    uint64_t mark = mark_of(words);
    struct set *set = &denied->sets[set_of(mark)];
    size_t way = choose_way(set, mark);
    struct denial *entry = &denied->entries[set_of(mark) * WAYS + way];
    uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_relaxed) & ~UINT64_C(1);
    if (!read_entry(entry, there) || is_better_entry(denied, there, words))
        return;
    if (!is_same_claim(there, words) && (int64_t)there[UNTIL] > denial->until_us)
        return; /* the new one would end soonest */
    if (!atomic_compare_exchange_strong(&entry->sequence, &sequence, sequence + 1))
        return;
    write_entry(entry, words);
    atomic_store_explicit(&entry->sequence, sequence + 2, memory_order_release);
    atomic_store_explicit(&set->until_us[way], denial->until_us, memory_order_relaxed);
    atomic_store_explicit(&set->marks[way], mark, memory_order_relaxed);
}

void sl_denial_cache_drop(struct sl_denial_cache *denied, const struct sl_claim *claim)
{
    uint64_t same[SAME], words[WORDS];
    name_claim(claim, same);
    uint64_t mark = mark_of(same);
    struct set *set = &denied->sets[set_of(mark)];
    for (size_t i = 0; i < WAYS; i++) {
        struct denial *entry = &denied->entries[set_of(mark) * WAYS + i];
        uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_relaxed);
        if (__builtin_expect(atomic_load_explicit(&set->marks[i], memory_order_relaxed) != mark,
                             1) ||
            !read_entry(entry, words) || !is_same_claim(words, same) ||
            !atomic_compare_exchange_strong(&entry->sequence, &sequence, sequence + 1))
            continue;
        atomic_store_explicit(&entry->words[UNTIL], 0, memory_order_release);
        atomic_store_explicit(&entry->sequence, sequence + 2, memory_order_release);
        atomic_store_explicit(&set->until_us[i], 0, memory_order_relaxed);
    }
}

size_t sl_denial_cache_count(const struct sl_denial_cache *denied, int64_t now_us)
{
    size_t count = 0;
    for (size_t i = 0; i < SL_DENIAL_CACHE_MAX; i++) {
        const struct set *set = &denied->sets[i / WAYS];
        const _Atomic uint64_t *generation = &denied->entries[i].words[GENERATION];
        count += atomic_load_explicit(&set->until_us[i % WAYS], memory_order_relaxed) > now_us &&
                 atomic_load_explicit(generation, memory_order_relaxed) ==
                     sl_denial_cache_generation(denied);
    }
    return count;
}
