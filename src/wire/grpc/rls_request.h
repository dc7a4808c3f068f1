/* A call of Envoy's rate limit service, out of its protobuf (proto/envoy/service/ratelimit/v3).
 *
 * By hand and not by protobuf-c, as the other messages are: it comes with every request that Envoy
 * forwards, and is read here where it lies, in a quarter of the time. A fuzz target holds the two
 * against each other. Pure. */
#ifndef SL_WIRE_GRPC_RLS_REQUEST_H
#define SL_WIRE_GRPC_RLS_REQUEST_H

#include "wire/grpc/descriptor.h"

enum { SL_RLS_DESCRIPTORS_MAX = 64 };

struct sl_rls_descriptor {
    struct sl_descriptor descriptor;
    bool has_limit; /* of its own: */
    uint32_t limit;
    int64_t unit_us;
    bool peeks;    /* looks, and does not count */
    uint32_t cost; /* at least 1 */
};

struct sl_rls_request {
    struct sluice_text domain;
    struct sl_rls_descriptor *descriptors;
    size_t count; /* at least 1 */
};

/* Reads `message`, to which *out points then, and into `memory`. NULL: it is good; else what is
 * wrong with it, for its sender. */
const char *sl_rls_read(struct sluice_text message, struct sl_scratch *memory,
                        struct sl_rls_request *out);

/* Not the sender's fault. */
extern const char sl_rls_no_memory[];

#endif
