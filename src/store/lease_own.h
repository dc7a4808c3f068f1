/* Leases from the inside: for lease.c, which spends them, and lease_call.c, which calls for them.
 */
#ifndef SL_STORE_LEASE_OWN_H
#define SL_STORE_LEASE_OWN_H

#include "store/lease.h"

/* One writer, or none that matters: never torn, in no order. */
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

/* NULL: there is none. */
struct sl_lease *sl_leases_find(const struct sl_leases *leases, const struct sl_claim *claim);

#endif
