/* Conditions: the values an attribute of a request must have for a rule to match. */
#ifndef SL_RULES_CONDITION_H
#define SL_RULES_CONDITION_H

#include "rules/ruleset.h"

/* Checks the part that is rarely given: `not`, `like` and `unlike`. */
bool sl_condition_more_holds(const struct sl_condition *when, struct sluice_text value);

/* Returns true if the condition holds for this value (missing: the request has none). Inline,
 * because it runs for each condition of every rule that an index finds. */
static inline bool sl_condition_holds(const struct sl_condition *when, struct sluice_text value)
{
    bool is_one = when->value_count == 0;
    for (size_t i = 0; !is_one && value.len && i < when->value_count; i++)
        is_one = sl_text_equal(value, when->values[i]);
    return is_one && (!when->is_more || sl_condition_more_holds(when, value));
}

/* Compares two excluded values, for qsort(): they are sorted, so that bisection finds them. */
int sl_condition_order(const void *a, const void *b);

/* Returns true if it holds only where the request has the attribute. */
static inline bool sl_condition_needs_value(const struct sl_condition *when)
{
    return when->value_count > 0 || when->like.count > 0;
}

/* The number of its values and patterns, the excluded ones too. */
static inline size_t sl_condition_size(const struct sl_condition *when)
{
    return when->value_count + when->unequal.count + when->like.count + when->unlike.count;
}

#endif
