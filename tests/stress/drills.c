#include "stress/drills.h"

#include <inttypes.h>

#include "algo/guard.h"
#include "base/text/number.h"

enum { BATCH_MAX = 6 };

static struct sl_claim claim_of(const struct field *field, unsigned n, int64_t capacity)
{
    return claim_on(field->subject, key_of(field->id, field->round, n), capacity, field->now_us);
}

/* What was refunded to a bucket is short of what time had paid: far less than a
 * token here, but a started token cannot be taken. */
static int64_t slack_of(const struct field *field)
{
    return field->subject->algo->is_bucket && field->tally->returned[0] ? 1 : 0;
}

static void expect(const struct field *field, const char *what, int64_t is, int64_t should)
{
    if (is > should || is < should - slack_of(field))
        complain("round %u: %s %" PRId64 ", should be %" PRId64, field->round, what, is, should);
}

/* Checks that nothing is left to take, and that all admissions are counted. */
static void expect_all_taken(const struct field *field, int64_t capacity)
{
    struct sl_claim claim = claim_of(field, 0, capacity);
    int64_t held = field->tally->admitted[0] - field->tally->returned[0];
    int64_t seen = counted(field->store, claim, field->at_us);
    if (seen < held || seen > held + slack_of(field))
        complain("round %u: %" PRId64 " counted, %" PRId64 " admitted", field->round, seen, held);
    int64_t rest = drain(field->store, claim, field->at_us, capacity + 1);
    expect(field, "admitted in all", held + rest, capacity);
}

/* ---- units of one, in batches -------------------------------------------------- */

/* One batch of requests on the same claim. How many passed; *refused: how many not. */
static unsigned ask_batch(struct worker *worker, const struct sl_claim *claim, int64_t at_us,
                          unsigned *refused)
{
    struct sl_claim claims[BATCH_MAX];
    struct sl_bundle bundles[BATCH_MAX];
    unsigned count = 1 + (unsigned)dice_below(&worker->dice, BATCH_MAX), passed = 0;
    for (unsigned i = 0; i < count; i++) {
        claims[i] = *claim;
        bundles[i] = bundle_of(&claims[i], 1, 1, at_us);
        bundles[i].peek = dice_below(&worker->dice, 8) == 0;
    }
    worker->store->ops->decide(worker->store, bundles, count);
    for (unsigned i = 0; i < count; i++) {
        if (bundles[i].status != SLUICE_OK)
            complain("status %d", bundles[i].status);
        else if (bundles[i].allowed != claims[i].allowed)
            complain("a bundle of one does not say what its claim says");
        else if (!bundles[i].peek)
            bundles[i].allowed ? passed++ : ++*refused;
    }
    return passed;
}

static void play_ones(struct worker *worker, const struct field *field)
{
    struct sl_claim claim = claim_of(field, 0, field->subject->capacity);
    for (unsigned refused = 0; refused < 10;) {
        struct sl_bundle bundle = bundle_of(&claim, 1, 1, field->at_us);
        if (dice_below(&worker->dice, 2) && ask_once(worker->store, &claim, &bundle))
            bundle.allowed ? field->tally->admitted[0]++ : (int64_t)refused++;
        else
            field->tally->admitted[0] += ask_batch(worker, &claim, field->at_us, &refused);
    }
}

static void judge_ones(const struct field *field)
{
    expect(field, "admitted", field->tally->admitted[0], field->subject->capacity);
    expect_all_taken(field, field->subject->capacity);
}

/* ---- costs of all sizes -------------------------------------------------------- */

static void play_costs(struct worker *worker, const struct field *field)
{
    static const uint32_t costs[] = { 2, 3, 5, COST_MAX };
    struct sl_claim claim = claim_of(field, 0, field->subject->capacity);
    for (int refused = 0; refused < 12;) {
        uint32_t cost = costs[dice_below(&worker->dice, 4)];
        struct sl_bundle bundle = bundle_of(&claim, 1, cost, field->at_us);
        if (ask(worker->store, &bundle)) {
            field->tally->admitted[0] += cost;
            continue;
        }
        refused++;
        int64_t least = field->tally->smallest_denied;
        while (
            (least == 0 || -(int64_t)cost > least) &&
            !atomic_compare_exchange_weak(&field->tally->smallest_denied, &least, -(int64_t)cost))
            ;
    }
}

static void judge_costs(const struct field *field)
{
    int64_t left = field->subject->capacity - field->tally->admitted[0];
    int64_t denied = -field->tally->smallest_denied;
    if (left < 0 || (denied <= field->subject->capacity && left >= denied))
        complain("round %u: %" PRId64 " left, and %" PRId64 " was denied", field->round, left,
                 denied);
    expect_all_taken(field, field->subject->capacity);
}

/* ---- the limit grows meanwhile: a log's ring moves ------------------------------ */

/* Not a bucket: the smaller of its capacities cuts the debt, as it should. */
static bool is_window(const struct subject *subject)
{
    return !subject->algo->is_bucket;
}

static void play_raised(struct worker *worker, const struct field *field)
{
    int64_t capacity = field->subject->capacity;
    for (int refused = 0; refused < 6;) {
        unsigned level = (unsigned)dice_below(&worker->dice, 3);
        struct sl_claim claim = claim_of(field, 0, capacity << level);
        if (claim.ring_len && dice_below(&worker->dice, 2))
            claim.ring_len = (uint32_t)capacity * 4; /* as a rule with tiers asks */
        struct sl_bundle bundle = bundle_of(&claim, 1, 1, field->at_us);
        bool passed = ask(worker->store, &bundle);
        field->tally->admitted[0] += passed;
        refused += !passed && level == 2;
    }
}

static void judge_raised(const struct field *field)
{
    expect(field, "admitted", field->tally->admitted[0], 4 * field->subject->capacity);
    expect_all_taken(field, 4 * field->subject->capacity);
}

/* ---- what was taken is given back ----------------------------------------------- */

static bool own_clock(const struct subject *subject)
{
    return !subject->passes_time; /* the store refunds as of its own time */
}

static void play_refunds(struct worker *worker, const struct field *field)
{
    struct sl_claim claim = claim_of(field, 0, field->subject->capacity);
    uint64_t most = (uint64_t)field->subject->capacity / 5;
    for (int i = 0; i < 30; i++) {
        uint32_t cost = 1 + (uint32_t)dice_below(&worker->dice, most);
        struct sl_bundle bundle = bundle_of(&claim, 1, cost, -1);
        if (!ask(worker->store, &bundle))
            continue;
        field->tally->admitted[0] += cost;
        if (dice_below(&worker->dice, 3) == 0)
            continue;
        uint32_t back = 1 + (uint32_t)dice_below(&worker->dice, cost);
        struct sl_charge charge = { back, claim.answer.as_of_us };
        int status = worker->store->ops->refund(worker->store, &claim, charge);
        if (status != SLUICE_OK)
            complain("refund: status %d", status);
        field->tally->returned[0] += back;
    }
}

static void judge_refunds(const struct field *field)
{
    expect_all_taken(field, field->subject->capacity);
}

/* ---- reservations, settled at every cost ---------------------------------------- */

static void play_reserved(struct worker *worker, const struct field *field)
{
    struct sl_claim claim = claim_of(field, 0, field->subject->capacity);
    struct sl_store *store = worker->store;
    uint64_t most = (uint64_t)field->subject->capacity / 5;
    for (int i = 0; i < 12; i++) {
        uint32_t cost = 1 + (uint32_t)dice_below(&worker->dice, most);
        struct sl_bundle bundle = bundle_of(&claim, 1, cost, -1);
        if (!ask(store, &bundle))
            continue;
        uint64_t id = 0;
        int status = store->ops->hold(store, &bundle, INT64_C(3600000000), &id);
        uint32_t real = (uint32_t)dice_below(&worker->dice, cost + 1);
        if (status == SLUICE_OK)
            status = store->ops->settle(store, id, real);
        if (status != SLUICE_OK)
            complain("hold or settle: status %d", status);
        if (store->ops->settle(store, id, 0) != SLUICE_NO_RESERVATION)
            complain("a reservation could be settled twice");
        field->tally->admitted[0] += cost;
        field->tally->returned[0] += cost - real;
    }
}

/* ---- three keys, two at a time: all or nothing ---------------------------------- */

static void play_pairs(struct worker *worker, const struct field *field)
{
    for (int i = 0; i < 40; i++) {
        unsigned a = (unsigned)dice_below(&worker->dice, KEYS_MAX);
        unsigned b = (a + 1 + (unsigned)dice_below(&worker->dice, 2)) % KEYS_MAX;
        struct sl_claim claims[] = { claim_of(field, a, field->subject->capacity + a),
                                     claim_of(field, b, field->subject->capacity + b) };
        uint32_t cost = 1 + (uint32_t)dice_below(&worker->dice, 2);
        struct sl_bundle bundle = bundle_of(claims, 2, cost, field->at_us);
        if (!ask(worker->store, &bundle))
            continue;
        if (!claims[0].charged || !claims[1].charged)
            complain("allowed, and not charged");
        field->tally->admitted[a] += cost;
        field->tally->admitted[b] += cost;
    }
}

static void judge_pairs(const struct field *field)
{
    for (unsigned n = 0; n < KEYS_MAX; n++) {
        struct sl_claim claim = claim_of(field, n, field->subject->capacity + n);
        int64_t seen = counted(field->store, claim, field->at_us);
        int64_t admitted = field->tally->admitted[n];
        int64_t slack = field->subject->algo->is_bucket ? 1 : 0; /* of refunds on a lost race */
        if (seen < admitted || seen > admitted + slack)
            complain("round %u: key %u: %" PRId64 " counted, %" PRId64 " admitted", field->round, n,
                     seen, admitted);
    }
}

/* ---- forgotten meanwhile --------------------------------------------------------- */

static void play_resets(struct worker *worker, const struct field *field)
{
    struct sl_claim claim = claim_of(field, 0, field->subject->capacity);
    for (int i = 0; i < 60; i++) {
        if (dice_below(&worker->dice, 12) == 0) {
            field->tally->resets++;
            if (worker->store->ops->reset(worker->store, &claim) != SLUICE_OK)
                complain("reset failed");
            continue;
        }
        struct sl_bundle bundle = bundle_of(&claim, 1, 1, field->at_us);
        field->tally->admitted[0] += ask(worker->store, &bundle);
    }
}

static void judge_resets(const struct field *field)
{
    int64_t capacity = field->subject->capacity;
    if (field->tally->admitted[0] > capacity * (1 + field->tally->resets))
        complain("round %u: %" PRId64 " admitted with %" PRId64 " resets", field->round,
                 field->tally->admitted[0], field->tally->resets);
    struct sl_claim claim = claim_of(field, 0, capacity);
    field->store->ops->reset(field->store, &claim);
    expect(field, "admitted after a reset", drain(field->store, claim, field->at_us, capacity + 1),
           capacity);
}

/* ---- the burst guard --------------------------------------------------------------- */

static const struct sl_guard guard = { .window_us = 1000000,
                                       .penalty_us = 60000000,
                                       .threshold = 60 };

static bool first_of_list(const struct subject *subject)
{
    return subject->algo == sl_algos[0] && subject->passes_time && subject->window_us == 1000000;
}

static struct sl_claim guarded(const struct field *field)
{
    struct sl_claim claim = claim_of(field, 0, 100000);
    claim.guard = &guard;
    claim.guard_key = key_of(field->id, field->round, KEYS_MAX);
    return claim;
}

static void count_guarded(struct worker *worker, const struct field *field, int64_t at_us)
{
    struct sl_claim claim = guarded(field);
    struct sl_bundle bundle = bundle_of(&claim, 1, 1, at_us);
    bool passed = ask(worker->store, &bundle);
    if (passed == (claim.guard_answer.blocked_until_us > 0))
        complain("allowed: %d, blocked until %" PRId64, passed,
                 claim.guard_answer.blocked_until_us);
    field->tally->admitted[0] += passed;
    field->tally->events[claim.guard_answer.event]++;
    uint32_t count = claim.guard_answer.request_count;
    if (count <= guard.threshold + 1)
        field->tally->counts[count]++;
}

/* All workers exceed the threshold together, in one window and in the next. */
static void play_guard(struct worker *worker, const struct field *field)
{
    unsigned asks = guard.threshold / crew_size() + 30;
    for (unsigned i = 0; i < asks; i++)
        count_guarded(worker, field, field->at_us);
    pthread_barrier_wait(worker->barrier);
    for (unsigned i = 0; i < asks; i++)
        count_guarded(worker, field, field->at_us + guard.window_us);
}

static void judge_guard(const struct field *field)
{
    const struct round *tally = field->tally;
    if (tally->events[SL_GUARD_WARNED] != 1 || tally->events[SL_GUARD_BLOCKED] != 1)
        complain("round %u: %" PRId64 " warnings, %" PRId64 " blocks", field->round,
                 tally->events[SL_GUARD_WARNED], tally->events[SL_GUARD_BLOCKED]);
    for (uint32_t count = 1; count <= guard.threshold; count++)
        if (tally->counts[count] != 2)
            complain("round %u: request %u was counted %u times in two windows", field->round,
                     count, tally->counts[count]);
    unsigned asks = guard.threshold / crew_size() + 30;
    expect(field, "admitted before the block", tally->admitted[0],
           (int64_t)asks * crew_size() + guard.threshold);
}

const struct drill drills[] = {
    { "ones", NULL, play_ones, judge_ones },
    { "costs", NULL, play_costs, judge_costs },
    { "raised", is_window, play_raised, judge_raised },
    { "pairs", NULL, play_pairs, judge_pairs },
    { "resets", NULL, play_resets, judge_resets },
    { "refunds", own_clock, play_refunds, judge_refunds },
    { "reserved", own_clock, play_reserved, judge_refunds },
    { "guard", first_of_list, play_guard, judge_guard },
    { NULL, NULL, NULL, NULL },
};
