/* A rule's numbers, composed exactly: tier, burst allowance and trust multiply
 * as fractions, and there is one rounding at the end. */
#ifndef SL_RULES_NUMBERS_H
#define SL_RULES_NUMBERS_H

#include "base/buffer.h"
#include "rules/ruleset.h"

/* Numbers of one's own, a tier's or a user's, in place of the scaled ones; what is 0 is not
 * given, and stays. */
void sl_numbers_replace(struct sl_numbers_in *in, uint64_t capacity, struct sl_decimal rate);

/* NULL, or what is wrong with the numbers, and what would be right; *out is
 * then untouched. Every trust score of an adaptive rule is covered. */
const char *sl_numbers_compose(const struct sl_numbers_in *in, struct sl_numbers *out);

/* The largest limit these numbers reach at any trust. */
int64_t sl_numbers_capacity_max(const struct sl_numbers *numbers, bool adaptive);

/* A bucket's tokens per second, at trust 0, as a decimal: exact, or 15 digits of it. */
void sl_numbers_print_rate(const struct sl_numbers *numbers, struct sl_buffer *out);

/* The limit at this trust, 0 to 1000. */
void sl_numbers_limit(const struct sl_numbers *numbers, int32_t trust_thousandths,
                      struct sl_limit *out);

#endif
