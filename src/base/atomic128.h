/* Sixteen bytes read and swapped at once, between threads and between processes.
 *
 * Written as instructions: for 16-byte __atomic operations compilers call a
 * library whose fallback is a lock, and a lock inside one process does not keep
 * other processes out. An aligned 16-byte SSE load is atomic on every processor
 * with AVX (Intel and AMD promise it); without AVX, a load is a swap that changes
 * nothing.
 *
 * ThreadSanitizer does not understand these instructions, so under it they are the
 * builtins it knows: correct within one process, which is all it checks. */
#ifndef SL_BASE_ATOMIC128_H
#define SL_BASE_ATOMIC128_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__)
#error "the shared table needs 16-byte compare-and-swap; so far it is written for x86-64 alone"
#endif

#include <emmintrin.h>

struct sl_word {
    _Alignas(16) uint64_t lo;
    uint64_t hi;
};

static inline bool sl_word_equal(struct sl_word a, struct sl_word b)
{
    return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0;
}

/* Returns true if this processor can use a table. */
bool sl_word_supported(void);

/* True if a 16-byte load is atomic here; false until sl_word_supported() was called. */
extern bool sl_word_loads;

#if defined(__SANITIZE_THREAD__)

__extension__ typedef unsigned __int128 sl_word_bits;

static inline struct sl_word sl_word_of(sl_word_bits bits)
{
    return (struct sl_word){ (uint64_t)bits, (uint64_t)(bits >> 64) };
}

static inline struct sl_word sl_word_load(const struct sl_word *at)
{
    return sl_word_of(__atomic_load_n((const sl_word_bits *)at, __ATOMIC_ACQUIRE));
}

static inline bool sl_word_swap(struct sl_word *at, struct sl_word *expected, struct sl_word to)
{
    sl_word_bits old = (sl_word_bits)expected->hi << 64 | expected->lo;
    sl_word_bits new = (sl_word_bits)to.hi << 64 | to.lo;
    bool swapped = __atomic_compare_exchange_n((sl_word_bits *)at, &old, new, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *expected = sl_word_of(old);
    return swapped;
}

#else

/* Returns true if *at was *expected and is now `to`; else sets *expected to what it was. */
static inline bool sl_word_swap(struct sl_word *at, struct sl_word *expected, struct sl_word to)
{
    bool swapped;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(swapped), "+m"(*at), "+a"(expected->lo), "+d"(expected->hi)
                     : "b"(to.lo), "c"(to.hi)
                     : "memory");
    return swapped;
}

static inline struct sl_word sl_word_load(const struct sl_word *at)
{
    struct sl_word word = { 0, 0 };
    if (__builtin_expect(sl_word_loads, 1)) {
        __m128i both;
        __asm__ volatile("movdqa %1, %0" : "=x"(both) : "m"(*at) : "memory");
        word.lo = (uint64_t)_mm_cvtsi128_si64(both);
        word.hi = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(both, both));
    } else {
        sl_word_swap((struct sl_word *)(uintptr_t)at, &word, word);
    }
    return word;
}

#endif

#endif
