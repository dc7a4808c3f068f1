/* Counts private to one thread: an open-addressed table on the heap, keyed by
 * 128-bit hashes under a random seed. The store of a replay; everybody else has
 * the shared table of memory.c, which forgets what time has made fresh.
 *
 *   slot:  key (16 bytes) | state (16 bytes) | ring, ring_len
 *
 * An all-zero slot is free: a key that hashes to zero is stored as one. The
 * table doubles at half full and forgets nothing: a replay may turn its clock
 * back to any state it ever wrote, and two keys' 128 bits do not meet. So its
 * size follows the number of distinct identifiers asked about.
 *
 * A bundle needs room for at most two new slots per claim, made before the
 * first look-up. Slots are looked up anew at each step: two new keys of one
 * bundle may see the same free slot until the first of them takes it. */
#include <stdlib.h>

#include "base/clock.h"
#include "store/claim.h"

struct slot {
    struct sl_hash128 key;
    struct sl_state state;
};

struct heap {
    struct sl_store store;
    struct sl_clock clock;
    struct slot *slots;
    size_t mask;
    size_t count;
};

static bool is_free(const struct slot *slot)
{
    return (slot->key.low | slot->key.high) == 0;
}

/* The key's slot, or the free one where it would go. */
static struct slot *find(const struct heap *heap, struct sl_hash128 key)
{
    key.low += (key.low | key.high) == 0;
    for (size_t at = key.low & heap->mask;; at = (at + 1) & heap->mask) {
        struct slot *slot = &heap->slots[at];
        if (is_free(slot) || (slot->key.low == key.low && slot->key.high == key.high))
            return slot;
    }
}

static int make_room(struct heap *heap, size_t more)
{
    size_t room = heap->slots ? heap->mask + 1 : 1024;
    if (heap->slots && heap->count + more <= room / 2)
        return SLUICE_OK;
    while (heap->count + more > room / 2)
        room *= 2;
    struct heap larger = { .slots = calloc(room, sizeof *larger.slots), .mask = room - 1 };
    if (!larger.slots)
        return SLUICE_NO_MEMORY;
    for (size_t i = 0; heap->slots && i <= heap->mask; i++)
        if (!is_free(&heap->slots[i]))
            *find(&larger, heap->slots[i].key) = heap->slots[i];
    free(heap->slots);
    heap->slots = larger.slots;
    heap->mask = larger.mask;
    return SLUICE_OK;
}

static void take_slot(struct heap *heap, struct slot *slot, struct sl_hash128 key)
{
    if (!is_free(slot))
        return;
    key.low += (key.low | key.high) == 0;
    slot->key = key;
    heap->count++;
}

/* The log's ring, long enough for the rule's largest limit. */
static int make_ring(const struct sl_claim *claim, struct sl_state *state)
{
    if (!claim->algo->keeps_ring || state->ring_len >= claim->ring_len)
        return SLUICE_OK;
    uint64_t *ring = calloc(claim->ring_len, sizeof *ring);
    if (!ring)
        return SLUICE_NO_MEMORY;
    uint64_t *old = state->ring;
    claim->algo->move_ring(state, ring, claim->ring_len);
    free(old);
    return SLUICE_OK;
}

static void decide_claim(struct heap *heap, struct sl_bundle *bundle, struct sl_claim *claim)
{
    if (claim->guard) {
        struct slot *guard = find(heap, claim->guard_key);
        struct sl_state state = guard->state;
        sl_claim_guard(claim, bundle, &state);
        if (sl_claim_takes(bundle, claim)) {
            take_slot(heap, guard, claim->guard_key);
            guard->state = state;
        }
    }
    sl_claim_decide(claim, bundle, &find(heap, claim->key)->state);
}

/* What may fail comes before the first charge. */
static int prepare(struct heap *heap, struct sl_bundle *bundle)
{
    int status = SLUICE_OK;
    for (size_t i = 0; i < bundle->claim_count && status == SLUICE_OK; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || sl_claim_write(claim, bundle) == SL_WRITE_NOTHING)
            continue;
        struct slot *slot = find(heap, claim->key);
        take_slot(heap, slot, claim->key);
        status = make_ring(claim, &slot->state);
    }
    return status;
}

static void finish_claim(struct heap *heap, struct sl_bundle *bundle, struct sl_claim *claim)
{
    struct sl_state *state = &find(heap, claim->key)->state;
    enum sl_write write = sl_claim_write(claim, bundle);
    if (write != SL_WRITE_NOTHING) {
        uint32_t cost = write == SL_WRITE_CHARGE ? sl_claim_cost(bundle, claim) : 0;
        claim->algo->charge(&claim->limit, state, (struct sl_ask){ bundle->now_us, cost });
    }
    claim->charged = write == SL_WRITE_CHARGE;
    sl_claim_measure(claim, bundle, state);
}

static int decide_bundle(struct heap *heap, struct sl_bundle *bundle)
{
    bundle->wall_shift_us = 0; /* its clock is wall time, or the caller's */
    if (bundle->now_us < 0)
        bundle->now_us = sl_clock_now_us(&heap->clock);
    int status = make_room(heap, 2 * bundle->claim_count);
    if (status != SLUICE_OK)
        return status;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            decide_claim(heap, bundle, &bundle->claims[i]);
    sl_bundle_judge(bundle);
    status = prepare(heap, bundle);
    if (status != SLUICE_OK)
        return status;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            finish_claim(heap, bundle, &bundle->claims[i]);
    return SLUICE_OK;
}

static void decide(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bundles[i].status = decide_bundle((struct heap *)store, &bundles[i]);
}

static void close_heap(struct sl_store *store)
{
    struct heap *heap = (struct heap *)store;
    for (size_t i = 0; heap->slots && i <= heap->mask; i++)
        free(heap->slots[i].state.ring);
    free(heap->slots);
    free(heap);
}

static const struct sl_store_ops heap_ops = {
    .decide = decide,
    .close = close_heap,
};

struct sl_store *sl_heap_open(void)
{
    struct heap *heap = calloc(1, sizeof *heap);
    if (!heap)
        return NULL;
    heap->store.ops = &heap_ops;
    heap->store.secret = sl_random64();
    sl_clock_open(&heap->clock);
    return &heap->store;
}
