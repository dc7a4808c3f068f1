/* What a worker has moved, answered and sent away, counted for who watches.
 *
 * As limiter/observe/counts.h: one thread writes, any reads, no instruction is locked. Each is
 * counted in one place, named here. The first line is what every message touches; the second what
 * should be rare. Nobody else writes to either, so no other thread is held up by it. */
#ifndef SL_SERVER_TRAFFIC_H
#define SL_SERVER_TRAFFIC_H

#include "limiter/observe/counts.h"
#include "server/conn.h"
#include "wire/grpc/grpc.h"

/* Callers that were sent away for who they are: constant and the status they hear. */
#define SL_REFUSED_CALLERS(X)                                                                      \
    X(SL_REFUSED_401, 401) /* nothing was sent that could be believed */                           \
    X(SL_REFUSED_403, 403) /* it is not for them */                                                \
    X(SL_REFUSED_429, 429) /* too much that was wrong came from their address */

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

    _Alignas(64) _Atomic uint64_t malformed;    /* messages: front_http.c */
    _Atomic uint64_t bad_proxy_headers;         /* conn_read.c */
    _Atomic uint64_t failed_handshakes;         /* conn.c */
    _Atomic uint64_t refused[SL_REFUSED_COUNT]; /* route.c */
    _Atomic uint64_t late[SL_TIMER_COUNT];      /* conn.c, front_grpc.c: what was waited for */

    _Alignas(64) _Atomic uint64_t commands; /* of the Redis protocol: front_resp.c, */
    _Atomic uint64_t malformed_commands;    /* and bytes that were none */

    _Alignas(64) _Atomic uint64_t statuses[SL_GRPC_STATUS_COUNT]; /* of gRPC: h2_answer.c, */
    _Atomic uint64_t malformed_sessions; /* and what was no HTTP/2: front_grpc.c, h2.c */
};

_Static_assert(sizeof(_Atomic uint64_t[2 + SL_STATUS_CLASSES]) == 64, "one line, whole");

/* Which of those it is; SL_REFUSED_COUNT: none. */
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
