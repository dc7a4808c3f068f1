/* The embedded store: against the heap's, which is as plain as it can be, and
 * what it sees to now and then. */
#include <fcntl.h>
#include <sys/mman.h>

#include "algo/bucket.h"
#include "store/table/table_file.h"
#include "unit/store/folder.h"
#include "unit/store/hand_clock.h"

TESTS_ALONE;

#define S INT64_C(1000000)

static struct sl_store *store;
static struct sl_table table; /* the same file, looked at from beside */

static int sync_count;

int msync(void *at, size_t bytes, int flags)
{
    sync_count += at && bytes && flags == MS_SYNC;
    return 0;
}

static struct sl_memory_config config_of(uint64_t size_bytes)
{
    return (struct sl_memory_config){
        .path = path, .size_bytes = size_bytes, .log_bytes = 16 << 10, .sync_us = SL_SYNC_OFF
    };
}

static int open_store(void **unused)
{
    struct sluice_error error;
    struct sl_memory_config config = config_of(64 << 10);
    if (open_folder(unused) != 0)
        return -1;
    store = sl_memory_open(&config, &error);
    return store && sl_table_open(&config, &table, &error) ? 0 : -1;
}

static int close_store(void **unused)
{
    sl_store_close(store);
    sl_table_close(&table);
    return close_folder(unused);
}

#define ON_A_STORE(name) TEST_WITH(name, open_store, close_store)

static struct sl_claim claim_on(const struct sl_algo *algo, uint64_t key, int64_t capacity)
{
    struct sl_claim claim = { .algo = algo,
                              .key = { key * UINT64_C(0x9e3779b97f4a7c15), key << 40 },
                              .limit = { .capacity = capacity } };
    if (algo->is_bucket) {
        claim.limit.token_ns = 10 * S * 1000 / capacity;
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = 10 * S;
    }
    claim.ring_len = algo->keeps_ring ? (uint32_t)capacity : 0;
    return claim;
}

static struct sl_bundle bundle_of(struct sl_claim *claims, size_t count, uint32_t cost)
{
    return (struct sl_bundle){ .now_us = SLUICE_NOW,
                               .cost = cost,
                               .max_delay_us = -1,
                               .claims = claims,
                               .claim_count = count };
}

/* By the store's clock. */
static struct sl_bundle decide(struct sl_claim *claims, size_t count, uint32_t cost)
{
    struct sl_bundle bundle = bundle_of(claims, count, cost);
    assert_int_equal(sl_store_decide(store, &bundle), SLUICE_OK);
    return bundle;
}

static int64_t left(struct sl_claim claim)
{
    decide(&claim, 1, 0);
    return claim.figures.remaining;
}

/* ---- times -------------------------------------------------------------------------- */

ON_A_STORE(times_are_the_tables_and_the_shift_makes_them_wall_time)
{
    int64_t start_us = wall_us - wall_us % (10 * S); /* the table's clock is at wall_us too */
    struct sl_claim claim = claim_on(&sl_fixed_window, 1, 10);
    struct sl_bundle bundle = decide(&claim, 1, 1);
    assert_int_equal(bundle.now_us, wall_us);
    assert_int_equal(bundle.wall_shift_us, 0);
    assert_int_equal(claim.figures.reset_at_us, start_us + 10 * S);
    wall_us += 3600 * S; /* the wall clock is set */
    pass_us(S);
    bundle = decide(&claim, 1, 1);
    assert_int_equal(bundle.wall_shift_us, 3600 * S);
    assert_int_equal(bundle.now_us + bundle.wall_shift_us, wall_us);
    assert_int_equal(claim.figures.remaining, 8); /* the window is the same one */
    bundle = bundle_of(&claim, 1, 1);
    bundle.now_us = start_us; /* the caller's clock needs no shift */
    assert_int_equal(sl_store_decide(store, &bundle), SLUICE_OK);
    assert_int_equal(bundle.wall_shift_us, 0);
    wall_us -= 3600 * S;
    pass_us(60 * S);
}

ON_A_STORE(once_a_second_the_clock_is_remembered)
{
    struct sl_claim claim = claim_on(&sl_fixed_window, 1, 10);
    int64_t first_us = decide(&claim, 1, 1).now_us;
    assert_int_equal(table.header->latest_us, first_us);
    assert_int_equal(table.header->attention_us, first_us + S);
    pass_us(S - 1);
    decide(&claim, 1, 1);
    assert_int_equal(table.header->latest_us, first_us);
    pass_us(1);
    decide(&claim, 1, 1);
    assert_int_equal(table.header->latest_us, first_us + S);
    assert_int_equal(table.header->attention_us, first_us + 2 * S);
    static const int64_t damaged_us[] = { INT64_MIN, -1, INT64_MAX };
    for (size_t i = 0; i < COUNT(damaged_us); i++) {
        table.header->attention_us = table.header->latest_us = damaged_us[i];
        int64_t now_us = decide(&claim, 1, 1).now_us;
        assert_int_equal(table.header->latest_us, now_us);
        assert_int_equal(table.header->attention_us, now_us + S);
    }
}

/* ---- refunds, resets, reservations ------------------------------------------------------ */

ON_A_STORE(a_refund_and_a_reset_reach_the_table)
{
    for (uint64_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_on(sl_algos[i], i, 10);
        struct sl_charge charge = { 3, decide(&claim, 1, 5).now_us };
        assert_int_equal(store->ops->refund(store, &claim, charge), SLUICE_OK);
        SAME(sl_algos[i]->name, left(claim), 8);
        assert_int_equal(store->ops->reset(store, &claim), SLUICE_OK);
        SAME(sl_algos[i]->name, left(claim), 10);
    }
}

static uint64_t reserve(struct sl_claim *claims, size_t count, uint32_t cost)
{
    struct sl_bundle bundle = decide(claims, count, cost);
    uint64_t id;
    assert_true(bundle.allowed);
    assert_int_equal(store->ops->hold(store, &bundle, 2 * S, &id), SLUICE_OK);
    return id;
}

ON_A_STORE(a_reservation_is_settled_at_its_real_cost)
{
    static const struct {
        uint32_t cost;
        int64_t left;
    } rows[] = { { 0, 10 }, { 3, 7 }, { 5, 5 }, { 8, 2 }, { 10, 0 }, { 99, 0 } };
    for (uint64_t i = 0; i < 5 * COUNT(rows); i++) {
        const struct sl_algo *algo = sl_algos[i % 5];
        struct sl_claim claims[] = { claim_on(algo, 2 * i, 10), claim_on(algo, 2 * i + 1, 10) };
        uint64_t id = reserve(claims, 2, 5);
        assert_int_equal(store->ops->settle(store, id, rows[i / 5].cost), SLUICE_OK);
        SAME(algo->name, left(claims[0]), rows[i / 5].left);
        SAME(algo->name, left(claims[1]), rows[i / 5].left);
        assert_int_equal(store->ops->settle(store, id, 0), SLUICE_NO_RESERVATION);
        SAME(algo->name, left(claims[0]), rows[i / 5].left);
        pass_us(30 * S); /* the log area is small */
    }
}

ON_A_STORE(an_expired_reservation_is_given_back_by_the_next_request)
{
    for (uint64_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_on(sl_algos[i], i, 10), other = claim_on(sl_algos[i], 99, 10);
        pass_us(10 * S - wall_us % (10 * S)); /* not over a window's end */
        uint64_t id = reserve(&claim, 1, 10);
        struct sluice_stats stats;
        store->ops->measure(store, &stats);
        assert_int_equal(stats.reservations, 1);
        pass_us(2 * S - 1);
        decide(&other, 1, 1);
        SAME(sl_algos[i]->name, left(claim), sl_algos[i]->is_bucket ? 1 : 0);
        pass_us(1);
        if (i % 2)
            assert_int_equal(store->ops->settle(store, id, 9), SLUICE_NO_RESERVATION);
        decide(&other, 1, 1); /* whatever it asks */
        SAME(sl_algos[i]->name, left(claim), 10);
        store->ops->measure(store, &stats);
        assert_int_equal(stats.reservations, 0);
        pass_us(30 * S);
    }
}

ON_A_STORE(what_cannot_be_held_is_given_back_at_once)
{
    struct sl_claim claims[5];
    for (uint64_t i = 0; i < COUNT(claims); i++)
        claims[i] = claim_on(&sl_fixed_window, i, 10); /* five, and there are four records */
    struct sl_bundle bundle = decide(claims, COUNT(claims), 3);
    uint64_t id;
    assert_int_equal(store->ops->hold(store, &bundle, S, &id), SLUICE_STORE_FULL);
    for (uint64_t i = 0; i < COUNT(claims); i++)
        assert_int_equal(left(claims[i]), 10);
}

/* ---- opening, closing, counting ------------------------------------------------------- */

ON_A_STORE(it_is_written_back_when_that_was_asked_for)
{
    struct sluice_error error;
    static const struct {
        int64_t sync_us;
        int syncs;
    } rows[] = { { SL_SYNC_OFF, 0 }, { SL_SYNC_CLOSE, 1 }, { 3600 * S, 1 } };
    assert_int_equal(store->ops->sync(store), SLUICE_OK);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_memory_config config = config_of(0);
        config.sync_us = rows[i].sync_us;
        struct sl_store *other = sl_memory_open(&config, &error);
        assert_non_null(other);
        assert_true(other->secret == store->secret);
        sync_count = 0;
        sl_store_close(other);
        assert_int_equal(sync_count, rows[i].syncs);
    }
    struct sl_memory_config bad = { .path = "/nowhere/at/all" };
    assert_null(sl_memory_open(&bad, &error));
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
}

ON_A_STORE(two_stores_on_one_table_count_together)
{
    struct sluice_error error;
    struct sl_memory_config config = config_of(0);
    struct sl_store *first = store;
    struct sl_store *other = sl_memory_open(&config, &error);
    for (uint64_t i = 0; sl_algos[i]; i++) {
        struct sl_claim claim = claim_on(sl_algos[i], i, 10);
        decide(&claim, 1, 4);
        store = other;
        SAME(sl_algos[i]->name, left(claim), 6);
        decide(&claim, 1, 4);
        store = first;
        SAME(sl_algos[i]->name, left(claim), 2);
    }
    sl_store_close(other);
}

ON_A_STORE(the_figures_of_the_store_are_the_tables)
{
    struct sl_claim claims[] = { claim_on(&sl_fixed_window, 1, 3),
                                 claim_on(&sl_sliding_window_log, 2, 3) };
    decide(claims, 2, 3);
    decide(claims, 2, 3);
    struct sluice_stats stats;
    store->ops->measure(store, &stats);
    assert_int_equal(stats.size_bytes, 64 << 10);
    assert_int_equal(stats.live, 1);
    assert_int_equal(stats.log_live, 1);
    assert_int_equal(stats.limiting, 2);
    assert_int_equal(stats.insertions, 2);
    assert_int_equal(stats.log_bytes, 16 << 10);
}

ON_A_STORE(a_batch_is_each_of_its_bundles_alone_at_one_time)
{
    enum { BUNDLES = 40 };
    static struct sl_claim claims[BUNDLES];
    static struct sl_bundle bundles[BUNDLES];
    for (uint64_t i = 0; i < BUNDLES; i++) { /* each key eight times, of cost 1, 2… */
        claims[i] = claim_on(sl_algos[i % 5], i % 5, 6);
        bundles[i] = bundle_of(&claims[i], 1, 1 + (uint32_t)(i / 5) % 3);
        if (i == 7)
            bundles[i].now_us = 5 * S; /* the caller's */
    }
    store->ops->decide(store, bundles, BUNDLES);
    int64_t left_of[] = { 6, 6, 6, 6, 6 };
    for (size_t i = 0; i < BUNDLES; i++) {
        assert_int_equal(bundles[i].status, SLUICE_OK);
        if (i % 5 == 7 % 5)
            continue;
        bool fits = left_of[i % 5] >= bundles[i].cost;
        left_of[i % 5] -= fits ? bundles[i].cost : 0;
        assert_int_equal(bundles[i].now_us, bundles[0].now_us);
        assert_int_equal(bundles[i].allowed, fits);
        assert_int_equal(claims[i].figures.remaining, left_of[i % 5]);
    }
    assert_int_equal(bundles[7].now_us, 5 * S);
    store->ops->decide(store, NULL, 0);
}
