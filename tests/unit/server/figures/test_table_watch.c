/* How full the table is, as any thread reads it. */
#include "server/figures/table_watch.h"

#include "unit/limiter/model_store.h"

static struct sl_table_watch watch;

static struct sl_store *open_memory(void)
{
    struct sluice_error error;
    struct sl_memory_config config = { .size_bytes = 2 << 20, .sync_us = SL_SYNC_OFF };
    struct sl_store *store = sl_memory_open(&config, &error);
    assert_non_null(store);
    return store;
}

/* So many keys, each asked twice where one is allowed. */
static void charge(struct sl_store *store, uint64_t from, uint64_t to)
{
    for (uint64_t key = from; key < to; key++)
        for (int i = 0; i < 2; i++) {
            struct sl_claim claim = { .algo = &sl_fixed_window,
                                      .limit = { .capacity = 1, .window_us = 3600000000 },
                                      .key = { key * UINT64_C(0x9e3779b97f4a7c15), key << 40 } };
            struct sl_bundle bundle = {
                .now_us = -1, .cost = 1, .max_delay_us = -1, .claims = &claim, .claim_count = 1
            };
            assert_int_equal(sl_store_decide(store, &bundle), SLUICE_OK);
        }
}

static struct sluice_stats read_watch(void)
{
    struct sluice_stats stats;
    memset(&stats, 0xff, sizeof stats); /* every field is filled in */
    assert_true(sl_table_read(&watch, &stats));
    return stats;
}

TEST(counters_are_as_of_now_and_keys_as_of_the_last_looks)
{
    struct sl_store *store = open_memory();
    struct sluice_stats exact;
    charge(store, 0, 500);
    sl_table_watch_open(&watch, store);
    assert_in_range(read_watch().live, 400, 600); /* half of it was looked at */
    sl_table_look(&watch);
    store->ops->measure(store, &exact);
    struct sluice_stats stats = read_watch();
    assert_memory_equal(&stats, &exact, sizeof stats);
    assert_int_equal(stats.live, 500);
    assert_int_equal(stats.limiting, 500);
    charge(store, 500, 600);
    stats = read_watch();
    assert_int_equal(stats.insertions, 600);
    assert_int_equal(stats.live, 500);
    sl_table_look(&watch);
    sl_table_look(&watch);
    assert_int_equal(read_watch().live, 600);
    sl_store_close(store);
}

TEST(a_store_elsewhere_has_a_table_too)
{
    struct model model;
    model_open(&model);
    model.store.local = open_memory();
    charge(model.store.local, 0, 10);
    sl_table_watch_open(&watch, &model.store);
    sl_table_look(&watch);
    assert_int_equal(read_watch().live, 10);
    sl_store_close(model.store.local);
    model.store.local = NULL;
    model_close(&model.store);
}

TEST(without_a_table_there_is_nothing_to_read)
{
    struct model model;
    struct sluice_stats stats = { .live = 7 };
    model_open(&model);
    sl_table_watch_open(&watch, &model.store);
    sl_table_look(&watch);
    assert_false(sl_table_read(&watch, &stats));
    assert_int_equal(stats.live, 7);
    model_close(&model.store);
}
