/* An anonymous table for each test, small enough to fill, and keys that are
 * aimed at its lines. */
#ifndef TEST_STORE_ON_TABLE_H
#define TEST_STORE_ON_TABLE_H

#include "store/table/table_file.h"
#include "store/table/table_log.h"
#include "unit/base/unit.h"

#define S INT64_C(1000000)

enum { TABLE_BYTES = 64 << 10, WINDOW_SLOTS = SL_WINDOW_LINES * SL_LINE_SLOTS };

static struct sl_table table;

static inline void open_table_of(uint64_t size_bytes, uint64_t log_bytes)
{
    struct sluice_error error;
    struct sl_memory_config config = { .size_bytes = size_bytes, .log_bytes = log_bytes };
    assert_true(sl_table_open(&config, &table, &error));
}

static inline int open_table(void **unused)
{
    (void)unused;
    open_table_of(TABLE_BYTES, 0);
    return 0;
}

static inline int close_table(void **unused)
{
    (void)unused;
    sl_table_close(&table);
    return 0;
}

#define ON_A_TABLE(name) TEST_WITH(name, open_table, close_table)

/* One of many keys whose home is that line of the slots. */
static inline struct sl_hash128 key_at(uint64_t line, uint64_t number)
{
    uint64_t count = table.slots.line_count;
    sl_u128 low = (((sl_u128)line << 64) + count - 1) / count;
    return (struct sl_hash128){ (uint64_t)low, number << SL_SLOT_KEY_SHIFT };
}

static inline struct sl_probe fixed_probe(struct sl_hash128 key)
{
    return sl_probe(&table, key, SL_DATED_US);
}

static inline struct sl_word *slot_at(uint64_t line, uint32_t slot)
{
    return &table.slots.lines[line % table.slots.line_count].slots[slot];
}

/* The n-th slot of the scan that starts at that line. */
static inline struct sl_word *nth_slot(uint64_t line, uint32_t n)
{
    return slot_at(line + n / SL_LINE_SLOTS, n % SL_LINE_SLOTS);
}

static inline struct sl_state state_until(int64_t until_us, uint32_t count)
{
    struct sl_state state = { .lo = 0 };
    sl_state_put_dated(&state, until_us, count);
    return state;
}

/* Inserts the key with this state. */
static inline struct sl_place insert(const struct sl_probe *probe, int64_t now_us,
                                     struct sl_state state)
{
    struct sl_place place;
    assert_int_equal(sl_table_prepare(probe, now_us, &place), SL_PREPARED);
    struct sl_word seen = place.word;
    place.word = sl_table_live(place.word, &state);
    assert_true(sl_word_swap(place.slot, &seen, place.word));
    return place;
}

static inline struct sluice_stats measured(int64_t now_us)
{
    struct sluice_stats stats = { 0 };
    sl_table_measure(&table, now_us, &stats);
    return stats;
}

#endif
