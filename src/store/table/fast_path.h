/* The short way through a decision: one key, known, in its home line (where nine
 * of ten are), its state in no need of repair. One line read, one swap.
 *
 * Inline, because everything around the swap counts: this is what a decision on a
 * hot key costs. Whatever is out of the ordinary takes the long way (decide.c). */
#ifndef SL_STORE_TABLE_FAST_PATH_H
#define SL_STORE_TABLE_FAST_PATH_H

#include "store/store.h"
#include "store/table/table.h"

/* The slot after a decision. A denial charges nothing and leaves a mark, which keeps
 * the state from being evicted (T9). */
static inline struct sl_word sl_word_taken(struct sl_word word, const struct sl_state *state,
                                           const struct sl_answer *answer, int64_t now_us)
{
    struct sl_word to = { state->lo, (word.hi & ~SL_SLOT_STATE_HI) | state->hi };
    if (!answer->allowed)
        to.hi |= answer->retry_after_us == SL_NEVER ? 0 : SL_SLOT_FLAG;
    else if ((word.hi & SL_SLOT_FLAG) && !sl_slot_is_live(word, now_us))
        to.hi &= ~SL_SLOT_FLAG; /* it starts afresh, and has denied nobody yet */
    return to;
}

/* once->now_us is filled in. */
static inline bool sl_table_fast_path(struct sl_table *table, struct sl_fast_path *once)
{
    const struct sl_algo *algo = once->algo;
    if (once->cost == 0 || algo->keeps_ring || !algo->take)
        return false;
    struct sl_probe probe = sl_probe(table, once->key, sl_dating_of(algo, once->limit));
    struct sl_word word;
    struct sl_word *slot = sl_table_find_home(&probe, &word);
    if (!slot)
        return false;
    struct sl_state state;
    state.lo = word.lo;
    state.hi = word.hi & SL_SLOT_STATE_HI;
    struct sl_ask ask = { once->now_us, once->cost };
    if (!algo->take(once->limit, &state, ask, &once->taken))
        return false;
    struct sl_word to = sl_word_taken(word, &state, &once->taken.answer, once->now_us);
    if (sl_word_equal(to, word))
        return sl_word_equal(sl_word_load(slot), word);
    return sl_word_swap(slot, &word, to);
}

/* A whole bundle, if it is one claim that can go this way; bundle->now_us is filled
 * in. False: nothing was written, take the long way. */
bool sl_bundle_fast_path(struct sl_table *table, struct sl_bundle *bundle);

#endif
