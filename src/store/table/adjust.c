/* Adjusts one state, by swaps until one succeeds; a log's by moving its ring.
 * A key that is not in the table has no charge to refund. */
#include "store/table/adjust.h"

#include "store/table/table_file.h"

enum { AGAIN = 1 }; /* not a status: the thread lost a race */

/* An adjustment of one state: a refund or an overcharge. */
struct adjustment {
    const struct sl_claim *claim;
    struct sl_charge charge;
    int64_t now_us;
    bool over;      /* an overcharge; else a refund */
    bool own_clock; /* now_us is a reading of the table's clock */
};

static bool apply_adjustment(void *about, struct sl_state *state)
{
    const struct adjustment *adjustment = about;
    const struct sl_claim *claim = adjustment->claim;
    struct sl_ask ask = { adjustment->now_us, adjustment->charge.cost };
    SL_CHECK(ask.now_us >= 0 && ask.now_us <= SL_TIME_MAX_US);
    if (!adjustment->over)
        return claim->algo->refund(&claim->limit, state, ask, adjustment->charge.at_us);
    claim->algo->overcharge(&claim->limit, state, ask);
    return true;
}

/* Adjusts a log by moving its ring. Returns false if it must be tried again. */
static bool adjust_ring(struct sl_probe *probe, struct adjustment *adjustment,
                        const struct sl_place *place, int *status)
{
    if (!adjustment->over && !sl_slot_is_live(place->word, adjustment->now_us))
        return true; /* fresh: none of its charges count */
    if (probe->ring_len < place->ring_len)
        probe->ring_len = place->ring_len;
    struct sl_move move = { .probe = probe,
                            .algo = adjustment->claim->algo,
                            .from = *place,
                            .now_us = adjustment->now_us,
                            .own_clock = adjustment->own_clock,
                            .change = apply_adjustment,
                            .about = adjustment };
    enum sl_moved moved = sl_log_move_patiently(&move);
    if (moved == SL_MOVED_FULL)
        *status = SLUICE_STORE_FULL;
    if (moved == SL_MOVED_NO_MEMORY)
        *status = SLUICE_NO_MEMORY;
    return moved != SL_MOVED_LOST;
}

/* Overcharges a key whose state is not in the table, in a new slot. If another thread
 * was faster, the state is there now: AGAIN. */
static int insert_overcharge(const struct sl_probe *probe, struct adjustment *adjustment)
{
    struct sl_place place;
    switch (sl_table_prepare(probe, adjustment->now_us, &place)) {
    case SL_FULL:
        return SLUICE_STORE_FULL;
    case SL_PREPARED:
        break;
    default:
        return AGAIN;
    }
    struct sl_state state = { .ring = place.ring, .ring_len = place.ring_len };
    apply_adjustment(adjustment, &state);
    struct sl_word live = sl_table_live(place.word, &state);
    return sl_word_swap(place.slot, &place.word, live) ? SLUICE_OK : AGAIN;
}

static int adjust_slot(struct sl_probe *probe, struct adjustment *adjustment,
                       struct sl_place *place)
{
    int status = SLUICE_OK;
    if (probe->ring_len)
        return adjust_ring(probe, adjustment, place, &status) ? status : AGAIN;
    struct sl_state state = sl_slot_state(place->word);
    if (!apply_adjustment(adjustment, &state))
        return SLUICE_OK;
    struct sl_word to = sl_slot_with(place->word, &state);
    return sl_word_swap(place->slot, &place->word, to) ? SLUICE_OK : AGAIN;
}

static int adjust_until_done(struct sl_table *table, struct adjustment *adjustment)
{
    SL_CHECK(table && adjustment->claim->algo && !adjustment->claim->no_key);
    struct sl_probe probe = sl_claim_probe(table, adjustment->claim);
    struct sl_place place;
    int status = AGAIN;
    while (status == AGAIN) {
        bool there = sl_table_find(&probe, &place);
        if (adjustment->own_clock)
            adjustment->now_us = sl_table_now_us(table); /* T8 */
        if (there)
            status = adjust_slot(&probe, adjustment, &place);
        else if (adjustment->over)
            status = insert_overcharge(&probe, adjustment);
        else
            status = SLUICE_OK; /* no state, so nothing to refund */
    }
    SL_CHECK(status <= SLUICE_OK);
    return status;
}

int sl_adjust_refund(struct sl_table *table, const struct sl_claim *claim, struct sl_charge charge,
                     int64_t now_us)
{
    SL_CHECK(charge.at_us >= 0);
    struct adjustment adjustment = { claim, charge, now_us, false, now_us < 0 };
    return adjust_until_done(table, &adjustment);
}

int sl_adjust_overcharge(struct sl_table *table, const struct sl_claim *claim, uint32_t cost,
                         int64_t now_us)
{
    struct adjustment adjustment = { claim, { cost, now_us }, now_us, true, now_us < 0 };
    return adjust_until_done(table, &adjustment);
}

void sl_adjust_forget(struct sl_table *table, const struct sl_claim *claim)
{
    SL_CHECK(table && claim->algo);
    struct sl_probe probe = sl_claim_probe(table, claim);
    sl_table_forget(&probe);
    if (claim->guard) {
        struct sl_probe guard = sl_probe(table, claim->guard_key, SL_DATED_US);
        sl_table_forget(&guard);
    }
}
