/* The operations that are stopped after each of their instructions. */
#include <inttypes.h>

#include "stress/step.h"

#define EXPIRY_US INT64_C(60000000)

struct sl_claim stage_claim(const struct stage *stage, unsigned n, int64_t capacity)
{
    return claim_on(stage->subject, key_of(stage->id, n, 0), capacity, stage->now_us);
}

static void take_all(struct stage *stage, struct sl_store *store, unsigned keys, uint32_t cost)
{
    struct sl_claim claims[KEYS_MAX];
    for (unsigned n = 0; n < keys; n++)
        claims[n] = stage_claim(stage, n, stage->subject->capacity);
    struct sl_bundle bundle = bundle_of(claims, keys, cost, -1);
    if (!ask(store, &bundle))
        complain("preparing: denied");
    stage->charged_at_us = claims->answer.as_of_us;
}

/* Twice: what a refund of the second charge leaves must not be lost. */
static void prepare_charged(struct stage *stage)
{
    take_all(stage, stage->table.store, 1, COST);
    take_all(stage, stage->table.store, 1, COST);
    stage->low[0] = stage->high[0] = 2 * COST;
}

static void prepare_denied(struct stage *stage)
{
    int64_t capacity = stage->subject->capacity;
    stage->low[0] = stage->high[0] =
        drain(stage->table.store, stage_claim(stage, 0, capacity), -1, capacity);
}

static void prepare_pair(struct stage *stage)
{
    take_all(stage, stage->table.store, 1, COST); /* one of them is there already */
    stage->low[0] = stage->high[0] = COST;
}

static void prepare_held(struct stage *stage)
{
    struct sl_store *store = stage->table.store;
    struct sl_claim claims[2] = { stage_claim(stage, 0, stage->subject->capacity),
                                  stage_claim(stage, 1, stage->subject->capacity) };
    struct sl_bundle bundle = bundle_of(claims, 2, COST, -1);
    if (!ask(store, &bundle) ||
        store->ops->hold(store, &bundle, EXPIRY_US, &stage->reservation) != SLUICE_OK)
        complain("preparing: no reservation");
    stage->low[0] = stage->high[0] = stage->low[1] = stage->high[1] = COST;
}

static void prepare_expired(struct stage *stage)
{
    prepare_held(stage);
    pass_time_us(EXPIRY_US + 1000000);
}

/* Fills every slot that the key could have with another key. */
static void prepare_crowd(struct stage *stage)
{
    struct sl_store *store = stage->table.store;
    for (unsigned n = KEYS_MAX; table_stats(store).evictions < 200 && n < 100000; n += 100)
        for (unsigned i = 0; i < 100; i++) {
            struct sl_claim claim = stage_claim(stage, n + i, stage->subject->capacity);
            struct sl_bundle bundle = bundle_of(&claim, 1, 1, -1);
            ask(store, &bundle);
        }
}

/* ---- the acts ------------------------------------------------------------------------ */

static void run_take(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claim = stage_claim(stage, 0, stage->subject->capacity);
    struct sl_bundle bundle = bundle_of(&claim, 1, COST, -1);
    ask(store, &bundle);
}

static void run_raise(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claim = stage_claim(stage, 0, 4 * stage->subject->capacity);
    struct sl_bundle bundle = bundle_of(&claim, 1, COST, -1);
    ask(store, &bundle);
}

static void run_pair(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claims[] = { stage_claim(stage, 0, stage->subject->capacity),
                                 stage_claim(stage, 1, stage->subject->capacity) };
    struct sl_bundle bundle = bundle_of(claims, 2, COST, -1);
    ask(store, &bundle);
}

static void run_refund(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claim = stage_claim(stage, 0, stage->subject->capacity);
    store->ops->refund(store, &claim, (struct sl_charge){ 1, stage->charged_at_us });
}

static void run_refunds(struct stage *stage, struct sl_store *store)
{
    run_refund(stage, store);
    run_refund(stage, store);
}

static void run_reset(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claim = stage_claim(stage, 0, stage->subject->capacity);
    store->ops->reset(store, &claim);
}

static void run_reserve(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claims[] = { stage_claim(stage, 0, stage->subject->capacity),
                                 stage_claim(stage, 1, stage->subject->capacity) };
    struct sl_bundle bundle = bundle_of(claims, 2, COST, -1);
    uint64_t id = 0;
    if (ask(store, &bundle))
        store->ops->hold(store, &bundle, EXPIRY_US, &id);
}

static void run_cancel(struct stage *stage, struct sl_store *store)
{
    store->ops->settle(store, stage->reservation, 0);
}

static void run_commit_less(struct stage *stage, struct sl_store *store)
{
    store->ops->settle(store, stage->reservation, COST - 1);
}

static void run_commit_more(struct stage *stage, struct sl_store *store)
{
    store->ops->settle(store, stage->reservation, COST + 1);
}

/* Any decision gives back what has expired. */
static void run_expire(struct stage *stage, struct sl_store *store)
{
    (void)stage;
    table_now_us(store);
}

static const struct sl_guard guard = { .window_us = SL_WINDOW_MAX_US,
                                       .penalty_us = 60000000,
                                       .threshold = 1 };

static void run_guard(struct stage *stage, struct sl_store *store)
{
    struct sl_claim claim = stage_claim(stage, 0, stage->subject->capacity);
    claim.guard = &guard;
    claim.guard_key = key_of(stage->id, KEYS_MAX, 1);
    for (int i = 0; i < COST; i++) {
        struct sl_bundle bundle = bundle_of(&claim, 1, 1, -1);
        ask(store, &bundle);
    }
}

static bool keeps_ring(const struct subject *subject)
{
    return subject->algo->keeps_ring;
}

static bool no_ring(const struct subject *subject)
{
    return !subject->algo->keeps_ring;
}

const struct act acts[] = {
    { "insert", NULL, NULL, run_take, 1, COST, 0, false },
    { "charge", NULL, prepare_charged, run_take, 1, COST, 0, false },
    { "deny", NULL, prepare_denied, run_take, 1, 0, 0, false },
    { "ring moved", keeps_ring, prepare_charged, run_raise, 1, COST, 0, false },
    { "refund", NULL, prepare_charged, run_refund, 1, 0, 1, false },
    { "two refunds", NULL, prepare_charged, run_refunds, 1, 0, 2, false },
    { "reset", NULL, prepare_charged, run_reset, 1, 0, ALL, false },
    { "pair", NULL, prepare_pair, run_pair, 2, COST, 0, false },
    { "reserve", NULL, NULL, run_reserve, 2, COST, 0, false },
    { "cancel", NULL, prepare_held, run_cancel, 2, 0, COST, true },
    { "commit less", NULL, prepare_held, run_commit_less, 2, 0, 1, true },
    { "commit more", NULL, prepare_held, run_commit_more, 2, 1, 0, true },
    { "expire", NULL, prepare_expired, run_expire, 2, 0, COST, true },
    { "guard", no_ring, NULL, run_guard, 1, COST, 0, false },
    { "evict", no_ring, prepare_crowd, run_take, 1, COST, 0, false },
    { NULL, NULL, NULL, NULL, 0, 0, 0, false },
};
