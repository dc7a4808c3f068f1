/* Sending an errand, and turning the store's answers into decisions: see errand.h. */
#include "limiter/errand.h"

#include <stdlib.h>

#include "base/check.h"
#include "limiter/decision.h"
#include "limiter/limiter_internal.h"

/* As many requests as the limiter's scratch has room for, in one allocation:
 *
 *   batch | bundles … | views … | asks … | rules … | claims … | requests and their texts
 *
 * Requests are copied only where the user table or an observer needs them afterwards. */
struct sl_batch {
    struct sl_batch *next;
    struct sl_errand *errand;
    struct sl_parcel parcel;
    struct sl_asked asked;
    bool has_joined; /* asked.bundles are views then */
};

/* ---- answers ---- */

static void count_answer(struct sl_errand *errand)
{
    if (--errand->waiting == 0)
        errand->done(errand);
}

static void keep_first_bad(struct sl_errand *errand, int status)
{
    errand->status = errand->status ? errand->status : status;
}

static void on_parcel(struct sl_parcel *parcel)
{
    struct sl_batch *batch =
        (struct sl_batch *)(void *)((char *)parcel - offsetof(struct sl_batch, parcel));
    struct sl_errand *errand = batch->errand;
    for (size_t i = 0; i < batch->asked.count; i++)
        batch->asked.asks[i].out = &errand->out[batch->asked.asks[i].number];
    if (batch->has_joined)
        sl_joined_view(parcel->bundles, batch->asked.asks, batch->asked.count,
                       batch->asked.bundles);
    keep_first_bad(errand, sl_asked_answer(&batch->asked));
    sl_asked_count(&batch->asked);
    for (size_t i = 0; i < batch->asked.count; i++) {
        const struct sl_asking *ask = &batch->asked.asks[i];
        const struct sl_bundle *bundle = &batch->asked.bundles[i];
        bool is_held = bundle->status == SLUICE_OK && ask->out->charged;
        errand->held[ask->number] = is_held ? bundle->held : 0;
    }
    count_answer(errand);
}

/* ---- on their way ---- */

/* Where the next part of a batch begins; `at` NULL: only its length is measured. */
struct copy_area {
    char *at;
    size_t len;
};

static void *place_part(struct copy_area *layout, size_t bytes, size_t align)
{
    layout->len = (layout->len + align - 1) / align * align;
    void *start = layout->at ? layout->at + layout->len : NULL;
    layout->len += bytes;
    return start;
}

#define PART(layout, count, type) place_part(layout, (count) * sizeof(type), _Alignof(type))

static void copy_text(struct copy_area *layout, struct sluice_text *text)
{
    char *copy = place_part(layout, text->len, 1);
    if (copy && text->len) {
        memcpy(copy, text->at, text->len);
        text->at = copy;
    }
}

/* Copies a request with all that it points to. */
static const struct sluice_request *copy_request(struct copy_area *layout,
                                                 const struct sluice_request *from)
{
    struct sluice_request *request = PART(layout, 1, struct sluice_request);
    struct sluice_attribute *others = PART(layout, from->other_count, struct sluice_attribute);
    struct sluice_request copy = *from;
    struct sluice_text *texts[] = { &copy.tenant, &copy.resource, &copy.method, &copy.user,
                                    &copy.ip,     &copy.client,   &copy.tier };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        copy_text(layout, texts[i]);
    for (size_t i = 0; i < from->other_count; i++) {
        struct sluice_attribute other = from->others[i];
        copy_text(layout, &other.name);
        copy_text(layout, &other.value);
        if (others)
            others[i] = other;
    }
    copy.others = others;
    if (request)
        *request = copy;
    return request;
}

/* Copies the scratch. Called twice: the first call only measures. */
static struct sl_batch *lay_out(const struct sl_limiter *limiter, struct copy_area *layout)
{
    size_t count = limiter->ask_count, claim_count = limiter->claim_count;
    struct sl_batch *batch = PART(layout, 1, struct sl_batch);
    struct sl_bundle *bundles = PART(layout, limiter->bundle_count, struct sl_bundle);
    struct sl_bundle *views = PART(layout, limiter->has_joined ? count : 0, struct sl_bundle);
    struct sl_asking *asks = PART(layout, count, struct sl_asking);
    const struct sl_rule **rules = PART(layout, claim_count, struct sl_rule *);
    struct sl_claim *claims = PART(layout, claim_count, struct sl_claim);
    if (batch) {
        memcpy(bundles, limiter->bundles, limiter->bundle_count * sizeof *bundles);
        memcpy(asks, limiter->asks, count * sizeof *asks);
        memcpy(rules, limiter->matched, claim_count * sizeof *rules);
        memcpy(claims, limiter->claims, claim_count * sizeof *claims);
        *batch = (struct sl_batch){
            .parcel = { .bundles = bundles, .count = limiter->bundle_count, .done = on_parcel },
            .asked = { NULL, limiter->has_joined ? views : bundles, asks, count, 0 },
            .has_joined = limiter->has_joined,
        };
    }
    for (size_t i = 0; batch && i < limiter->bundle_count; i++)
        bundles[i].claims = claims + (bundles[i].claims - limiter->claims);
    for (size_t i = 0; i < count; i++) {
        struct sl_asking ask = limiter->asks[i];
        if (limiter->context.users || limiter->observer)
            ask.request = copy_request(layout, ask.request);
        if (!batch)
            continue;
        asks[i] = ask;
        asks[i].claims = claims + (ask.claims - limiter->claims);
        asks[i].rules = rules + (ask.rules - limiter->matched);
    }
    return batch;
}

static struct sl_batch *copy_scratch(struct sl_limiter *limiter)
{
    struct copy_area layout = { 0 };
    size_t align = _Alignof(struct sl_claim);
    lay_out(limiter, &layout);
    layout.at = aligned_alloc(align, (layout.len + align - 1) / align * align);
    layout.len = 0;
    if (!layout.at)
        return NULL;
    struct sl_batch *batch = lay_out(limiter, &layout);
    batch->asked.limiter = limiter;
    return batch;
}

/* ---- answers without the store ---- */

static bool is_answered(const struct sl_limiter *limiter, size_t ask)
{
    return limiter->bundles[limiter->asks[ask].bundle].is_near;
}

/* Decides the requests from `first` to `end`, whose bundles have their answers. */
static void answer_run(struct sl_errand *errand, size_t first, size_t end, int64_t started_ns)
{
    struct sl_limiter *limiter = errand->limiter;
    struct sl_asked asked = { .limiter = limiter,
                              .bundles = limiter->bundles + first,
                              .asks = limiter->asks + first,
                              .count = end - first,
                              .started_ns = started_ns };
    if (limiter->has_joined) {
        asked.bundles = limiter->views + first;
        sl_joined_view(limiter->bundles, asked.asks, asked.count, asked.bundles);
    }
    keep_first_bad(errand, sl_asked_answer(&asked));
    sl_asked_count(&asked);
}

/* Moves the requests that are not answered to the front of the scratch, in their order. */
static void drop_answered(struct sl_limiter *limiter)
{
    size_t asks = 0, bundles = 0, last = SIZE_MAX;
    for (size_t i = 0; i < limiter->ask_count; i++) {
        size_t from = limiter->asks[i].bundle;
        if (is_answered(limiter, i))
            continue;
        if (from != last) /* joined ones have the same */
            limiter->bundles[bundles++] = limiter->bundles[from];
        last = from;
        limiter->asks[asks] = limiter->asks[i];
        limiter->asks[asks++].bundle = bundles - 1;
    }
    limiter->ask_count = asks;
    limiter->bundle_count = bundles;
}

/* Answers the requests that the answer cache knows, and removes them from the scratch. */
static void answer_from_cache(struct sl_errand *errand, int64_t started_ns)
{
    struct sl_limiter *limiter = errand->limiter;
    struct sl_answer_cache *answers = limiter->store->answers;
    if (sl_answer_cache_answer_all(answers, limiter->bundles, limiter->bundle_count) == 0)
        return;
    for (size_t i = 0, end; i < limiter->ask_count; i = end) {
        for (end = i + 1; end < limiter->ask_count; end++)
            if (is_answered(limiter, end) != is_answered(limiter, i))
                break;
        if (is_answered(limiter, i))
            answer_run(errand, i, end, started_ns);
    }
    drop_answered(limiter);
}

/* ---- sending ---- */

/* There is no memory to wait in: the rules' on_store_failure decides. */
static void answer_without_store(struct sl_errand *errand)
{
    struct sl_limiter *limiter = errand->limiter;
    for (size_t i = 0; i < limiter->bundle_count; i++)
        limiter->bundles[i].status = SLUICE_NO_MEMORY;
    answer_run(errand, 0, limiter->ask_count, 0);
}

/* Answers the requests in the scratch, or sends them on their way. Without a channel the store is
 * not asked. */
static void send_scratch(struct sl_errand *errand, struct sl_channel *channel, int64_t started_ns)
{
    struct sl_limiter *limiter = errand->limiter;
    answer_from_cache(errand, started_ns);
    if (channel)
        sl_channel_call_leases(channel);
    if (limiter->bundle_count == 0)
        return;
    for (size_t i = 0; errand->is_asked && i < limiter->ask_count; i++)
        errand->is_asked[limiter->asks[i].number] = true;
    struct sl_batch *batch = channel ? copy_scratch(limiter) : NULL;
    if (!batch) {
        answer_without_store(errand);
        return;
    }
    batch->errand = errand;
    batch->asked.started_ns = started_ns;
    batch->next = errand->batches;
    errand->batches = batch;
    errand->waiting++;
    sl_channel_decide(channel, &batch->parcel);
}

/* Adds the next request, or the joined ones that begin there, to the scratch. Returns false if
 * there is no room for them. */
static bool take_next_request(struct sl_errand *errand, size_t *next)
{
    struct sl_limiter *limiter = errand->limiter;
    size_t first = *next, first_ask = limiter->ask_count;
    int status = SLUICE_OK;
    struct sl_batch_in in = { errand->requests, errand->options, errand->count, errand->out };
    if (!errand->options) {
        status = sl_limiter_take(limiter, &in.requests[first], SL_BY_THE_RULES, &in.out[first]);
        ++*next;
    } else if (!sl_limiter_take_next(limiter, &in, next, &status)) {
        return false;
    }
    keep_first_bad(errand, status);
    for (size_t i = first_ask; i < limiter->ask_count; i++)
        limiter->asks[i].number = (size_t)(limiter->asks[i].out - errand->out);
    if (limiter->ask_count == first_ask + 1 && errand->hold_us) /* else it was answered already */
        limiter->bundles[limiter->bundle_count - 1].hold_us = errand->hold_us[first];
    return true;
}

static void decide_all(struct sl_errand *errand, struct sl_limiter *limiter,
                       struct sl_channel *channel)
{
    errand->limiter = limiter;
    errand->batches = NULL;
    errand->status = SLUICE_OK;
    for (size_t i = 0; i < errand->count;) {
        int64_t started_ns = sl_limiter_start_ns(limiter);
        sl_limiter_forget(limiter);
        while (i < errand->count && !sl_limiter_is_full(limiter) && take_next_request(errand, &i))
            ;
        send_scratch(errand, channel, started_ns);
    }
    sl_limiter_forget(limiter);
}

void sl_errand_send(struct sl_errand *errand, struct sl_limiter *limiter,
                    struct sl_channel *channel)
{
    SL_CHECK(channel && errand->done);
    for (size_t i = 0; i < errand->count; i++)
        errand->held[i] = 0;
    errand->waiting = 1;
    decide_all(errand, limiter, channel);
    count_answer(errand);
}

void sl_errand_fail(struct sl_errand *errand, struct sl_limiter *limiter)
{
    errand->waiting = 0;
    decide_all(errand, limiter, NULL);
    SL_CHECK(!errand->batches);
}

/* ---- afterwards ---- */

static size_t explain_bundle(struct sl_limiter *limiter, const struct sl_bundle *bundle,
                             const struct sl_asking *ask, const struct sluice_explained **rows)
{
    if (bundle->status != SLUICE_OK)
        return 0; /* the store has decided nothing */
    for (size_t i = 0; i < bundle->claim_count; i++)
        sl_decision_explain(bundle, &bundle->claims[i], ask->rules[i], &limiter->explained[i]);
    *rows = limiter->explained;
    return bundle->claim_count;
}

size_t sl_errand_explain(const struct sl_errand *errand, size_t number,
                         const struct sluice_explained **rows)
{
    for (const struct sl_batch *batch = errand->batches; batch; batch = batch->next)
        for (size_t i = 0; i < batch->asked.count; i++)
            if (batch->asked.asks[i].number == number)
                return explain_bundle(errand->limiter, &batch->asked.bundles[i],
                                      &batch->asked.asks[i], rows);
    *rows = errand->limiter->explained;
    return 0;
}

void sl_errand_release(struct sl_errand *errand)
{
    SL_CHECK(errand->waiting == 0);
    struct sl_batch *batch = errand->batches;
    while (batch) {
        struct sl_batch *next = batch->next;
        free(batch);
        batch = next;
    }
    errand->batches = NULL;
}
