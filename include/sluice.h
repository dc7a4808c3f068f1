/* The public interface of libsluice: may this request pass?
 *
 * First the arguments and results of every decision, as plain open structs. Then
 * libsluice:
 *
 *   store    keeps the counts; threads and processes share it
 *   limit    decides one limit on any key:       sluice_limit_decide
 *   limiter  decides a request by a rules file:  sluice_decide
 *
 * Every function may be called from any thread at any time, except that a
 * handle is closed once, after its last use. Handles stay valid across fork():
 * parent and children go on counting together. On a memory store no decision
 * takes a lock or makes a system call.
 *
 * Functions return SLUICE_OK or a negative status. A denial is no error: it is
 * SLUICE_OK with `allowed` false. A wrong argument returns SLUICE_INVALID and
 * never stops the program.
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

/* Bytes that the caller owns. Not terminated; may hold any byte. A null `at` means
 * "not given". */
struct sluice_text {
    const char *at;
    size_t len;
};

/* One attribute beyond those that have a field of their own. */
struct sluice_attribute {
    struct sluice_text name;
    struct sluice_text value;
};

/* One request. Start from sluice_request(): cost 1, the store's own clock, no
 * trust score. An attribute that is not given or empty is missing. */
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
    uint32_t cost;             /* units to take; 0 takes nothing */
    int32_t trust_thousandths; /* 0 to 1000, or SLUICE_NO_TRUST */
    bool peek;                 /* decide, take nothing, write nothing */
    bool wait;                 /* the caller holds it for delay_us, at most max_wait */
    bool explain;              /* list every rule that matched */
};

#define SLUICE_NOW      (-1)
#define SLUICE_NO_TRUST (-1)

/* Returns a request without attributes: cost 1, the store's own clock. */
static inline struct sluice_request sluice_request(void)
{
    struct sluice_request request;
    memset(&request, 0, sizeof request);
    request.at_us = SLUICE_NOW;
    request.cost = 1;
    request.trust_thousandths = SLUICE_NO_TRUST;
    return request;
}

/* The reason of a decision: constant, and name in responses and logs. */
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

#define SLUICE_NONE  (-1) /* limit, remaining, reset_at_us, …: there is no such value */
#define SLUICE_NEVER (-1) /* retry_after_us: waiting does not help */

/* The decision. `rule` and `algorithm` are null if no rule made it; they live as
 * long as the rules they come from. */
struct sluice_decision {
    bool allowed;
    enum sluice_reason reason;
    const char *rule;
    const char *algorithm;
    int64_t limit;          /* after tier, burst allowance and trust */
    int64_t remaining;      /* how many of cost 1 would still pass right now */
    int64_t reset_at_us;    /* when remaining is back at limit, without further requests */
    int64_t retry_after_us; /* denied: after exactly this long it passes; 0 if allowed */
    int64_t delay_us;       /* leaky bucket: hold the request this long */
    int64_t decided_at_us;  /* now, by the store's clock; SLUICE_NONE: the store was not asked */
    int64_t window_us; /* the rule's, or how long its bucket takes to fill; SLUICE_NONE: no rule */

    /* For sluice_refund and sluice_limit_refund; not for the caller. */
    int64_t charged_at_us;       /* by the store's own clock; SLUICE_NONE: nothing was charged */
    uint64_t charged;            /* which of the rules that matched were charged */
    int32_t charged_after_us[8]; /* of the first of them, how long after charged_at_us */
};

/* One rule's part in a decision, for `explain`; after the charge, if there was one. */
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

/* Operating errors. A denial is not one. */
#define SLUICE_STATUSES(X)                                                                         \
    X(SLUICE_OK, 0, "ok")                                                                          \
    X(SLUICE_NO_MEMORY, -1, "out of memory")                                                       \
    X(SLUICE_STORE_DOWN, -2, "the store does not answer")                                          \
    X(SLUICE_STORE_FULL, -3, "the store has no room left that it may take")                        \
    X(SLUICE_INVALID, -4, "an argument is wrong")                                                  \
    X(SLUICE_BAD_STORE, -5, "the store cannot be opened")                                          \
    X(SLUICE_BAD_RULES, -6, "the rules cannot be used")                                            \
    X(SLUICE_NO_RESERVATION, -7, "there is no such reservation: it was settled, or it expired")    \
    X(SLUICE_UNSUPPORTED, -8, "this store cannot do that")

enum sluice_status {
#define SLUICE_STATUS_ROW(constant, number, text) constant = number,
    SLUICE_STATUSES(SLUICE_STATUS_ROW)
#undef SLUICE_STATUS_ROW
};

/* ---- libsluice ----------------------------------------------------------- */

/* A sentence that says what went wrong. Functions that take one accept NULL. After
 * SLUICE_OK it holds a note to show, or is empty. */
struct sluice_error {
    char text[1024];
};

const char *sluice_version(void);
const char *sluice_status_text(int status);
const char *sluice_reason_name(enum sluice_reason reason);

/* Returns the text of a terminated string; NULL means "not given". */
static inline struct sluice_text sluice_text(const char *terminated)
{
    struct sluice_text text;
    text.at = terminated;
    text.len = terminated ? strlen(terminated) : 0;
    return text;
}

/* ---- a store ---- */

struct sluice_store;

/* Opens the store of a URL, as rules files give it behind `store:`:
 *
 *   memory:                    private to this process and its children
 *   memory:FILE?size=64M       a table in a file, shared by all processes that open it
 *       size=64M               chosen when the file is created (64M)
 *       log=16M                how much of it the sliding window log may use (1/20)
 *       sync=off|close|1s      when it is written to disk (off: when the kernel does)
 *   redis://[user:password@]host[:6379][/database]     shared by all its clients; rediss:// with
 *                              TLS, redis+unix://PATH
 *   redis-sentinel://a,b,c/NAME   the master that the Sentinels there call NAME; rediss-sentinel://
 *   redis-cluster://a,b,c      a cluster, of whose nodes these are some; rediss-cluster://
 *
 * On Redis a decision waits for at most the rules' store_deadline (20 ms without rules), with one
 * connection per call at a time. Opening waits up to a second for the first connection. It does not
 * fail if Redis does not answer: *error then holds a note. */
int sluice_open(const char *url, struct sluice_store **out, struct sluice_error *error);
void sluice_close(struct sluice_store *store);

/* Writes a table's file to disk now. */
int sluice_sync(struct sluice_store *store);

struct sluice_stats {
    uint64_t size_bytes;
    uint64_t slots;          /* intended for half as many keys */
    uint64_t live;           /* keys with a state that still matters (counted now, slot by slot) */
    uint64_t limiting;       /* of these, the keys that have denied a request */
    uint64_t insertions;     /* since the table was created: */
    uint64_t evictions;      /* live states dropped to make room */
    uint64_t full;           /* decisions that failed because only limiting states were left */
    uint64_t log_bytes;      /* the log area, */
    uint64_t log_used_bytes; /* and how much of it is assigned to ring lengths */
    uint64_t log_live;       /* keys with a log */
    uint64_t reservations;   /* held now */
};

int sluice_store_stats(struct sluice_store *store, struct sluice_stats *out);

/* ---- one limit on any key ---- */

/* The numbers of a rule. Texts are copied. Zero or NULL means not given. */
struct sluice_limit_config {
    const char *name;            /* counts are kept under it: required */
    const char *algorithm;       /* "token_bucket", …; NULL: sliding_window_counter */
    int64_t capacity;            /* at least 1 */
    int64_t window_us;           /* windows need it; a bucket's rate is else capacity / window */
    const char *refill_rate;     /* buckets: tokens per second, exact: "0.083" */
    const char *burst_allowance; /* token bucket: "1.5" */
    bool first_request;          /* fixed window: starts at a key's first charge */
};

struct sluice_limit;

/* Makes a limit. Two limits of the same name, algorithm and window on one store
 * share their counts. It uses the store until it is freed: close the store later. */
int sluice_limit_new(struct sluice_store *store, const struct sluice_limit_config *config,
                     struct sluice_limit **out, struct sluice_error *error);
void sluice_limit_free(struct sluice_limit *limit);

/* Decides whether `cost` may pass for this key, and charges it if so. Leaves `out`
 * untouched on an error. */
int sluice_limit_decide(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                        struct sluice_decision *out);

/* The same without charging. */
int sluice_limit_peek(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                      struct sluice_decision *out);

/* Decides many keys, each on its own, with one reading of the clock: several times
 * as fast if they are not in the processor's cache. Tries all and returns the first
 * bad status; a decision that failed has reason SLUICE_REASON_STORE. */
int sluice_limit_decide_batch(struct sluice_limit *limit, const struct sluice_text *keys,
                              size_t count, uint32_t cost, struct sluice_decision *out);

/* Gives back `cost` of what `decision` charged, as far as it still counts. */
int sluice_limit_refund(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                        const struct sluice_decision *decision);

/* Deletes the key's count. */
int sluice_limit_reset(struct sluice_limit *limit, struct sluice_text key);

/* Waits until the request may pass: sleeps for a leaky bucket's delay, or until a
 * denial's retry_after, if that is within timeout_us. Else denies, without a charge. */
int sluice_limit_acquire(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                         int64_t timeout_us, struct sluice_decision *out);

/* ---- a rules file ---- */

struct sluice_limiter;

/* Opens a rules file. `store` NULL: opens the store that the rules name, and closes
 * it with the limiter. */
int sluice_limiter_open(struct sluice_store *store, const char *rules_file,
                        struct sluice_limiter **out, struct sluice_error *error);

/* The same from text; `name` stands for the file in messages. */
int sluice_limiter_parse(struct sluice_store *store, const char *name, struct sluice_text rules,
                         struct sluice_limiter **out, struct sluice_error *error);
void sluice_limiter_close(struct sluice_limiter *limiter);

/* Always fills in `out`: if the store fails, by the rules' policy, with the reason
 * SLUICE_REASON_STORE. Returns the failure as well. */
int sluice_decide(struct sluice_limiter *limiter, const struct sluice_request *request,
                  struct sluice_decision *out);

/* The same, and fills in a row for every rule that matched, at most `room` rows; *count
 * says how many rules there are. */
int sluice_decide_explained(struct sluice_limiter *limiter, const struct sluice_request *request,
                            struct sluice_decision *out, struct sluice_explained *rows, size_t room,
                            size_t *count);

/* Decides each request on its own, with one reading of the clock. Answers all and
 * returns the first bad status. */
int sluice_decide_batch(struct sluice_limiter *limiter, const struct sluice_request *requests,
                        size_t count, struct sluice_decision *out);

/* Gives back what `decision` charged for this request, as far as it still
 * counts, in every rule. */
int sluice_refund(struct sluice_limiter *limiter, const struct sluice_request *request,
                  const struct sluice_decision *decision);

/* Deletes the counts and burst blocks of this request's identifiers in the rule
 * of that name, or (NULL) in every rule that matches. */
int sluice_reset(struct sluice_limiter *limiter, const struct sluice_request *request,
                 const char *rule);

/* Waits like sluice_limit_acquire. */
int sluice_acquire(struct sluice_limiter *limiter, const struct sluice_request *request,
                   int64_t timeout_us, struct sluice_decision *out);

/* ---- reservations: costs known only afterwards ---- */

/* Makes a charge with an id and an expiry, kept in the store. Any process that has
 * the store open may settle it. If none does, it is refunded when it expires (1 µs
 * to 24 h from now). *id is 0 if nothing was charged. */
int sluice_limit_reserve(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                         int64_t expiry_us, struct sluice_decision *out, uint64_t *id);
int sluice_reserve(struct sluice_limiter *limiter, const struct sluice_request *request,
                   int64_t expiry_us, struct sluice_decision *out, uint64_t *id);

/* Settles a reservation at the real cost: refunds the rest, or charges the excess,
 * even past the limit (up to one span of debt). */
int sluice_commit(struct sluice_store *store, uint64_t id, uint32_t cost);

/* Settles a reservation at cost 0: refunds all of it. */
int sluice_cancel(struct sluice_store *store, uint64_t id);

/* Returns the store that a limiter uses, for sluice_commit and sluice_cancel. */
struct sluice_store *sluice_limiter_store(struct sluice_limiter *limiter);

#ifdef __cplusplus
}
#endif

#endif
