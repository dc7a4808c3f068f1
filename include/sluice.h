/* Sluice: may this request pass?
 *
 * The values that go in and come out of every decision, whoever asks: the
 * command line, and later the server and programs that link the library.
 * Plain open structs; nothing here allocates, blocks or keeps a pointer.
 *
 * C17 and C++. SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SLUICE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that somebody else owns. Not terminated; may hold any byte.
 * A null `at` is "not given". */
struct sluice_text {
    const char *at;
    size_t len;
};

/* One attribute beyond those that have a field of their own. */
struct sluice_attribute {
    struct sluice_text name;
    struct sluice_text value;
};

/* What someone asks with. Start from sluice_request(): cost 1, the store's own
 * clock, no trust score. Attributes that are not given or empty are
 * missing. */
struct sluice_request {
    struct sluice_text tenant;
    struct sluice_text resource; /* "/api/videos" or "api.videos.list" */
    struct sluice_text method;
    struct sluice_text user;
    struct sluice_text ip;
    struct sluice_text client;
    struct sluice_text tier;
    const struct sluice_attribute *others;
    size_t other_count;

    int64_t at_us;             /* microseconds since 1970, or SLUICE_NOW */
    uint32_t cost;             /* units to take; 0 only asks */
    int32_t trust_thousandths; /* 0 to 1000, or SLUICE_NO_TRUST */
    bool peek;                 /* decide, take nothing, write nothing */
    bool wait;                 /* will be held for delay_us, at most max_wait */
    bool explain;              /* list every rule that matched */
};

#define SLUICE_NOW      (-1)
#define SLUICE_NO_TRUST (-1)

/* A request that asks for nothing yet: cost 1, the store's own clock. */
static inline struct sluice_request sluice_request(void)
{
    struct sluice_request request;
    memset(&request, 0, sizeof request);
    request.at_us = SLUICE_NOW;
    request.cost = 1;
    request.trust_thousandths = SLUICE_NO_TRUST;
    return request;
}

/* Why a decision is what it is: constant and the name people see. */
#define SLUICE_REASONS(X)                                                                          \
    X(SLUICE_REASON_OK, "ok")                                                                      \
    X(SLUICE_REASON_EXEMPT, "exempt")                                                              \
    X(SLUICE_REASON_NO_RULE, "no_rule")                                                            \
    X(SLUICE_REASON_LIMITED, "rate_limit_exceeded")                                                \
    X(SLUICE_REASON_BURST_BLOCKED, "burst_blocked")                                                \
    X(SLUICE_REASON_COST, "cost_exceeds_limit")                                                    \
    X(SLUICE_REASON_MISSING, "missing_identity")                                                   \
    X(SLUICE_REASON_STORE, "store_unavailable")                                                    \
    X(SLUICE_REASON_SHADOW, "shadow")

enum sluice_reason {
#define SLUICE_REASON_ROW(constant, name) constant,
    SLUICE_REASONS(SLUICE_REASON_ROW)
#undef SLUICE_REASON_ROW
};

#define SLUICE_NONE  (-1) /* limit, remaining, reset_at_us: there is no such value */
#define SLUICE_NEVER (-1) /* retry_after_us: waiting does not help */

/* The answer. `rule` and `algorithm` are null where no rule made it; they live
 * as long as the rules they come from. */
struct sluice_decision {
    bool allowed;
    enum sluice_reason reason;
    const char *rule;
    const char *algorithm;
    int64_t limit;          /* after tier, burst allowance and trust */
    int64_t remaining;      /* how many of cost 1 would still pass right now */
    int64_t reset_at_us;    /* when remaining is back at limit, if nobody asks */
    int64_t retry_after_us; /* denied: when exactly this would pass; 0 if allowed */
    int64_t delay_us;       /* leaky bucket: hold the request this long */
    int64_t decided_at_us;  /* now, as the store's clock had it; SLUICE_NONE: it was not asked */
};

/* One rule's part in a decision, for `explain`: after the charge if there was one. */
struct sluice_explained {
    const char *rule;
    const char *algorithm;
    bool shadow;
    bool allowed;
    int64_t limit;
    int64_t remaining;
    int64_t reset_at_us;
    int64_t retry_after_us;
};

/* Operating errors: something did not work. A denial is not one. */
#define SLUICE_STATUSES(X)                                                                         \
    X(SLUICE_OK, 0, "ok")                                                                          \
    X(SLUICE_NO_MEMORY, -1, "out of memory")                                                       \
    X(SLUICE_STORE_DOWN, -2, "the store does not answer")

enum sluice_status {
#define SLUICE_STATUS_ROW(constant, number, text) constant = number,
    SLUICE_STATUSES(SLUICE_STATUS_ROW)
#undef SLUICE_STATUS_ROW
};

#ifdef __cplusplus
}
#endif

#endif
