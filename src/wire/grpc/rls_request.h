/* A call of Envoy's rate limit service, read from protobuf (proto/envoy/service/ratelimit/v3).
 *
 * Other messages are read by protobuf-c. This one comes with every request that Envoy forwards, so
 * it is read by hand where it lies, in a quarter of the time. A fuzz target compares the two. Pure.
 */
#ifndef SL_WIRE_GRPC_RLS_REQUEST_H
#define SL_WIRE_GRPC_RLS_REQUEST_H

#include "wire/grpc/descriptor.h"

enum { SL_RLS_DESCRIPTORS_MAX = 64 };

struct sl_rls_descriptor {
    struct sl_descriptor descriptor;
    bool has_limit; /* of its own: the next two */
    uint32_t limit;
    int64_t unit_us;
    bool peeks;    /* decides without charging */
    uint32_t cost; /* at least 1 */
};

struct sl_rls_request {
    struct sluice_text domain;
    struct sl_rls_descriptor *descriptors;
    size_t count; /* at least 1 */
};

/* Reads `message`; *out then points into it and into `memory`. Returns NULL if it is good, else
 * what is wrong with it, in a sentence for its sender. */
const char *sl_rls_read(struct sluice_text message, struct sl_scratch *memory,
                        struct sl_rls_request *out);

/* What sl_rls_read returns if memory runs out, which is not the sender's fault. */
extern const char sl_rls_no_memory[];

#endif
