/* Items of one size, found by number, in memory that is not freed while it is open.
 *
 * A reader that holds the number of an item that was given back reads whatever the item
 * has become, and never freed memory. So readers need no lock and no writer waits for them;
 * a reader must check by itself that it has read one item's words and not two's. */
#ifndef SL_REGISTRY_USERS_USER_SLABS_H
#define SL_REGISTRY_USERS_USER_SLABS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of every item: the next item of its chain, or of the free list. Always the
 * number of an item, or 0. */
struct sl_slab_link {
    _Atomic uint32_t next;
};

enum { SL_SLAB_ITEMS = 1024 };

struct sl_slabs {
    size_t item_bytes;
    uint32_t most;
    uint32_t used; /* the highest number that was ever given out */
    uint32_t free; /* the first of the free list; 0: none */
    _Atomic(char *) *slabs;
};

/* Items begin zeroed; those of whole cache lines begin on one. Returns false if there is no
 * memory. */
bool sl_slabs_open(struct sl_slabs *slabs, size_t item_bytes, uint32_t most);
void sl_slabs_close(struct sl_slabs *slabs);

/* For one thread at a time. Numbers start at 1; 0: no memory, or there are `most` items. */
uint32_t sl_slabs_take(struct sl_slabs *slabs);
void sl_slabs_give(struct sl_slabs *slabs, uint32_t number);

/* Any thread, with a number that sl_slabs_take has returned. */
static inline void *sl_slabs_at(const struct sl_slabs *slabs, uint32_t number)
{
    char *slab = atomic_load_explicit(&slabs->slabs[number / SL_SLAB_ITEMS], memory_order_acquire);
    return slab + number % SL_SLAB_ITEMS * slabs->item_bytes;
}

/* Words that other threads may write meanwhile. Acquire and release without a fence, which
 * ThreadSanitizer would not see: a thread that has read a word that was written after some
 * version was stored sees that version, or a later one. */
static inline void sl_words_load(const _Atomic uint64_t *from, size_t count, void *to)
{
    unsigned char *at = to;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = atomic_load_explicit(&from[i], memory_order_acquire);
        __builtin_memcpy(at + i * sizeof word, &word, sizeof word);
    }
}

static inline void sl_words_store(_Atomic uint64_t *to, size_t count, const void *from)
{
    const unsigned char *at = from;
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        __builtin_memcpy(&word, at + i * sizeof word, sizeof word);
        atomic_store_explicit(&to[i], word, memory_order_release);
    }
}

#endif
