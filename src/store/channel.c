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

enum { ASKED_MAX_BYTES = 16 << 20, TEND_EVERY_US = 1000000 };

struct sl_channel {
    struct sl_link_shared *shared;
    struct sl_link *link;
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
    channel->link = sl_link_new(shared, host);
    if (channel->link)
        return channel;
    free(channel);
    return NULL;
}

void sl_channel_free(struct sl_channel *channel)
{
    if (!channel)
        return;
    sl_link_free(channel->link);
    free(channel);
}

void sl_channel_abandon(struct sl_channel *channel)
{
    sl_link_abandon(channel->link);
    free(channel);
}

void sl_channel_open(struct sl_channel *channel)
{
    sl_link_open(channel->link);
}

bool sl_channel_is_up(const struct sl_channel *channel)
{
    return sl_link_is_up(channel->link);
}

void sl_channel_flush(struct sl_channel *channel)
{
    sl_link_flush(channel->link);
}

void sl_channel_on_ready(struct sl_channel *channel)
{
    sl_link_on_ready(channel->link);
}

void sl_channel_on_time(struct sl_channel *channel)
{
    sl_link_on_time(channel->link);
}

static void on_called(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sl_channel_call *call = (struct sl_channel_call *)query;
    (void)reply;
    call->status = status;
    call->done(call);
}

void sl_channel_call(struct sl_channel *channel, struct sl_channel_call *call)
{
    call->query.done = on_called;
    sl_link_ask(channel->link, &call->query);
}

/* ---- parcels ---- */

struct sl_parcel_query {
    struct sl_query query; /* first */
    struct sl_parcel *parcel;
    struct sl_bundle *bundle;
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

static void on_decided(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sl_parcel_query *own = (struct sl_parcel_query *)query;
    own->bundle->status = status == SLUICE_OK ? sl_answer_decide(own->bundle, reply) : status;
    one_less(own->parcel);
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

/* The words of one bundle's call; false: its answer is there already. */
static bool prepare(struct sl_link_shared *shared, struct sl_parcel_query *own)
{
    struct sl_bundle *bundle = own->bundle;
    if (is_keyless(bundle)) {
        decide_keyless(bundle);
        return false;
    }
    struct sl_holding holding = { .expiry_us = bundle->hold_us };
    while (bundle->hold_us && holding.id == 0)
        holding.id = sl_random64();
    bundle->held = holding.id;
    if (has_names(bundle) && sl_ask_decide(&shared->scripts, bundle, holding.id ? &holding : NULL,
                                           &own->parcel->bytes, &own->query))
        return true;
    bundle->status = SLUICE_NO_MEMORY;
    return false;
}

/* All words are written before the first is asked: what is asked may not move. */
void sl_channel_decide(struct sl_channel *channel, struct sl_parcel *parcel)
{
    size_t asked = 0;
    parcel->bytes = sl_buffer(ASKED_MAX_BYTES);
    parcel->queries = calloc(parcel->count, sizeof *parcel->queries);
    parcel->waiting = 1;
    for (size_t i = 0; i < parcel->count; i++) {
        struct sl_bundle *bundle = &parcel->bundles[i];
        if (!parcel->queries) {
            bundle->status = SLUICE_NO_MEMORY;
            continue;
        }
        struct sl_parcel_query *own = &parcel->queries[asked];
        *own = (struct sl_parcel_query){ .parcel = parcel, .bundle = bundle };
        own->query.done = on_decided;
        own->query.nonce = next_nonce(channel);
        asked += prepare(channel->shared, own);
    }
    parcel->waiting += asked;
    for (size_t i = 0; i < asked; i++)
        sl_link_ask(channel->link, &parcel->queries[i].query);
    one_less(parcel);
}

/* ---- settlements ---- */

static void settled(struct sl_settlement *settlement, int status)
{
    sl_buffer_release(&settlement->bytes);
    settlement->status = status;
    settlement->done(settlement);
}

static struct sl_settlement *settlement_of(struct sl_query *query)
{
    return (struct sl_settlement *)(void *)((char *)query - offsetof(struct sl_settlement, query));
}

static void on_changed(struct sl_query *query, int status, const struct sl_reply *reply)
{
    (void)reply;
    settled(settlement_of(query), status);
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

static void change_charges(struct sl_settlement *settlement, const struct sl_reply *reply)
{
    size_t most = reply->text_count / 2, count = 0;
    struct held *held = calloc(most, sizeof *held);
    struct sl_changing *changes = calloc(most, sizeof *changes);
    int status = held && changes ? SLUICE_OK : SLUICE_NO_MEMORY;
    for (size_t i = 1; status == SLUICE_OK && i <= most; i++)
        count += plan_change(settlement, reply, i, &held[count], &changes[count]);
    sl_buffer_clear(&settlement->bytes);
    settlement->query.done = on_changed;
    if (count && !sl_ask_change(&settlement->shared->scripts, changes, count, &settlement->bytes,
                                &settlement->query))
        status = SLUICE_NO_MEMORY;
    free(held);
    free(changes);
    if (count && status == SLUICE_OK)
        sl_link_ask(settlement->link, &settlement->query);
    else
        settled(settlement, status);
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
    settlement->link = channel->link;
    settlement->shared = channel->shared;
    settlement->bytes = sl_buffer(ASKED_MAX_BYTES);
    settlement->query = (struct sl_query){ .done = on_taken,
                                           .nonce = next_nonce(channel),
                                           .is_quiet = settlement->is_due };
    if (sl_ask_take(&channel->shared->scripts, settlement->id, settlement->is_due,
                    &settlement->bytes, &settlement->query))
        sl_link_ask(channel->link, &settlement->query);
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

void sl_channel_tend(struct sl_channel *channel)
{
    int64_t now_us = sl_link_now_us();
    if (now_us - channel->tended_us < TEND_EVERY_US || !sl_link_is_up(channel->link))
        return;
    channel->tended_us = now_us;
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return;
    sweep->channel = channel;
    sweep->bytes = sl_buffer(1 << 16);
    sweep->query.done = on_due;
    sweep->query.is_quiet = true;
    if (sl_ask_due(&channel->shared->scripts, &sweep->bytes, &sweep->query)) {
        sl_link_ask(channel->link, &sweep->query);
        return;
    }
    sl_buffer_release(&sweep->bytes);
    free(sweep);
}
