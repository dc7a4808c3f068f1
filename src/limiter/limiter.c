/* The limiter: makes bundles of claims for requests, has the store decide them, and makes decisions
 * of the answers (decision.c).
 *
 *   matched  | r1 r4 | r1 | r1 r2 r9 | …         rules, side by side with
 *   claims   | c  c  | c  | c  c  c  | …         the claims they made
 *   bundles    [0]     [1]  [2]                  one per request, with
 *   asks       [0]     [1]  [2]                  where its answer goes
 *
 * One request is a batch of one. A batch is cut at SL_BUNDLES_MAX requests or SL_CLAIMS_FREE
 * claims: behind those there is still room for a request that matches every rule. */
#include "limiter/limiter_internal.h"

#include <stdlib.h>

#include "limiter/decision.h"
#include "limiter/fallback.h"
#include "rules/index.h"
#include "rules/numbers.h"

struct sl_limiter *sl_limiter_new(const struct sl_ruleset *rules, struct sl_store *store)
{
    size_t room = rules->rule_count + SL_CLAIMS_FREE;
    struct sl_limiter *limiter = calloc(1, sizeof *limiter);
    if (!limiter)
        return NULL;
    limiter->rules = rules;
    limiter->store = store;
    limiter->counts = sl_counts_new(rules);
    limiter->seeds = calloc(rules->rule_count + 1, sizeof *limiter->seeds);
    limiter->explained = calloc(rules->rule_count + 1, sizeof *limiter->explained);
    limiter->matched = calloc(room, sizeof *limiter->matched);
    limiter->claims = calloc(room, sizeof *limiter->claims);
    limiter->claim_room = room;
    sl_direct_init(&limiter->direct, rules, store->secret);
    bool can_name = !store->wants_names || sl_namer_init(&limiter->namer, &rules->settings);
    if (!limiter->counts || !limiter->seeds || !limiter->explained || !limiter->matched ||
        !limiter->claims || !can_name) {
        sl_limiter_free(limiter);
        return NULL;
    }
    for (size_t i = 0; i < rules->rule_count; i++)
        limiter->seeds[i] = sl_rule_seeds(&rules->rules[i], store->secret);
    return limiter;
}

void sl_limiter_free(struct sl_limiter *limiter)
{
    if (!limiter)
        return;
    sl_caller_keys_release(&limiter->caller);
    sl_counts_free(limiter->counts);
    free(limiter->seeds);
    free(limiter->explained);
    free(limiter->matched);
    free(limiter->claims);
    free(limiter->views);
    free(limiter->words);
    sl_namer_release(&limiter->namer);
    free(limiter);
}

void sl_limiter_set_users(struct sl_limiter *limiter, struct sl_users *users)
{
    limiter->context = (struct sl_user_context){ .users = users };
}

/* ---- the caller ---- */

bool sl_limiter_take_asker(struct sl_limiter *limiter, const struct sluice_request *request)
{
    if (!sl_caller_keys_init(&limiter->caller, limiter->rules, request))
        return false;
    if (limiter->context.users)
        sl_user_context_meet(&limiter->context, limiter->rules, &limiter->caller);
    return true;
}

static bool is_exempt(const struct sl_limiter *limiter)
{
    return sl_caller_keys_exempt(&limiter->caller, limiter->rules->whitelist) ||
           limiter->context.is_exempt;
}

bool sl_limiter_meet(struct sl_limiter *limiter, const struct sluice_request *request, bool *exempt)
{
    if (!sl_limiter_take_asker(limiter, request))
        return false;
    *exempt = is_exempt(limiter);
    return true;
}

/* ---- claims ---- */

/* Makes a claim of the caller, without its limit. Returns false if its identity is missing. */
bool sl_limiter_make_claim(struct sl_limiter *limiter, const struct sl_rule *rule,
                           const struct sl_rule_seeds *seeds, struct sl_claim *claim)
{
    *claim =
        (struct sl_claim){ .algo = rule->algo, .ring_len = rule->ring_len, .shadow = rule->shadow };
    if (rule->guard.window_us)
        claim->guard = &rule->guard;
    if (!sl_caller_keys_keys(&limiter->caller, rule, seeds, &claim->key, &claim->guard_key))
        return false;
    if (limiter->store->wants_names) { /* a store that may not answer */
        claim->name = sl_name_claim(&limiter->namer, &limiter->caller, rule);
        claim->is_optional = rule->on_store_failure == SL_FAIL_ALLOW;
    }
    return true;
}

bool sl_limiter_has_identity(const struct sl_limiter *limiter, const struct sl_rule *rule)
{
    struct sl_hash128 key, guard_key;
    return sl_caller_keys_keys(&limiter->caller, rule, &limiter->seeds[rule->index], &key,
                               &guard_key);
}

/* Denied without looking at a state. */
static void leave_keyless(struct sl_claim *claim)
{
    claim->no_key = true;
    claim->guard = NULL;
    claim->answer.retry_after_us = SL_NEVER;
    claim->figures = (struct sl_figures){ 0, SLUICE_NONE };
}

/* A user's own numbers apply even if the tier is unlimited. */
enum sl_applies sl_limiter_apply(struct sl_limiter *limiter, const struct sl_rule *rule,
                                 struct sl_claim *claim)
{
    struct sl_caller_keys *caller = &limiter->caller;
    int32_t *trust = &caller->request.trust_thousandths;
    if (rule->adaptive && *trust == SLUICE_NO_TRUST) /* once for all adaptive rules */
        *trust = sl_user_context_trust(&limiter->context, limiter->rules, caller);
    const struct sl_user_numbers *own =
        sl_user_context_limit(&limiter->context, rule, caller->tier);
    struct sl_limit limit;
    if (own)
        sl_numbers_limit(&own->numbers, rule->adaptive ? *trust : 0, &limit);
    else if (!sl_rule_limit(rule, caller->tier, *trust, &limit))
        return SL_UNLIMITED;
    bool found = sl_limiter_make_claim(limiter, rule, &limiter->seeds[rule->index], claim);
    claim->limit = limit;
    if (own)
        claim->ring_len = own->ring_len;
    if (limiter->store->answers && limit.capacity >= SL_LEASE_LIMIT_MIN) {
        claim->lease = sl_rule_lease(rule);
        claim->rule = limiter->numbers ? limiter->numbers[rule->index] : rule->index;
    }
    if (found)
        return SL_APPLIES;
    leave_keyless(claim);
    return rule->deny_missing ? SL_APPLIES : SL_MISSING;
}

/* Makes the caller's claims, after those that are there. Returns the reason if none of them is
 * enforced. */
enum sluice_reason sl_limiter_make_claims(struct sl_limiter *limiter)
{
    enum sluice_reason nobody = SLUICE_REASON_NO_RULE;
    const struct sl_rule **rules = limiter->matched + limiter->claim_count;
    limiter->used_trust = false;
    size_t matched = sl_index_match(limiter->rules, &limiter->caller.request, rules);
    for (size_t i = 0; i < matched; i++) {
        const struct sl_rule *rule = rules[i];
        enum sl_applies applies =
            sl_limiter_apply(limiter, rule, &limiter->claims[limiter->claim_count]);
        limiter->used_trust |= applies == SL_APPLIES && rule->adaptive;
        if (applies == SL_APPLIES)
            limiter->matched[limiter->claim_count++] = rule;
        else if (applies == SL_UNLIMITED && !rule->shadow)
            nobody = SLUICE_REASON_EXEMPT;
    }
    return nobody;
}

/* The same for a limit that the request brought. */
static void make_direct_claim(struct sl_limiter *limiter, const struct sl_direct *direct)
{
    struct sl_claim *claim = &limiter->claims[limiter->claim_count];
    const struct sl_rule *rule = &limiter->direct.rules[direct->kind];
    const struct sl_rule_seeds *seeds =
        sl_direct_seeds(&limiter->direct, direct, limiter->store->secret);
    bool found = sl_limiter_make_claim(limiter, rule, seeds, claim);
    if (!found)
        leave_keyless(claim);
    else if (limiter->store->wants_names && direct->limit.window_us)
        claim->name =
            sl_name_window(&limiter->namer, &limiter->caller, rule, direct->limit.window_us);
    claim->limit = direct->limit;
    limiter->matched[limiter->claim_count++] = rule;
}

void sl_limiter_forget(struct sl_limiter *limiter)
{
    limiter->claim_count = limiter->bundle_count = limiter->ask_count = 0;
    limiter->has_joined = false;
    limiter->context.wall_is_read = false;
    if (limiter->store->wants_names)
        sl_scratch_reset(&limiter->namer.memory);
}

/* ---- deciding ---- */

static enum sl_failure_policy file_policy(const struct sl_limiter *limiter)
{
    return limiter->rules->settings.on_store_failure;
}

int sl_limiter_fast_path(struct sl_limiter *limiter, const struct sluice_request *request,
                         int status, struct sluice_decision *out)
{
    if (status == SLUICE_OK)
        sl_decision_nobody(SLUICE_REASON_EXEMPT, out);
    else
        sl_decision_fail(file_policy(limiter), NULL, 0, out);
    if (!request->peek)
        sl_counts_decision(limiter->counts, out);
    return status;
}

void sl_limiter_ask(struct sl_limiter *limiter, const struct sluice_request *request,
                    const struct sl_direct *direct, struct sluice_decision *out)
{
    size_t first = limiter->claim_count;
    enum sluice_reason nobody = SLUICE_REASON_NO_RULE;
    limiter->used_trust = false;
    if (__builtin_expect(direct != NULL, 0))
        make_direct_claim(limiter, direct);
    else
        nobody = sl_limiter_make_claims(limiter);
    if (limiter->used_trust && !request->peek)
        sl_counts_trust(limiter->counts, limiter->caller.request.trust_thousandths);
    limiter->asks[limiter->ask_count++] = (struct sl_asking){
        .rules = limiter->matched + first,
        .nobody = nobody,
        .out = out,
        .request = request,
        .tier = limiter->caller.tier,
        .minutes = limiter->context.minutes,
        .bundle = limiter->bundle_count,
        .claims = limiter->claims + first,
        .claim_count = limiter->claim_count - first,
        .cost = request->cost,
        .peek = request->peek,
    };
}

static int take_request(struct sl_limiter *limiter, const struct sluice_request *request,
                        const struct sl_direct *direct, int64_t max_delay_us,
                        struct sluice_decision *out)
{
    int status = sl_limiter_take_asker(limiter, request) ? SLUICE_OK : SLUICE_NO_MEMORY;
    if (status != SLUICE_OK || is_exempt(limiter))
        return sl_limiter_fast_path(limiter, request, status, out);
    if (max_delay_us == SL_BY_THE_RULES && request->wait)
        max_delay_us = limiter->rules->settings.max_wait_us;
    sl_limiter_ask(limiter, request, direct, out);
    if (limiter->rules->has_replaces)
        sl_limiter_replace(limiter, limiter->ask_count - 1);
    const struct sl_asking *ask = &limiter->asks[limiter->ask_count - 1];
    limiter->bundles[limiter->bundle_count++] = (struct sl_bundle){
        .now_us = request->at_us,
        .cost = request->cost,
        .peek = request->peek,
        .max_delay_us = max_delay_us,
        .claims = ask->claims,
        .claim_count = ask->claim_count,
        .wants_all = request->explain,
    };
    return SLUICE_OK;
}

/* Makes a bundle for the request; or answers it, if it needs no store. */
int sl_limiter_take(struct sl_limiter *limiter, const struct sluice_request *request,
                    int64_t max_delay_us, struct sluice_decision *out)
{
    return take_request(limiter, request, NULL, max_delay_us, out);
}

int sl_limiter_take_direct(struct sl_limiter *limiter, const struct sluice_request *request,
                           const struct sl_direct *direct, struct sluice_decision *out)
{
    return take_request(limiter, request, direct, SL_BY_THE_RULES, out);
}

bool sl_limiter_is_full(const struct sl_limiter *limiter)
{
    return limiter->ask_count == SL_BUNDLES_MAX || limiter->claim_count > SL_CLAIMS_FREE;
}

static struct sl_asked batch_of(struct sl_limiter *limiter)
{
    return (struct sl_asked){ .limiter = limiter,
                              .bundles = limiter->has_joined ? limiter->views : limiter->bundles,
                              .asks = limiter->asks,
                              .count = limiter->ask_count };
}

/* Is it a limit that the request brought, and no rule? */
static bool is_direct(const struct sl_limiter *limiter, const struct sl_asking *ask)
{
    return ask->claim_count > 0 && ask->rules[0]->index >= limiter->rules->rule_count;
}

/* Reports users denied by an enforced rule, when nothing changes the decision any more. A violation
 * already known for this minute is not reported again. */
__attribute__((noinline)) static void report_violations(const struct sl_asked *asked)
{
    struct sl_users *users = asked->limiter->context.users;
    for (size_t i = 0; i < asked->count; i++) {
        const struct sl_bundle *bundle = &asked->bundles[i];
        const struct sl_asking *ask = &asked->asks[i];
        if (ask->out->allowed || bundle->peek || bundle->status != SLUICE_OK ||
            sl_text_missing(ask->request->user) || is_direct(asked->limiter, ask) ||
            ask->out->decided_at_us / SL_MINUTE_US == ask->minutes - 1)
            continue;
        users->ops->violated(users, ask->request->tenant, ask->request->user,
                             ask->out->decided_at_us);
    }
}

/* Decides by the rules' failure policy. Returns true if it is allowed. */
static bool decide_without_store(const struct sl_asked *asked, size_t number,
                                 struct sl_bundle bundle)
{
    const struct sl_limiter *limiter = asked->limiter;
    const struct sl_asking *ask = &asked->asks[number];
    sl_fallback_decide(&limiter->rules->settings, limiter->store->local, &bundle, ask->rules,
                       ask->out);
    return ask->out->allowed;
}

/* The same without charging, after those that are joined from `first` on. */
static bool would_pass_without_store(const struct sl_asked *asked, size_t first, size_t number)
{
    return decide_without_store(
        asked, number, sl_joined_look(asked->asks + first, number - first, asked->bundles[number]));
}

/* Allows a request that no rule counts and that was only joined to others. */
static bool pass_uncounted(const struct sl_asking *ask)
{
    if (ask->claim_count > 0)
        return false;
    sl_decision_nobody(ask->nobody, ask->out);
    return true;
}

/* Answers the request of that number, whose bundle the store has failed, and those joined to it.
 * The table that stands in is peeked at first, so that nothing is charged there if one of them is
 * denied; a peek is answered by that. Returns how many. */
static size_t answer_failed(const struct sl_asked *asked, size_t first)
{
    const struct sl_asking *asks = asked->asks;
    size_t end = first + 1;
    while (end < asked->count && asks[end].bundle == asks[first].bundle)
        end++;
    bool allowed = true, are_joined = end - first > 1;
    for (size_t i = first; are_joined && i < end; i++)
        allowed &= pass_uncounted(&asks[i]) || would_pass_without_store(asked, first, i);
    for (size_t i = first; allowed && i < end; i++)
        if (!are_joined || (asks[i].claim_count > 0 && !asks[i].peek))
            decide_without_store(asked, i, asked->bundles[i]);
    return end - first;
}

/* Makes decisions of the store's answers, or of their absence. Returns the first bad status. */
int sl_asked_answer(const struct sl_asked *asked)
{
    struct sl_limiter *limiter = asked->limiter;
    int first_bad = SLUICE_OK;
    for (size_t i = 0; i < asked->count;) {
        const struct sl_bundle *bundle = &asked->bundles[i];
        const struct sl_asking *ask = &asked->asks[i];
        first_bad = first_bad ? first_bad : bundle->status;
        if (bundle->status != SLUICE_OK) {
            i += answer_failed(asked, i);
            continue;
        }
        sl_decision_summarise(bundle, ask->rules, ask->nobody, ask->out);
        i++;
    }
    if (limiter->context.users)
        report_violations(asked);
    return first_bad;
}

/* Counts the decisions, when nothing changes them any more. */
void sl_asked_count(const struct sl_asked *asked)
{
    struct sl_counts *counts = asked->limiter->counts;
    const struct sl_bundle *end = asked->bundles + asked->count;
    const struct sl_asking *ask = asked->asks;
    if (asked->limiter->observer) {
        sl_asked_watch(asked);
        return;
    }
    for (const struct sl_bundle *bundle = asked->bundles; bundle < end; bundle++, ask++)
        if (!bundle->peek) {
            sl_counts_decision(counts, ask->out);
            sl_counts_bundle(counts, bundle, ask->rules);
        }
}

/* Answers every bundle. Returns the first bad status. */
static int decide_taken(struct sl_limiter *limiter)
{
    struct sl_asked asked = batch_of(limiter);
    limiter->store->ops->decide(limiter->store, limiter->bundles, limiter->bundle_count);
    if (limiter->has_joined)
        sl_joined_view(limiter->bundles, limiter->asks, limiter->ask_count, limiter->views);
    return sl_asked_answer(&asked);
}

static void count_taken(struct sl_limiter *limiter, int64_t started_ns)
{
    struct sl_asked asked = batch_of(limiter);
    asked.started_ns = started_ns;
    sl_asked_count(&asked);
}

static int decide_uncounted(struct sl_limiter *limiter, const struct sluice_request *request,
                            int64_t max_delay_us, int64_t hold_us, struct sluice_decision *out)
{
    sl_limiter_forget(limiter);
    int status = sl_limiter_take(limiter, request, max_delay_us, out);
    limiter->bundles[0].hold_us = hold_us;
    return limiter->bundle_count ? decide_taken(limiter) : status;
}

static int decide_and_count(struct sl_limiter *limiter, const struct sluice_request *request,
                            int64_t max_delay_us, struct sluice_decision *out)
{
    int64_t started_ns = sl_limiter_start_ns(limiter);
    int status = decide_uncounted(limiter, request, max_delay_us, 0, out);
    count_taken(limiter, started_ns);
    if (status != SLUICE_OK)
        sl_limiter_forget(limiter); /* a failed decision has no explanation */
    return status;
}

int sl_limiter_decide(struct sl_limiter *limiter, const struct sluice_request *request,
                      struct sluice_decision *out)
{
    return decide_and_count(limiter, request, SL_BY_THE_RULES, out);
}

int sl_limiter_decide_within(struct sl_limiter *limiter, const struct sluice_request *request,
                             int64_t max_delay_us, struct sluice_decision *out)
{
    return decide_and_count(limiter, request, max_delay_us, out);
}

/* Takes as many requests as there is room for. Returns the first bad status. */
static int take_requests(struct sl_limiter *limiter, const struct sl_batch_in *in, size_t *next)
{
    int first_bad = SLUICE_OK;
    while (*next < in->count && !sl_limiter_is_full(limiter)) {
        int status = SLUICE_OK;
        if (in->options) {
            if (!sl_limiter_take_next(limiter, in, next, &status))
                break;
        } else {
            status =
                sl_limiter_take(limiter, &in->requests[*next], SL_BY_THE_RULES, &in->out[*next]);
            ++*next;
        }
        first_bad = first_bad ? first_bad : status;
    }
    return first_bad;
}

int sl_limiter_decide_with_options(struct sl_limiter *limiter, const struct sl_batch_in *in)
{
    int first_bad = SLUICE_OK;
    for (size_t i = 0; i < in->count;) {
        int64_t started_ns = sl_limiter_start_ns(limiter);
        sl_limiter_forget(limiter);
        int status = take_requests(limiter, in, &i);
        first_bad = first_bad ? first_bad : status;
        status = limiter->bundle_count ? decide_taken(limiter) : SLUICE_OK;
        first_bad = first_bad ? first_bad : status;
        count_taken(limiter, started_ns);
    }
    sl_limiter_forget(limiter);
    return first_bad;
}

int sl_limiter_decide_batch(struct sl_limiter *limiter, const struct sluice_request *requests,
                            size_t count, struct sluice_decision *out)
{
    return sl_limiter_decide_with_options(limiter,
                                          &(struct sl_batch_in){ requests, NULL, count, out });
}

/* If the reservation fails, the store has given back the charge; then the failure policy
 * decides. */
static int hold_charge(struct sl_limiter *limiter, int64_t expiry_us, struct sluice_decision *out,
                       uint64_t *id)
{
    struct sl_bundle *bundle = &limiter->bundles[0];
    bundle->status = limiter->store->ops->hold(limiter->store, bundle, expiry_us, id);
    if (bundle->status != SLUICE_OK)
        sl_fallback_decide(&limiter->rules->settings, limiter->store->local, bundle,
                           limiter->matched, out);
    return bundle->status;
}

int sl_limiter_reserve(struct sl_limiter *limiter, const struct sluice_request *request,
                       int64_t expiry_us, struct sluice_decision *out, uint64_t *id)
{
    if (!limiter->store->ops->hold)
        return SLUICE_UNSUPPORTED;
    *id = 0;
    int64_t started_ns = sl_limiter_start_ns(limiter);
    int status = decide_uncounted(limiter, request, SL_BY_THE_RULES, expiry_us, out);
    if (status == SLUICE_OK && out->charged)
        status = hold_charge(limiter, expiry_us, out, id);
    count_taken(limiter, started_ns);
    if (status != SLUICE_OK)
        sl_limiter_forget(limiter);
    return status;
}

/* ---- explanations and counts ---- */

size_t sl_limiter_match(struct sl_limiter *limiter, const struct sluice_request *request,
                        const struct sl_rule *const **rules)
{
    sl_limiter_forget(limiter);
    if (!sl_caller_keys_init(&limiter->caller, limiter->rules, request))
        return SIZE_MAX;
    *rules = limiter->matched;
    return sl_index_match(limiter->rules, &limiter->caller.request, limiter->matched);
}

size_t sl_limiter_matched(const struct sl_limiter *limiter, const struct sl_rule *const **rules)
{
    *rules = limiter->matched;
    return limiter->claim_count;
}

int64_t sl_limiter_queue_us(const struct sl_limiter *limiter)
{
    return limiter->claim_count ? sl_longest_delay_us(&limiter->bundles[0]) : 0;
}

size_t sl_limiter_explain(struct sl_limiter *limiter, const struct sluice_explained **rows)
{
    for (size_t i = 0; i < limiter->claim_count; i++)
        sl_decision_explain(&limiter->bundles[0], &limiter->claims[i], limiter->matched[i],
                            &limiter->explained[i]);
    *rows = limiter->explained;
    return limiter->claim_count;
}

const struct sl_counts *sl_limiter_counts(const struct sl_limiter *limiter)
{
    return limiter->counts;
}

void sl_limiter_inherit(struct sl_limiter *to, struct sl_limiter *from)
{
    sl_counts_inherit(to->counts, from->counts);
}
