/* The inside of leases: for lease.c, which spends them, lease_call.c, which makes up calls for
 * them, and lease_answer.c, which applies the replies. */
#ifndef SL_STORE_LEASE_LEASE_INTERNAL_H
#define SL_STORE_LEASE_LEASE_INTERNAL_H

#include "store/lease/lease.h"

/* For fields with one writer, or where a lost write does not matter: never torn, unordered. */
#define sl_load(from)    atomic_load_explicit(from, memory_order_relaxed)
#define sl_keep(to, new) atomic_store_explicit(to, new, memory_order_relaxed)

static inline uint32_t sl_word_left(struct sl_word word)
{
    return (uint32_t)word.lo;
}

static inline uint32_t sl_word_generation(struct sl_word word)
{
    return (uint32_t)(word.lo >> 32);
}

static inline struct sl_word sl_word_lease(uint32_t left, uint32_t generation, int64_t end_us)
{
    return (struct sl_word){ (uint64_t)generation << 32 | left, (uint64_t)end_us };
}

static inline int64_t sl_lease_span(const struct sl_claim *claim)
{
    return claim->algo->is_bucket ? claim->limit.token_ns : claim->limit.window_us;
}

/* Ends the caller's ownership. */
static inline void sl_lease_disown(struct sl_lease *lease)
{
    SL_CHECK(sl_load(&lease->is_called));
    atomic_store_explicit(&lease->is_called, false, memory_order_release);
}

/* Begins a new generation, with so much left until then. Returns how much was left. */
static inline uint32_t sl_lease_replace(struct sl_lease *lease, uint32_t left, int64_t end_us)
{
    struct sl_word word = sl_word_load(&lease->word);
    while (!sl_word_swap(&lease->word, &word,
                         sl_word_lease(left, sl_word_generation(word) + 1, end_us)))
        ;
    return sl_word_left(word);
}

/* Counts so many of its units as spent, returned … */
void sl_lease_count(struct sl_leases *leases, const struct sl_lease *lease, enum sl_lease_end end,
                    uint64_t units);

/* Returns NULL if there is none. */
struct sl_lease *sl_leases_find(const struct sl_leases *leases, const struct sl_claim *claim);

#endif
