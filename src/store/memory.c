/* Counts private to one process and one thread: an open-addressed table on the
 * heap, keyed by 128-bit hashes under a random seed.
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

struct memory {
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
static struct slot *find(const struct memory *memory, struct sl_hash128 key)
{
    key.low += (key.low | key.high) == 0;
    for (size_t at = key.low & memory->mask;; at = (at + 1) & memory->mask) {
        struct slot *slot = &memory->slots[at];
        if (is_free(slot) || (slot->key.low == key.low && slot->key.high == key.high))
            return slot;
    }
}

static int make_room(struct memory *memory, size_t more)
{
    size_t room = memory->slots ? memory->mask + 1 : 1024;
    if (memory->slots && memory->count + more <= room / 2)
        return SLUICE_OK;
    while (memory->count + more > room / 2)
        room *= 2;
    struct memory larger = { .slots = calloc(room, sizeof *larger.slots), .mask = room - 1 };
    if (!larger.slots)
        return SLUICE_NO_MEMORY;
    for (size_t i = 0; memory->slots && i <= memory->mask; i++)
        if (!is_free(&memory->slots[i]))
            *find(&larger, memory->slots[i].key) = memory->slots[i];
    free(memory->slots);
    memory->slots = larger.slots;
    memory->mask = larger.mask;
    return SLUICE_OK;
}

static void take_slot(struct memory *memory, struct slot *slot, struct sl_hash128 key)
{
    if (!is_free(slot))
        return;
    key.low += (key.low | key.high) == 0;
    slot->key = key;
    memory->count++;
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

static void decide_claim(struct memory *memory, struct sl_bundle *bundle, struct sl_claim *claim)
{
    if (claim->guard) {
        struct slot *guard = find(memory, claim->guard_key);
        struct sl_state state = guard->state;
        sl_claim_guard(claim, bundle, &state);
        if (!bundle->peek && bundle->cost > 0) {
            take_slot(memory, guard, claim->guard_key);
            guard->state = state;
        }
    }
    sl_claim_decide(claim, bundle, &find(memory, claim->key)->state);
}

/* What may fail comes before the first charge. */
static int prepare(struct memory *memory, struct sl_bundle *bundle)
{
    int status = SLUICE_OK;
    for (size_t i = 0; i < bundle->claim_count && status == SLUICE_OK; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || sl_claim_write(claim, bundle) == SL_WRITE_NOTHING)
            continue;
        struct slot *slot = find(memory, claim->key);
        take_slot(memory, slot, claim->key);
        status = make_ring(claim, &slot->state);
    }
    return status;
}

static void finish_claim(struct memory *memory, struct sl_bundle *bundle, struct sl_claim *claim)
{
    struct sl_state *state = &find(memory, claim->key)->state;
    enum sl_write write = sl_claim_write(claim, bundle);
    if (write != SL_WRITE_NOTHING) {
        uint32_t cost = write == SL_WRITE_CHARGE ? bundle->cost : 0;
        claim->algo->charge(&claim->limit, state, (struct sl_ask){ bundle->now_us, cost });
    }
    sl_claim_measure(claim, bundle, state);
}

static int decide(struct sl_store *store, struct sl_bundle *bundle)
{
    struct memory *memory = (struct memory *)store;
    if (bundle->now_us < 0)
        bundle->now_us = sl_clock_now_us(&memory->clock);
    int status = make_room(memory, 2 * bundle->claim_count);
    if (status != SLUICE_OK)
        return status;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            decide_claim(memory, bundle, &bundle->claims[i]);
    sl_bundle_judge(bundle);
    status = prepare(memory, bundle);
    if (status != SLUICE_OK)
        return status;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            finish_claim(memory, bundle, &bundle->claims[i]);
    return SLUICE_OK;
}

static void close_memory(struct sl_store *store)
{
    struct memory *memory = (struct memory *)store;
    for (size_t i = 0; memory->slots && i <= memory->mask; i++)
        free(memory->slots[i].state.ring);
    free(memory->slots);
    free(memory);
}

static const struct sl_store_ops memory_ops = {
    .decide = decide,
    .close = close_memory,
};

struct sl_store *sl_memory_open(void)
{
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->store.ops = &memory_ops;
    memory->store.secret = sl_random64();
    sl_clock_open(&memory->clock);
    return &memory->store;
}
