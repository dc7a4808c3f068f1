/* Observes decisions. Every claim is counted, and its caller's register set. Denied identifiers are
 * noted, and of the others a sample: every one at first, then every second, every fourth and so on,
 * until the samples are handed over. So a quiet server notes every caller, and a busy one spends
 * next to nothing on it.
 *
 * Names are made only for identifiers that are not noted yet. */
#include "base/clock.h"
#include "limiter/limiter_internal.h"
#include "limiter/observe/observer.h"

enum { MET_MAX = SL_NOTED_MAX * 3 / 4 }; /* the rest is for denied identifiers */

bool sl_limiter_set_observer(struct sl_limiter *limiter, struct sl_observer *observer,
                             const uint32_t *numbers)
{
    if (observer && !limiter->namer.hasher &&
        !sl_namer_init(&limiter->namer, &limiter->rules->settings))
        return false;
    limiter->observer = observer;
    limiter->numbers = numbers;
    return true;
}

/* Limits that requests bring along are counted, but not observed. */
static inline bool is_observed(const struct sl_limiter *limiter, const struct sl_rule *rule)
{
    return rule->index < limiter->rules->rule_count;
}

/* ---- identifiers ---- */

/* A path may contain a user's name: if names are hidden, the rule's pattern is shown instead. */
static struct sluice_text shown_resource(const struct sl_limiter *limiter,
                                         const struct sl_rule *rule)
{
    if (!limiter->rules->settings.hash_identifiers)
        return limiter->caller.request.resource;
    return rule->any_resource ? (struct sluice_text){ 0 } : rule->resource.text;
}

static bool name_noted(const struct sl_asked *asked, const struct sl_asking *ask,
                       const struct sl_rule *rule, struct sl_noted *noted)
{
    struct sl_limiter *limiter = asked->limiter;
    struct sl_samples *samples = limiter->observer->samples;
    struct sluice_text identifier = { 0 };
    if (!sl_caller_keys_init(&limiter->caller, limiter->rules, ask->request))
        return false;
    struct sluice_request *request = &limiter->caller.request;
    if (sl_text_missing(request->tier) && ask->tier >= 0)
        request->tier = limiter->rules->tiers[ask->tier].name;
    bool has_tenant = !rule->spans_tenants && !sl_text_missing(request->tenant);
    if (noted->has_identifier)
        identifier = sl_name_identifier(&limiter->namer, &limiter->caller, rule);
    bool good = (!noted->has_identifier || identifier.at) &&
                sl_samples_keep(samples, identifier, &noted->identifier) &&
                sl_samples_keep(samples, shown_resource(limiter, rule), &noted->resource) &&
                (!has_tenant || sl_samples_keep(samples, request->tenant, &noted->tenant));
    if (!limiter->store->wants_names)
        sl_scratch_reset(&limiter->namer.memory);
    return good;
}

/* Claims without an identity share one key per rule. */
static struct sl_hash128 noted_key(const struct sl_claim *claim, uint32_t number)
{
    return claim->no_key ? (struct sl_hash128){ .low = number } : claim->key;
}

/* Returns NULL if there is no room. */
static struct sl_noted *find_noted(const struct sl_asked *asked, const struct sl_asking *ask,
                                   const struct sl_claim *claim, const struct sl_rule *rule)
{
    struct sl_samples *samples = asked->limiter->observer->samples;
    uint32_t number = asked->limiter->numbers[rule->index];
    struct sl_hash128 key = noted_key(claim, number);
    struct sl_noted *noted = sl_samples_find(samples, key);
    if (noted)
        return noted;
    noted = sl_samples_add(samples, key);
    if (!noted)
        return NULL;
    noted->rule = number;
    noted->has_identifier = !claim->no_key;
    noted->is_shadow = claim->shadow;
    if (name_noted(asked, ask, rule, noted))
        return noted;
    sl_samples_drop_last(samples);
    return NULL;
}

/* ---- denials ---- */

static bool is_notable(const struct sl_claim *claim)
{
    return !claim->allowed || claim->guard_answer.event != SL_GUARD_QUIET;
}

static bool has_warned(const struct sl_claim *claim)
{
    return claim->guard_answer.event == SL_GUARD_WARNED;
}

static bool has_blocked(const struct sl_claim *claim)
{
    return claim->guard_answer.event == SL_GUARD_BLOCKED;
}

static void note_event(struct sl_noted *noted, const struct sl_claim *claim, int64_t at_us)
{
    noted->warned += has_warned(claim);
    noted->blocked += has_blocked(claim);
    noted->request_count = claim->guard_answer.request_count;
    noted->guard_us = at_us;
}

static void note_first(struct sl_noted *noted, const struct sl_claim *claim, int64_t at_us)
{
    noted->first_us = at_us;
    noted->retry_after_us = claim->answer.retry_after_us;
    noted->capacity = claim->limit.capacity;
    noted->remaining = claim->figures.remaining;
}

/* Handles the common cases, and returns true: an identifier that was denied before, or in a flood
 * one for which there is no room. */
static inline bool note_quickly(struct sl_samples *samples, const struct sl_claim *claim)
{
    struct sl_noted *noted = sl_samples_find(samples, claim->key);
    if (claim->guard_answer.event != SL_GUARD_QUIET || claim->no_key)
        return false;
    if (!noted) {
        bool is_full = samples->count == SL_NOTED_MAX;
        samples->missed_denials += is_full;
        return is_full;
    }
    noted->denied += noted->denied > 0;
    return noted->denied > 1;
}

/* Notes a notable claim, the k-th of the bundle of that number. */
__attribute__((noinline)) static void note_denial(const struct sl_asked *asked, size_t number,
                                                  size_t k)
{
    const struct sl_bundle *bundle = &asked->bundles[number];
    const struct sl_asking *ask = &asked->asks[number];
    const struct sl_claim *claim = &bundle->claims[k];
    struct sl_samples *samples = asked->limiter->observer->samples;
    int64_t at_us = bundle->now_us + bundle->wall_shift_us;
    if (claim->guard_answer.event != SL_GUARD_QUIET)
        sl_samples_burst(samples, asked->limiter->numbers[ask->rules[k]->index], has_warned(claim),
                         has_blocked(claim));
    struct sl_noted *noted = find_noted(asked, ask, claim, ask->rules[k]);
    if (!noted) {
        samples->missed_denials += !claim->allowed;
        return;
    }
    if (claim->guard_answer.event != SL_GUARD_QUIET)
        note_event(noted, claim, at_us);
    if (!claim->allowed && noted->denied++ == 0)
        note_first(noted, claim, at_us);
}

/* ---- a sample of all ---- */

/* When there is no room for new identifiers, noted ones are still counted: those are the
 * busiest. */
static struct sl_noted *find_met(const struct sl_asked *asked, const struct sl_asking *ask,
                                 const struct sl_claim *claim, const struct sl_rule *rule)
{
    struct sl_samples *samples = asked->limiter->observer->samples;
    if (samples->count < MET_MAX)
        return find_noted(asked, ask, claim, rule);
    return sl_samples_find(samples, noted_key(claim, asked->limiter->numbers[rule->index]));
}

static void note_met(const struct sl_asked *asked, size_t number)
{
    struct sl_samples *samples = asked->limiter->observer->samples;
    const struct sl_bundle *bundle = &asked->bundles[number];
    const struct sl_asking *ask = &asked->asks[number];
    if (bundle->peek || bundle->status != SLUICE_OK)
        return;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->is_unseen || !is_observed(asked->limiter, ask->rules[i]))
            continue;
        struct sl_noted *noted = find_met(asked, ask, claim, ask->rules[i]);
        if (noted)
            noted->met += samples->stride;
        else
            samples->missed_met += samples->stride;
    }
}

/* The request to be sampled is in this batch; `until_met` says how long ago. */
static void note_sample(const struct sl_asked *asked)
{
    struct sl_observer *observer = asked->limiter->observer;
    struct sl_samples *samples = observer->samples;
    while (observer->until_met <= 0) {
        note_met(asked, (size_t)((int64_t)asked->count - 1 + observer->until_met));
        if (++samples->in_step == SL_NOTED_SAMPLE) {
            samples->in_step = 0;
            samples->stride *= 2;
        }
        observer->until_met += samples->stride;
    }
}

/* ---- time ---- */

static uint32_t in_use(const struct sl_claim *claim)
{
    int64_t capacity = claim->limit.capacity, used = capacity - claim->figures.remaining;
    if (capacity <= 0 || used >= capacity)
        return 1000;
    return used <= 0 ? 0 : (uint32_t)((sl_u128)used * 1000 / (sl_u128)capacity);
}

/* Samples the time of each decision, and of each rule that took part in it. */
static void note_time(const struct sl_asked *asked, uint64_t ns)
{
    struct sl_samples *samples = asked->limiter->observer->samples;
    size_t from = samples->sample_count;
    for (size_t i = 0; i < asked->count; i++) {
        const struct sl_bundle *bundle = &asked->bundles[i];
        if (bundle->peek || bundle->status != SLUICE_OK)
            continue;
        sl_samples_wanted(samples, from, &(struct sl_sample){ SL_ALL_RULES, .times = 1, .ns = ns });
        for (size_t k = 0; k < bundle->claim_count; k++) {
            if (bundle->claims[k].is_unseen ||
                !is_observed(asked->limiter, asked->asks[i].rules[k]))
                continue;
            uint32_t used = in_use(&bundle->claims[k]);
            sl_samples_wanted(samples, from,
                              &(struct sl_sample){
                                  .rule = asked->limiter->numbers[asked->asks[i].rules[k]->index],
                                  .times = 1,
                                  .ns = ns,
                                  .in_use_sum = used,
                                  .in_use_max = used,
                              });
        }
    }
}

/* Is a batch to be timed? The store's clock may have been put back. */
static inline bool is_due(const struct sl_observer *observer, int64_t now_us)
{
    return (uint64_t)(now_us - observer->timed_us) >= SL_OBSERVER_EVERY_US;
}

/* ---- all of it ---- */

__attribute__((noinline)) static void note_sample_and_time(const struct sl_asked *asked)
{
    struct sl_observer *observer = asked->limiter->observer;
    if (asked->started_ns) {
        int64_t now_us = asked->bundles[0].now_us;
        note_time(asked, (uint64_t)(sl_monotonic_ns() - asked->started_ns));
        /* On a quiet server every batch is timed. */
        observer->times_next = is_due(observer, now_us);
        observer->timed_us = now_us;
    }
    if (observer->until_met <= 0)
        note_sample(asked);
    atomic_store_explicit(&observer->has_notes, true, memory_order_relaxed);
}

/* Counts the claims of a bundle, and notes what is notable of them. */
static inline void watch_bundle(const struct sl_asked *asked, size_t number)
{
    struct sl_limiter *limiter = asked->limiter;
    const struct sl_bundle *bundle = &asked->bundles[number];
    const struct sl_rule *const *rules = asked->asks[number].rules;
    sl_counts_decision(limiter->counts, asked->asks[number].out);
    sl_counts_answer_cache(limiter->counts, bundle);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        uint32_t index = rules[i]->index;
        if (__builtin_expect(claim->is_unseen, 0))
            continue;
        sl_count_add(&limiter->counts->by_rule[index][sl_outcome_of(bundle, claim)], 1);
        if (bundle->status != SLUICE_OK || !is_observed(limiter, rules[i]))
            continue; /* neither denied nor sampled */
        uint32_t place = limiter->numbers[index];
        if (place < SL_CALLERS_RULES && !claim->no_key) {
            sl_distinct_see(limiter->observer->callers[place], claim->key.low);
            if (!claim->allowed)
                sl_distinct_see(limiter->observer->limited[place], claim->key.low);
        }
        if (is_notable(claim) && !note_quickly(limiter->observer->samples, claim))
            note_denial(asked, number, i);
    }
}

void sl_asked_watch(const struct sl_asked *asked)
{
    struct sl_observer *observer = asked->limiter->observer;
    if (asked->count == 0)
        return;
    for (size_t i = 0; i < asked->count; i++)
        if (!asked->bundles[i].peek)
            watch_bundle(asked, i);
    observer->until_met -= (int64_t)asked->count;
    observer->times_next |= is_due(observer, asked->bundles[0].now_us);
    if (asked->started_ns || observer->until_met <= 0)
        note_sample_and_time(asked);
}
