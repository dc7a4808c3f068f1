/* Decisions as Envoy's rate limit service tells them: a RateLimitResponse, in protobuf. A status
 * for each descriptor, headers for the client's answer, a body for who is denied. Pure. */
#ifndef SL_WIRE_GRPC_RLS_ANSWER_H
#define SL_WIRE_GRPC_RLS_ANSWER_H

#include "base/buffer.h"

struct sl_rls_answer {
    const struct sluice_decision *decisions; /* in the order of the descriptors */
    size_t count;
    struct sluice_text lines; /* headers: NAME: VALUE with CRLF each, as over HTTP */
    struct sluice_text body;  /* of JSON; empty: nobody is denied */
};

/* Appends it. Neither text is in `out`. */
void sl_rls_print(struct sl_buffer *out, const struct sl_rls_answer *answer);

/* The decision that headers and body tell of, among at least one: denied before allowed; of those
 * denied the one to wait for longest, of those allowed the one of which least remains. */
const struct sluice_decision *sl_rls_foremost(const struct sluice_decision *decisions,
                                              size_t count);

#endif
