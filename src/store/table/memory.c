/* The memory store: the functions of the seam on the shared table. Decisions are
 * in decide.c, refunds and resets in adjust.c. This file does the periodic work:
 * reservations that expire, the clock's latest time, writing back. */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "store/table/adjust.h"
#include "store/table/decide.h"
#include "store/table/fast_path.h"
#include "store/table/reservation.h"
#include "store/table/table_file.h"
#include "store/table/table_sync.h"
#include "store/table/tally.h"

#define ATTENTION_US INT64_C(1000000)

struct memory {
    struct sl_store store;
    struct sl_table table;
    struct sl_syncer *syncer;
    bool sync_on_close;
};

/* ---- reservations ------------------------------------------------------------- */

struct table_settling {
    struct sl_table *table;
    uint32_t cost; /* the real cost */
    int status;
};

static void settle_held_charge(void *about, const struct sl_held *held)
{
    struct table_settling *settling = about;
    struct sl_table *table = settling->table;
    struct sl_charge rest = held->charge;
    int status = SLUICE_OK;
    SL_CHECK(held->claim.algo && rest.at_us >= 0);
    if (settling->cost > rest.cost)
        status = sl_adjust_overcharge(table, &held->claim, settling->cost - rest.cost, -1);
    rest.cost -= settling->cost < rest.cost ? settling->cost : rest.cost;
    if (rest.cost > 0)
        status = sl_adjust_refund(table, &held->claim, rest, -1);
    SL_CHECK(rest.cost <= held->charge.cost);
    if (status != SLUICE_OK)
        settling->status = status;
}

/* ---- periodic work --------------------------------------------------------------------- */

/* Raises a time in the header to at least to_us. */
static void raise_header_time(int64_t *at_us, int64_t to_us)
{
    int64_t seen_us = __atomic_load_n(at_us, __ATOMIC_RELAXED);
    while ((seen_us < to_us || seen_us > SL_TIME_MAX_US) &&
           !__atomic_compare_exchange_n(at_us, &seen_us, to_us, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
}

/* Once a second, or when a reservation expires: stores how far the clock has come
 * (T10) and refunds the reservations that have expired. One of the threads does it. */
__attribute__((noinline)) static void do_periodic_work(struct memory *memory, int64_t now_us,
                                                       int64_t seen_us)
{
    struct sl_header *header = memory->table.header;
    if (!__atomic_compare_exchange_n(&header->attention_us, &seen_us, now_us + ATTENTION_US, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    raise_header_time(&header->latest_us, now_us);
    if (__atomic_load_n(&header->held, __ATOMIC_ACQUIRE) == 0)
        return;
    struct table_settling settling = { &memory->table, 0, SLUICE_OK };
    int64_t next_us = sl_reservation_expire(&memory->table, now_us, settle_held_charge, &settling);
    sl_table_call_attention(&memory->table, next_us);
}

static inline void do_work_if_due(struct memory *memory, int64_t now_us)
{
    int64_t seen_us = __atomic_load_n(&memory->table.header->attention_us, __ATOMIC_RELAXED);
    if (now_us >= seen_us || seen_us - now_us > ATTENTION_US)
        do_periodic_work(memory, now_us, seen_us);
}

/* ---- the seam ------------------------------------------------------------------- */

static void prefetch_claim_lines(struct sl_table *table, const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        struct sl_probe probe = sl_probe(table, claim->key, SL_DATED_US);
        if (!claim->no_key && !claim->algo->keeps_ring)
            sl_probe_prefetch(&probe);
        probe.spread = claim->guard_key.low;
        if (claim->guard)
            sl_probe_prefetch(&probe);
    }
}

static void decide_bundles(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    struct memory *memory = (struct memory *)store;
    struct sl_table *table = &memory->table;
    for (size_t i = 0; i < count; i++)
        prefetch_claim_lines(table,
                             &bundles[i]); /* the clock is read while the lines are fetched */
    int64_t now_us = -1;                   /* one reading for all */
    for (size_t i = 0; i < count; i++) {
        bool own_clock = bundles[i].now_us < 0;
        if (own_clock && now_us < 0) {
            now_us = sl_table_now_us(table);
            do_work_if_due(memory, now_us);
        }
        if (own_clock)
            bundles[i].now_us = now_us;
        sl_table_decide(table, &bundles[i], own_clock);
        if (own_clock) /* it may have been read again, and must not go back within a batch */
            now_us = sl_max_i64(now_us, bundles[i].now_us);
    }
}

static void decide_fast_paths(struct sl_store *store, struct sl_fast_path *requests, size_t count)
{
    struct memory *memory = (struct memory *)store;
    struct sl_table *table = &memory->table;
    for (size_t i = 0; i < count; i++) {
        struct sl_probe probe = sl_probe(table, requests[i].key, SL_DATED_US);
        sl_probe_prefetch(&probe); /* the clock is read while the lines are fetched */
    }
    int64_t now_us = sl_table_now_us(table);
    do_work_if_due(memory, now_us);
    int64_t wall_shift_us = sl_table_wall_shift_us(table, now_us);
    for (size_t i = 0; i < count; i++) {
        requests[i].now_us = now_us;
        requests[i].wall_shift_us = wall_shift_us;
        requests[i].done = sl_table_fast_path(table, &requests[i]);
    }
}

static int refund_claim(struct sl_store *store, const struct sl_claim *claim,
                        struct sl_charge charge)
{
    struct sl_table *table = &((struct memory *)store)->table;
    return sl_adjust_refund(table, claim, charge, -1);
}

static int reset_claim(struct sl_store *store, const struct sl_claim *claim)
{
    sl_adjust_forget(&((struct memory *)store)->table, claim);
    return SLUICE_OK;
}

static int hold_bundle(struct sl_store *store, const struct sl_bundle *bundle, int64_t expiry_us,
                       uint64_t *id)
{
    struct sl_table *table = &((struct memory *)store)->table;
    SL_CHECK(bundle->status == SLUICE_OK && expiry_us > 0);
    int status = sl_reservation_hold(table, bundle, bundle->now_us + expiry_us, id);
    for (size_t i = 0; i < bundle->claim_count && status != SLUICE_OK; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->charged)
            refund_claim(store, claim, (struct sl_charge){ bundle->cost, claim->answer.as_of_us });
    }
    return status;
}

static int settle_reservation(struct sl_store *store, uint64_t id, uint32_t cost)
{
    struct memory *memory = (struct memory *)store;
    do_work_if_due(memory,
                   sl_table_now_us(&memory->table)); /* expired reservations are gone first */
    struct table_settling settling = { &memory->table, cost, SLUICE_OK };
    int status = sl_reservation_take(&memory->table, id, settle_held_charge, &settling);
    return status == SLUICE_OK ? settling.status : status;
}

static int sync_memory(struct sl_store *store)
{
    return sl_table_sync(&((struct memory *)store)->table) == 0 ? SLUICE_OK : SLUICE_STORE_DOWN;
}

static void measure_memory(struct sl_store *store, struct sluice_stats *out)
{
    struct sl_table *table = &((struct memory *)store)->table;
    sl_table_measure(table, sl_table_now_us(table), out);
    out->reservations = sl_reservation_count(table);
}

static void tally_memory(struct sl_store *store, struct sl_tally *tally)
{
    struct sl_table *table = &((struct memory *)store)->table;
    sl_tally_look(tally, table, sl_table_now_us(table));
}

static void glance_at_memory(struct sl_store *store, struct sluice_stats *out)
{
    sl_table_glance(&((struct memory *)store)->table, out);
}

static void close_memory(struct sl_store *store)
{
    struct memory *memory = (struct memory *)store;
    sl_syncer_stop(memory->syncer);
    if (memory->sync_on_close)
        sl_table_sync(&memory->table);
    sl_table_close(&memory->table);
    free(memory);
}

static const struct sl_store_ops memory_ops = {
    .decide = decide_bundles,
    .once = decide_fast_paths,
    .refund = refund_claim,
    .reset = reset_claim,
    .hold = hold_bundle,
    .settle = settle_reservation,
    .sync = sync_memory,
    .measure = measure_memory,
    .tally = tally_memory,
    .glance = glance_at_memory,
    .close = close_memory,
};

struct sl_store *sl_memory_open(const struct sl_memory_config *config, struct sluice_error *error)
{
    SL_CHECK(config && error);
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory || !sl_table_open(config, &memory->table, error)) {
        if (!memory)
            snprintf(error->text, sizeof error->text, "out of memory");
        free(memory);
        return NULL;
    }
    SL_CHECK(memory->table.header && memory->table.slots.line_count > 0);
    memory->store.ops = &memory_ops;
    memory->store.secret = memory->store.naming = memory->table.secret;
    memory->sync_on_close = config->path && config->sync_us >= 0;
    if (config->path && config->sync_us > 0) {
        memory->syncer = sl_syncer_start(&memory->table, config->sync_us);
        if (!memory->syncer) {
            snprintf(error->text, sizeof error->text, "cannot start the thread that `sync` needs");
            close_memory(&memory->store);
            return NULL;
        }
    }
    return &memory->store;
}
