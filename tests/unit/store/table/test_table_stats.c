#include "unit/store/logs.h"

WITH_LOGS(a_new_table_holds_nothing)
{
    struct sluice_stats stats = measured(NOW_US);
    assert_int_equal(stats.slots, table.slots.line_count * SL_LINE_SLOTS);
    assert_int_equal(stats.log_bytes, LOG_BYTES);
    assert_int_equal(stats.size_bytes, table.size_bytes);
    stats.slots = stats.log_bytes = stats.size_bytes = 0;
    struct sluice_stats none = { 0 };
    assert_memory_equal(&stats, &none, sizeof none);
}

WITH_LOGS(what_still_matters_is_live_and_what_denied_is_limiting)
{
    for (uint64_t i = 0; i < 10; i++) {
        struct sl_probe probe = fixed_probe(key_at(i, i));
        struct sl_place place = insert(&probe, NOW_US, state_until(NOW_US + (int64_t)i * S, 1));
        place.slot->hi |= i % 2 ? SL_SLOT_FLAG : 0;
    }
    *slot_at(20, 0) = sl_slot_dead(); /* three slots without a key */
    *slot_at(20, 1) = (struct sl_word){ 7, SL_SLOT_FLAG };
    struct sl_state far = state_until(NOW_US + SL_LIFE_MAX_US + 20 * S, 1);
    struct sl_word fixed = { 0, (uint64_t)SL_DATED_US << SL_SLOT_KIND_SHIFT | SL_SLOT_FLAG };
    *slot_at(20, 2) = sl_slot_with(fixed, &far);
    for (int64_t i = 0; i < 10; i++) {
        struct sluice_stats stats = measured(NOW_US + i * S);
        assert_int_equal(stats.live, 9 - i);
        assert_int_equal(stats.limiting, (10 - i) / 2);
        assert_int_equal(stats.log_live, 0);
        assert_int_equal(stats.insertions, 10);
    }
}

WITH_LOGS(the_last_slot_of_the_table_is_counted_too)
{
    struct sl_state state = state_until(NOW_US + S, 1);
    struct sl_word fixed = { 0, (uint64_t)SL_DATED_US << SL_SLOT_KIND_SHIFT };
    *slot_at(table.slots.line_count - 1, 3) = sl_slot_with(fixed, &state);
    assert_int_equal(measured(NOW_US).live, 1);
}

WITH_LOGS(logs_are_counted_apart_and_their_room_by_extents)
{
    put_log(1, 8, 3);
    put_log(2, 8, 3).slot->hi |= SL_SLOT_FLAG;
    put_log(3, 100, 3);
    struct sluice_stats stats = measured(NOW_US);
    assert_int_equal(stats.log_live, 3);
    assert_int_equal(stats.live, 0);
    assert_int_equal(stats.limiting, 1);
    assert_int_equal(stats.log_used_bytes,
                     LOG_BYTES / 64 / group_bytes(8) * group_bytes(8) + 8 * group_bytes(100));
    assert_int_equal(measured(NOW_US + 11 * S).log_live, 0);
}

WITH_LOGS(every_stripe_counts)
{
    for (uint64_t i = 0; i < SL_STRIPES; i++) {
        struct sl_stripe *stripe = &table.header->stripes[i];
        stripe->insertions = i + 1;
        stripe->evictions = 100 * (i + 1);
        stripe->full = 10000 * (i + 1);
        stripe->nonce = 77;
    }
    struct sluice_stats stats = measured(NOW_US);
    assert_int_equal(stats.insertions, 528);
    assert_int_equal(stats.evictions, 52800);
    assert_int_equal(stats.full, 5280000);
}
