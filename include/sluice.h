/* Sluice: may this request pass?
 *
 * First the values that go in and come out of every decision, whoever asks:
 * plain open structs. Then libsluice:
 *
 *   store    where counts live; threads and processes share it
 *   limit    one limit, asked on any key:      sluice_limit_decide
 *   limiter  a whole rules file, asked with a request:  sluice_decide
 *
 * Every function may be called from any thread at any time, except that a
 * handle is closed once, when nobody uses it any more. Handles stay good across
 * fork(): parent and children go on counting together. On a memory store no
 * decision takes a lock or makes a system call.
 *
 * Functions return SLUICE_OK or a negative status. A denial is no error: it is
 * SLUICE_OK with `allowed` false. Wrong arguments are answered with
 * SLUICE_INVALID, never by stopping the program.
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

#define SLUICE_NONE  (-1) /* limit, remaining, reset_at_us, …: there is no such value */
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
    int64_t window_us; /* the rule's, or how long its bucket takes to fill; SLUICE_NONE: no rule */

    /* For a refund; nothing to read here. */
    int64_t charged_at_us;       /* by the store's own clock; SLUICE_NONE: nothing was charged */
    uint64_t charged;            /* which of the rules that matched were */
    int32_t charged_after_us[8]; /* and of the first of them, how much later than that */
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

/* What went wrong, in a sentence for people. Functions that take one accept
 * NULL. After SLUICE_OK it holds a note worth showing, or is empty. */
struct sluice_error {
    char text[1024];
};

const char *sluice_version(void);
const char *sluice_status_text(int status);
const char *sluice_reason_name(enum sluice_reason reason);

/* A span over a terminated string; NULL is "not given". */
static inline struct sluice_text sluice_text(const char *terminated)
{
    struct sluice_text text;
    text.at = terminated;
    text.len = terminated ? strlen(terminated) : 0;
    return text;
}

/* ---- a store ---- */

struct sluice_store;

/* `url` is what a rules file says behind `store:`:
 *
 *   memory:                    private to this process and its children
 *   memory:FILE?size=64M       a table in a file, shared by all who open it
 *       size=64M               chosen when the file is created (64M)
 *       log=16M                how much of it the sliding window log may use (1/20)
 *       sync=off|close|1s      when it is written to disk (off: when the kernel does)
 *   redis://[user:password@]host[:6379][/database]     shared by all who name it; rediss://
 *                              with TLS, redis+unix://PATH
 *   redis-sentinel://a,b,c/NAME   the master that the Sentinels there call NAME; rediss-sentinel://
 *   redis-cluster://a,b,c      a cluster, of whose nodes these are some; rediss-cluster://
 *
 * On Redis a decision waits for at most the rules' store_deadline (20 ms without rules), one
 * connection per call at a time; opening waits for the first of them for up to a second, and
 * does not fail where Redis does not answer: that is then noted in *error. */
int sluice_open(const char *url, struct sluice_store **out, struct sluice_error *error);
void sluice_close(struct sluice_store *store);

/* Writes a table's file to disk now. */
int sluice_sync(struct sluice_store *store);

struct sluice_stats {
    uint64_t size_bytes;
    uint64_t slots;          /* intended for half as many keys */
    uint64_t live;           /* keys with a state that still matters (counted now, slot by slot) */
    uint64_t limiting;       /* of these, those that denied somebody */
    uint64_t insertions;     /* since the table was created: */
    uint64_t evictions;      /* live states given up for want of room */
    uint64_t full;           /* answers that failed because only limiting states were left */
    uint64_t log_bytes;      /* the log area, */
    uint64_t log_used_bytes; /* and how much of it belongs to some ring length */
    uint64_t log_live;       /* keys with a log */
    uint64_t reservations;   /* held now */
};

int sluice_store_stats(struct sluice_store *store, struct sluice_stats *out);

/* ---- one limit on any key ---- */

/* The numbers of a rule. Texts are copied. Zero or NULL: not given. */
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

/* Two limits of the same name, algorithm and window on one store share their
 * counts. Keeps the store, which must be closed after it. */
int sluice_limit_new(struct sluice_store *store, const struct sluice_limit_config *config,
                     struct sluice_limit **out, struct sluice_error *error);
void sluice_limit_free(struct sluice_limit *limit);

/* May `cost` pass for this key? Charged if so. `out` is untouched on an error. */
int sluice_limit_decide(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                        struct sluice_decision *out);

/* The same without charging. */
int sluice_limit_peek(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                      struct sluice_decision *out);

/* Many keys with one reading of the clock: several times as fast where they
 * are cold. Each is decided alone. The first bad status, after trying all; a
 * decision that failed has reason SLUICE_REASON_STORE. */
int sluice_limit_decide_batch(struct sluice_limit *limit, const struct sluice_text *keys,
                              size_t count, uint32_t cost, struct sluice_decision *out);

/* Gives back `cost` of what `decision` charged, as far as it still counts. */
int sluice_limit_refund(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                        const struct sluice_decision *decision);

/* Forgets the key's count. */
int sluice_limit_reset(struct sluice_limit *limit, struct sluice_text key);

/* Waits until it may pass: sleeps a leaky bucket's delay, or until a denial's
 * retry_after, as long as that is within timeout_us. Else denied, uncharged. */
int sluice_limit_acquire(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                         int64_t timeout_us, struct sluice_decision *out);

/* ---- a rules file ---- */

struct sluice_limiter;

/* `store` NULL: the one that the rules name, closed with the limiter. */
int sluice_limiter_open(struct sluice_store *store, const char *rules_file,
                        struct sluice_limiter **out, struct sluice_error *error);

/* The same from text; `name` stands for the file in messages. */
int sluice_limiter_parse(struct sluice_store *store, const char *name, struct sluice_text rules,
                         struct sluice_limiter **out, struct sluice_error *error);
void sluice_limiter_close(struct sluice_limiter *limiter);

/* Always answers: where the store fails, by the rules' policy, with the
 * reason SLUICE_REASON_STORE; the failure is returned as well. */
int sluice_decide(struct sluice_limiter *limiter, const struct sluice_request *request,
                  struct sluice_decision *out);

/* Besides, every rule that matched: at most `room` rows; *count says how many
 * there are. */
int sluice_decide_explained(struct sluice_limiter *limiter, const struct sluice_request *request,
                            struct sluice_decision *out, struct sluice_explained *rows, size_t room,
                            size_t *count);

/* Each decided alone, with one reading of the clock. The first bad status,
 * after answering all. */
int sluice_decide_batch(struct sluice_limiter *limiter, const struct sluice_request *requests,
                        size_t count, struct sluice_decision *out);

/* Gives back what `decision` charged for this request, as far as it still
 * counts, in every rule. */
int sluice_refund(struct sluice_limiter *limiter, const struct sluice_request *request,
                  const struct sluice_decision *decision);

/* Forgets the counts and burst blocks of this request's identifiers in the
 * rule of that name, or (NULL) in every rule that matches. */
int sluice_reset(struct sluice_limiter *limiter, const struct sluice_request *request,
                 const char *rule);

/* As sluice_limit_acquire. */
int sluice_acquire(struct sluice_limiter *limiter, const struct sluice_request *request,
                   int64_t timeout_us, struct sluice_decision *out);

/* ---- costs known only afterwards ---- */

/* A charge with an id and an expiry, kept in the store: any process that has
 * the store open may settle it, and if nobody does, it is given back when it
 * expires (1 µs to 24 h from now). *id is 0 where nothing was charged. */
int sluice_limit_reserve(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                         int64_t expiry_us, struct sluice_decision *out, uint64_t *id);
int sluice_reserve(struct sluice_limiter *limiter, const struct sluice_request *request,
                   int64_t expiry_us, struct sluice_decision *out, uint64_t *id);

/* The real cost: the rest comes back, or the excess is charged, even past the
 * limit (up to one span of debt). */
int sluice_commit(struct sluice_store *store, uint64_t id, uint32_t cost);

/* All of it comes back. */
int sluice_cancel(struct sluice_store *store, uint64_t id);

/* The store a limiter uses, for the three above. */
struct sluice_store *sluice_limiter_store(struct sluice_limiter *limiter);

#ifdef __cplusplus
}
#endif

#endif
