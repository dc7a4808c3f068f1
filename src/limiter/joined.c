/* Requests that are charged together or not at all, such as the descriptors of one Envoy call.
 *
 *   asks      [a]     [b]         [c]      each with its part of
 *   claims   | r1 r4 | r1' r2 r9 | r2' |   all their claims, one bundle;  ': a key that was there
 *   merged   | r1 r4 r2 r9 |               sent to the store: each key once, costs added
 *   views     [a]     [b]         [c]      its answers, taken apart again
 *
 * A store decides claims on what it has read, so two claims on one key would both get the last
 * unit: it never gets two. */
#include <stdlib.h>

#include "base/check.h"
#include "limiter/limiter_internal.h"
#include "store/claim.h"

_Static_assert((int)SL_JOINED_MAX <= (int)SL_BUNDLES_MAX, "they fit an empty scratch");

/* ---- room ---- */

/* Moves the claims and rules taken so far to larger arrays. */
static void move_scratch(struct sl_limiter *limiter, struct sl_claim *claims,
                         const struct sl_rule **matched)
{
    memcpy(claims, limiter->claims, limiter->claim_count * sizeof *claims);
    memcpy(matched, limiter->matched, limiter->claim_count * sizeof *matched);
    for (size_t i = 0; i < limiter->bundle_count; i++)
        limiter->bundles[i].claims = claims + (limiter->bundles[i].claims - limiter->claims);
    for (size_t i = 0; i < limiter->ask_count; i++) {
        struct sl_asking *ask = &limiter->asks[i];
        ask->claims = claims + (ask->claims - limiter->claims);
        ask->rules = matched + (ask->rules - limiter->matched);
    }
    free(limiter->claims);
    free(limiter->matched);
    limiter->claims = claims;
    limiter->matched = matched;
}

/* Makes room for so many more claims. Returns false if there is no memory. */
static bool make_room(struct sl_limiter *limiter, size_t more)
{
    if (limiter->claim_count + more <= limiter->claim_room)
        return true;
    size_t room = (limiter->claim_count + more) * 2;
    struct sl_claim *claims = calloc(room, sizeof *claims);
    const struct sl_rule **matched = calloc(room, sizeof *matched);
    if (!claims || !matched) {
        free(claims);
        free(matched);
        return false;
    }
    move_scratch(limiter, claims, matched);
    limiter->claim_room = room;
    return true;
}

static bool make_view_room(struct sl_limiter *limiter)
{
    if (!limiter->views)
        limiter->views = calloc(SL_BUNDLES_MAX, sizeof *limiter->views);
    return limiter->views;
}

/* Returns so many zeroed words, valid until the next call; NULL if there is no memory. */
static uint64_t *zeroed_words(struct sl_limiter *limiter, size_t count)
{
    if (count > limiter->word_room) {
        uint64_t *words = calloc(count * 2, sizeof *words);
        if (!words)
            return NULL;
        free(limiter->words);
        limiter->words = words;
        limiter->word_room = count * 2;
        return words;
    }
    memset(limiter->words, 0, count * sizeof *limiter->words);
    return limiter->words;
}

/* ---- replacing ---- */

/* Returns a bit for each rule that a claim from there on replaces; NULL if there is no memory. */
static const uint64_t *find_replaced(struct sl_limiter *limiter, size_t first)
{
    uint64_t *bits = zeroed_words(limiter, limiter->rules->rule_count / 64 + 1);
    for (size_t i = first; bits && i < limiter->claim_count; i++) {
        const struct sl_rule *rule = limiter->matched[i];
        for (size_t k = 0; k < rule->replaces_count; k++)
            bits[rule->replaces[k] / 64] |= UINT64_C(1) << rule->replaces[k] % 64;
    }
    return bits;
}

static bool is_replaced(const struct sl_limiter *limiter, const uint64_t *bits, size_t claim)
{
    uint32_t index = limiter->matched[claim]->index;
    return index < limiter->rules->rule_count && bits[index / 64] >> index % 64 & 1;
}

void sl_limiter_replace(struct sl_limiter *limiter, size_t first_ask)
{
    struct sl_asking *asks = limiter->asks;
    if (!limiter->rules->has_replaces || first_ask == limiter->ask_count)
        return;
    size_t to = (size_t)(asks[first_ask].claims - limiter->claims);
    const uint64_t *replaced = find_replaced(limiter, to);
    if (!replaced)
        return; /* all of them are counted: rather too much than too little */
    for (size_t k = first_ask; k < limiter->ask_count; k++) {
        size_t from = (size_t)(asks[k].claims - limiter->claims), end = from + asks[k].claim_count;
        asks[k].claims = limiter->claims + to;
        asks[k].rules = limiter->matched + to;
        for (; from < end; from++) {
            if (is_replaced(limiter, replaced, from))
                continue;
            if (to != from)
                limiter->claims[to] = limiter->claims[from];
            limiter->matched[to++] = limiter->matched[from];
        }
        asks[k].claim_count = (size_t)(limiter->claims + to - asks[k].claims);
    }
    limiter->claim_count = to;
}

/* ---- one bundle of many ---- */

/* Claims by their keys: an open-addressing table. A place holds a claim's number + 1; 0 is free. */
struct keys {
    const struct sl_claim *claims;
    uint64_t *places;
    size_t mask;
};

/* Opens it for so many claims. Returns false if there is no memory. */
static bool open_keys(struct keys *keys, struct sl_limiter *limiter, const struct sl_claim *claims,
                      size_t count)
{
    size_t room = 4;
    while (room < count * 2)
        room *= 2;
    *keys = (struct keys){ claims, zeroed_words(limiter, room), room - 1 };
    return keys->places;
}

/* Returns the place of the claim with this key, or a free one. */
static uint64_t *place_of(const struct keys *keys, struct sl_hash128 key)
{
    size_t at = key.low & keys->mask;
    while (keys->places[at]) {
        struct sl_hash128 other = keys->claims[keys->places[at] - 1].key;
        if (other.low == key.low && other.high == key.high)
            break;
        at = (at + 1) & keys->mask;
    }
    return &keys->places[at];
}

enum twice { ONCE, TWICE, NO_MEMORY };

static enum twice find_twice(struct sl_limiter *limiter, size_t first)
{
    const struct sl_claim *claims = limiter->claims + first;
    size_t count = limiter->claim_count - first;
    struct keys keys;
    if (!open_keys(&keys, limiter, claims, count))
        return NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint64_t *place = claims[i].no_key ? NULL : place_of(&keys, claims[i].key);
        if (place && *place)
            return TWICE;
        if (place)
            *place = i + 1;
    }
    return ONCE;
}

/* Words of a claim that otherwise belong to the store: which merged claim it is in; of a merged
 * one, whether its cost is too much. */
enum { IS_IN, IS_TOO_MUCH };

/* Limits that differ, by tier or because requests brought them: the lower of both. */
static void lower_limit(struct sl_limit *to, const struct sl_limit *limit)
{
    int64_t capacity = to->capacity < limit->capacity ? to->capacity : limit->capacity;
    if (limit->token_ns > to->token_ns)
        *to = *limit;
    to->capacity = capacity;
}

/* Costs that charge are added; of peeks the highest counts. */
static void add_claim(struct sl_claim *to, const struct sl_claim *claim)
{
    lower_limit(&to->limit, &claim->limit);
    to->ring_len = to->ring_len > claim->ring_len ? to->ring_len : claim->ring_len;
    if (to->peek != claim->peek) {
        to->cost = to->peek ? claim->cost : to->cost;
        to->peek = false;
    } else if (to->peek) {
        to->cost = to->cost > claim->cost ? to->cost : claim->cost;
    } else if (__builtin_add_overflow(to->cost, claim->cost, &to->cost)) {
        to->cost = UINT32_MAX;
        to->own[IS_TOO_MUCH] = true;
    }
}

/* A cost above the limit never passes. It is decided as a peek: with a limit smaller than its own a
 * state would be repaired, which gives back charges. */
static void refuse_too_much(struct sl_claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sl_claim *claim = &claims[i];
        if (!claim->own[IS_TOO_MUCH])
            continue;
        claim->own[IS_TOO_MUCH] = false;
        claim->peek = true;
        if (claim->limit.capacity >= UINT32_MAX)
            claim->limit.capacity = UINT32_MAX - 1;
    }
}

/* Adds the merged claims after those from `first` on: each key once. The others remember their
 * merged one. Returns false if there is no memory. */
static bool merge_claims(struct sl_limiter *limiter, size_t first)
{
    size_t count = limiter->claim_count - first, merged = 0;
    struct keys keys;
    if (!make_room(limiter, count))
        return false;
    struct sl_claim *from = limiter->claims + first, *to = from + count;
    if (!open_keys(&keys, limiter, to, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t *place = from[i].no_key ? NULL : place_of(&keys, from[i].key);
        if (place && *place) {
            from[i].own[IS_IN] = *place - 1;
            add_claim(&to[*place - 1], &from[i]);
            continue;
        }
        from[i].own[IS_IN] = merged;
        limiter->matched[first + count + merged] = limiter->matched[first + i];
        to[merged++] = from[i];
        if (place)
            *place = merged;
    }
    refuse_too_much(to, merged);
    limiter->claim_count += merged;
    return true;
}

static bool is_uniform(const struct sl_claim *claims, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (claims[i].cost != claims[0].cost || claims[i].peek != claims[0].peek)
            return false;
    return true;
}

/* Makes one bundle of the requests from there on. Returns false if there is no memory. */
static bool make_bundle(struct sl_limiter *limiter, size_t first_ask)
{
    sl_limiter_replace(limiter, first_ask);
    size_t first = (size_t)(limiter->asks[first_ask].claims - limiter->claims);
    size_t end = limiter->claim_count;
    enum twice twice = find_twice(limiter, first);
    if (twice == NO_MEMORY || (twice == TWICE && !merge_claims(limiter, first)))
        return false;
    if (twice == TWICE)
        first = end;
    struct sl_claim *claims = limiter->claims + first;
    size_t count = limiter->claim_count - first;
    limiter->bundles[limiter->bundle_count++] = (struct sl_bundle){
        .now_us = limiter->asks[first_ask].request->at_us,
        .cost = count ? claims[0].cost : 0,
        .peek = count ? claims[0].peek : true,
        .is_mixed = !is_uniform(claims, count),
        .max_delay_us = -1,
        .claims = claims,
        .claim_count = count,
        .is_joined = true,
    };
    return true;
}

/* ---- taking requests ---- */

static size_t joined_count(const struct sl_batch_in *in, size_t first)
{
    size_t count = 1;
    while (first + count < in->count && in->options[first + count].joins)
        count++;
    SL_CHECK(count <= SL_JOINED_MAX);
    return count;
}

/* Takes one of several joined requests. */
static int take_member(struct sl_limiter *limiter, const struct sl_batch_in *in, size_t number)
{
    const struct sluice_request *request = &in->requests[number];
    const struct sl_direct *direct = in->options[number].direct;
    bool is_exempt = false;
    bool good = make_room(limiter, limiter->rules->rule_count + 1) &&
                sl_limiter_meet(limiter, request, &is_exempt);
    if (!good || is_exempt)
        return sl_limiter_fast_path(limiter, request, good ? SLUICE_OK : SLUICE_NO_MEMORY,
                                    &in->out[number]);
    sl_limiter_ask(limiter, request, direct, &in->out[number]);
    struct sl_asking *ask = &limiter->asks[limiter->ask_count - 1];
    for (size_t i = 0; i < ask->claim_count; i++) {
        ask->claims[i].cost = request->cost;
        ask->claims[i].peek = request->peek;
    }
    return SLUICE_OK;
}

/* Answers all of them by the failure policy: there was no memory. */
static int answer_no_memory(struct sl_limiter *limiter, size_t first_ask)
{
    for (size_t i = first_ask; i < limiter->ask_count; i++)
        sl_limiter_fast_path(limiter, limiter->asks[i].request, SLUICE_NO_MEMORY,
                             limiter->asks[i].out);
    limiter->ask_count = first_ask;
    return SLUICE_NO_MEMORY;
}

static int take_joined(struct sl_limiter *limiter, const struct sl_batch_in *in, size_t first,
                       size_t count)
{
    int status = SLUICE_OK;
    size_t first_ask = limiter->ask_count;
    for (size_t i = first; i < first + count; i++) {
        int own = take_member(limiter, in, i);
        status = status ? status : own;
    }
    if (limiter->ask_count == first_ask)
        return status;
    if (!make_view_room(limiter) || !make_bundle(limiter, first_ask))
        return answer_no_memory(limiter, first_ask);
    limiter->has_joined = true;
    return status;
}

bool sl_limiter_take_next(struct sl_limiter *limiter, const struct sl_batch_in *in, size_t *next,
                          int *status)
{
    size_t first = *next, count = joined_count(in, first);
    if (limiter->ask_count + count > SL_BUNDLES_MAX)
        return false;
    *next += count;
    *status = count > 1 ? take_joined(limiter, in, first, count)
                        : sl_limiter_take_direct(limiter, &in->requests[first],
                                                 in->options[first].direct, &in->out[first]);
    return true;
}

/* ---- answers ---- */

/* Copies the store's answer for this key. */
static void copy_answer(const struct sl_bundle *bundle, struct sl_claim *claim)
{
    const struct sl_claim *said = &bundle->claims[claim->own[IS_IN]];
    if (claim->no_key)
        return;
    claim->limit = said->limit;
    claim->allowed = said->allowed;
    claim->charged = said->charged;
    claim->is_lost = said->is_lost;
    claim->guard_answer = said->guard_answer;
    claim->answer = said->answer;
    claim->figures = said->figures;
}

static bool is_in_bundle(const struct sl_bundle *bundle, const struct sl_asking *ask)
{
    return ask->claims >= bundle->claims &&
           ask->claims + ask->claim_count <= bundle->claims + bundle->claim_count;
}

void sl_joined_view(const struct sl_bundle *bundles, const struct sl_asking *asks, size_t count,
                    struct sl_bundle *views)
{
    for (size_t i = 0; i < count; i++) {
        const struct sl_asking *ask = &asks[i];
        const struct sl_bundle *bundle = &bundles[ask->bundle];
        for (size_t k = 0; !is_in_bundle(bundle, ask) && k < ask->claim_count; k++)
            copy_answer(bundle, &ask->claims[k]);
        views[i] = *bundle;
        views[i].cost = ask->cost;
        views[i].peek = ask->peek;
        views[i].is_mixed = false;
        views[i].claims = ask->claims;
        views[i].claim_count = ask->claim_count;
        sl_bundle_judge(&views[i]);
    }
}

/* ---- where the store has failed ---- */

/* Returns the cost that earlier requests take of this key. */
static uint64_t taken_before(const struct sl_asking *asks, size_t number, struct sl_hash128 key)
{
    uint64_t cost = 0;
    for (size_t i = 0; i < number; i++)
        for (size_t k = 0; !asks[i].peek && k < asks[i].claim_count; k++)
            if (asks[i].claims[k].key.low == key.low && asks[i].claims[k].key.high == key.high)
                cost += asks[i].cost;
    return cost;
}

struct sl_bundle sl_joined_look(const struct sl_asking *asks, size_t number,
                                struct sl_bundle bundle)
{
    const struct sl_asking *ask = &asks[number];
    for (size_t i = 0; i < ask->claim_count; i++) {
        uint64_t before = taken_before(asks, number, ask->claims[i].key);
        uint64_t cost = !ask->peek ? before + ask->cost : before ? before : ask->cost;
        ask->claims[i].cost = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
        ask->claims[i].peek = true;
    }
    bundle.is_mixed = bundle.peek = true;
    return bundle;
}
