/* Decisions as the answer of Envoy's rate limit service: a RateLimitResponse, in protobuf. It has a
 * status for each descriptor, headers for the client, and a body if a descriptor is denied. Pure.
 */
#ifndef SL_WIRE_GRPC_RLS_ANSWER_H
#define SL_WIRE_GRPC_RLS_ANSWER_H

#include "base/buffer.h"

struct sl_rls_answer {
    const struct sluice_decision *decisions; /* in the order of the descriptors */
    size_t count;
    struct sluice_text lines; /* headers: NAME: VALUE with CRLF each, as over HTTP */
    struct sluice_text body;  /* JSON; empty: all are allowed */
};

/* Appends the answer. Neither text may lie in `out`. */
void sl_rls_print(struct sl_buffer *out, const struct sl_rls_answer *answer);

/* Returns the decision that headers and body show; count is at least 1. Denied goes before allowed;
 * of several denied it is the longest wait, of several allowed the smallest remainder. */
const struct sluice_decision *sl_rls_foremost(const struct sluice_decision *decisions,
                                              size_t count);

#endif
