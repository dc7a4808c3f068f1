/* A limiter from the inside: for limiter.c, which decides where the store answers at once, and
 * errand.c, where it answers later. */
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

/* A request on its way; its bundle is the one of the same number, unless requests are joined. */
struct sl_asking {
    const struct sl_rule **rules; /* rules[i] made the bundle's claim i */
    enum sluice_reason nobody;    /* the reason where none of them is enforced */
    struct sluice_decision *out;
    const struct sluice_request *request; /* who asks, until it is answered */
    ptrdiff_t tier;                       /* of the rules, also where the request names none */
    int64_t minutes;                      /* sl_user_context.minutes */
    size_t number;                        /* among the requests that are asked together */

    /* In a batch with joined requests, whose bundle is not the one of the same number: */
    size_t bundle;
    struct sl_claim *claims; /* its part of the bundle's */
    size_t claim_count;
    uint32_t cost;
    bool peek;
};

struct sl_limiter {
    const struct sl_ruleset *rules;
    struct sl_store *store;
    struct sl_caller_keys caller; /* who made the claims that were made last */
    struct sl_rule_seeds *seeds;  /* by the rule's index */
    struct sl_direct_rules direct;
    struct sl_counts *counts;

    /* Room for SL_CLAIMS_FREE and as many as there are rules; more where requests are joined: */
    const struct sl_rule **matched;
    struct sl_claim *claims;
    size_t claim_count;
    size_t claim_room;
    bool used_trust; /* a rule of the last request's has */

    struct sl_bundle bundles[SL_BUNDLES_MAX];
    struct sl_asking asks[SL_BUNDLES_MAX];
    size_t bundle_count;
    size_t ask_count;        /* as many, but where requests are joined */
    bool has_joined;         /* some are: */
    struct sl_bundle *views; /* what their answers are told by, one for each; joined.c */
    uint64_t *words;         /* scratch of joined.c */
    size_t word_room;

    struct sluice_explained *explained; /* room for all rules */

    struct sl_user_context context; /* of the asker */
    struct sl_namer namer;          /* for a store that wants names, or a sight */

    struct sl_observer *observer; /* or NULL: nobody watches */
    const uint32_t *numbers;      /* of the rules, by their index, for the sight */
};

/* Bundles that were asked together, with what is to be made of their answers: of joined requests
 * their views. */
struct sl_asked {
    struct sl_limiter *limiter;
    struct sl_bundle *bundles;
    struct sl_asking *asks;
    size_t count;
    int64_t started_ns; /* when it was asked, if that is to be measured; 0: not */
};

/* Begins anew: what was taken is gone. */
void sl_limiter_forget(struct sl_limiter *limiter);

/* The request becomes the asker. False: no memory. */
bool sl_limiter_meet(struct sl_limiter *limiter, const struct sluice_request *request,
                     bool *exempt);

/* The same without asking whether it is exempt. */
bool sl_limiter_take_asker(struct sl_limiter *limiter, const struct sluice_request *request);

/* A claim of the asker's, but for its limit. False: its identity is missing. */
bool sl_limiter_make_claim(struct sl_limiter *limiter, const struct sl_rule *rule,
                           const struct sl_rule_seeds *seeds, struct sl_claim *claim);

/* The asker's claims by all rules that match, behind those that are there; the reason where none
 * of them is enforced. */
enum sluice_reason sl_limiter_make_claims(struct sl_limiter *limiter);

enum sl_applies { SL_APPLIES, SL_MISSING, SL_UNLIMITED };

/* The asker's claim on a rule; a missing identity denies (SL_APPLIES) or not. */
enum sl_applies sl_limiter_apply(struct sl_limiter *limiter, const struct sl_rule *rule,
                                 struct sl_claim *claim);

/* Has the asker all that the rule counts by? */
bool sl_limiter_has_identity(const struct sl_limiter *limiter, const struct sl_rule *rule);

/* A bundle for the request, behind those that are there; or its answer, where that needs no
 * store. A status. */
int sl_limiter_take(struct sl_limiter *limiter, const struct sluice_request *request,
                    int64_t max_delay_us, struct sluice_decision *out);

/* The same of a limit that the request brought; NULL: by the rules. */
int sl_limiter_take_direct(struct sl_limiter *limiter, const struct sluice_request *request,
                           const struct sl_direct *direct, struct sluice_decision *out);

/* The asker's claims, behind those that are there, and an ask for them; no bundle yet. */
void sl_limiter_ask(struct sl_limiter *limiter, const struct sluice_request *request,
                    const struct sl_direct *direct, struct sluice_decision *out);

/* Of the asks from there on: rules that another one of theirs replaces lose their claims.
 * joined.c */
void sl_limiter_replace(struct sl_limiter *limiter, size_t first_ask);

/* The answer of a request that needs no store. A status. */
int sl_limiter_fast_path(struct sl_limiter *limiter, const struct sluice_request *request,
                         int status, struct sluice_decision *out);

/* Room for one more? */
bool sl_limiter_is_full(const struct sl_limiter *limiter);

/* Takes the request of that number, or all that are joined there, as sl_limiter_take does. *next
 * is behind them. False: there is no room for so many; ask first. joined.c */
bool sl_limiter_take_next(struct sl_limiter *limiter, const struct sl_batch_in *in, size_t *next,
                          int *status);

/* Fills in the views of `asks` out of the bundles that the store has answered. */
void sl_joined_view(const struct sl_bundle *bundles, const struct sl_asking *asks, size_t count,
                    struct sl_bundle *views);

/* Where joined requests are decided one by one: that of the one of this number, as a peek for what
 * it and those before it take of each of its keys. joined.c */
struct sl_bundle sl_joined_look(const struct sl_asking *asks, size_t number,
                                struct sl_bundle bundle);

/* What the store has said, or left unsaid, becomes decisions. The first bad status. */
int sl_asked_answer(const struct sl_asked *asked);

/* Counts them, once nothing changes their answers any more. */
void sl_asked_count(const struct sl_asked *asked);

/* The same where there is a sight. observe.c */
void sl_asked_watch(const struct sl_asked *asked);

/* When a batch begins: sl_asked.started_ns. */
static inline int64_t sl_limiter_start_ns(const struct sl_limiter *limiter)
{
    return limiter->observer && limiter->observer->times_next ? sl_monotonic_ns() : 0;
}

#endif
