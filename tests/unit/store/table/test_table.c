#include "store/table/table.h"

#include "unit/store/on_table.h"

#define NOW_US (1000 * S)

static struct sl_place put(struct sl_hash128 key, int64_t until_us)
{
    struct sl_probe probe = fixed_probe(key);
    return insert(&probe, NOW_US, state_until(until_us, 1));
}

/* A line's whole window, each slot fresh one second after the one before. */
static void fill_window(uint64_t line)
{
    for (uint32_t n = 0; n < WINDOW_SLOTS; n++)
        put(key_at(line, 100 + n), NOW_US + (n + 1) * S);
}

/* The same with limiting states that are fresh that much later. */
static void fill_with_limiting(uint64_t line, int64_t later_us)
{
    for (uint32_t n = 0; n < WINDOW_SLOTS; n++)
        put(key_at(line, 100 + n), NOW_US + (n + 1) * S + later_us);
    for (uint32_t n = 0; n < WINDOW_SLOTS; n++)
        nth_slot(line, n)->hi |= SL_SLOT_FLAG;
}

static bool is_found(struct sl_hash128 key)
{
    struct sl_place place;
    struct sl_probe probe = fixed_probe(key);
    return sl_table_find(&probe, &place);
}

/* Leaves what a process killed right after step 2 leaves: a tentative slot. */
static struct sl_place leave_tentative(struct sl_hash128 key, int64_t now_us)
{
    struct sl_survey survey;
    struct sl_place place;
    struct sl_probe probe = fixed_probe(key);
    sl_table_survey(&probe, now_us, &survey);
    assert_int_equal(sl_table_take(&probe, now_us, &survey, &place), SL_TOOK);
    return place;
}

/* ---- finding ------------------------------------------------------------------- */

ON_A_TABLE(what_was_inserted_is_found_with_its_state)
{
    struct sl_place put_at = put(key_at(3, 1), NOW_US + 9 * S), found;
    struct sl_probe probe = fixed_probe(key_at(3, 1));
    assert_true(sl_table_find(&probe, &found));
    assert_ptr_equal(found.slot, put_at.slot);
    assert_ptr_equal(found.slot, slot_at(3, 0));
    assert_true(sl_word_equal(found.word, put_at.word));
    assert_int_equal(measured(NOW_US).insertions, 1);
}

ON_A_TABLE(keys_differ_by_fingerprint_home_and_kind)
{
    put(key_at(3, 1), NOW_US + 9 * S);
    assert_false(is_found(key_at(3, 2)));
    assert_false(is_found(key_at(4, 1))); /* the same fingerprint, another home */
    assert_false(is_found(key_at(2, 1)));
    struct sl_place place;
    for (enum sl_dating kind = SL_DATED_FROM_1M; kind <= SL_DATED_NS; kind++) {
        struct sl_probe other = sl_probe(&table, key_at(3, 1), kind);
        assert_false(sl_table_find(&other, &place));
        insert(&other, NOW_US, (struct sl_state){ .hi = kind });
    }
    for (enum sl_dating kind = SL_DATED_FROM_1M; kind <= SL_DATED_NS; kind++) {
        struct sl_probe other = sl_probe(&table, key_at(3, 1), kind);
        assert_true(sl_table_find(&other, &place));
        assert_int_equal(sl_slot_state(place.word).hi, kind);
    }
}

ON_A_TABLE(neighbours_with_one_fingerprint_stay_apart_when_one_is_displaced)
{
    for (uint32_t n = 0; n < SL_LINE_SLOTS; n++)
        put(key_at(3, 100 + n), NOW_US + 9 * S);
    struct sl_place displaced = put(key_at(3, 1), NOW_US + 5 * S);
    assert_ptr_equal(displaced.slot, slot_at(4, 0));
    assert_int_equal(displaced.line, 1);
    assert_false(is_found(key_at(4, 1)));
    struct sl_place at_home = put(key_at(4, 1), NOW_US + 6 * S);
    assert_ptr_equal(at_home.slot, slot_at(4, 1));
    assert_true(is_found(key_at(3, 1)) && is_found(key_at(4, 1)));
}

ON_A_TABLE(an_empty_slot_ends_a_scan)
{
    struct sl_place place = put(key_at(3, 1), NOW_US + 9 * S);
    *slot_at(3, 2) = place.word; /* behind an empty one */
    *slot_at(3, 0) = (struct sl_word){ 0, 0 };
    assert_false(is_found(key_at(3, 1)));
    struct sl_survey survey;
    struct sl_probe probe = fixed_probe(key_at(3, 1));
    sl_table_survey(&probe, NOW_US, &survey);
    assert_true(!survey.is_there && survey.free.slot == slot_at(3, 0));
    *slot_at(3, 0) = *slot_at(3, 1) = sl_slot_dead(); /* a dead one does not */
    assert_true(is_found(key_at(3, 1)));
}

ON_A_TABLE(a_window_ends_after_its_last_line_in_a_ring_of_lines)
{
    uint64_t homes[] = { 5, table.slots.line_count - 1, table.slots.line_count - 7 };
    for (size_t i = 0; i < COUNT(homes); i++) {
        fill_window(homes[i]);
        for (uint32_t n = 0; n < WINDOW_SLOTS; n++)
            assert_true(is_found(key_at(homes[i], 100 + n)));
        put(key_at(homes[i], 1), NOW_US + 99 * S); /* no free slot: one key is evicted */
        assert_int_equal(measured(NOW_US).evictions, i + 1);
        assert_int_equal(slot_at(homes[i] + SL_WINDOW_LINES, 0)->hi, 0);
        memset(table.slots.lines, 0, table.slots.line_count * sizeof(struct sl_slot_line));
    }
}

/* ---- room ----------------------------------------------------------------------- */

ON_A_TABLE(the_first_free_slot_is_taken_whether_fresh_dead_or_empty)
{
    fill_window(5);
    *nth_slot(5, 20) = sl_slot_dead();
    assert_ptr_equal(put(key_at(5, 1), NOW_US + 99 * S).slot, nth_slot(5, 20));
    struct sl_probe probe = fixed_probe(key_at(5, 2));
    struct sl_state state = state_until(NOW_US + 99 * S, 1);
    assert_ptr_equal(insert(&probe, NOW_US + S, state).slot, nth_slot(5, 0)); /* just fresh */
    probe = fixed_probe(key_at(5, 3));
    *nth_slot(5, 7) = sl_slot_dead();
    assert_ptr_equal(insert(&probe, NOW_US + 2 * S, state).slot, nth_slot(5, 1));
    assert_int_equal(measured(NOW_US).evictions, 0);
    assert_ptr_equal(put(key_at(50, 1), NOW_US + S).slot, slot_at(50, 0));
    assert_ptr_equal(put(key_at(50, 2), NOW_US + S).slot, slot_at(50, 1)); /* not beyond: T3 */
}

ON_A_TABLE(a_state_unbelievably_far_ahead_is_free)
{
    fill_window(5);
    struct sl_state far = state_until(NOW_US + SL_LIFE_MAX_US + 1, 1);
    *nth_slot(5, 9) = sl_slot_with(*nth_slot(5, 9), &far);
    assert_ptr_equal(put(key_at(5, 1), NOW_US + 99 * S).slot, nth_slot(5, 9));
    assert_int_equal(measured(NOW_US).evictions, 0);
}

ON_A_TABLE(the_state_nearest_to_fresh_is_evicted_whatever_its_kind)
{
    fill_window(5);
    for (uint32_t n = 0; n < 6; n++)
        nth_slot(5, n)->hi |= SL_SLOT_FLAG; /* limiting: T9 */
    struct sl_word bucket = { 0, (uint64_t)SL_DATED_NS << SL_SLOT_KIND_SHIFT };
    struct sl_state state;
    sl_state_put(&state, (sl_u128)(uint64_t)((NOW_US + 7 * S) * 1000 - 1) << 22);
    *nth_slot(5, 30) = sl_slot_with(bucket, &state); /* by a nanosecond: rounded up, not less */
    assert_ptr_equal(put(key_at(5, 1), NOW_US + 99 * S).slot, nth_slot(5, 6));
    assert_ptr_equal(put(key_at(5, 2), NOW_US + 99 * S).slot, nth_slot(5, 30));
    assert_ptr_equal(put(key_at(5, 3), NOW_US + 99 * S).slot, nth_slot(5, 7));
    assert_int_equal(measured(NOW_US).evictions, 3);
    for (uint32_t n = 0; n < 6; n++)
        assert_true(is_found(key_at(5, 100 + n)));
    assert_false(is_found(key_at(5, 106)));
}

ON_A_TABLE(where_all_are_limiting_the_answer_is_full_and_nothing_changes)
{
    fill_with_limiting(5, 0);
    static struct sl_slot_line before[SL_WINDOW_LINES + 1];
    memcpy(before, slot_at(5, 0), sizeof before);
    struct sl_place place;
    struct sl_probe probe = fixed_probe(key_at(5, 1));
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_FULL);
        assert_int_equal(measured(NOW_US).full, i);
    }
    assert_memory_equal(before, slot_at(5, 0), sizeof before);
    assert_int_equal(measured(NOW_US).evictions, 0);
    /* until the first of them is fresh */
    assert_int_equal(sl_table_prepare(&probe, NOW_US + S, &place), SL_PREPARED);
    assert_ptr_equal(place.slot, nth_slot(5, 0));
}

/* ---- tentative slots --------------------------------------------------------------- */

ON_A_TABLE(a_dead_inserters_slot_is_finished_by_the_next_one)
{
    struct sl_hash128 key = key_at(5, 1);
    struct sl_place left = leave_tentative(key, NOW_US), place;
    assert_false(is_found(key));
    struct sl_probe probe = fixed_probe(key);
    assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_PREPARED);
    assert_ptr_equal(place.slot, left.slot);
    assert_true(sl_word_equal(place.word, left.word));
    struct sl_state state = state_until(NOW_US + S, 3);
    struct sl_word live = sl_table_live(place.word, &state);
    assert_true(sl_word_swap(place.slot, &place.word, live));
    assert_true(is_found(key));
    assert_false(sl_word_swap(left.slot, &left.word, live)); /* had it only been slow */
    assert_int_equal(measured(NOW_US).insertions, 1);
}

ON_A_TABLE(a_tentative_slot_of_another_kind_is_not_ones_own)
{
    struct sl_place left = leave_tentative(key_at(5, 1), NOW_US);
    struct sl_probe other = sl_probe(&table, key_at(5, 1), SL_DATED_NS);
    assert_ptr_not_equal(insert(&other, NOW_US, state_until(NOW_US + S, 1)).slot, left.slot);
    assert_true(sl_word_equal(*left.slot, left.word));
}

ON_A_TABLE(of_several_tentative_slots_the_first_stays)
{
    struct sl_hash128 key = key_at(5, 1);
    struct sl_probe probe = fixed_probe(key);
    enum { SLOTS = 3 * SL_TENTATIVES_SEEN }; /* more than a survey keeps, more than once */
    struct sl_place left[SLOTS], place;
    for (uint32_t i = 0; i < SLOTS; i++) { /* as if none had seen the others */
        struct sl_survey survey = { .free = { .slot = nth_slot(5, i), .line = i / SL_LINE_SLOTS } };
        assert_int_equal(sl_table_take(&probe, NOW_US, &survey, &left[i]), SL_TOOK);
    }
    assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_PREPARED);
    assert_ptr_equal(place.slot, left[0].slot);
    for (uint32_t i = 1; i < SLOTS; i++)
        assert_true(sl_word_equal(*left[i].slot, sl_slot_dead()));
}

ON_A_TABLE(a_key_that_turns_out_to_be_there_is_not_inserted_again)
{
    struct sl_hash128 key = key_at(5, 1);
    struct sl_place left = leave_tentative(key, NOW_US), place;
    *nth_slot(5, 1) = put(key_at(6, 1), NOW_US + S).word; /* live, one slot on */
    struct sl_probe probe = fixed_probe(key);
    assert_int_equal(sl_table_prepare(&probe, NOW_US, &place), SL_THERE);
    assert_ptr_equal(place.slot, nth_slot(5, 1));
    assert_true(sl_word_equal(*left.slot, left.word));
}

ON_A_TABLE(strangers_take_a_tentative_slot_after_two_units_and_no_earlier)
{
    int64_t unit_us = INT64_C(1) << SL_TENTATIVE_UNIT;
    int64_t made_us = 65535 * unit_us + unit_us / 2; /* where 16 bits wrap */
    fill_with_limiting(5, 100000 * S);
    *nth_slot(5, 3) = sl_slot_dead();
    struct sl_place left = leave_tentative(key_at(5, 1), made_us), place;
    assert_ptr_equal(left.slot, nth_slot(5, 3));
    struct sl_probe stranger = fixed_probe(key_at(5, 2));
    int64_t young[] = { made_us, made_us + unit_us, made_us + unit_us * 3 / 2 - 1 };
    for (size_t i = 0; i < COUNT(young); i++)
        assert_int_equal(sl_table_prepare(&stranger, young[i], &place), SL_FULL);
    assert_int_equal(sl_table_prepare(&stranger, made_us + unit_us * 3 / 2, &place), SL_PREPARED);
    assert_ptr_equal(place.slot, left.slot);
    assert_int_equal(measured(NOW_US).evictions, 0);
}

ON_A_TABLE(strangers_take_a_tentative_slot_however_long_it_was_left)
{
    int64_t unit_us = INT64_C(1) << SL_TENTATIVE_UNIT;
    for (int64_t units = SL_TENTATIVE_STALE; units < 65500; units += 997) {
        struct sl_place left = leave_tentative(key_at(5, 1), 0), place;
        struct sl_probe stranger = fixed_probe(key_at(5, 2));
        assert_int_equal(sl_table_prepare(&stranger, units * unit_us, &place), SL_PREPARED);
        assert_ptr_equal(place.slot, left.slot);
        sl_table_retract(&place);
    }
}

ON_A_TABLE(a_clock_read_a_moment_before_it_was_made_does_not_age_it)
{
    int64_t made_us = 50 * (INT64_C(1) << SL_TENTATIVE_UNIT);
    struct sl_place left = leave_tentative(key_at(5, 1), made_us), place;
    struct sl_probe stranger = fixed_probe(key_at(5, 2));
    assert_int_equal(sl_table_prepare(&stranger, made_us - 1, &place), SL_PREPARED);
    assert_ptr_not_equal(place.slot, left.slot);
}

ON_A_TABLE(nonces_do_not_repeat)
{
    enum { TIMES = 500 };
    uint64_t seen[TIMES];
    for (uint32_t i = 0; i < TIMES; i++) {
        struct sl_hash128 key = key_at(i % 7, i % 3);
        struct sl_place place = leave_tentative(key, NOW_US);
        seen[i] = place.word.lo;
        for (uint32_t k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
        sl_table_retract(&place);
        assert_true(sl_word_equal(*place.slot, sl_slot_dead()));
    }
}

/* ---- forgetting --------------------------------------------------------------------- */

ON_A_TABLE(forgetting_leaves_nothing_of_the_key_and_all_of_the_others)
{
    for (uint64_t number = 1; number <= 2; number++)
        put(key_at(5, number), NOW_US + S);
    struct sl_place left = leave_tentative(key_at(5, 3), NOW_US);
    struct sl_probe probe = fixed_probe(key_at(5, 1));
    sl_table_forget(&probe);
    assert_true(sl_word_equal(*slot_at(5, 0), sl_slot_dead()));
    assert_true(is_found(key_at(5, 2)));
    assert_true(sl_word_equal(*left.slot, left.word));
    probe = fixed_probe(key_at(5, 3));
    sl_table_forget(&probe);
    sl_table_forget(&probe); /* nothing there */
    assert_true(sl_word_equal(*left.slot, sl_slot_dead()));
    assert_ptr_equal(put(key_at(5, 4), NOW_US + S).slot, slot_at(5, 0));
}

/* ---- T2, T3 and T4 after anything ----------------------------------------------------- */

enum { HOMES = 6, NUMBERS = 5 * SL_WINDOW_LINES / 2 };

static void check_reach(uint64_t home, uint64_t number)
{
    struct sl_probe probe = fixed_probe(key_at(home, number));
    uint32_t live = 0;
    bool ended = false;
    for (uint32_t n = 0; n < WINDOW_SLOTS; n++) {
        struct sl_word word = *nth_slot(home, n);
        bool own =
            sl_slot_is(word.hi, probe.want | (uint64_t)(n / SL_LINE_SLOTS) << SL_SLOT_LINE_SHIFT);
        assert_false(own && ended);
        live += own;
        ended |= word.hi == 0;
    }
    assert_true(live <= 1);
    assert_int_equal(is_found(key_at(home, number)), live);
}

ON_A_TABLE(after_anything_each_key_is_there_once_and_within_reach)
{
    uint64_t seed = 4, used = 0;
    int64_t now_us = NOW_US;
    for (int i = 0; i < 5000; i++) {
        struct sl_hash128 key = key_at((uint64_t)unit_up_to(&seed, HOMES - 1),
                                       (uint64_t)unit_up_to(&seed, NUMBERS - 1));
        struct sl_probe probe = fixed_probe(key);
        int64_t act = unit_up_to(&seed, 9);
        if (act == 0)
            sl_table_forget(&probe);
        else if (act == 1 && !is_found(key))
            leave_tentative(key, now_us);
        else if (!is_found(key))
            insert(&probe, now_us, state_until(now_us + unit_up_to(&seed, 40 * S), 1));
        now_us += unit_up_to(&seed, S);
        for (uint64_t home = 0; home < HOMES && i % 10 == 0; home++)
            for (uint64_t number = 0; number < NUMBERS; number++)
                check_reach(home, number);
        uint64_t now_used = 0; /* T2: none is empty again */
        for (uint32_t n = 0; n < (HOMES + SL_WINDOW_LINES) * SL_LINE_SLOTS; n++)
            now_used += nth_slot(0, n)->hi != 0;
        assert_true(now_used >= used);
        used = now_used;
    }
}
