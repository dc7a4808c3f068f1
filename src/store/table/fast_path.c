/* The fast path for a bundle of one claim. */
#include "store/table/fast_path.h"

#include "store/table/adjust.h"

/* Finds a log's slot. Returns false if its ring cannot be charged in place. */
static bool find_chargeable_ring(const struct sl_probe *probe, const struct sl_bundle *bundle,
                                 struct sl_place *place)
{
    const struct sl_claim *claim = bundle->claims;
    return sl_table_find(probe, place) && sl_slot_kind(place->word.hi) == SL_DATED_RING &&
           place->ring_len >= claim->limit.capacity &&
           bundle->cost <= claim->algo->charge_most(place->ring_len);
}

/* The fast path for a log, in one pass. */
static bool decide_log_in_one_pass(struct sl_table *table, struct sl_bundle *bundle)
{
    struct sl_claim *claim = bundle->claims;
    struct sl_probe probe = sl_claim_probe(table, claim);
    struct sl_place place;
    if (bundle->cost == 0 || !find_chargeable_ring(&probe, bundle, &place))
        return false;
    struct sl_state state = sl_slot_state(place.word);
    state.ring = place.ring;
    state.ring_len = place.ring_len;
    state.shared_lo = &place.slot->lo;
    struct sl_ask ask = { bundle->now_us, bundle->cost };
    struct sl_taken taken;
    if (!claim->algo->take(&claim->limit, &state, ask, &taken))
        return false;
    SL_CHECK(sl_state_fits(&state));
    claim->answer = taken.answer;
    claim->figures = taken.figures;
    struct sl_word to = sl_word_taken(place.word, &state, &claim->answer, bundle->now_us);
    if (sl_word_equal(to, place.word))
        return sl_place_unchanged(&place); /* T11 */
    return sl_word_swap(place.slot, &place.word, to);
}

static bool decide_slot_in_one_pass(struct sl_table *table, struct sl_bundle *bundle)
{
    struct sl_claim *claim = bundle->claims;
    struct sl_fast_path request = { .algo = claim->algo,
                                    .limit = &claim->limit,
                                    .key = claim->key,
                                    .cost = bundle->cost,
                                    .now_us = bundle->now_us };
    if (!sl_table_fast_path(table, &request))
        return false;
    claim->answer = request.taken.answer;
    claim->figures = request.taken.figures;
    return true;
}

bool sl_bundle_fast_path(struct sl_table *table, struct sl_bundle *bundle)
{
    struct sl_claim *claim = bundle->claims;
    if (bundle->claim_count != 1 || claim->guard || claim->no_key || claim->shadow ||
        bundle->peek || bundle->is_mixed || bundle->max_delay_us >= 0)
        return false;
    bool taken = claim->algo->keeps_ring ? decide_log_in_one_pass(table, bundle)
                                         : decide_slot_in_one_pass(table, bundle);
    if (!taken)
        return false;
    claim->guard_answer.blocked_until_us = 0;
    claim->allowed = claim->charged = bundle->allowed = claim->answer.allowed;
    bundle->status = SLUICE_OK;
    return true;
}
