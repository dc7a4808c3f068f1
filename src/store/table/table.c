/* Finding and claiming slots.
 *
 * The common path, sl_table_find, reads one line and stops. The rest of this
 * file is for keys that are not there: a full scan of the window (a survey),
 * and the three steps by which one of several threads that insert the same key
 * at once wins, even if some of them are killed meanwhile.
 *
 * Why tentative slots at all? A thread inserts into a slot that looks free at its
 * own reading of the clock, so two threads that insert one key may choose
 * different slots. If both became live, each would admit a full limit. */
#include "store/table/table.h"

#include "store/table/table_log.h"

static uint64_t load_hi(const struct sl_word *slot)
{
    return __atomic_load_n(&slot->hi, __ATOMIC_ACQUIRE);
}

static uint32_t window_lines(const struct sl_region *region)
{
    return region->line_count < SL_WINDOW_LINES ? (uint32_t)region->line_count : SL_WINDOW_LINES;
}

/* Returns true if the slot is the key's and live, or the key's frozen log. */
static bool is_wanted(uint64_t hi, uint64_t want)
{
    uint64_t kind = (uint64_t)SL_DATED_FROZEN << SL_SLOT_KIND_SHIFT;
    if ((want & kind) == kind) /* a ring, 7, or frozen, 6 */
        return (hi | UINT64_C(1) << SL_SLOT_KIND_SHIFT) >> SL_SLOT_KIND_SHIFT ==
               want >> SL_SLOT_KIND_SHIFT;
    return sl_slot_is(hi, want);
}

static bool is_tentative_of(uint64_t hi, uint64_t want)
{
    uint64_t kind = want >> SL_SLOT_KIND_SHIFT & 7;
    return (hi ^ want) >> SL_SLOT_LINE_SHIFT == 0 && sl_slot_is_tentative(hi) &&
           (hi >> SL_SLOT_MEANT_SHIFT & 7) == kind;
}

static struct sl_place place_of(const struct sl_region *region, uint64_t line, uint32_t at)
{
    struct sl_place place;
    place.slot = &region->lines[line].slots[at];
    place.ring_len = 0;
    place.ring = NULL;
    if (region->rings) {
        place.ring_len = region->ring_len;
        place.ring = &region->rings[(line * SL_LINE_SLOTS + at) * region->ring_len];
    }
    return place;
}

/* Returns true if the key is live, at *place. Sets *frozen to its first frozen log, if any. */
static bool find_in_region(const struct sl_region *region, const struct sl_probe *probe,
                           struct sl_place *place, struct sl_place *frozen)
{
    uint64_t line = sl_home(probe->spread, region->line_count);
    uint32_t lines = window_lines(region);
    for (uint32_t d = 0; d < lines; d++) {
        uint64_t want = probe->want | (uint64_t)d << SL_SLOT_LINE_SHIFT;
        for (uint32_t i = 0; i < SL_LINE_SLOTS; i++) {
            uint64_t hi = load_hi(&region->lines[line].slots[i]);
            if (hi == 0)
                return false; /* T3 */
            if (!is_wanted(hi, want))
                continue;
            *place = place_of(region, line, i);
            place->line = d;
            place->word = sl_word_load(place->slot);
            if (!is_wanted(place->word.hi, want))
                continue;
            if (sl_slot_kind(place->word.hi) != SL_DATED_FROZEN)
                return true;
            if (!frozen->slot)
                *frozen = *place;
        }
        line = line + 1 == region->line_count ? 0 : line + 1;
    }
    return false;
}

bool sl_table_find(const struct sl_probe *probe, struct sl_place *place)
{
    struct sl_place frozen = { .slot = NULL };
    if (probe->ring_len == 0)
        return find_in_region(&probe->table->slots, probe, place, &frozen);
    uint64_t moves, moved = __atomic_load_n(sl_table_moves(probe), __ATOMIC_ACQUIRE);
    do {
        struct sl_region region;
        struct sl_extents extents = sl_extents(probe->table);
        while (sl_extents_next(&extents, &region))
            if (find_in_region(&region, probe, place, &frozen))
                return true;
        moves = moved;
        moved = __atomic_load_n(sl_table_moves(probe), __ATOMIC_ACQUIRE);
    } while (!frozen.slot && moved != moves);
    SL_CHECK(!frozen.slot || (frozen.ring && frozen.ring_len > 0));
    *place = frozen;
    return frozen.slot != NULL;
}

/* ---- keys that are not there ----------------------------------------------- */

static bool is_stale_tentative(uint64_t hi, int64_t now_us)
{
    uint64_t age = ((uint64_t)now_us >> SL_TENTATIVE_UNIT) - hi;
    /* This thread may also have read its clock a moment before the slot was made. */
    return ((age + SL_TENTATIVE_STALE) & 0xffff) >= 2 * SL_TENTATIVE_STALE;
}

/* Returns true if taking the slot loses no state. */
static bool is_free_slot(struct sl_word word, int64_t now_us)
{
    if (sl_slot_is_tentative(word.hi))
        return is_stale_tentative(word.hi, now_us);
    return !sl_slot_is_live(word, now_us);
}

static void keep_place(struct sl_place *kept, uint32_t *count, const struct sl_place *place)
{
    if (*count < SL_TENTATIVES_SEEN)
        kept[*count] = *place;
    ++*count;
}

/* Of several slots, keeps the one that sl_table_find finds: the first live one, or
 * the first frozen one. */
static void keep_live_place(struct sl_survey *survey, const struct sl_place *place)
{
    bool frozen = sl_slot_kind(place->word.hi) == SL_DATED_FROZEN;
    if (frozen)
        keep_place(survey->frozen, &survey->frozen_count, place);
    if (survey->is_there && (frozen || sl_slot_kind(survey->there.word.hi) != SL_DATED_FROZEN))
        return;
    survey->is_there = true;
    survey->there = *place;
}

static void keep_free_place(struct sl_survey *survey, const struct sl_place *place, int64_t now_us)
{
    struct sl_word word = place->word;
    if (is_free_slot(word, now_us)) {
        if (!survey->free.slot)
            survey->free = *place;
        return;
    }
    if (sl_slot_is_tentative(word.hi) || (word.hi & SL_SLOT_FLAG)) /* T9 */
        return;
    int64_t fresh_us = sl_fresh_at_us(sl_slot_kind(word.hi), word.lo, word.hi & SL_SLOT_STATE_HI);
    if (!survey->nearest.slot || fresh_us < survey->nearest_us) {
        survey->nearest = *place;
        survey->nearest_us = fresh_us;
    }
}

/* Keeps the place and returns true if it is the key's own. */
static bool keep_own_place(struct sl_survey *survey, const struct sl_place *place, uint64_t want)
{
    if (is_wanted(place->word.hi, want)) {
        keep_live_place(survey, place);
        return true;
    }
    if (!is_tentative_of(place->word.hi, want))
        return false;
    keep_place(survey->tentative, &survey->tentative_count, place);
    return true;
}

static void survey_region(const struct sl_region *region, const struct sl_probe *probe,
                          int64_t now_us, struct sl_survey *survey)
{
    uint64_t line = sl_home(probe->spread, region->line_count);
    uint32_t lines = window_lines(region);
    SL_CHECK(line < region->line_count && lines <= SL_WINDOW_LINES);
    for (uint32_t d = 0; d < lines; d++) {
        uint64_t want = probe->want | (uint64_t)d << SL_SLOT_LINE_SHIFT;
        for (uint32_t i = 0; i < SL_LINE_SLOTS; i++) {
            struct sl_place place = place_of(region, line, i);
            place.line = d;
            place.word = sl_word_load(place.slot);
            if (!keep_own_place(survey, &place, want) && region->ring_len == probe->ring_len)
                keep_free_place(survey, &place, now_us);
            if (place.word.hi == 0)
                return; /* T3 */
        }
        line = line + 1 == region->line_count ? 0 : line + 1;
    }
}

void sl_table_survey(const struct sl_probe *probe, int64_t now_us, struct sl_survey *survey)
{
    *survey = (struct sl_survey){ .nearest_us = 0 };
    SL_CHECK(probe->want >> SL_SLOT_KIND_SHIFT & 7); /* a key's slot has a kind */
    if (probe->ring_len == 0) {
        survey_region(&probe->table->slots, probe, now_us, survey);
        return;
    }
    struct sl_region region;
    struct sl_extents extents = sl_extents(probe->table);
    while (sl_extents_next(&extents, &region))
        survey_region(&region, probe, now_us, survey);
}

static struct sl_stripe *stripe_of(const struct sl_probe *probe)
{
    return &probe->table->header->stripes[probe->spread % SL_STRIPES];
}

static void count_event(uint64_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* T6: made of the stripe's number and its count of nonces. */
static uint64_t next_nonce(const struct sl_probe *probe)
{
    uint64_t count = __atomic_fetch_add(&stripe_of(probe)->nonce, 1, __ATOMIC_RELAXED);
    return count * SL_STRIPES + probe->spread % SL_STRIPES;
}

static struct sl_word tentative_word(const struct sl_probe *probe, uint32_t line, int64_t now_us)
{
    uint64_t kind = probe->want >> SL_SLOT_KIND_SHIFT & 7;
    uint64_t key = probe->want >> SL_SLOT_KEY_SHIFT << SL_SLOT_KEY_SHIFT;
    uint64_t made = (uint64_t)now_us >> SL_TENTATIVE_UNIT & 0xffff;
    SL_CHECK(line < SL_WINDOW_LINES && kind != SL_DATED_NOT);
    return (struct sl_word){ next_nonce(probe), key | (uint64_t)line << SL_SLOT_LINE_SHIFT |
                                                    SL_SLOT_FLAG | kind << SL_SLOT_MEANT_SHIFT |
                                                    made };
}

enum sl_took sl_table_take(const struct sl_probe *probe, int64_t now_us,
                           const struct sl_survey *survey, struct sl_place *place)
{
    bool evicts = !survey->free.slot;
    if (evicts && probe->ring_len && sl_extents_claim(probe->table, probe->ring_len))
        return SL_TOOK_LOST; /* there is a new extent now: look again */
    *place = evicts ? survey->nearest : survey->free;
    if (!place->slot) {
        count_event(&stripe_of(probe)->full);
        return SL_TOOK_FULL;
    }
    struct sl_word seen = place->word;
    place->word = tentative_word(probe, place->line, now_us);
    SL_CHECK(
        sl_slot_is_tentative(place->word.hi) &&
        is_tentative_of(place->word.hi, probe->want | (uint64_t)place->line << SL_SLOT_LINE_SHIFT));
    if (!sl_word_swap(place->slot, &seen, place->word))
        return SL_TOOK_LOST;
    count_event(&stripe_of(probe)->insertions);
    if (evicts)
        count_event(&stripe_of(probe)->evictions);
    return SL_TOOK;
}

static bool kill_places(struct sl_place *kept, uint32_t count, const struct sl_word *but)
{
    bool all = count <= SL_TENTATIVES_SEEN;
    for (uint32_t i = 0; i < count && i < SL_TENTATIVES_SEEN; i++)
        if (kept[i].slot != but && !sl_word_swap(kept[i].slot, &kept[i].word, sl_slot_dead()))
            all = false;
    return all;
}

bool sl_table_kill_others(struct sl_survey *survey, const struct sl_word *but)
{
    return kill_places(survey->tentative, survey->tentative_count, but);
}

bool sl_table_kill_frozen(struct sl_survey *survey, const struct sl_word *but)
{
    return kill_places(survey->frozen, survey->frozen_count, but);
}

enum sl_prepared sl_table_prepare(const struct sl_probe *probe, int64_t now_us,
                                  struct sl_place *place)
{
    struct sl_place known = { .slot = NULL }; /* was tentative before the scan began (T5) */
    for (;;) {
        struct sl_survey survey;
        sl_table_survey(probe, now_us, &survey);
        if (survey.is_there) {
            if (known.slot)
                sl_table_retract(&known);
            SL_CHECK(survey.there.slot && sl_slot_kind(survey.there.word.hi) != SL_DATED_NOT);
            *place = survey.there;
            return SL_THERE;
        }
        if (survey.tentative_count == 0) {
            known.slot = NULL;
            enum sl_took taken = sl_table_take(probe, now_us, &survey, place);
            if (taken == SL_TOOK_FULL)
                return SL_FULL;
            if (taken == SL_TOOK)
                known = *place;
            continue;
        }
        struct sl_place *first = &survey.tentative[0];
        bool alone = sl_table_kill_others(&survey, first->slot);
        if (alone && first->slot == known.slot && sl_word_equal(first->word, known.word)) {
            SL_CHECK(sl_slot_is_tentative(first->word.hi));
            *place = *first;
            return SL_PREPARED;
        }
        known = *first;
    }
}

void sl_table_retract(struct sl_place *place)
{
    SL_CHECK(place->slot && sl_slot_is_tentative(place->word.hi));
    sl_word_swap(place->slot, &place->word, sl_slot_dead());
}

void sl_table_forget(const struct sl_probe *probe)
{
    struct sl_survey survey;
    uint64_t moves;
    SL_CHECK(probe->table && probe->want >> SL_SLOT_KIND_SHIFT & 7);
    do { /* a ring that is being moved meanwhile must not come back */
        moves = __atomic_load_n(sl_table_moves(probe), __ATOMIC_ACQUIRE);
        sl_table_survey(probe, 0, &survey);
        if (survey.is_there)
            sl_word_swap(survey.there.slot, &survey.there.word, sl_slot_dead());
    } while (survey.is_there || !sl_table_kill_others(&survey, NULL) ||
             moves != __atomic_load_n(sl_table_moves(probe), __ATOMIC_ACQUIRE));
}
