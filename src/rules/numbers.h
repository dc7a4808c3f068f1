/* A rule's numbers, composed exactly: tier, burst allowance and trust multiply
 * as fractions, and there is one rounding at the end. */
#ifndef SL_RULES_NUMBERS_H
#define SL_RULES_NUMBERS_H

#include "base/buffer.h"
#include "rules/ruleset.h"

/* Replaces scaled numbers by a tier's or a user's own; a number that is 0 is not given, and the
 * scaled one stays. */
void sl_numbers_replace(struct sl_numbers_in *in, uint64_t capacity, struct sl_decimal rate);

/* Returns NULL, or the fault of the numbers and the cure; *out is then untouched. Covers every
 * trust score of an adaptive rule. */
const char *sl_numbers_compose(const struct sl_numbers_in *in, struct sl_numbers *out);

/* The largest limit these numbers reach at any trust. */
int64_t sl_numbers_capacity_max(const struct sl_numbers *numbers, bool adaptive);

/* Prints a bucket's tokens per second at trust 0 as a decimal: exact, or with 15 digits. */
void sl_numbers_print_rate(const struct sl_numbers *numbers, struct sl_buffer *out);

/* The limit at this trust, 0 to 1000. */
void sl_numbers_limit(const struct sl_numbers *numbers, int32_t trust_thousandths,
                      struct sl_limit *out);

#endif
