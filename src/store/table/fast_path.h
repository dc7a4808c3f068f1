/* The fast path of a decision: one key that is in its home line (as nine of ten
 * are) and whose state needs no repair. One read of a line, one swap.
 *
 * Inline, because every instruction around the swap counts: this is the cost of a
 * decision on a hot key. Every other case takes the slow path (decide.c). */
#ifndef SL_STORE_TABLE_FAST_PATH_H
#define SL_STORE_TABLE_FAST_PATH_H

#include "store/store.h"
#include "store/table/table.h"

/* Returns the slot's word after a decision. A denial charges nothing and sets the flag
 * that keeps the state from being evicted (T9). */
static inline struct sl_word sl_word_taken(struct sl_word word, const struct sl_state *state,
                                           const struct sl_answer *answer, int64_t now_us)
{
    struct sl_word to = { state->lo, (word.hi & ~SL_SLOT_STATE_HI) | state->hi };
    if (!answer->allowed)
        to.hi |= answer->retry_after_us == SL_NEVER ? 0 : SL_SLOT_FLAG;
    else if ((word.hi & SL_SLOT_FLAG) && !sl_slot_is_live(word, now_us))
        to.hi &= ~SL_SLOT_FLAG; /* it starts afresh, and has denied no request yet */
    return to;
}

/* Decides a request whose now_us is filled in. Returns false if nothing was written: take
 * the slow path. */
static inline bool sl_table_fast_path(struct sl_table *table, struct sl_fast_path *request)
{
    const struct sl_algo *algo = request->algo;
    if (request->cost == 0 || algo->keeps_ring || !algo->take)
        return false;
    struct sl_probe probe = sl_probe(table, request->key, sl_dating_of(algo, request->limit));
    struct sl_word word;
    struct sl_word *slot = sl_table_find_home(&probe, &word);
    if (!slot)
        return false;
    struct sl_state state;
    state.lo = word.lo;
    state.hi = word.hi & SL_SLOT_STATE_HI;
    struct sl_ask ask = { request->now_us, request->cost };
    if (!algo->take(request->limit, &state, ask, &request->taken))
        return false;
    SL_CHECK(sl_state_fits(&state)); /* else it would change the key of its slot */
    struct sl_word to = sl_word_taken(word, &state, &request->taken.answer, request->now_us);
    if (sl_word_equal(to, word))
        return sl_word_equal(sl_word_load(slot), word);
    return sl_word_swap(slot, &word, to);
}

/* Decides a whole bundle, if it is one claim that can take the fast path; bundle->now_us
 * is filled in. Returns false if nothing was written: take the slow path. */
bool sl_bundle_fast_path(struct sl_table *table, struct sl_bundle *bundle);

#endif
