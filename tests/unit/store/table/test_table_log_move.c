/* Moving rings: the second half of table_log.h. */
#include "store/table/table_log.h"

#include "unit/store/logs.h"

static struct sl_move move_of(const struct sl_probe *probe, struct sl_place from)
{
    return (struct sl_move){ .probe = probe, .algo = slog, .from = from, .now_us = NOW_US };
}

WITH_LOGS(a_log_moves_into_a_longer_ring_with_its_entries_and_flag)
{
    struct sl_place from = put_log(1, 8, 5);
    from.slot->hi |= SL_SLOT_FLAG;
    from.word.hi |= SL_SLOT_FLAG;
    struct sl_probe probe = log_probe(1, 20);
    struct sl_move move = move_of(&probe, from);
    assert_int_equal(sl_log_move(&move), SL_MOVED_LOST); /* an extent is claimed: look again */
    assert_int_equal(sl_log_move(&move), SL_MOVED);
    assert_true(sl_word_equal(*from.slot, sl_slot_dead()));
    assert_int_equal(live_entries(1, 20), 5);
    struct sl_place to;
    assert_true(sl_table_find(&probe, &to));
    assert_int_equal(to.ring_len, 24);
    assert_true(to.word.hi & SL_SLOT_FLAG);
    assert_int_equal(measured(NOW_US).log_live, 1);
    assert_int_equal(measured(NOW_US).limiting, 1);
}

static bool refund_one(void *about, struct sl_state *copy)
{
    struct sl_limit limit = { .capacity = copy->ring_len, .window_us = 10 * S };
    return slog->refund(&limit, copy, (struct sl_ask){ NOW_US + S, 1 }, *(int64_t *)about);
}

WITH_LOGS(a_change_during_the_move_is_made_in_the_copy_alone)
{
    struct sl_place from = put_log(1, 8, 5);
    uint64_t before[8];
    memcpy(before, from.ring, sizeof before);
    struct sl_probe probe = log_probe(1, 8);
    int64_t charged_at_us = NOW_US + 2000;
    struct sl_move move = move_of(&probe, from);
    move.change = refund_one;
    move.about = &charged_at_us;
    assert_int_equal(sl_log_move(&move), SL_MOVED);
    assert_int_equal(live_entries(1, 8), 4);
    assert_memory_equal(before, from.ring, sizeof before);
}

WITH_LOGS(nothing_stays_of_what_stood_in_the_other_ring)
{
    struct sl_place from = put_log(1, 8, 5), to;
    uint64_t stamp = (uint64_t)(NOW_US + 99 * S); /* which no earlier one displaces */
    struct sl_extents extents = sl_extents(&table);
    struct sl_region region;
    assert_true(sl_extents_next(&extents, &region));
    for (uint64_t *entry = region.rings; entry < from.ring + 8 * 40; entry++)
        if (entry < from.ring || entry >= from.ring + 8)
            *entry = stamp;
    struct sl_probe probe = log_probe(1, 8);
    struct sl_move move = move_of(&probe, from);
    assert_int_equal(sl_log_move(&move), SL_MOVED);
    assert_true(sl_table_find(&probe, &to));
    for (uint32_t i = 0; i < to.ring_len; i++)
        assert_true(to.ring[i] != stamp);
}

static uint32_t change_calls;

/* Another thread charges the log while it is copied. */
static bool charge_meanwhile(void *about, struct sl_state *copy)
{
    struct sl_place *from = about;
    struct sl_limit limit = { .capacity = copy->ring_len, .window_us = 10 * S };
    struct sl_state state = sl_slot_state(*from->slot);
    state.ring = from->ring;
    state.ring_len = from->ring_len;
    if (change_calls++ == 0) {
        slog->charge(&limit, &state, (struct sl_ask){ NOW_US + 9000, 2 });
        *from->slot = sl_slot_with(*from->slot, &state);
    }
    return true;
}

WITH_LOGS(a_charge_made_meanwhile_is_not_lost)
{
    struct sl_place from = put_log(1, 8, 5);
    struct sl_probe probe = log_probe(1, 8);
    struct sl_move move = move_of(&probe, from);
    move.change = charge_meanwhile;
    move.about = &from;
    change_calls = 0;
    assert_int_equal(sl_log_move(&move), SL_MOVED_LOST);
    assert_int_equal(live_entries(1, 8), 7);
    assert_int_equal(sl_log_move(&move), SL_MOVED_LOST); /* of a word that is no more */
    assert_int_equal(change_calls, 1); /* a torn copy is not even looked at: T11 */
    assert_true(sl_table_find(&probe, &move.from));
    assert_int_equal(sl_log_move(&move), SL_MOVED);
    assert_int_equal(live_entries(1, 8), 7);
}

WITH_LOGS(a_change_that_finds_nothing_to_do_leaves_all_as_it_was)
{
    struct sl_place from = put_log(1, 8, 5);
    struct sl_probe probe = log_probe(1, 8);
    int64_t charged_at_us = NOW_US - 1;
    struct sl_move move = move_of(&probe, from);
    move.change = refund_one;
    move.about = &charged_at_us;
    assert_int_equal(sl_log_move(&move), SL_MOVED_NOT);
    assert_true(sl_word_equal(*from.slot, from.word));
    struct sl_survey survey;
    sl_table_survey(&probe, NOW_US, &survey);
    assert_int_equal(survey.tentative_count, 0);
}

static struct sl_place freeze(struct sl_place place)
{
    place.slot->hi &= ~(UINT64_C(1) << SL_SLOT_KIND_SHIFT);
    place.word = *place.slot;
    assert_int_equal(sl_slot_kind(place.word.hi), SL_DATED_FROZEN);
    return place;
}

WITH_LOGS(a_thread_that_finds_a_frozen_log_moves_it)
{
    struct sl_place left = freeze(put_log(1, 8, 5)), from;
    struct sl_probe probe = log_probe(1, 8);
    assert_true(sl_table_find(&probe, &from));
    assert_ptr_equal(from.slot, left.slot);
    struct sl_move move = move_of(&probe, from);
    assert_int_equal(sl_log_move(&move), SL_MOVED);
    assert_int_equal(live_entries(1, 8), 5);
    assert_true(sl_word_equal(*left.slot, sl_slot_dead()));
}

WITH_LOGS(a_live_log_is_found_before_its_frozen_one)
{
    static const uint32_t lens[] = { 8, 100 }; /* in the same extent, and in a later one */
    for (uint64_t i = 0; i < COUNT(lens); i++) {
        struct sl_place old = freeze(put_log(i, 8, 5)), place;
        struct sl_word frozen = old.word;
        *old.slot = (struct sl_word){ 7, SL_SLOT_FLAG | (uint64_t)NOW_US >> 20 }; /* not free */
        struct sl_place live = put_log(i, lens[i], 2);
        *old.slot = frozen; /* killed between the last two steps */
        struct sl_probe probe = log_probe(i, 8);
        assert_true(sl_table_find(&probe, &place));
        assert_ptr_equal(place.slot, live.slot);
        assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_THERE);
        assert_ptr_equal(place.slot, live.slot);
        sl_table_forget(&probe);
        assert_false(sl_table_find(&probe, &place));
    }
}

WITH_LOGS(while_another_moves_it_one_waits_a_little_and_then_does_it)
{
    struct sl_place from = put_log(1, 8, 5), other;
    struct sl_probe probe = log_probe(1, 8);
    struct sl_survey survey;
    sl_table_survey(&probe, NOW_US, &survey);
    assert_int_equal(sl_table_take(&probe, NOW_US, &survey, &other), SL_TOOK);
    struct sl_move move = move_of(&probe, from);
    assert_int_equal(sl_log_move(&move), SL_MOVED_BUSY);
    assert_true(sl_word_equal(*from.slot, from.word));
    assert_true(sl_word_equal(*other.slot, other.word));
    assert_int_equal(sl_log_move_patiently(&move), SL_MOVED);
    assert_false(sl_word_equal(*other.slot, other.word)); /* the other thread's swap will fail */
    assert_int_equal(live_entries(1, 8), 5);
}

WITH_LOGS(a_log_that_changed_or_went_meanwhile_is_left_alone)
{
    struct sl_place stale = put_log(1, 8, 5);
    struct sl_probe probe = log_probe(1, 8);
    struct sl_state state = sl_slot_state(stale.word);
    sl_state_put_dated(&state, NOW_US + 99 * S, 5);
    *stale.slot = sl_slot_with(stale.word, &state);
    struct sl_move move = move_of(&probe, stale);
    assert_int_equal(sl_log_move(&move), SL_MOVED_LOST);
    assert_true(sl_word_equal(*stale.slot, sl_slot_with(stale.word, &state)));
    *stale.slot = sl_slot_dead();
    assert_int_equal(sl_log_move_patiently(&move), SL_MOVED_LOST);
    struct sl_survey survey;
    sl_table_survey(&probe, NOW_US, &survey);
    assert_true(!survey.is_there && survey.tentative_count == 0);
}

WITH_LOGS(without_room_a_log_stays_where_it_is)
{
    struct sl_place from = put_log(1, 8, 5);
    struct sl_probe probe = log_probe(1, LOG_BYTES / 32);
    struct sl_move move = move_of(&probe, from);
    assert_int_equal(sl_log_move_patiently(&move), SL_MOVED_FULL);
    assert_true(sl_word_equal(*from.slot, from.word)); /* not even frozen */
    assert_int_equal(measured(NOW_US).full, 1);
}
