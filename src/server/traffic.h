/* Counters of a worker's traffic: bytes, answers, refusals, timeouts.
 *
 * As limiter/observe/counts.h: one thread writes, any reads, no instruction is locked. Each is
 * counted in one file, named here. Every message touches the first cache line; the second should be
 * rare. No other thread writes to either, so none is slowed down. */
#ifndef SL_SERVER_TRAFFIC_H
#define SL_SERVER_TRAFFIC_H

#include "limiter/observe/counts.h"
#include "server/conn.h"
#include "wire/grpc/grpc.h"

/* Callers that were refused for their credentials: constant and the status of the answer. */
#define SL_REFUSED_CALLERS(X)                                                                      \
    X(SL_REFUSED_401, 401) /* no credentials, or wrong ones */                                     \
    X(SL_REFUSED_403, 403) /* not allowed with these credentials */                                \
    X(SL_REFUSED_429, 429) /* too many wrong ones from this address */

enum sl_refused_caller {
#define SL_REFUSED_ROW(constant, status) constant,
    SL_REFUSED_CALLERS(SL_REFUSED_ROW)
#undef SL_REFUSED_ROW
        SL_REFUSED_COUNT
};

enum { SL_STATUS_CLASSES = 6 }; /* a status by its first digit; the places 0 and 1 stay empty */

struct sl_traffic {
    _Alignas(64) _Atomic uint64_t received_bytes; /* conn_read.c; out of TLS, where there is any */
    _Atomic uint64_t sent_bytes;                  /* conn.c; before TLS */
    _Atomic uint64_t answers[SL_STATUS_CLASSES];  /* reply.c */

    _Alignas(64) _Atomic uint64_t malformed;    /* HTTP messages: front_http.c */
    _Atomic uint64_t bad_proxy_headers;         /* conn_read.c */
    _Atomic uint64_t failed_handshakes;         /* conn.c */
    _Atomic uint64_t refused[SL_REFUSED_COUNT]; /* route.c */
    _Atomic uint64_t late[SL_TIMER_COUNT];      /* timeouts, by timer: conn.c, front_grpc.c */

    _Alignas(64) _Atomic uint64_t commands; /* of the Redis protocol: front_resp.c, */
    _Atomic uint64_t malformed_commands;    /* and bytes that were none */

    _Alignas(64) _Atomic uint64_t statuses[SL_GRPC_STATUS_COUNT]; /* of gRPC: h2_answer.c, */
    _Atomic uint64_t malformed_sessions; /* and bytes that were no HTTP/2: front_grpc.c, h2.c */
};

_Static_assert(sizeof(_Atomic uint64_t[2 + SL_STATUS_CLASSES]) == 64, "one line, whole");

/* The counter of this status; SL_REFUSED_COUNT: none. */
static inline enum sl_refused_caller sl_refused_caller(uint32_t status)
{
    switch (status) {
#define SL_REFUSED_ROW(constant, number)                                                           \
    case number:                                                                                   \
        return constant;
        SL_REFUSED_CALLERS(SL_REFUSED_ROW)
#undef SL_REFUSED_ROW
    default:
        return SL_REFUSED_COUNT;
    }
}

#endif
