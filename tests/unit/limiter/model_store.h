/* A store for tests, as plain as it can be: its clock is a number, its wall
 * clock runs aside from it, and it fails when it is told to. Counts what it is
 * asked. */
#ifndef TEST_LIMITER_MODEL_STORE_H
#define TEST_LIMITER_MODEL_STORE_H

#include "store/claim.h"
#include "unit/base/unit.h"

enum { MODEL_SLOTS = 4096, MODEL_HELD = 256 };

struct model_slot {
    struct sl_hash128 key;
    struct sl_state state;
};

struct model_held {
    uint64_t id; /* 0: free */
    int64_t expires_us;
    struct sl_claim claim;
    struct sl_charge charge;
};

struct model {
    struct sl_store store;
    int64_t now_us;
    int64_t wall_shift_us;
    int status;      /* what every decision fails with */
    int hold_status; /* and every reservation */
    bool closed;
    struct model_slot slots[MODEL_SLOTS];
    size_t slot_count;
    struct model_held held[MODEL_HELD];
    uint64_t last_id;
    size_t decide_calls, largest_batch, refund_calls, reset_calls;
};

static inline struct sl_state *model_state(struct model *model, struct sl_hash128 key)
{
    size_t i = 0;
    while (i < model->slot_count &&
           (model->slots[i].key.low != key.low || model->slots[i].key.high != key.high))
        i++;
    if (i == model->slot_count) {
        assert_true(model->slot_count < MODEL_SLOTS);
        model->slots[model->slot_count++].key = key;
    }
    return &model->slots[i].state;
}

static inline struct sl_state *model_claimed(struct model *model, const struct sl_claim *claim)
{
    struct sl_state *state = model_state(model, claim->key);
    if (claim->algo->keeps_ring && !state->ring) {
        state->ring = calloc(claim->ring_len, sizeof *state->ring);
        state->ring_len = claim->ring_len;
    }
    return state;
}

static inline int model_refund(struct sl_store *store, const struct sl_claim *claim,
                               struct sl_charge charge)
{
    struct model *model = (struct model *)store;
    struct sl_ask ask = { model->now_us, charge.cost };
    model->refund_calls++;
    claim->algo->refund(&claim->limit, model_claimed(model, claim), ask, charge.at_us);
    return SLUICE_OK;
}

static inline int model_reset(struct sl_store *store, const struct sl_claim *claim)
{
    struct model *model = (struct model *)store;
    struct sl_state *state = model_state(model, claim->key);
    model->reset_calls++;
    free(state->ring);
    *state = (struct sl_state){ 0 };
    if (claim->guard)
        *model_state(model, claim->guard_key) = (struct sl_state){ 0 };
    return SLUICE_OK;
}

static inline void model_settle_held(struct model *model, struct model_held *held, uint32_t cost)
{
    const struct sl_claim *claim = &held->claim;
    uint32_t was = held->charge.cost;
    struct sl_charge rest = { was - cost, held->charge.at_us };
    if (cost > was)
        claim->algo->overcharge(&claim->limit, model_claimed(model, claim),
                                (struct sl_ask){ model->now_us, cost - was });
    else if (cost < was)
        model_refund(&model->store, claim, rest);
    held->id = 0;
}

static inline int model_settle(struct sl_store *store, uint64_t id, uint32_t cost)
{
    struct model *model = (struct model *)store;
    int status = SLUICE_NO_RESERVATION;
    for (size_t i = 0; i < MODEL_HELD; i++) {
        if (model->held[i].id != id || model->held[i].expires_us <= model->now_us)
            continue;
        model_settle_held(model, &model->held[i], cost);
        status = SLUICE_OK;
    }
    return status;
}

static inline int model_hold(struct sl_store *store, const struct sl_bundle *bundle,
                             int64_t expiry_us, uint64_t *id)
{
    struct model *model = (struct model *)store;
    struct sl_charge charge = { bundle->cost, bundle->now_us };
    if (!model->hold_status)
        *id = ++model->last_id;
    for (size_t i = 0, place = 0; i < bundle->claim_count; i++) {
        if (!bundle->claims[i].charged)
            continue;
        if (model->hold_status) {
            model_refund(store, &bundle->claims[i], charge);
            continue;
        }
        while (model->held[place].id)
            place++;
        model->held[place] =
            (struct model_held){ *id, bundle->now_us + expiry_us, bundle->claims[i], charge };
    }
    return model->hold_status;
}

static inline void model_finish(struct model *model, struct sl_bundle *bundle,
                                struct sl_claim *claim)
{
    struct sl_state *state = model_claimed(model, claim);
    enum sl_write write = sl_claim_write(claim, bundle);
    claim->charged = write == SL_WRITE_CHARGE;
    if (write != SL_WRITE_NOTHING)
        claim->algo->charge(
            &claim->limit, state,
            (struct sl_ask){ bundle->now_us, claim->charged ? sl_claim_cost(bundle, claim) : 0 });
    sl_claim_measure(claim, bundle, state);
}

static inline void model_decide_one(struct model *model, struct sl_bundle *bundle)
{
    bundle->status = model->status;
    if (model->status)
        return;
    bundle->wall_shift_us = bundle->now_us < 0 ? model->wall_shift_us : 0;
    if (bundle->now_us < 0)
        bundle->now_us = model->now_us;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        if (claim->guard)
            sl_claim_guard(claim, bundle, model_state(model, claim->guard_key));
        sl_claim_decide(claim, bundle, model_claimed(model, claim));
    }
    sl_bundle_judge(bundle);
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            model_finish(model, bundle, &bundle->claims[i]);
}

static inline void model_decide(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    struct model *model = (struct model *)store;
    model->decide_calls++;
    if (count > model->largest_batch)
        model->largest_batch = count;
    for (size_t i = 0; i < MODEL_HELD; i++)
        if (model->held[i].id && model->held[i].expires_us <= model->now_us)
            model_settle_held(model, &model->held[i], 0);
    for (size_t i = 0; i < count; i++)
        model_decide_one(model, &bundles[i]);
}

/* Handles close it where they own it; its memory is the test's. */
static inline void model_close(struct sl_store *store)
{
    struct model *model = (struct model *)store;
    for (size_t i = 0; i < model->slot_count; i++)
        free(model->slots[i].state.ring);
    model->slot_count = 0;
    model->closed = true;
}

static const struct sl_store_ops model_ops = {
    .decide = model_decide,
    .refund = model_refund,
    .reset = model_reset,
    .hold = model_hold,
    .settle = model_settle,
    .close = model_close,
};

/* At 1000 s by its own clock; the wall clock is 7 s ahead. */
static inline void model_open(struct model *model)
{
    memset(model, 0, sizeof *model);
    model->store.ops = &model_ops;
    model->store.secret = model->store.naming = 42;
    model->now_us = INT64_C(1000000000);
    model->wall_shift_us = INT64_C(7000000);
}

#endif
