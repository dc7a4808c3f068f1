/* The HTTP fields that show a decision:
 *
 *   X-RateLimit-Limit, -Remaining, -Reset     (epoch seconds)
 *   RateLimit-Policy: "api";q=150;w=15        draft-ietf-httpapi-ratelimit-headers
 *   RateLimit: "api";r=0;t=1
 *   Retry-After: 1
 */
#ifndef SL_WIRE_HTTP_LIMIT_FIELDS_H
#define SL_WIRE_HTTP_LIMIT_FIELDS_H

#include "base/buffer.h"

/* Appends whole lines, each with CRLF. `headers` is a set of SL_HEADER_…
 * (rules/ruleset.h). Appends nothing if no rule made the decision or it has no
 * figures, and Retry-After only to a denial that waiting can end. */
void sl_limit_fields_print(struct sl_buffer *out, const struct sluice_decision *decision,
                           uint32_t headers);

#endif
