#include "bare.h"

#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/text/number.h"

enum { LINE_WORDS = 4, BATCH = 16 };

int64_t boot_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct bare bare_hot(void)
{
    struct bare bare = { aligned_alloc(64, 64), 1, sl_random64() };
    if (!bare.lines || !sl_word_supported())
        bench_fail("no memory, or no cmpxchg16b");
    memset(bare.lines, 0, 64);
    return bare;
}

static inline struct sl_word *word_of(const struct bare *bare, struct sl_hash128 hash)
{
    uint64_t line = (uint64_t)((sl_u128)hash.low * bare->line_count >> 64);
    return bare->lines + line * LINE_WORDS + (hash.high & (LINE_WORDS - 1));
}

/* Reads it, and swaps it for the same: the line must be had alone and is written. */
static inline void touch(struct sl_word *word)
{
    struct sl_word old = sl_word_load(word);
    sl_word_swap(word, &old, old);
}

static volatile int64_t last_ns; /* so that the clock is not read for nothing */

uint64_t bare_clocked(const struct side *side, uint64_t at, uint64_t count)
{
    const struct bare *bare = side->context;
    for (; count; count--, at = key_next(side->keys, at)) {
        last_ns = boot_ns();
        touch(word_of(bare, sl_hash128(key_at(side->keys, at), bare->seed)));
    }
    return at;
}

uint64_t bare_ahead(const struct side *side, uint64_t at, uint64_t count)
{
    const struct bare *bare = side->context;
    for (; count; count--, at = key_next(side->keys, at)) {
        struct sl_word *word = word_of(bare, sl_hash128(key_at(side->keys, at), bare->seed));
        __builtin_prefetch(word, 1);
        last_ns = boot_ns();
        touch(word);
    }
    return at;
}

uint64_t bare_unclocked(const struct side *side, uint64_t at, uint64_t count)
{
    const struct bare *bare = side->context;
    for (; count; count--, at = key_next(side->keys, at))
        touch(word_of(bare, sl_hash128(key_at(side->keys, at), bare->seed)));
    return at;
}

uint64_t bare_batch(const struct side *side, uint64_t at, uint64_t count)
{
    const struct bare *bare = side->context;
    struct sl_word *words[BATCH];
    for (; count >= BATCH; count -= BATCH) {
        for (int i = 0; i < BATCH; i++, at = key_next(side->keys, at)) {
            words[i] = word_of(bare, sl_hash128(key_at(side->keys, at), bare->seed));
            __builtin_prefetch(words[i], 1);
        }
        for (int i = 0; i < BATCH; i++)
            touch(words[i]);
    }
    return at;
}
