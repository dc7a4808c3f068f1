/* A store private to one thread: an open-addressed table on the heap, keyed by
 * 128-bit hashes under a random seed. Only replays use it; everything else uses
 * the shared table of memory.c, which drops states that time has made fresh.
 *
 *   slot:  key (16 bytes) | state (16 bytes) | ring, ring_len
 *
 * An all-zero slot is free: a key that hashes to zero is stored as one. The
 * table doubles when it is half full and drops nothing, because a replay may turn
 * its clock back to any state it ever wrote. 128 bits do not collide. So its size
 * grows with the number of distinct identifiers.
 *
 * A bundle needs room for at most two new slots per claim, made before the
 * first look-up. Each step looks its slot up again: two new keys of one bundle
 * may see the same free slot until the first of them takes it. */
#include <stdlib.h>

#include "algo/state.h"
#include "base/check.h"
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

static bool is_free_slot(const struct slot *slot)
{
    return (slot->key.low | slot->key.high) == 0;
}

/* Returns the key's slot, or the free one where it would go. */
static struct slot *find_slot(const struct heap *heap, struct sl_hash128 key)
{
    key.low += (key.low | key.high) == 0;
    for (size_t at = key.low & heap->mask;; at = (at + 1) & heap->mask) {
        struct slot *slot = &heap->slots[at];
        if (is_free_slot(slot) || (slot->key.low == key.low && slot->key.high == key.high))
            return slot;
    }
}

static int grow_for(struct heap *heap, size_t more)
{
    size_t room = heap->slots ? heap->mask + 1 : 1024;
    if (heap->slots && heap->count + more <= room / 2)
        return SLUICE_OK;
    while (heap->count + more > room / 2)
        room *= 2;
    SL_CHECK((room & (room - 1)) == 0);
    struct heap larger = { .slots = calloc(room, sizeof *larger.slots), .mask = room - 1 };
    if (!larger.slots)
        return SLUICE_NO_MEMORY;
    for (size_t i = 0; heap->slots && i <= heap->mask; i++)
        if (!is_free_slot(&heap->slots[i]))
            *find_slot(&larger, heap->slots[i].key) = heap->slots[i];
    free(heap->slots);
    heap->slots = larger.slots;
    heap->mask = larger.mask;
    SL_CHECK(heap->count + more <= room / 2); /* free slots end every search */
    return SLUICE_OK;
}

static void claim_slot(struct heap *heap, struct slot *slot, struct sl_hash128 key)
{
    if (!is_free_slot(slot))
        return;
    key.low += (key.low | key.high) == 0;
    slot->key = key;
    heap->count++;
    SL_CHECK(heap->count <= heap->mask / 2 + 1);
}

/* Makes the log's ring long enough for the rule's largest limit. */
static int lengthen_ring(const struct sl_claim *claim, struct sl_state *state)
{
    if (!claim->algo->keeps_ring || state->ring_len >= claim->ring_len)
        return SLUICE_OK;
    uint64_t *ring = calloc(claim->ring_len, sizeof *ring);
    if (!ring)
        return SLUICE_NO_MEMORY;
    uint64_t *old = state->ring;
    claim->algo->move_ring(state, ring, claim->ring_len);
    SL_CHECK(state->ring == ring && state->ring_len >= claim->limit.capacity);
    free(old);
    return SLUICE_OK;
}

static void guard_and_decide_claim(struct heap *heap, struct sl_bundle *bundle,
                                   struct sl_claim *claim)
{
    if (claim->guard) {
        struct slot *guard = find_slot(heap, claim->guard_key);
        struct sl_state state = guard->state;
        sl_claim_guard(claim, bundle, &state);
        if (sl_claim_takes(bundle, claim)) {
            claim_slot(heap, guard, claim->guard_key);
            guard->state = state;
        }
    }
    sl_claim_decide(claim, bundle, &find_slot(heap, claim->key)->state);
}

/* Does everything that may fail, before the first charge. */
static int prepare_slots(struct heap *heap, struct sl_bundle *bundle)
{
    int status = SLUICE_OK;
    for (size_t i = 0; i < bundle->claim_count && status == SLUICE_OK; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || sl_claim_write(claim, bundle) == SL_WRITE_NOTHING)
            continue;
        struct slot *slot = find_slot(heap, claim->key);
        claim_slot(heap, slot, claim->key);
        status = lengthen_ring(claim, &slot->state);
    }
    return status;
}

static void charge_and_measure_claim(struct heap *heap, struct sl_bundle *bundle,
                                     struct sl_claim *claim)
{
    struct sl_state *state = &find_slot(heap, claim->key)->state;
    enum sl_write write = sl_claim_write(claim, bundle);
    if (write != SL_WRITE_NOTHING) {
        uint32_t cost = write == SL_WRITE_CHARGE ? sl_claim_cost(bundle, claim) : 0;
        claim->algo->charge(&claim->limit, state, (struct sl_ask){ bundle->now_us, cost });
        SL_CHECK(sl_state_fits(state));
    }
    claim->charged = write == SL_WRITE_CHARGE;
    SL_CHECK(!claim->charged || (bundle->allowed && claim->allowed));
    sl_claim_measure(claim, bundle, state);
}

static int decide_bundle_on_heap(struct heap *heap, struct sl_bundle *bundle)
{
    bundle->wall_shift_us = 0; /* its clock is wall time, or the caller's */
    if (bundle->now_us < 0)
        bundle->now_us = sl_clock_now_us(&heap->clock);
    SL_CHECK(bundle->now_us <= SL_TIME_MAX_US && (bundle->claims || bundle->claim_count == 0));
    int status = grow_for(heap, 2 * bundle->claim_count);
    if (status != SLUICE_OK)
        return status;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            guard_and_decide_claim(heap, bundle, &bundle->claims[i]);
    sl_bundle_judge(bundle);
    status = prepare_slots(heap, bundle);
    if (status != SLUICE_OK)
        return status;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            charge_and_measure_claim(heap, bundle, &bundle->claims[i]);
    return SLUICE_OK;
}

static void decide_on_heap(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bundles[i].status = decide_bundle_on_heap((struct heap *)store, &bundles[i]);
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
    .decide = decide_on_heap,
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
