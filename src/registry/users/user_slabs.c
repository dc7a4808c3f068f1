/* Items of one size, found by number: slabs that grow and a free list. */
#include "registry/users/user_slabs.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

bool sl_slabs_open(struct sl_slabs *slabs, size_t item_bytes, uint32_t most)
{
    *slabs = (struct sl_slabs){ .item_bytes = item_bytes, .most = most };
    slabs->slabs = calloc(most / SL_SLAB_ITEMS + 1, sizeof *slabs->slabs);
    return slabs->slabs != NULL;
}

void sl_slabs_close(struct sl_slabs *slabs)
{
    for (uint32_t i = 0; slabs->slabs && i <= slabs->most / SL_SLAB_ITEMS; i++)
        free(atomic_load_explicit(&slabs->slabs[i], memory_order_relaxed));
    free(slabs->slabs);
    slabs->slabs = NULL;
}

static bool has_slab(struct sl_slabs *slabs, uint32_t number)
{
    _Atomic(char *) *place = &slabs->slabs[number / SL_SLAB_ITEMS];
    if (atomic_load_explicit(place, memory_order_relaxed))
        return true;
    size_t bytes = SL_SLAB_ITEMS * slabs->item_bytes; /* a multiple of the alignment */
    char *slab = aligned_alloc(ALIGNMENT, bytes);
    if (!slab)
        return false;
    memset(slab, 0, bytes);
    atomic_store_explicit(place, slab, memory_order_release);
    return true;
}

static struct sl_slab_link *link_of(const struct sl_slabs *slabs, uint32_t number)
{
    return sl_slabs_at(slabs, number);
}

uint32_t sl_slabs_take(struct sl_slabs *slabs)
{
    uint32_t number = slabs->free;
    if (number) {
        slabs->free = atomic_load_explicit(&link_of(slabs, number)->next, memory_order_relaxed);
        return number;
    }
    if (slabs->used == slabs->most || !has_slab(slabs, slabs->used + 1))
        return 0;
    return ++slabs->used;
}

void sl_slabs_give(struct sl_slabs *slabs, uint32_t number)
{
    atomic_store_explicit(&link_of(slabs, number)->next, slabs->free, memory_order_release);
    slabs->free = number;
}
