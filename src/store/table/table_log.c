/* Rings in the table: docs/table.md, "Log area" and "Moving a ring".
 *
 * A log's slot is found like any other, in extents instead of the slots; its
 * ring stands at the same number behind the extent's slots. So a ring needs no
 * pointer, no free list and no sweeper: it is free when its slot is.
 *
 * Charging writes no new entry into the ring (see sliding_window_log.c), so one
 * swap of the slot commits it. A change that needs more than one swap (a longer
 * ring, entries removed, a charge too large to be pending) is made to a private
 * copy, and the copy replaces the old ring. */
#include "store/table/table_log.h"

#include <sched.h>
#include <stdlib.h>

#include "base/check.h"
#include "store/table/table_file.h"

enum { UNIT_BYTES = 64, UNIT_BITS = 39, FIRST_SHARE = 64, FIRST_LINES = 8 };
enum { YIELDS_MAX = 100 };

#define MARK (UINT64_C(1) << 62) /* above every stamp */

/* A line of slots and its four rings. */
static uint64_t group_bytes(uint64_t ring_len)
{
    return sizeof(struct sl_slot_line) + SL_LINE_SLOTS * ring_len * sizeof(uint64_t);
}

bool sl_extents_next(struct sl_extents *extents, struct sl_region *region)
{
    struct sl_table *table = extents->table;
    SL_CHECK(extents->next <= SL_EXTENTS && extents->at_bytes <= table->log_bytes);
    if (extents->next == SL_EXTENTS)
        return false;
    uint64_t word = __atomic_load_n(&table->header->extents[extents->next], __ATOMIC_ACQUIRE);
    uint64_t ring_len = word >> UNIT_BITS;
    uint64_t bytes = (word & ((UINT64_C(1) << UNIT_BITS) - 1)) * UNIT_BYTES;
    /* Zero ends the list; so does a word that no correct program writes. */
    if (ring_len == 0 || bytes > table->log_bytes - extents->at_bytes ||
        bytes < group_bytes(ring_len))
        return false;
    uint8_t *at = table->log + extents->at_bytes;
    region->lines = (struct sl_slot_line *)(void *)at;
    region->line_count = bytes / group_bytes(ring_len);
    region->rings = (uint64_t *)(void *)(at + region->line_count * sizeof(struct sl_slot_line));
    region->ring_len = (uint32_t)ring_len;
    extents->next++;
    extents->at_bytes += bytes;
    SL_CHECK(region->line_count > 0 && extents->at_bytes <= table->log_bytes);
    return true;
}

bool sl_extents_claim(struct sl_table *table, uint32_t ring_len)
{
    struct sl_extents extents = sl_extents(table);
    struct sl_region region;
    uint64_t lines = 0;
    SL_CHECK(ring_len > 0 && (uint64_t)ring_len << UNIT_BITS >> UNIT_BITS == ring_len);
    while (sl_extents_next(&extents, &region))
        if (region.ring_len == ring_len)
            lines += region.line_count;
    if (extents.next == SL_EXTENTS)
        return false;
    uint64_t group = group_bytes(ring_len);
    if (lines == 0) {
        lines = table->log_bytes / FIRST_SHARE / group;
        lines = lines > FIRST_LINES ? lines : FIRST_LINES;
    }
    uint64_t left = (table->log_bytes - extents.at_bytes) / UNIT_BYTES * UNIT_BYTES;
    uint64_t bytes = (lines * group + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    bytes = bytes < left ? bytes : left;
    if (bytes < group)
        return false;
    uint64_t free = 0;
    uint64_t word = (uint64_t)ring_len << UNIT_BITS | bytes / UNIT_BYTES;
    SL_CHECK(bytes % UNIT_BYTES == 0 && bytes / UNIT_BYTES < UINT64_C(1) << UNIT_BITS);
    bool ours = __atomic_compare_exchange_n(&table->header->extents[extents.next], &free, word,
                                            false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    /* The extent of another thread that was faster will do as well, if it is legal. */
    return ours || sl_extents_next(&extents, &region);
}

/* ---- moving ------------------------------------------------------------------ */

/* Makes a private copy of the log that is moved, and changes it. */
static enum sl_moved copy_log_out(const struct sl_move *move, struct sl_state *copy)
{
    const struct sl_place *from = &move->from;
    uint64_t *same = calloc(from->ring_len + UINT64_C(1), sizeof *same);
    uint64_t *moved = calloc(move->probe->ring_len + UINT64_C(1), sizeof *moved);
    if (!same || !moved) {
        free(same);
        free(moved);
        return SL_MOVED_NO_MEMORY;
    }
    for (uint32_t i = 0; i < from->ring_len; i++)
        same[i] = __atomic_load_n(&from->ring[i], __ATOMIC_ACQUIRE);
    *copy = sl_slot_state(from->word);
    copy->ring = same;
    copy->ring_len = from->ring_len;
    move->algo->move_ring(copy, moved, move->probe->ring_len);
    free(same);
    if (!sl_word_equal(sl_word_load(from->slot), from->word)) /* T11 */
        return SL_MOVED_LOST;
    return !move->change || move->change(move->about, copy) ? SL_MOVED : SL_MOVED_NOT;
}

/* Takes another slot for the key, tentative. */
static enum sl_moved take_new_slot(const struct sl_move *move, struct sl_place *to)
{
    struct sl_survey survey;
    sl_table_survey(move->probe, move->now_us, &survey);
    if (!survey.is_there || survey.there.slot != move->from.slot)
        return SL_MOVED_LOST;
    if (survey.tentative_count && !move->impatient)
        return SL_MOVED_BUSY;
    /* T12: with two frozen slots it would be unclear which of them counts. Only one that
     * was frozen before the live one was seen is void, hence the second look. */
    if (sl_slot_kind(survey.there.word.hi) == SL_DATED_RING &&
        !(sl_place_unchanged(&survey.there) && sl_table_kill_frozen(&survey, move->from.slot)))
        return SL_MOVED_LOST;
    sl_table_kill_others(&survey, NULL);
    switch (sl_table_take(move->probe, move->now_us, &survey, to)) {
    case SL_TOOK:
        return SL_MOVED;
    case SL_TOOK_FULL:
        return SL_MOVED_FULL;
    default:
        return SL_MOVED_LOST;
    }
}

/* Copies into the ring of a slot that is tentative and belongs to this thread. Every entry is
 * first replaced by a mark that no other thread makes, and the mark by the copy if the slot
 * still belongs to this thread: if it was stopped in between and the ring went to another
 * thread, it finds its mark gone. An entry left with a mark counts as long as the newest. */
static bool copy_ring_in(const struct sl_place *to, const struct sl_state *copy)
{
    uint64_t mark = MARK | (to->word.lo & (MARK - 1));
    SL_CHECK(to->ring && to->ring_len == copy->ring_len);
    for (uint32_t i = 0; i < to->ring_len; i++) {
        uint64_t *entry = &to->ring[i], mine = mark;
        uint64_t old = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
        if (!__atomic_compare_exchange_n(entry, &old, mark, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE) ||
            !sl_place_unchanged(to) ||
            !__atomic_compare_exchange_n(entry, &mine, copy->ring[i], false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            return false;
    }
    return true;
}

/* T12: from here on no thread changes the log, and a thread that finds it moves it. */
static bool freeze_slot(struct sl_place *from)
{
    struct sl_word frozen = from->word;
    uint64_t kind = (uint64_t)SL_DATED_RING << SL_SLOT_KIND_SHIFT;
    frozen.hi = (frozen.hi & ~kind) | (uint64_t)SL_DATED_FROZEN << SL_SLOT_KIND_SHIFT;
    struct sl_word seen = from->word;
    if (!sl_word_equal(seen, frozen) && !sl_word_swap(from->slot, &seen, frozen))
        return false;
    SL_CHECK(sl_slot_kind(frozen.hi) == SL_DATED_FROZEN);
    from->word = frozen;
    return true;
}

/* T8: a log that was found frozen may be left over from a thread that was killed while it
 * moved the log, and the new state may be fresh and gone. Then this one is gone too. */
static bool kill_if_fresh(const struct sl_move *move)
{
    struct sl_table *table = move->probe->table;
    int64_t now_us = move->own_clock ? sl_table_now_us(table) : move->now_us;
    struct sl_word seen = move->from.word;
    if (sl_slot_is_live(seen, now_us))
        return false;
    sl_word_swap(move->from.slot, &seen, sl_slot_dead());
    return true;
}

/* T5, except that the frozen slot may be there. */
static bool commit_move(const struct sl_move *move, struct sl_place *to,
                        const struct sl_state *copy)
{
    struct sl_survey survey;
    sl_table_survey(move->probe, move->now_us, &survey);
    if (!survey.is_there || survey.there.slot != move->from.slot ||
        !sl_word_equal(survey.there.word, move->from.word))
        return false;
    if (!sl_table_kill_others(&survey, to->slot))
        return false;
    if (move->found_frozen && kill_if_fresh(move))
        return false;
    struct sl_word live = sl_table_live(to->word, copy);
    SL_CHECK(sl_slot_kind(live.hi) == SL_DATED_RING);
    live.hi |= move->from.word.hi & SL_SLOT_FLAG;
    struct sl_word seen = to->word;
    return sl_word_swap(to->slot, &seen, live);
}

/* Takes the slot first: if there is none, nothing is copied. */
enum sl_moved sl_log_move(struct sl_move *move)
{
    struct sl_state copy = { .ring = NULL };
    struct sl_place to;
    SL_CHECK(move->algo->keeps_ring && move->from.slot && move->from.ring);
    SL_CHECK(move->probe->ring_len >= move->from.ring_len);
    move->found_frozen = sl_slot_kind(move->from.word.hi) == SL_DATED_FROZEN;
    enum sl_moved moved = take_new_slot(move, &to);
    if (moved != SL_MOVED)
        return moved;
    moved = copy_log_out(move, &copy);
    if (moved == SL_MOVED &&
        !(copy_ring_in(&to, &copy) && freeze_slot(&move->from) && commit_move(move, &to, &copy)))
        moved = SL_MOVED_LOST;
    if (moved == SL_MOVED) {
        __atomic_fetch_add(sl_table_moves(move->probe), 1, __ATOMIC_ACQ_REL);
        sl_word_swap(move->from.slot, &move->from.word, sl_slot_dead());
    } else
        sl_table_retract(&to);
    free(copy.ring);
    return moved;
}

/* Tries a few times while another thread is moving it, which may be dead. */
enum sl_moved sl_log_move_patiently(struct sl_move *move)
{
    enum sl_moved moved = SL_MOVED_BUSY;
    for (int yields = 0; moved == SL_MOVED_BUSY; yields++) {
        move->impatient = yields == YIELDS_MAX;
        moved = sl_log_move(move);
        if (moved == SL_MOVED_BUSY)
            sched_yield();
    }
    SL_CHECK(moved != SL_MOVED_BUSY);
    return moved;
}
