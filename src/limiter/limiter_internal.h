/* A limiter from the inside: for limiter.c, which decides if the store answers at once, and
 * errand.c, if it answers later. */
#ifndef SL_LIMITER_LIMITER_INTERNAL_H
#define SL_LIMITER_LIMITER_INTERNAL_H

#include "base/clock.h"
#include "limiter/direct.h"
#include "limiter/limiter.h"
#include "limiter/name.h"
#include "limiter/observe/observer.h"
#include "limiter/user_context.h"

enum { SL_BUNDLES_MAX = 64, SL_CLAIMS_FREE = 256 };

enum { SL_BY_THE_RULES = -1 }; /* max_delay_us: as the request and the rules say */

/* A request being decided; its bundle is the one of the same number, unless requests are joined. */
struct sl_asking {
    const struct sl_rule **rules; /* rules[i] made the bundle's claim i */
    enum sluice_reason nobody;    /* the reason where none of them is enforced */
    struct sluice_decision *out;
    const struct sluice_request *request; /* the request, until it is answered */
    ptrdiff_t tier;                       /* its tier, also if the request names none */
    int64_t minutes;                      /* sl_user_context.minutes */
    size_t number;                        /* its number in the batch */

    /* In a batch with joined requests the bundle is not the one of the same number: */
    size_t bundle;
    struct sl_claim *claims; /* its part of the bundle's claims */
    size_t claim_count;
    uint32_t cost;
    bool peek;
};

struct sl_limiter {
    const struct sl_ruleset *rules;
    struct sl_store *store;
    struct sl_caller_keys caller; /* the caller of the claims made last */
    struct sl_rule_seeds *seeds;  /* by the rule's index */
    struct sl_direct_rules direct;
    struct sl_counts *counts;

    /* Room for SL_CLAIMS_FREE and as many as there are rules; more if requests are joined: */
    const struct sl_rule **matched;
    struct sl_claim *claims;
    size_t claim_count;
    size_t claim_room;
    bool used_trust; /* by a rule of the last request */

    struct sl_bundle bundles[SL_BUNDLES_MAX];
    struct sl_asking asks[SL_BUNDLES_MAX];
    size_t bundle_count;
    size_t ask_count;        /* as many, unless requests are joined */
    bool has_joined;         /* some are joined: */
    struct sl_bundle *views; /* their answers, one for each; joined.c */
    uint64_t *words;         /* scratch of joined.c */
    size_t word_room;

    struct sluice_explained *explained; /* room for all rules */

    struct sl_user_context context; /* of the caller */
    struct sl_namer namer;          /* for a store or an observer that wants names */

    struct sl_observer *observer; /* or NULL */
    const uint32_t *numbers;      /* of the rules, by their index, for the observer */
};

/* Bundles decided together, with where their answers go; for joined requests their views. */
struct sl_asked {
    struct sl_limiter *limiter;
    struct sl_bundle *bundles;
    struct sl_asking *asks;
    size_t count;
    int64_t started_ns; /* when it began, if that is measured; 0: not */
};

/* Begins a new batch, and drops everything taken. */
void sl_limiter_forget(struct sl_limiter *limiter);

/* Makes the caller of the request the current one. Returns false if there is no memory. */
bool sl_limiter_meet(struct sl_limiter *limiter, const struct sluice_request *request,
                     bool *exempt);

/* The same without the question whether it is exempt. */
bool sl_limiter_take_asker(struct sl_limiter *limiter, const struct sluice_request *request);

/* Makes a claim of the caller, without its limit. Returns false if its identity is missing. */
bool sl_limiter_make_claim(struct sl_limiter *limiter, const struct sl_rule *rule,
                           const struct sl_rule_seeds *seeds, struct sl_claim *claim);

/* Makes the caller's claims by all rules that match, after those that are there. Returns the reason
 * if none of them is enforced. */
enum sluice_reason sl_limiter_make_claims(struct sl_limiter *limiter);

enum sl_applies { SL_APPLIES, SL_MISSING, SL_UNLIMITED };

/* Makes the caller's claim on a rule; if an identity is missing it denies (SL_APPLIES) or does not
 * apply. */
enum sl_applies sl_limiter_apply(struct sl_limiter *limiter, const struct sl_rule *rule,
                                 struct sl_claim *claim);

/* Has the caller everything that the rule counts by? */
bool sl_limiter_has_identity(const struct sl_limiter *limiter, const struct sl_rule *rule);

/* Makes a bundle for the request, after those that are there; or answers it, if it needs no store.
 * Returns a status. */
int sl_limiter_take(struct sl_limiter *limiter, const struct sluice_request *request,
                    int64_t max_delay_us, struct sluice_decision *out);

/* The same for a limit that the request brought; NULL: by the rules. */
int sl_limiter_take_direct(struct sl_limiter *limiter, const struct sluice_request *request,
                           const struct sl_direct *direct, struct sluice_decision *out);

/* Makes the caller's claims, after those that are there, and an ask for them, but no bundle yet. */
void sl_limiter_ask(struct sl_limiter *limiter, const struct sluice_request *request,
                    const struct sl_direct *direct, struct sluice_decision *out);

/* Removes the claims of rules that another rule of the requests from there on replaces. Implemented
 * in joined.c. */
void sl_limiter_replace(struct sl_limiter *limiter, size_t first_ask);

/* Answers a request that needs no store. Returns a status. */
int sl_limiter_fast_path(struct sl_limiter *limiter, const struct sluice_request *request,
                         int status, struct sluice_decision *out);

/* Is there no room for one more request? */
bool sl_limiter_is_full(const struct sl_limiter *limiter);

/* Takes the request of that number, or all that are joined there, as sl_limiter_take does, and
 * moves *next behind them. Returns false if there is no room for so many: decide first. Implemented
 * in joined.c. */
bool sl_limiter_take_next(struct sl_limiter *limiter, const struct sl_batch_in *in, size_t *next,
                          int *status);

/* Fills in the views of `asks` from the bundles that the store has answered. */
void sl_joined_view(const struct sl_bundle *bundles, const struct sl_asking *asks, size_t count,
                    struct sl_bundle *views);

/* For joined requests that are decided one by one: returns the bundle of the one of this number, as
 * a peek for what it and those before it take of each of its keys. Implemented in joined.c. */
struct sl_bundle sl_joined_look(const struct sl_asking *asks, size_t number,
                                struct sl_bundle bundle);

/* Makes decisions of the store's answers, or of their absence. Returns the first bad status. */
int sl_asked_answer(const struct sl_asked *asked);

/* Counts the decisions, when nothing changes them any more. */
void sl_asked_count(const struct sl_asked *asked);

/* The same if there is an observer. Implemented in observe.c. */
void sl_asked_watch(const struct sl_asked *asked);

/* Returns the start time of a batch, for sl_asked.started_ns. */
static inline int64_t sl_limiter_start_ns(const struct sl_limiter *limiter)
{
    return limiter->observer && limiter->observer->times_next ? sl_monotonic_ns() : 0;
}

#endif
