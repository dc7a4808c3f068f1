/* Changing one state, by swaps until one succeeds; a log's by moving its ring.
 * What is not there counts nothing: there is nothing to give back. */
#include "store/table/adjust.h"

#include "store/table/table_file.h"

enum { AGAIN = 1 }; /* no status: lost a race */

/* A change of one state that is not a decision. */
struct change {
    const struct sl_claim *claim;
    struct sl_charge charge;
    int64_t now_us;
    bool over;      /* an overcharge; else a refund */
    bool own_clock; /* the table's */
};

static bool make_change(void *about, struct sl_state *state)
{
    const struct change *change = about;
    const struct sl_claim *claim = change->claim;
    struct sl_ask ask = { change->now_us, change->charge.cost };
    if (!change->over)
        return claim->algo->refund(&claim->limit, state, ask, change->charge.at_us);
    claim->algo->overcharge(&claim->limit, state, ask);
    return true;
}

/* Rings are changed by moving them; false: try again. */
static bool change_ring(struct sl_probe *probe, struct change *change, const struct sl_place *place,
                        int *status)
{
    if (!change->over && !sl_slot_is_live(place->word, change->now_us))
        return true; /* fresh: nothing of it counts */
    if (probe->ring_len < place->ring_len)
        probe->ring_len = place->ring_len;
    struct sl_move move = { .probe = probe,
                            .algo = change->claim->algo,
                            .from = *place,
                            .now_us = change->now_us,
                            .own_clock = change->own_clock,
                            .change = make_change,
                            .about = change };
    enum sl_moved moved = sl_log_move_patiently(&move);
    if (moved == SL_MOVED_FULL)
        *status = SLUICE_STORE_FULL;
    if (moved == SL_MOVED_NO_MEMORY)
        *status = SLUICE_NO_MEMORY;
    return moved != SL_MOVED_LOST;
}

/* What was used is charged, also where the state was forgotten meanwhile. One who
 * was faster has charged to a state that is there: again. */
static int insert(const struct sl_probe *probe, struct change *change)
{
    struct sl_place place;
    switch (sl_table_prepare(probe, change->now_us, &place)) {
    case SL_FULL:
        return SLUICE_STORE_FULL;
    case SL_PREPARED:
        break;
    default:
        return AGAIN;
    }
    struct sl_state state = { .ring = place.ring, .ring_len = place.ring_len };
    make_change(change, &state);
    struct sl_word live = sl_table_live(place.word, &state);
    return sl_word_swap(place.slot, &place.word, live) ? SLUICE_OK : AGAIN;
}

static int change_there(struct sl_probe *probe, struct change *change, struct sl_place *place)
{
    int status = SLUICE_OK;
    if (probe->ring_len)
        return change_ring(probe, change, place, &status) ? status : AGAIN;
    struct sl_state state = sl_slot_state(place->word);
    if (!make_change(change, &state))
        return SLUICE_OK;
    struct sl_word to = sl_slot_with(place->word, &state);
    return sl_word_swap(place->slot, &place->word, to) ? SLUICE_OK : AGAIN;
}

static int make_changes(struct sl_table *table, struct change *change)
{
    struct sl_probe probe = sl_claim_probe(table, change->claim);
    struct sl_place place;
    int status = AGAIN;
    while (status == AGAIN) {
        bool there = sl_table_find(&probe, &place);
        if (change->own_clock)
            change->now_us = sl_table_now_us(table); /* T8 */
        if (there)
            status = change_there(&probe, change, &place);
        else if (change->over)
            status = insert(&probe, change);
        else
            status = SLUICE_OK; /* nothing is counted any more: nothing to give back */
    }
    return status;
}

int sl_adjust_refund(struct sl_table *table, const struct sl_claim *claim, struct sl_charge charge,
                     int64_t now_us)
{
    struct change change = { claim, charge, now_us, false, now_us < 0 };
    return make_changes(table, &change);
}

int sl_adjust_overcharge(struct sl_table *table, const struct sl_claim *claim, uint32_t cost,
                         int64_t now_us)
{
    struct change change = { claim, { cost, now_us }, now_us, true, now_us < 0 };
    return make_changes(table, &change);
}

void sl_adjust_forget(struct sl_table *table, const struct sl_claim *claim)
{
    struct sl_probe probe = sl_claim_probe(table, claim);
    sl_table_forget(&probe);
    if (claim->guard) {
        struct sl_probe guard = sl_probe(table, claim->guard_key, SL_DATED_US);
        sl_table_forget(&guard);
    }
}
