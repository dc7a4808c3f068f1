/* Decisions, compared field by field. */
#ifndef TEST_LIMITER_DECISIONS_H
#define TEST_LIMITER_DECISIONS_H

#include "unit/base/unit.h"

static inline void assert_same_decision(const char *row, const struct sluice_decision *a,
                                        const struct sluice_decision *b)
{
    SAME(row, a->allowed, b->allowed);
    SAME(row, a->reason, b->reason);
    SAME_TEXT(row, sl_text(a->rule), b->rule);
    SAME_TEXT(row, sl_text(a->algorithm), b->algorithm);
    SAME(row, a->limit, b->limit);
    SAME(row, a->remaining, b->remaining);
    SAME(row, a->reset_at_us, b->reset_at_us);
    SAME(row, a->retry_after_us, b->retry_after_us);
    SAME(row, a->delay_us, b->delay_us);
    SAME(row, a->decided_at_us, b->decided_at_us);
    SAME(row, a->window_us, b->window_us);
    SAME(row, a->charged_at_us, b->charged_at_us);
    SAME(row, a->charged, b->charged);
    SAME(row, memcmp(a->charged_after_us, b->charged_after_us, sizeof a->charged_after_us), 0);
}

#endif
