#include "store/table/table_log.h"

#include "unit/store/logs.h"

/* The words of the list, as ring length and bytes; ended by zeros. */
static void extents_are(const char *row, const uint64_t wanted[][2])
{
    uint32_t i = 0;
    for (; wanted[i][0]; i++) {
        uint64_t word = table.header->extents[i];
        SAME(row, word >> UNIT_BITS, wanted[i][0]);
        SAME(row, (word & ((UINT64_C(1) << UNIT_BITS) - 1)) * UNIT, wanted[i][1]);
    }
    SAME(row, table.header->extents[i], 0);
}

/* ---- extents ------------------------------------------------------------------- */

TEST(short_rings_are_kept_in_lengths_of_eight)
{
    static const uint32_t rows[][2] = { { 1, 8 },   { 8, 8 },   { 9, 16 },  { 57, 64 },
                                        { 63, 64 }, { 64, 64 }, { 65, 65 }, { 1 << 24, 1 << 24 } };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(sl_ring_class(rows[i][0]), rows[i][1]);
}

WITH_LOGS(a_ring_lengths_extents_double)
{
    struct sl_extents extents = sl_extents(&table);
    struct sl_region region;
    assert_false(sl_extents_next(&extents, &region));
    const uint64_t first = LOG_BYTES / 64 / group_bytes(8) * group_bytes(8);
    const uint64_t eight = 8 * group_bytes(100); /* a 64th would be less than 32 blocks */
    for (int i = 0; i < 3; i++)
        assert_true(sl_extents_claim(&table, 8));
    assert_true(sl_extents_claim(&table, 100));
    assert_true(sl_extents_claim(&table, 8));
    const uint64_t wanted[][2] = { { 8, first },   { 8, first },     { 8, 2 * first },
                                   { 100, eight }, { 8, 4 * first }, { 0 } };
    extents_are("doubling", wanted);
    uint64_t at_bytes = 0;
    extents = sl_extents(&table);
    for (size_t i = 0; wanted[i][0]; i++) {
        assert_true(sl_extents_next(&extents, &region));
        assert_int_equal(region.ring_len, wanted[i][0]);
        assert_ptr_equal(region.lines, table.log + at_bytes);
        assert_int_equal(region.line_count, wanted[i][1] / group_bytes(wanted[i][0]));
        assert_ptr_equal(region.rings, &region.lines[region.line_count]);
        at_bytes += wanted[i][1];
        assert_int_equal(extents.at_bytes, at_bytes);
    }
    assert_false(sl_extents_next(&extents, &region));
}

WITH_LOGS(the_last_extent_is_what_is_left_and_then_there_is_none)
{
    while (sl_extents_claim(&table, 8))
        ;
    struct sl_extents extents = sl_extents(&table);
    struct sl_region region;
    while (sl_extents_next(&extents, &region))
        ;
    assert_true(LOG_BYTES - extents.at_bytes < group_bytes(8));
    assert_false(sl_extents_claim(&table, 8));
    assert_false(sl_extents_claim(&table, 1 << 24));
}

WITH_LOGS(a_ring_longer_than_the_area_has_no_room)
{
    assert_false(sl_extents_claim(&table, LOG_BYTES / 32));
    assert_int_equal(table.header->extents[0], 0);
    table.log_bytes = 0; /* log=0 */
    assert_false(sl_extents_claim(&table, 8));
    struct sl_probe probe = log_probe(1, 8);
    struct sl_place place;
    assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_FULL);
    assert_int_equal(measured(NOW_US).full, 1);
}

WITH_LOGS(there_are_64_extents_and_no_more)
{
    struct sl_region region;
    for (uint32_t i = 0; i < SL_EXTENTS; i++)
        table.header->extents[i] = UINT64_C(8) << UNIT_BITS | group_bytes(8) / UNIT;
    assert_false(sl_extents_claim(&table, 8));
    struct sl_extents extents = sl_extents(&table);
    for (uint32_t i = 0; i < SL_EXTENTS; i++)
        assert_true(sl_extents_next(&extents, &region));
    assert_false(sl_extents_next(&extents, &region));
}

/* ---- a damaged list --------------------------------------------------------------- */

WITH_LOGS(an_impossible_extent_ends_the_list)
{
    static const uint64_t rows[] = {
        1,                                                   /* no ring length */
        UINT64_C(8) << UNIT_BITS,                            /* no bytes */
        UINT64_C(8) << UNIT_BITS | 4,                        /* less than a line and its rings */
        UINT64_C(8) << UNIT_BITS | (LOG_BYTES / UNIT + 1),   /* more than there is */
        UINT64_C(0x1ffffff) << UNIT_BITS | LOG_BYTES / UNIT, /* a ring longer than that */
        UINT64_MAX,
    };
    struct sl_region region;
    for (size_t i = 0; i < COUNT(rows); i++) {
        table.header->extents[0] = rows[i];
        struct sl_extents extents = sl_extents(&table);
        assert_false(sl_extents_next(&extents, &region));
    }
}

WITH_LOGS(behind_a_damaged_word_nothing_can_be_claimed)
{
    assert_true(sl_extents_claim(&table, 8));
    table.header->extents[1] = 1;
    assert_false(sl_extents_claim(&table, 8)); /* else a thread that wants room tries for ever */
    assert_int_equal(table.header->extents[1], 1);
}

WITH_LOGS(whatever_the_list_says_no_region_leaves_the_area)
{
    uint64_t seed = 5;
    for (int round = 0; round < 5000; round++) {
        for (uint32_t i = 0; i < SL_EXTENTS; i++) {
            uint64_t ring_len = unit_random(&seed) >> (39 + unit_up_to(&seed, 24));
            uint64_t units = unit_random(&seed) >> (25 + unit_up_to(&seed, 38));
            if (unit_up_to(&seed, 9)) /* mostly one that could be */
                units = group_bytes(ring_len) / UNIT + (uint64_t)unit_up_to(&seed, 4000);
            table.header->extents[i] = ring_len << UNIT_BITS | units;
        }
        struct sl_extents extents = sl_extents(&table);
        struct sl_region region;
        uint8_t *end = table.log;
        while (sl_extents_next(&extents, &region)) {
            assert_true((uint8_t *)region.lines >= end && region.line_count > 0);
            assert_true((uint8_t *)region.rings >= (uint8_t *)&region.lines[region.line_count]);
            end = (uint8_t *)&region.rings[region.line_count * SL_LINE_SLOTS * region.ring_len];
            assert_true(end <= table.log + table.log_bytes && region.ring_len > 0);
            assert_int_equal((uintptr_t)region.lines % 64, 0);
        }
    }
}

/* ---- logs in extents ---------------------------------------------------------------- */

WITH_LOGS(a_log_is_found_in_whichever_extent_it_stands)
{
    struct sl_place eight = put_log(1, 8, 3), hundred = put_log(2, 100, 4);
    assert_int_equal(eight.ring_len, 8);
    assert_int_equal(hundred.ring_len, 100);
    struct sl_probe probe = log_probe(1, 100); /* a larger limit now */
    struct sl_place place;
    assert_true(sl_table_find(&probe, &place));
    assert_ptr_equal(place.slot, eight.slot);
    assert_ptr_equal(place.ring, eight.ring);
    probe = log_probe(2, 8);
    assert_true(sl_table_find(&probe, &place));
    assert_ptr_equal(place.slot, hundred.slot);
    assert_int_equal(live_entries(1, 8), 3);
    assert_int_equal(live_entries(2, 100), 4);
}

WITH_LOGS(no_two_slots_share_a_ring)
{
    enum { KEYS = 100 };
    struct sl_place places[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        places[i] = put_log(i, 8, (uint32_t)i % 8 + 1);
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(live_entries(i, 8), i % 8 + 1);
        for (uint64_t k = 0; k < i; k++)
            assert_true(places[i].ring >= places[k].ring + 8 ||
                        places[k].ring >= places[i].ring + 8);
    }
}

WITH_LOGS(an_extent_is_claimed_before_anything_is_evicted)
{
    for (uint64_t i = 0; i < 2 * WINDOW_SLOTS; i++)
        put_log(i, 8, 1);
    assert_int_equal(measured(NOW_US).evictions, 0);
    assert_true(table.header->extents[1] != 0);
    while (sl_extents_claim(&table, 8))
        ;
    for (uint64_t i = 0; measured(NOW_US).evictions == 0; i++)
        put_log(1000 + i, 8, 1);
    assert_true(measured(NOW_US).log_live >= 4 * WINDOW_SLOTS);
}
