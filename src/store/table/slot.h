/* The words of a slot: docs/table.md, "Slot", in code.
 *
 *   hi:  fingerprint 36 | line 4 | kind 3 | flag 1 | the state's top 20
 *   lo:  the state's low 64
 *
 * A kind is how the state is dated (enum sl_dating); 0 is a slot without an
 * owner: empty, tentative or dead. */
#ifndef SL_STORE_TABLE_SLOT_H
#define SL_STORE_TABLE_SLOT_H

#include "algo/state.h"
#include "base/atomic128.h"
#include "base/check.h"

#define SL_SLOT_KEY_SHIFT  28
#define SL_SLOT_LINE_SHIFT 24
#define SL_SLOT_KIND_SHIFT 21
#define SL_SLOT_FLAG       (UINT64_C(1) << 20)
#define SL_SLOT_STATE_HI   (SL_SLOT_FLAG - 1)

/* Of slots without an owner: */
#define SL_SLOT_MEANT_SHIFT 17
#define SL_SLOT_DEAD        (UINT64_C(1) << 16)

enum {
    SL_LINE_SLOTS = 4,
    SL_WINDOW_LINES = 16,
    SL_TENTATIVE_UNIT = 20, /* bits: the unit of the time when it was made, about a second */
    SL_TENTATIVE_STALE = 2
};

/* No legal state reaches further ahead than twice the longest window. */
#define SL_LIFE_MAX_US (2 * SL_WINDOW_MAX_US + INT64_C(86400000000))

struct sl_slot_line {
    _Alignas(64) struct sl_word slots[SL_LINE_SLOTS];
};

static inline enum sl_dating sl_slot_kind(uint64_t hi)
{
    return (enum sl_dating)(hi >> SL_SLOT_KIND_SHIFT & 7);
}

static inline struct sl_word sl_slot_dead(void)
{
    return (struct sl_word){ 0, SL_SLOT_FLAG | SL_SLOT_DEAD };
}

static inline bool sl_slot_is_tentative(uint64_t hi)
{
    return sl_slot_kind(hi) == SL_DATED_NOT && (hi & SL_SLOT_FLAG) && !(hi & SL_SLOT_DEAD);
}

/* Returns true if its state still matters at now_us; false for a slot without an owner. */
static inline bool sl_slot_is_live(struct sl_word word, int64_t now_us)
{
    enum sl_dating kind = sl_slot_kind(word.hi);
    if (kind == SL_DATED_NOT)
        return false;
    int64_t fresh_us = sl_fresh_at_us(kind, word.lo, word.hi & SL_SLOT_STATE_HI);
    return fresh_us > now_us && fresh_us - now_us <= SL_LIFE_MAX_US;
}

static inline struct sl_state sl_slot_state(struct sl_word word)
{
    return (struct sl_state){ .lo = word.lo, .hi = word.hi & SL_SLOT_STATE_HI };
}

/* Returns the same slot with another state. */
static inline struct sl_word sl_slot_with(struct sl_word word, const struct sl_state *state)
{
    SL_CHECK(sl_state_fits(state));
    return (struct sl_word){ state->lo, (word.hi & ~SL_SLOT_STATE_HI) | state->hi };
}

#endif
