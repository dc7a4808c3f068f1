/* The waist of the program: a request in, a decision out.
 *
 *   exempt? → which rules match → their limits for this user, tier and trust →
 *   claims → store → one decision out of many answers
 *
 * One limiter serves one thread: it owns the scratch memory of a decision, so that deciding itself
 * allocates only for a longer resource than any before. */
#ifndef SL_LIMITER_LIMITER_H
#define SL_LIMITER_LIMITER_H

#include "limiter/observe/counts.h"
#include "rules/ruleset.h"
#include "store/store.h"

struct sl_limiter;
struct sl_users;
struct sl_observer;

/* A limit that a request brings along: it is decided by that alone, and by no rule. It counts the
 * request's tenant and its attribute SL_DIRECT_KEY. */
enum sl_direct_kind {
    SL_DIRECT_BUCKET, /* a token bucket, such as CL.THROTTLE's: "@bucket" */
    SL_DIRECT_WINDOW, /* a fixed window, such as an Envoy descriptor's own: "@window" */
    SL_DIRECT_COUNT
};
struct sl_direct {
    enum sl_direct_kind kind;
    struct sl_limit limit;
};
#define SL_DIRECT_KEY "@key" /* no rule and no token can name such an attribute */

/* Returns false if the state cannot hold the limit. */
bool sl_direct_bucket(int64_t capacity, int64_t token_ns, struct sl_direct *out);
bool sl_direct_window(int64_t capacity, int64_t window_us, struct sl_direct *out);

/* Options of some requests of a batch; all zero: none. */
struct sl_request_options {
    const struct sl_direct *direct; /* NULL: the rules decide */
    bool joins; /* with the request before it: both are charged, or neither. Each has its own
                   answer; one is allowed although another is not. At most SL_JOINED_MAX in a row */
};
enum { SL_JOINED_MAX = 64 };

/* Requests that are decided together. */
struct sl_batch_in {
    const struct sluice_request *requests;
    const struct sl_request_options *options; /* one per request; NULL: all zero */
    size_t count;
    struct sluice_decision *out;
};

/* Keeps pointers to both. NULL: no memory. */
struct sl_limiter *sl_limiter_new(const struct sl_ruleset *rules, struct sl_store *store);
void sl_limiter_free(struct sl_limiter *limiter);

/* Sets the users to look up from now on; they must outlive the limiter. NULL, as at first: no user
 * is known. Violations are reported to them. */
void sl_limiter_set_users(struct sl_limiter *limiter, struct sl_users *users);

/* Sets the observer of decisions from now on, and its numbers of the rules; both outlive the
 * limiter. One observer for one thread. Returns false if there is no memory. */
bool sl_limiter_set_observer(struct sl_limiter *limiter, struct sl_observer *observer,
                             const uint32_t *numbers);

/* Always fills in `out`: if the store fails, by the rules' policy, and returns its negative status
 * too. Keeps no pointer to the request. */
int sl_limiter_decide(struct sl_limiter *limiter, const struct sluice_request *request,
                      struct sluice_decision *out);

/* The same for a caller that will hold the request for at most this long, whatever the request's
 * `wait` and the rules' `max_wait` say: a longer delay is a denial. */
int sl_limiter_decide_within(struct sl_limiter *limiter, const struct sluice_request *request,
                             int64_t max_delay_us, struct sluice_decision *out);

/* Returns how long the request of the last decision would be queued, allowed or not. */
int64_t sl_limiter_queue_us(const struct sl_limiter *limiter);

/* Decides each request alone, in their order, many at a time: the store reads its clock once for
 * them and fetches their states side by side. Answers all; returns the first bad status. */
int sl_limiter_decide_batch(struct sl_limiter *limiter, const struct sluice_request *requests,
                            size_t count, struct sluice_decision *out);
int sl_limiter_decide_with_options(struct sl_limiter *limiter, const struct sl_batch_in *in);

/* Decides, and makes the charge a reservation: *id, or 0 if nothing was charged. Returns
 * SLUICE_UNSUPPORTED, without an answer, if the store keeps no reservations. */
int sl_limiter_reserve(struct sl_limiter *limiter, const struct sluice_request *request,
                       int64_t expiry_us, struct sluice_decision *out, uint64_t *id);

/* Gives back what `decision` charged for this very request. Tries every rule; returns the first
 * bad status. The claims are made again with what is known of the user now: if a tier that is
 * unlimited in one of several rules came or went meanwhile, another rule than was charged may be
 * given back. */
int sl_limiter_refund(struct sl_limiter *limiter, const struct sluice_request *request,
                      const struct sluice_decision *decision);

/* Forgets the counts and blocks of the request's identifiers, in every rule that matches it or (not
 * NULL) in the rule of that name, matching or not. Returns SLUICE_INVALID if no rule has the name,
 * or the request lacks a part of its identifier. */
int sl_limiter_reset(struct sl_limiter *limiter, const struct sluice_request *request,
                     const char *rule);

/* Returns the rules that match a request, whether they apply to it or not; SIZE_MAX: no memory.
 * Valid until the next call. */
size_t sl_limiter_match(struct sl_limiter *limiter, const struct sluice_request *request,
                        const struct sl_rule *const **rules);

/* Explains the rules that matched the last request, in the order of the file, and returns how many.
 * Valid until the next call; after a batch, a refund or a reset there are none. */
size_t sl_limiter_explain(struct sl_limiter *limiter, const struct sluice_explained **rows);

/* The same rules, row by row. */
size_t sl_limiter_matched(const struct sl_limiter *limiter, const struct sl_rule *const **rules);

/* Returns the counts of its decisions, peeks aside. They live as long as the limiter; any thread
 * may read them while another decides. */
const struct sl_counts *sl_limiter_counts(const struct sl_limiter *limiter);

/* Moves the counts of `from` to `to`, rules by their names: a limiter that replaces another goes on
 * counting. Called by the thread that both decide in; decisions still under way in `from` are moved
 * by another call. */
void sl_limiter_inherit(struct sl_limiter *to, struct sl_limiter *from);

#endif
