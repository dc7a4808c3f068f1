/* Answers requests from denials and leases that this process holds, without a call to the store.
 *
 * A denial is kept not as an answer but as the state that the store had read. The algorithm decides
 * on that state again, as of now. So the answer is the one that the store would give if no other
 * request had come in between: the wait is shorter by the time gone by, and ends on time.
 *
 *       asked     decided   heard        now
 *   -------|----------|--------|----------|------>  by our clock
 *          |<----------- at most -------->|         gone by, on the store's clock
 *                              |<-- at -->|
 *                               least
 *
 * So the store's clock is now between `low` and `high`. A request that is denied at `high` is
 * denied now (D1). The wait counts from `low`, as in an answer that has travelled from the store: a
 * client that waits so long passes. */
#include "store/cache/answer_cache.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/text/number.h"
#include "store/cache/denial_cache.h"
#include "store/cache/guard_backlog.h"
#include "store/claim.h"
#include "store/lease/lease.h"

enum { BELIEVED_US = 1000000 }; /* changes made by other instances show after so long (D3) */

struct sl_answer_cache {
    struct sl_denial_cache *denied;
    struct sl_leases *leases;
    struct sl_guard_backlog *backlog;
};

struct sl_answer_cache *sl_answer_cache_new(void)
{
    struct sl_answer_cache *answers = calloc(1, sizeof *answers);
    if (!answers)
        return NULL;
    answers->denied = sl_denial_cache_new();
    answers->leases = sl_leases_new();
    answers->backlog = sl_guard_backlog_new();
    if (answers->denied && answers->leases && answers->backlog)
        return answers;
    sl_answer_cache_free(answers);
    return NULL;
}

void sl_answer_cache_free(struct sl_answer_cache *answers)
{
    if (!answers)
        return;
    sl_denial_cache_free(answers->denied);
    sl_leases_free(answers->leases);
    sl_guard_backlog_free(answers->backlog);
    free(answers);
}

/* ---- answering ---- */

/* Returns false for what only the store can answer: a replay, a peek, a request that may wait, a
 * reservation, and a request for the answers of all rules. */
static bool may_answer(const struct sl_bundle *bundle)
{
    return bundle->now_us < 0 && !bundle->peek && bundle->max_delay_us < 0 && !bundle->hold_us &&
           !bundle->wants_all && bundle->claim_count > 0;
}

/* The time at the store by now. In a cluster the claims of one bundle may live on nodes whose
 * clocks differ, so each claim has a moment of its own. It is in `own`, which the store does not
 * use unless it is asked. */
struct moment {
    int64_t low_us, high_us;
};

static struct moment *moment_of(struct sl_claim *claim)
{
    _Static_assert(sizeof(struct moment) <= sizeof claim->own, "a moment fits");
    return (struct moment *)(void *)claim->own;
}

static struct moment moment_at(const struct sl_denial *denial, int64_t now_us)
{
    int64_t low_us = denial->now_us + (now_us - denial->heard_us);
    int64_t high_us = denial->now_us + (now_us - denial->asked_us);
    return (struct moment){ sl_min_i64(low_us, SL_TIME_MAX_US),
                            sl_min_i64(high_us, SL_TIME_MAX_US) };
}

/* The state in the store, as far as it is known. */
struct stored {
    struct sl_state state;
    int64_t blocked_until_us;
};

static void load_stored_state(const struct sl_claim *claim, struct sl_denial *denial,
                              struct stored *out)
{
    *out = (struct stored){ .state = { .lo = (uint64_t)denial->state[0],
                                       .hi = (uint64_t)denial->state[1] },
                            .blocked_until_us = denial->blocked_until_us };
    if (claim->algo->keeps_ring)
        claim->algo->load(&claim->limit, denial->state, &out->state);
}

/* Decides as the store would at that time. Returns true if the claim is denied. */
static bool decide_at(struct sl_bundle *bundle, struct sl_claim *claim, const struct stored *stored,
                      int64_t at_us)
{
    bundle->now_us = at_us;
    claim->guard_answer = (struct sl_guard_answer){ 0 };
    if (stored->blocked_until_us > at_us)
        claim->guard_answer.blocked_until_us = stored->blocked_until_us;
    sl_claim_decide(claim, bundle, &stored->state);
    return !claim->allowed;
}

/* Decides again on the remembered denial. Returns false if there is none, or if the claim would
 * pass by now. */
static bool recall_denial(const struct sl_answer_cache *answers, struct sl_bundle *bundle,
                          struct sl_claim *claim)
{
    struct sl_ask ask = { sl_boottime_us(), sl_claim_cost(bundle, claim) };
    struct sl_denial denial;
    struct stored stored;
    if (!sl_claim_takes(bundle, claim) ||
        !sl_denial_cache_find(answers->denied, claim, ask, &denial))
        return false;
    struct moment now = moment_at(&denial, ask.now_us);
    load_stored_state(claim, &denial, &stored);
    if (!decide_at(bundle, claim, &stored, now.high_us) ||
        !decide_at(bundle, claim, &stored, now.low_us))
        return false;
    sl_claim_measure(claim, bundle, &stored.state);
    claim->charged = false;
    *moment_of(claim) = now;
    return true;
}

/* Denies the claim without the store: by a remembered denial, or because it is too early to ask for
 * another lease. Returns false if neither holds, or if there are units to spend. */
static bool deny_claim(const struct sl_answer_cache *answers, struct sl_bundle *bundle,
                       struct sl_claim *claim)
{
    if (!claim->lease)
        return recall_denial(answers, bundle, claim);
    struct sl_ask ask = { sl_boottime_us(), sl_claim_cost(bundle, claim) };
    int64_t ahead_us;
    if (!sl_claim_takes(bundle, claim) ||
        sl_leases_left(answers->leases, claim, ask.now_us) >= ask.cost)
        return false;
    if (recall_denial(answers, bundle, claim))
        return true;
    if (!sl_leases_deny(answers->leases, claim, ask, &ahead_us))
        return false;
    SL_CHECK(!claim->allowed && !claim->charged);
    *moment_of(claim) = (struct moment){ ask.now_us + ahead_us, ask.now_us + ahead_us };
    return true;
}

/* A guard counts every request, except those that it blocks. */
static bool must_guard_count(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    return claim->guard && sl_claim_takes(bundle, claim) &&
           (claim->is_unseen || !claim->guard_answer.blocked_until_us);
}

/* Can all guards of the bundle count it later? */
static bool can_guards_count_later(struct sl_answer_cache *answers, const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (must_guard_count(bundle, &bundle->claims[i]) &&
            !sl_guard_backlog_open(answers->backlog, &bundle->claims[i]))
            return false;
    return true;
}

/* The claim gets no answer, because nothing is known about it. */
static void leave_claim_unseen(struct sl_claim *claim)
{
    claim->allowed = claim->is_unseen = true;
    claim->charged = false;
    claim->answer = (struct sl_answer){ 0 };
    claim->figures = (struct sl_figures){ 0 };
    claim->guard_answer = (struct sl_guard_answer){ 0 };
}

/* ---- leases ---- */

static bool may_spend_leases(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!claim->lease || claim->no_key || !sl_claim_takes(bundle, claim))
            return false;
    }
    return true;
}

/* Spends units for all claims of the bundle, or for none. */
static bool spend_leases(const struct sl_answer_cache *answers, struct sl_bundle *bundle)
{
    int64_t ahead_us = 0;
    size_t taken = 0;
    if (!may_spend_leases(bundle))
        return false;
    int64_t now_us = sl_boottime_us();
    for (; taken < bundle->claim_count; taken++) {
        struct sl_claim *claim = &bundle->claims[taken];
        struct sl_ask ask = { now_us, sl_claim_cost(bundle, claim) };
        if (!sl_leases_take(answers->leases, claim, ask, &ahead_us, sl_lease_ticket_of(claim)))
            break;
    }
    bool all = taken == bundle->claim_count;
    while (!all && taken-- > 0) {
        struct sl_claim *claim = &bundle->claims[taken];
        sl_lease_put_back(*sl_lease_ticket_of(claim), sl_claim_cost(bundle, claim));
    }
    if (all) {
        bundle->now_us = now_us + ahead_us;
        sl_answer_cache_decide(bundle);
    }
    return all;
}

void sl_answer_cache_decide(struct sl_bundle *bundle)
{
    for (size_t i = 0; bundle->now_us < 0 && i < bundle->claim_count; i++)
        if (bundle->claims[i].is_here)
            bundle->now_us = bundle->claims[i].answer.as_of_us;
    bundle->status = SLUICE_OK;
    bundle->wall_shift_us = 0;
    bundle->held = 0;
    bundle->is_near = true;
    sl_bundle_judge(bundle);
}

/* ---- denials ---- */

/* Decides every claim with a remembered denial. Returns true if that decides the bundle: one denial
 * by an enforced claim is enough; without one, all claims must be known, and only shadows deny. */
static bool recall_denials(const struct sl_answer_cache *answers, struct sl_bundle *bundle)
{
    bool is_denied = false, is_whole = true, any = false;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        claim->is_unseen = !deny_claim(answers, bundle, claim);
        is_denied |= !claim->is_unseen && !claim->shadow;
        is_whole &= !claim->is_unseen;
        any |= !claim->is_unseen;
    }
    return any && (is_whole || (is_denied && !bundle->is_joined));
}

/* The latest of the claims' moments: for the bundle's answer, and for claims whose node's clock is
 * unknown. The latest, because a guard leaves out requests that are stamped before its window, but
 * counts those that are stamped after it. */
static struct moment latest_moment(struct sl_bundle *bundle)
{
    struct moment latest = { 0 };
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || claim->is_unseen)
            continue;
        latest.low_us = sl_max_i64(latest.low_us, moment_of(claim)->low_us);
        latest.high_us = sl_max_i64(latest.high_us, moment_of(claim)->high_us);
    }
    return latest;
}

/* Undoes recall_denials: the store will be asked. */
static void leave_to_store(struct sl_bundle *bundle)
{
    bundle->now_us = -1;
    for (size_t i = 0; i < bundle->claim_count; i++)
        bundle->claims[i].is_unseen = false;
}

bool sl_answer_cache_answer(struct sl_answer_cache *answers, struct sl_bundle *bundle)
{
    if (!answers || !may_answer(bundle))
        return false;
    if (spend_leases(answers, bundle))
        return true;
    if (!recall_denials(answers, bundle) || !can_guards_count_later(answers, bundle)) {
        leave_to_store(bundle);
        return false;
    }
    SL_CHECK(!bundle->is_near);
    struct moment latest = latest_moment(bundle);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (must_guard_count(bundle, claim))
            sl_guard_backlog_add(answers->backlog, claim,
                                 claim->is_unseen ? latest.high_us : moment_of(claim)->high_us);
        if (claim->is_unseen)
            leave_claim_unseen(claim);
    }
    bundle->status = SLUICE_OK;
    bundle->now_us = latest.low_us;
    bundle->wall_shift_us = 0;
    bundle->held = 0;
    bundle->is_near = true;
    sl_bundle_judge(bundle);
    return true;
}

bool sl_answer_cache_recall(struct sl_answer_cache *answers, struct sl_bundle *bundle)
{
    struct sl_claim *claim = &bundle->claims[0];
    SL_CHECK(answers);
    if (bundle->claim_count != 1 || claim->guard || !recall_denial(answers, bundle, claim)) {
        bundle->now_us = -1;
        return false;
    }
    claim->is_unseen = false;
    bundle->now_us = moment_of(claim)->low_us;
    sl_answer_cache_decide(bundle);
    return true;
}

size_t sl_answer_cache_answer_all(struct sl_answer_cache *answers, struct sl_bundle *bundles,
                                  size_t count)
{
    size_t answered = 0;
    for (size_t i = 0; i < count; i++)
        answered += sl_answer_cache_answer(answers, &bundles[i]);
    return answered;
}

/* ---- learning ---- */

struct sl_since sl_answer_cache_since(const struct sl_answer_cache *answers)
{
    if (!answers)
        return (struct sl_since){ 0 };
    /* The generation first: a denial that is forgotten after this line must not be learned. */
    uint64_t generation = sl_denial_cache_generation(answers->denied);
    return (struct sl_since){ sl_boottime_us(), generation };
}

/* With a bound on the delay a denial may mean only that the queue is too long for this request:
 * one that may wait longer passes. */
bool sl_answer_cache_may_learn(const struct sl_bundle *bundle)
{
    return bundle->now_us < 0 && bundle->max_delay_us < 0;
}

static void learn_claim(struct sl_answer_cache *answers, const struct sl_bundle *bundle,
                        const struct sl_claim *claim, struct sl_since since)
{
    const struct sl_state *state = (const struct sl_state *)(const void *)claim->own;
    int64_t wait_us = claim->answer.retry_after_us;
    if (wait_us == SL_NEVER || wait_us > BELIEVED_US)
        wait_us = BELIEVED_US;
    struct sl_denial denial = { .asked_us = since.asked_us,
                                .heard_us = sl_boottime_us(),
                                .now_us = bundle->now_us,
                                .until_us = since.asked_us + wait_us,
                                .generation = since.generation,
                                .cost = sl_claim_cost(bundle, claim),
                                .state = { (int64_t)state->lo, (int64_t)state->hi } };
    if (claim->algo->keeps_ring)
        memcpy(denial.state, state->told, sizeof denial.state);
    if (!claim->shadow && claim->guard_answer.blocked_until_us) {
        denial.blocked_until_us = claim->guard_answer.blocked_until_us;
        denial.cost = 1; /* a block denies everything */
    }
    sl_denial_cache_put(answers->denied, claim, &denial);
}

void sl_answer_cache_learn(struct sl_answer_cache *answers, const struct sl_bundle *bundle,
                           struct sl_since since)
{
    if (!answers)
        return;
    SL_CHECK(since.asked_us > 0 && !bundle->is_near);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || sl_claim_cost(bundle, claim) == 0)
            continue;
        if (!claim->allowed)
            learn_claim(answers, bundle, claim, since);
        else if (claim->charged)
            sl_denial_cache_drop(answers->denied, claim); /* larger costs wait longer now */
    }
}

struct sl_leases *sl_answer_cache_leases(const struct sl_answer_cache *answers)
{
    return answers ? answers->leases : NULL;
}

void sl_answer_cache_turn_page(struct sl_answer_cache *answers)
{
    sl_answer_cache_forget(answers);
    if (answers)
        sl_leases_turn_page(answers->leases);
}

void sl_answer_cache_forget(struct sl_answer_cache *answers)
{
    if (!answers)
        return;
    sl_denial_cache_forget(answers->denied);
    sl_leases_pardon(answers->leases);
}

struct sl_guard_backlog *sl_answer_cache_uncounted(struct sl_answer_cache *answers)
{
    SL_CHECK(answers && answers->backlog);
    return answers->backlog;
}

bool sl_answer_cache_is_due(const struct sl_answer_cache *answers)
{
    return answers && sl_guard_backlog_held(answers->backlog) > 0 &&
           sl_guard_backlog_is_due(answers->backlog, sl_boottime_us());
}

size_t sl_answer_cache_held(const struct sl_answer_cache *answers)
{
    return answers ? sl_denial_cache_count(answers->denied, sl_boottime_us()) : 0;
}
