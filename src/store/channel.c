/* Parcels, settlements and sweeps: what is asked over one link, and what becomes of its answers.
 *
 * A settlement is two calls, because a script may only touch keys that were named to it, and
 * which they are stands in the reservation: one takes it away, once, whoever else tries; the
 * next gives back or charges. Who dies in between leaves the charge as it is, which admits
 * less. */
#include "store/channel.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/claim.h"
#include "store/redis.h"
#include "store/redis_ask.h"
#include "store/redis_parts.h"
#include "store/redis_route_own.h"
#include "store/redis_slot.h"
#include "store/report.h"

enum { ASKED_MAX_BYTES = 16 << 20, TEND_EVERY_US = 1000000 };

struct sl_channel {
    struct sl_link_shared *shared;
    struct sl_route *route;
    struct sl_undos undos; /* in a cluster */
    struct sl_lender lender;
    int64_t tended_us;
    uint64_t seed, calls;
};

/* As good as random, and without asking the kernel each time. The seed is a channel's own, and a
 * process that was forked makes its own channels: no two give the same. */
static uint64_t next_nonce(struct sl_channel *channel)
{
    channel->calls++;
    return sl_hash64((struct sluice_text){ (const char *)&channel->calls, sizeof channel->calls },
                     channel->seed);
}

struct sl_channel *sl_channel_new(struct sl_link_shared *shared, const struct sl_link_host *host)
{
    struct sl_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return NULL;
    channel->shared = shared;
    channel->seed = sl_random64();
    channel->route = sl_route_new(shared, host);
    channel->undos = (struct sl_undos){ .shared = shared, .route = channel->route };
    sl_lender_init(&channel->lender, channel, shared, !host->is_patient);
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
    sl_lender_release(&channel->lender);
    free(channel);
}

void sl_channel_abandon(struct sl_channel *channel)
{
    channel->undos.is_closing = true;
    sl_route_free(channel->route, true);
    sl_lender_release(&channel->lender);
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
    if (sl_lender_look(&channel->lender))
        sl_channel_flush(channel);
}

void sl_channel_wake_by(struct sl_channel *channel, int64_t at_us)
{
    sl_route_wake_by(channel->route, at_us);
}

/* Everything that is asked goes out here: by its slot, to who has that. */
void sl_channel_ask(struct sl_channel *channel, struct sl_query *query)
{
    sl_route_ask(channel->route, query);
}

void sl_channel_lend(struct sl_channel *channel)
{
    struct sl_leases *leases = channel->lender.leases;
    if (leases && sl_leases_any_due(leases) && sl_lender_call_due(&channel->lender))
        sl_channel_flush(channel);
}

void sl_channel_tend_leases(struct sl_channel *channel)
{
    sl_channel_lend(channel);
    if (sl_lender_tend(&channel->lender))
        sl_channel_flush(channel);
}

size_t sl_channel_give_back(struct sl_channel *channel, const struct sl_hash128 *key, size_t *next)
{
    return sl_lender_give_back(&channel->lender, key, next);
}

bool sl_channel_lends(const struct sl_channel *channel)
{
    return channel->lender.waiting > 0;
}

static void on_called(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sl_channel_call *call = (struct sl_channel_call *)query;
    call->status = status;
    call->said = status == SLUICE_OK && reply->value_count > 1 ? reply->values[1] : 0;
    call->reply = status == SLUICE_OK ? reply : NULL;
    call->is_done = true;
    call->done(call);
}

void sl_channel_call(struct sl_channel *channel, struct sl_channel_call *call)
{
    call->query.done = on_called;
    call->is_done = false;
    sl_channel_ask(channel, &call->query);
}

/* ---- parcels ---- */

struct sl_parcel_query {
    struct sl_query query; /* first */
    struct sl_parcel *parcel;
    struct sl_bundle *bundle;
    struct sl_lender *lender;
    struct sl_lease *lease; /* whose call decides it; or NULL */
    struct sl_lease_wait wait;
    bool waits; /* for such a call, of another's */
    struct sl_parts_told told;
    bool is_scattered; /* over slots: it is asked in parts */
    bool teaches;
};

static void one_less(struct sl_parcel *parcel)
{
    if (--parcel->waiting > 0)
        return;
    free(parcel->queries);
    sl_buffer_release(&parcel->bytes);
    parcel->queries = NULL;
    parcel->done(parcel);
}

/* The bundle has its answer, or has failed. */
static void finish(struct sl_parcel_query *own)
{
    sl_lender_close(own->lender, own->bundle);
    if (own->teaches && own->bundle->status == SLUICE_OK)
        sl_near_learn(own->parcel->near, own->bundle, own->parcel->since);
    one_less(own->parcel);
}

static void on_decided(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sl_parcel_query *own = (struct sl_parcel_query *)query;
    struct sl_lender *lender = own->lender;
    const struct sl_reply *heard = status == SLUICE_OK ? reply : NULL;
    struct sl_lease_wait *waiting = own->lease ? sl_lender_waiting(own->lease) : NULL;
    if (own->lease)
        own->bundle->status = sl_lender_decide(lender, own->lease, own->bundle, query, heard);
    else if (heard)
        own->bundle->status = sl_answer_decide(own->bundle, reply);
    if (!heard)
        own->bundle->status = status;
    finish(own);
    sl_lender_wake(lender, waiting, status);
}

static struct sl_parcel_query *query_of(struct sl_lease_wait *wait)
{
    return (struct sl_parcel_query *)(void *)((char *)wait -
                                              offsetof(struct sl_parcel_query, wait));
}

static void on_answered(struct sl_lease_wait *wait, int status)
{
    struct sl_parcel_query *own = query_of(wait);
    own->teaches = false; /* nothing was said of the store */
    own->bundle->status = status;
    finish(own);
}

/* Within the time that it has. */
static void on_asks(struct sl_lease_wait *wait, struct sl_lease *lease)
{
    struct sl_parcel_query *own = query_of(wait);
    struct sl_channel *channel = own->lender->channel;
    own->lease = lease;
    if (!lease || sl_ask_lease(&channel->shared->scripts, lease, &own->parcel->bytes, &own->query))
        sl_route_ask_by(channel->route, &own->query, wait->due_us);
    else
        on_decided(&own->query, SLUICE_NO_MEMORY, NULL);
}

static void on_parts(struct sl_parts_told *told)
{
    struct sl_parcel_query *own =
        (struct sl_parcel_query *)(void *)((char *)told - offsetof(struct sl_parcel_query, told));
    finish(own);
}

/* Nothing to look up: no rule counts it, or what counts it has no name. */
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

/* Else there was no memory for them. */
static bool has_names(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key && !bundle->claims[i].name)
            return false;
    return true;
}

/* All that needs a state was taken from leases, since it was looked for there before. */
static bool is_decided_here(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]))
            return false;
    return true;
}

/* The words of one bundle's call; false: its answer is there already. */
static bool prepare(struct sl_link_shared *shared, struct sl_parcel_query *own)
{
    struct sl_bundle *bundle = own->bundle;
    if (is_keyless(bundle)) {
        decide_keyless(bundle);
        return false;
    }
    own->lease = sl_lender_open(own->lender, bundle);
    if (own->lease) {
        if (sl_ask_lease(&shared->scripts, own->lease, &own->parcel->bytes, &own->query))
            return true;
        sl_lender_waiting(own->lease); /* nobody, yet */
        sl_lender_decide(own->lender, own->lease, bundle, &own->query, NULL);
        bundle->status = SLUICE_NO_MEMORY;
        return false;
    }
    if (is_decided_here(bundle)) {
        sl_near_decide(bundle);
        return false;
    }
    own->is_scattered = shared->cluster && has_names(bundle) &&
                        (bundle->hold_us || sl_bundle_is_scattered(bundle, shared->cluster));
    if (own->is_scattered) {
        own->teaches = false; /* each part does, by its node's clock */
        return true;
    }
    struct sl_holding holding = { .expiry_us = bundle->hold_us };
    while (bundle->hold_us && holding.id == 0)
        holding.id = sl_random64();
    bundle->held = holding.id;
    if (has_names(bundle) && sl_ask_decide(&shared->scripts, bundle, holding.id ? &holding : NULL,
                                           &own->parcel->bytes, &own->query)) {
        own->waits = sl_lender_wait(own->lender, &own->wait);
        return true;
    }
    bundle->status = SLUICE_NO_MEMORY;
    sl_lender_close(own->lender, bundle);
    return false;
}

/* All words are written before the first is asked: what is asked may not move. */
void sl_channel_decide(struct sl_channel *channel, struct sl_parcel *parcel)
{
    size_t asked = 0;
    parcel->bytes = sl_buffer(ASKED_MAX_BYTES);
    parcel->queries = calloc(parcel->count, sizeof *parcel->queries);
    parcel->waiting = 1 + parcel->count; /* who waits for a lease may be answered any moment */
    parcel->near = channel->shared->near;
    parcel->since = sl_near_since(parcel->near);
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
                                         .lender = &channel->lender };
        own->query.done = on_decided;
        own->wait = (struct sl_lease_wait){ bundle, due_us, on_answered, on_asks, NULL };
        own->teaches = sl_near_may_learn(bundle);
        own->query.nonce = next_nonce(channel);
        asked += prepare(channel->shared, own);
    }
    parcel->waiting -= parcel->count - asked;
    for (size_t i = 0; i < asked; i++) {
        struct sl_parcel_query *own = &parcel->queries[i];
        own->told.done = on_parts;
        if (own->waits)
            continue;
        if (own->is_scattered)
            sl_parts_decide(&channel->undos, own->bundle, own->query.nonce, &own->told);
        else
            sl_channel_ask(channel, &own->query);
    }
    one_less(parcel);
}

/* ---- settlements ---- */

/* Of one slot; without a cluster there is one for all. */
struct sl_settlement_change {
    struct sl_query query; /* first */
    struct sl_settlement *settlement;
};

static void settled(struct sl_settlement *settlement, int status)
{
    if (settlement->changes)
        sl_near_forget(settlement->channel->shared->near); /* also if it failed: it may be done */
    sl_buffer_release(&settlement->bytes);
    free(settlement->changes);
    settlement->status = status;
    settlement->done(settlement);
}

static struct sl_settlement *settlement_of(struct sl_query *query)
{
    return (struct sl_settlement *)(void *)((char *)query - offsetof(struct sl_settlement, query));
}

static void one_change_less(struct sl_settlement *settlement, int status)
{
    settlement->status = settlement->status ? settlement->status : status;
    if (--settlement->waiting == 0)
        settled(settlement, settlement->status);
}

static void on_changed(struct sl_query *query, int status, const struct sl_reply *reply)
{
    (void)reply;
    one_change_less(((struct sl_settlement_change *)query)->settlement, status);
}

/* The field "claim3" or "charged3" of a reservation; "": it has none. */
static struct sluice_text field_of(const struct sl_reply *reply, const char *name, size_t number)
{
    char wanted[32];
    size_t len = strlen(name);
    memcpy(wanted, name, len + 1);
    if (number) {
        struct sl_buffer text = {
            .at = wanted, .len = len, .room = sizeof wanted, .most = sizeof wanted
        };
        sl_buffer_add_i64(&text, (int64_t)number);
        wanted[text.len] = 0;
    }
    for (size_t i = 0; i + 1 < reply->text_count; i += 2)
        if (sl_text_is(sl_reply_text(reply, i), wanted))
            return sl_reply_text(reply, i + 1);
    return SL_TEXT("");
}

struct held {
    struct sl_claim claim;
    struct sl_claim_name name;
};

/* What is to be done about one charge. False: nothing. */
static bool plan_change(const struct sl_settlement *settlement, const struct sl_reply *reply,
                        size_t number, struct held *held, struct sl_changing *out)
{
    uint64_t cost = 0, at_us = 0;
    struct sluice_text text = field_of(reply, "claim", number);
    if (text.len == 0 || !sl_held_parse(text, &held->claim, &held->name) ||
        !sl_parse_u64(field_of(reply, "cost", 0), &cost) || cost > UINT32_MAX ||
        !sl_parse_u64(field_of(reply, "charged", number), &at_us) || at_us > 2 * SL_TIME_MAX_US ||
        cost == settlement->cost)
        return false;
    *out = (struct sl_changing){ .claim = &held->claim, .is_overcharge = settlement->cost > cost };
    out->charge.at_us = (int64_t)at_us;
    out->charge.cost =
        (uint32_t)(settlement->cost > cost ? settlement->cost - cost : cost - settlement->cost);
    return true;
}

static int by_slot(const void *a, const void *b)
{
    const struct sl_changing *one = a, *two = b;
    return (int)sl_slot_of(one->claim->name->key) - (int)sl_slot_of(two->claim->name->key);
}

/* How many of them share the first one's slot. */
static size_t run_of(const struct sl_changing *changes, size_t count, bool in_cluster)
{
    size_t run = in_cluster ? 1 : count;
    while (run < count && by_slot(&changes[0], &changes[run]) == 0)
        run++;
    return run;
}

/* All words are written before the first is asked. Returns a status. */
static int prepare_changes(struct sl_settlement *settlement, struct sl_changing *changes,
                           size_t count)
{
    struct sl_link_shared *shared = settlement->channel->shared;
    bool in_cluster = shared->cluster;
    sl_buffer_clear(&settlement->bytes);
    settlement->changes = calloc(count + 1, sizeof *settlement->changes);
    if (!settlement->changes)
        return SLUICE_NO_MEMORY;
    if (in_cluster)
        qsort(changes, count, sizeof *changes, by_slot);
    for (size_t i = 0, run; i < count; i += run) {
        struct sl_settlement_change *change = &settlement->changes[settlement->waiting++];
        change->settlement = settlement;
        change->query.done = on_changed;
        change->query.nonce = next_nonce(settlement->channel);
        change->query.is_quiet = settlement->is_due;
        run = run_of(&changes[i], count - i, in_cluster);
        if (!sl_ask_change(&shared->scripts, &changes[i], run, &settlement->bytes, &change->query))
            return SLUICE_NO_MEMORY;
    }
    return SLUICE_OK;
}

static void change_charges(struct sl_settlement *settlement, const struct sl_reply *reply)
{
    size_t most = reply->text_count / 2, count = 0;
    struct held *held = calloc(most, sizeof *held);
    struct sl_changing *changes = calloc(most, sizeof *changes);
    int status = held && changes ? SLUICE_OK : SLUICE_NO_MEMORY;
    for (size_t i = 1; status == SLUICE_OK && i <= most; i++)
        count += plan_change(settlement, reply, i, &held[count], &changes[count]);
    if (status == SLUICE_OK)
        status = prepare_changes(settlement, changes, count);
    free(held);
    free(changes);
    if (status != SLUICE_OK || count == 0) {
        settled(settlement, status);
        return;
    }
    size_t asked = settlement->waiting++;
    for (size_t i = 0; i < asked; i++)
        sl_channel_ask(settlement->channel, &settlement->changes[i].query);
    one_change_less(settlement, SLUICE_OK);
}

static void on_taken(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sl_settlement *settlement = settlement_of(query);
    if (status != SLUICE_OK)
        settled(settlement, status);
    else if (reply->text_count < 2)
        settled(settlement, SLUICE_NO_RESERVATION);
    else
        change_charges(settlement, reply);
}

void sl_channel_settle(struct sl_channel *channel, struct sl_settlement *settlement)
{
    settlement->channel = channel;
    settlement->bytes = sl_buffer(ASKED_MAX_BYTES);
    settlement->changes = NULL;
    settlement->waiting = 0;
    settlement->status = SLUICE_OK;
    settlement->query = (struct sl_query){ .done = on_taken,
                                           .nonce = next_nonce(channel),
                                           .is_quiet = settlement->is_due,
                                           .in_cluster = channel->shared->cluster };
    if (sl_ask_take(&channel->shared->scripts, settlement->id, settlement->is_due,
                    &settlement->bytes, &settlement->query))
        sl_channel_ask(channel, &settlement->query);
    else
        settled(settlement, SLUICE_NO_MEMORY);
}

/* ---- sweeps ---- */

struct sweep {
    struct sl_query query; /* first */
    struct sl_channel *channel;
    struct sl_buffer bytes;
};

static void on_given_back(struct sl_settlement *settlement)
{
    free(settlement);
}

static void give_back(struct sl_channel *channel, struct sluice_text id_text)
{
    struct sl_settlement *settlement = calloc(1, sizeof *settlement);
    if (!settlement)
        return;
    for (size_t i = 0; i < id_text.len; i++)
        settlement->id = settlement->id << 4 | (uint64_t)(sl_hex_digit(id_text.at[i]) & 15);
    settlement->is_due = true;
    settlement->done = on_given_back;
    sl_channel_settle(channel, settlement);
}

static void on_due(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sweep *sweep = (struct sweep *)query;
    for (size_t i = 0; status == SLUICE_OK && i < reply->text_count; i++)
        give_back(sweep->channel, sl_reply_text(reply, i));
    sl_buffer_release(&sweep->bytes);
    free(sweep);
}

static void sweep_shard(struct sl_channel *channel, uint32_t shard)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return;
    sweep->channel = channel;
    sweep->bytes = sl_buffer(1 << 16);
    sweep->query.done = on_due;
    sweep->query.is_quiet = true;
    sweep->query.in_cluster = channel->shared->cluster;
    if (sl_ask_due(&channel->shared->scripts, shard, &sweep->bytes, &sweep->query)) {
        sl_channel_ask(channel, &sweep->query);
        return;
    }
    sl_buffer_release(&sweep->bytes);
    free(sweep);
}

void sl_channel_tend(struct sl_channel *channel)
{
    int64_t now_us = sl_link_now_us();
    struct sl_cluster *cluster = channel->shared->cluster;
    uint32_t shards = cluster ? SL_HELD_SHARDS : 1;
    if (!(cluster ? sl_cluster_lessons(cluster) > 0 : sl_route_is_up(channel->route)))
        return;
    if (channel->shared->near)
        sl_report_send(channel, &channel->shared->scripts,
                       sl_near_uncounted(channel->shared->near));
    if (now_us - channel->tended_us < TEND_EVERY_US)
        return;
    channel->tended_us = now_us;
    for (uint32_t shard = 0; shard < shards; shard++)
        sweep_shard(channel, shard);
}
