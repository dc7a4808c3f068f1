/* A user's own limits as JSON:
 *
 *   {"api": {"capacity": 500, "refill_rate": 0.083}, "search": {"capacity": 20}}
 *
 * Numbers are read from their text, never through floating point. */
#ifndef SL_REGISTRY_USERS_LIMITS_JSON_H
#define SL_REGISTRY_USERS_LIMITS_JSON_H

#include "base/buffer.h"
#include "limiter/users/users.h"

/* Reads the limits into `out`, with room for SL_USER_LIMITS_MAX, in the order of the text.
 * Refuses what no rule can have: names, ranges, unknown members, a rule twice, a rule without
 * numbers. Does not check that a rule of that name exists and that the numbers fit it. Returns
 * false with error->text. */
bool sl_limits_read(struct sluice_text json, struct sl_user_limit *out, size_t *count,
                    struct sluice_error *error);

/* Prints what sl_limits_read reads; equal limits give equal text. */
void sl_limits_print(struct sl_buffer *out, const struct sl_user_limit *own, size_t count);

#endif
