/* Channels, and the parcels that are asked over them.
 *
 *   prepare_query    from leases, by a lease's call, by a script, or in parts over a cluster's
 * slots on_…             the answer has come, or failed: finish_query, then the parcel's next
 * bundle one_query_less   the last answer ends the parcel */
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "store/claim.h"
#include "store/redis/ask.h"
#include "store/redis/channel_internal.h"
#include "store/redis/cluster/route_internal.h"
#include "store/redis/guard_flush.h"
#include "store/redis/left_out.h"
#include "store/redis/parts.h"
#include "store/redis/redis.h"

enum { ASKED_MAX_BYTES = 16 << 20, TEND_EVERY_US = 1000000 };

/* As good as random, without asking the kernel each time. Each channel has its own seed, and a
 * forked process makes its own channels: no two give the same nonces. */
uint64_t sl_channel_nonce(struct sl_channel *channel)
{
    channel->calls++;
    return sl_hash64((struct sluice_text){ (const char *)&channel->calls, sizeof channel->calls },
                     channel->seed);
}

struct sl_channel *sl_channel_new(struct sl_link_shared *shared, const struct sl_link_host *host)
{
    SL_CHECK(shared && host && host->watch && host->wake_at);
    struct sl_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return NULL;
    channel->shared = shared;
    channel->seed = sl_random64();
    channel->route = sl_route_new(shared, host);
    channel->undos = (struct sl_undos){ .shared = shared, .route = channel->route };
    sl_lease_client_init(&channel->lease_client, channel, shared, !host->is_patient);
    if (channel->route)
        return channel;
    free(channel);
    return NULL;
}

void sl_channel_free(struct sl_channel *channel)
{
    if (!channel)
        return;
    channel->undos.is_closing = true;
    sl_route_free(channel->route, false);
    sl_lease_client_release(&channel->lease_client);
    free(channel);
}

void sl_channel_abandon(struct sl_channel *channel)
{
    channel->undos.is_closing = true;
    sl_route_free(channel->route, true);
    sl_lease_client_release(&channel->lease_client);
    free(channel);
}

void sl_channel_open(struct sl_channel *channel)
{
    sl_route_open(channel->route);
}

bool sl_channel_is_up(const struct sl_channel *channel)
{
    return sl_route_is_up(channel->route);
}

void sl_channel_flush(struct sl_channel *channel)
{
    sl_route_flush(channel->route);
}

void sl_channel_on_ready(struct sl_channel *channel, int fd)
{
    sl_route_on_ready(channel->route, fd);
}

void sl_channel_on_time(struct sl_channel *channel)
{
    sl_route_on_time(channel->route);
    if (sl_lease_client_look(&channel->lease_client))
        sl_channel_flush(channel);
}

void sl_channel_wake_by(struct sl_channel *channel, int64_t at_us)
{
    sl_route_wake_by(channel->route, at_us);
}

/* Every question goes out here, to the node that has its slot. */
void sl_channel_ask(struct sl_channel *channel, struct sl_redis_query *query)
{
    SL_CHECK(query->done);
    sl_route_ask(channel->route, query);
}

void sl_channel_call_leases(struct sl_channel *channel)
{
    struct sl_leases *leases = channel->lease_client.leases;
    if (leases && sl_leases_any_due(leases) && sl_lease_client_call_due(&channel->lease_client))
        sl_channel_flush(channel);
}

void sl_channel_tend_leases(struct sl_channel *channel)
{
    sl_channel_call_leases(channel);
    if (sl_lease_client_tend(&channel->lease_client))
        sl_channel_flush(channel);
}

size_t sl_channel_give_back(struct sl_channel *channel, const struct sl_hash128 *key, size_t *next)
{
    return sl_lease_client_give_back(&channel->lease_client, key, next);
}

bool sl_channel_has_lease_calls(const struct sl_channel *channel)
{
    return channel->lease_client.waiting > 0;
}

static void on_called(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply)
{
    struct sl_channel_call *call = (struct sl_channel_call *)query;
    SL_CHECK(!call->is_done); /* a call ends once */
    call->status = status;
    call->said = status == SLUICE_OK && reply->value_count > 1 ? reply->values[1] : 0;
    call->reply = status == SLUICE_OK ? reply : NULL;
    call->is_done = true;
    call->done(call);
}

void sl_channel_call(struct sl_channel *channel, struct sl_channel_call *call)
{
    SL_CHECK(call->done);
    call->query.done = on_called;
    call->is_done = false;
    sl_channel_ask(channel, &call->query);
}

/* ---- parcels ---- */

struct sl_parcel_query {
    struct sl_redis_query query; /* first */
    struct sl_parcel *parcel;
    struct sl_bundle *bundle;
    struct sl_lease_client *lease_client;
    struct sl_lease *lease; /* whose call decides the bundle; or NULL */
    struct sl_lease_wait wait;
    bool waits; /* for such a call of another request */
    struct sl_parts_told told;
    bool is_scattered; /* over several slots: it is asked in parts */
    bool teaches;
};

static void one_query_less(struct sl_parcel *parcel)
{
    SL_CHECK(parcel->waiting > 0);
    if (--parcel->waiting > 0)
        return;
    free(parcel->queries);
    sl_buffer_release(&parcel->bytes);
    parcel->queries = NULL;
    parcel->done(parcel);
}

/* The bundle has its answer, or has failed: learns from it, and ends the query. */
static void finish_query(struct sl_parcel_query *own)
{
    sl_lease_client_close(own->lease_client, own->bundle);
    if (own->teaches && own->bundle->status == SLUICE_OK)
        sl_answer_cache_learn(own->parcel->answers, own->bundle, own->parcel->since);
    one_query_less(own->parcel);
}

static void on_decided(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply)
{
    struct sl_parcel_query *own = (struct sl_parcel_query *)query;
    struct sl_lease_client *lease_client = own->lease_client;
    const struct sl_redis_reply *heard = status == SLUICE_OK ? reply : NULL;
    struct sl_lease_wait *waiting = own->lease ? sl_lease_client_waiting(own->lease) : NULL;
    if (own->lease)
        own->bundle->status =
            sl_lease_client_decide(lease_client, own->lease, own->bundle, query, heard);
    else if (heard)
        own->bundle->status = sl_answer_decide(own->bundle, reply);
    if (!heard && !sl_bundle_decide_without(own->bundle))
        own->bundle->status = status;
    own->teaches &= heard != NULL;
    finish_query(own);
    sl_lease_client_wake(lease_client, waiting, status);
}

static struct sl_parcel_query *query_of_wait(struct sl_lease_wait *wait)
{
    return (struct sl_parcel_query *)(void *)((char *)wait -
                                              offsetof(struct sl_parcel_query, wait));
}

static void on_answered(struct sl_lease_wait *wait, int status)
{
    struct sl_parcel_query *own = query_of_wait(wait);
    own->teaches = false; /* the answer is not the store's */
    own->bundle->status = status;
    finish_query(own);
}

/* The wait is over without an answer: asks, within the time that is left. */
static void on_asks(struct sl_lease_wait *wait, struct sl_lease *lease)
{
    struct sl_parcel_query *own = query_of_wait(wait);
    struct sl_channel *channel = own->lease_client->channel;
    own->lease = lease;
    if (!lease || sl_ask_lease(&channel->shared->scripts, lease, &own->parcel->bytes, &own->query))
        sl_route_ask_by(channel->route, &own->query, wait->due_us);
    else
        on_decided(&own->query, SLUICE_NO_MEMORY, NULL);
}

static void on_parts_decided(struct sl_parts_told *told)
{
    struct sl_parcel_query *own =
        (struct sl_parcel_query *)(void *)((char *)told - offsetof(struct sl_parcel_query, told));
    finish_query(own);
}

/* Is there nothing to look up? No rule counts the request, or its claims have no identity. */
static bool is_keyless(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            return false;
    return true;
}

static void decide_keyless(struct sl_bundle *bundle)
{
    if (bundle->now_us < 0)
        bundle->now_us = sl_walltime_us();
    bundle->wall_shift_us = 0;
    bundle->status = SLUICE_OK;
    sl_bundle_judge(bundle);
}

/* Returns false if there was no memory for the names. */
static bool has_names(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key && !bundle->claims[i].name)
            return false;
    return true;
}

/* Have all claims with a state been answered from leases, since the answer cache was asked? */
static bool is_decided_here(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]))
            return false;
    return true;
}

/* Writes the words of one bundle's call. Returns false if the bundle has its answer already. */
static bool prepare_query(struct sl_link_shared *shared, struct sl_parcel_query *own)
{
    struct sl_bundle *bundle = own->bundle;
    if (is_keyless(bundle)) {
        decide_keyless(bundle);
        return false;
    }
    own->lease = sl_lease_client_open(own->lease_client, bundle);
    if (own->lease) {
        if (sl_ask_lease(&shared->scripts, own->lease, &own->parcel->bytes, &own->query))
            return true;
        sl_lease_client_waiting(own->lease); /* empty: no request waits yet */
        sl_lease_client_decide(own->lease_client, own->lease, bundle, &own->query, NULL);
        bundle->status = SLUICE_NO_MEMORY;
        return false;
    }
    if (is_decided_here(bundle)) {
        sl_answer_cache_decide(bundle);
        return false;
    }
    own->is_scattered = shared->cluster && has_names(bundle) &&
                        (bundle->hold_us || sl_bundle_is_scattered(bundle, shared->cluster));
    if (own->is_scattered) {
        own->teaches = false; /* each part teaches by itself, by its node's clock */
        return true;
    }
    struct sl_holding holding = { .expiry_us = bundle->hold_us };
    while (bundle->hold_us && holding.id == 0)
        holding.id = sl_random64();
    bundle->held = holding.id;
    if (has_names(bundle) && sl_ask_decide(&shared->scripts, bundle, holding.id ? &holding : NULL,
                                           &own->parcel->bytes, &own->query)) {
        own->waits = sl_lease_client_wait(own->lease_client, &own->wait);
        return true;
    }
    bundle->status = SLUICE_NO_MEMORY;
    sl_lease_client_close(own->lease_client, bundle);
    return false;
}

/* All words are written before the first question is asked: the words of a question may not move.
 */
void sl_channel_decide(struct sl_channel *channel, struct sl_parcel *parcel)
{
    size_t asked = 0;
    SL_CHECK(parcel->done);
    parcel->bytes = sl_buffer(ASKED_MAX_BYTES);
    parcel->queries = calloc(parcel->count, sizeof *parcel->queries);
    parcel->waiting =
        1 + parcel->count; /* a bundle that waits for a lease may be answered at any time */
    parcel->answers = channel->shared->answers;
    parcel->since = sl_answer_cache_since(parcel->answers);
    int64_t due_us = sl_link_now_us() + channel->shared->deadline_us;
    for (size_t i = 0; i < parcel->count; i++) {
        struct sl_bundle *bundle = &parcel->bundles[i];
        if (bundle->is_near)
            continue;
        if (!parcel->queries) {
            bundle->status = SLUICE_NO_MEMORY;
            continue;
        }
        struct sl_parcel_query *own = &parcel->queries[asked];
        *own = (struct sl_parcel_query){ .parcel = parcel,
                                         .bundle = bundle,
                                         .lease_client = &channel->lease_client };
        own->query.done = on_decided;
        own->wait = (struct sl_lease_wait){ bundle, due_us, on_answered, on_asks, NULL };
        own->teaches = sl_answer_cache_may_learn(bundle);
        own->query.nonce = sl_channel_nonce(channel);
        asked += prepare_query(channel->shared, own);
    }
    SL_CHECK(asked <= parcel->count);
    parcel->waiting -= parcel->count - asked;
    for (size_t i = 0; i < asked; i++) {
        struct sl_parcel_query *own = &parcel->queries[i];
        own->told.done = on_parts_decided;
        if (own->waits)
            continue;
        if (own->is_scattered)
            sl_parts_decide(&channel->undos, own->bundle, own->query.nonce, &own->told);
        else
            sl_channel_ask(channel, &own->query);
    }
    one_query_less(parcel);
}

/* ---- periodic work ---- */

void sl_channel_tend(struct sl_channel *channel)
{
    int64_t now_us = sl_link_now_us();
    struct sl_cluster *cluster = channel->shared->cluster;
    if (!(cluster ? sl_cluster_lessons(cluster) > 0 : sl_route_is_up(channel->route)))
        return;
    if (channel->shared->answers)
        sl_guard_flush(channel, &channel->shared->scripts,
                       sl_answer_cache_uncounted(channel->shared->answers));
    if (now_us - channel->tended_us < TEND_EVERY_US)
        return;
    channel->tended_us = now_us;
    sl_channel_sweep(channel);
}
