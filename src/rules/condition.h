/* Conditions: what an attribute of a request must be for a rule to match. */
#ifndef SL_RULES_CONDITION_H
#define SL_RULES_CONDITION_H

#include "rules/ruleset.h"

/* The part that is rarely given: `not`, `like` and `unlike`. */
bool sl_condition_more_holds(const struct sl_condition *when, struct sluice_text value);

/* Does it hold for this value (missing: the request has none)? Inline, because every rule that an
 * index finds asks it of each condition. */
static inline bool sl_condition_holds(const struct sl_condition *when, struct sluice_text value)
{
    bool is_one = when->value_count == 0;
    for (size_t i = 0; !is_one && value.len && i < when->value_count; i++)
        is_one = sl_text_equal(value, when->values[i]);
    return is_one && (!when->is_more || sl_condition_more_holds(when, value));
}

/* The order of values that must not be: sorted, so that they are found by halving. For qsort(). */
int sl_condition_order(const void *a, const void *b);

/* Does it hold only where the request has the attribute? */
static inline bool sl_condition_needs_value(const struct sl_condition *when)
{
    return when->value_count > 0 || when->like.count > 0;
}

/* Its values and patterns, those that are not to be as well. */
static inline size_t sl_condition_size(const struct sl_condition *when)
{
    return when->value_count + when->unequal.count + when->like.count + when->unlike.count;
}

#endif
