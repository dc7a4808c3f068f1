/* A table with room for logs, and logs in it. */
#ifndef TEST_STORE_LOGS_H
#define TEST_STORE_LOGS_H

#include "store/claim.h"
#include "unit/store/on_table.h"

#define NOW_US (1000 * S)

static const struct sl_algo *const slog = &sl_sliding_window_log;

enum { LOG_BYTES = 512 << 10, UNIT = 64, UNIT_BITS = 39 };

static inline int open_log_table(void **unused)
{
    (void)unused;
    open_table_of(1 << 20, LOG_BYTES);
    return 0;
}

#define WITH_LOGS(name) TEST_WITH(name, open_log_table, close_table)

static inline uint64_t group_bytes(uint64_t ring_len)
{
    return 64 + 4 * 8 * ring_len;
}

static inline struct sl_probe log_probe(uint64_t number, uint32_t ring_len)
{
    struct sl_probe probe = sl_probe(&table, key_at(0, number), SL_DATED_RING);
    probe.ring_len = sl_ring_class(ring_len);
    return probe;
}

/* A log with `count` entries, a millisecond apart from NOW_US on. */
static inline struct sl_place put_log(uint64_t number, uint32_t ring_len, uint32_t count)
{
    struct sl_limit limit = { .capacity = ring_len, .window_us = 10 * S };
    struct sl_probe probe = log_probe(number, ring_len);
    struct sl_place place;
    assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_PREPARED);
    assert_true(place.ring_len >= ring_len);
    struct sl_state state = { .ring = place.ring, .ring_len = place.ring_len };
    memset(place.ring, 0, place.ring_len * sizeof *place.ring);
    for (uint32_t i = 0; i < count; i++)
        slog->charge(&limit, &state, (struct sl_ask){ NOW_US + i * 1000, 1 });
    struct sl_word live = sl_table_live(place.word, &state);
    assert_true(sl_word_swap(place.slot, &place.word, live));
    place.word = live;
    return place;
}

/* How many of the key's entries count a second later. */
static inline int64_t live_entries(uint64_t number, uint32_t ring_len)
{
    struct sl_probe probe = log_probe(number, ring_len);
    struct sl_place place;
    assert_true(sl_table_find(&probe, &place));
    assert_int_equal(sl_slot_kind(place.word.hi), SL_DATED_RING);
    struct sl_limit limit = { .capacity = place.ring_len, .window_us = 10 * S };
    struct sl_state state = sl_slot_state(place.word);
    state.ring = place.ring;
    state.ring_len = place.ring_len;
    return limit.capacity - slog->figures(&limit, &state, NOW_US + S).remaining;
}

#endif
