/* Settles reservations, and sweeps those that have expired.
 *
 * A settlement is two steps, because a script may only touch keys that are named in its call, and
 * the names are in the reservation. The first call takes the reservation away: it succeeds once,
 * also if several callers try. The next calls give back or charge (undo.h: they are repeated while
 * it is certain that they have not run). If the process dies in between, the charge stays as it is,
 * which admits less. So a caller that has begun a settlement waits for it: sl_channel_settles. */
#include <stdlib.h>

#include "base/check.h"
#include "base/text/number.h"
#include "store/cache/answer_cache.h"
#include "store/redis/ask.h"
#include "store/redis/channel_internal.h"

enum {
    ASKED_MAX_BYTES = 1 << 16,
    DUE_MAX = 32, /* due.lua returns no more */
};

/* ---- settlements ---- */

static void end_settlement(struct sl_settlement *settlement, int status)
{
    SL_CHECK(settlement->waiting == 0);
    if (settlement->changes)
        sl_answer_cache_forget(
            settlement->channel->shared->answers); /* also if it failed: it may have run */
    sl_buffer_release(&settlement->bytes);
    free(settlement->changes);
    settlement->status = status;
    settlement->done(settlement);
}

static void one_change_less(struct sl_settlement *settlement, int status)
{
    SL_CHECK(settlement->waiting > 0);
    settlement->status = settlement->status ? settlement->status : status;
    if (--settlement->waiting == 0)
        end_settlement(settlement, settlement->status);
}

static void on_changed(struct sl_undo_told *told, int status)
{
    one_change_less(
        (struct sl_settlement *)(void *)((char *)told - offsetof(struct sl_settlement, told)),
        status);
}

/* Returns the field "claim3" or "charged3" of a reservation; "" if it has none. */
static struct sluice_text field_of(const struct sl_redis_reply *reply, const char *name,
                                   size_t number)
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

/* Works out the change of one charge. Returns false if there is none to make. */
static bool plan_change(const struct sl_settlement *settlement, const struct sl_redis_reply *reply,
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

/* All words are written before the first call is sent, because its end may free what they are
 * written from. In a cluster each claim is changed by a call of its own: while a slot moves, one of
 * the two nodes always answers a script with one key. */
static void change_all(struct sl_settlement *settlement, const struct sl_changing *changes,
                       size_t count)
{
    struct sl_channel *channel = settlement->channel;
    size_t each = channel->shared->cluster ? 1 : count, prepared = 0;
    for (size_t i = 0; i < count; i += each) {
        struct sl_undo *change = sl_undo_prepare(&channel->undos, &changes[i], each,
                                                 sl_channel_nonce(channel), &settlement->told);
        if (change)
            settlement->changes[prepared++] = change;
        else
            settlement->status = SLUICE_NO_MEMORY;
    }
    SL_CHECK(prepared <= count);
    settlement->waiting = 1 + prepared;
    for (size_t i = 0; i < prepared; i++)
        sl_undo_send(settlement->changes[i], settlement->is_due);
    one_change_less(settlement, SLUICE_OK);
}

static void change_charges(struct sl_settlement *settlement, const struct sl_redis_reply *reply)
{
    size_t most = reply->text_count / 2, count = 0;
    struct held *held = calloc(most, sizeof *held);
    struct sl_changing *changes = calloc(most, sizeof *changes);
    settlement->changes = calloc(most, sizeof *settlement->changes);
    bool has_room = held && changes && settlement->changes;
    for (size_t i = 1; has_room && i <= most; i++)
        count += plan_change(settlement, reply, i, &held[count], &changes[count]);
    if (has_room)
        change_all(settlement, changes, count);
    else
        end_settlement(settlement, SLUICE_NO_MEMORY);
    free(held);
    free(changes);
}

static void on_taken(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply)
{
    struct sl_settlement *settlement =
        (struct sl_settlement *)(void *)((char *)query - offsetof(struct sl_settlement, query));
    if (status != SLUICE_OK)
        end_settlement(settlement, status);
    else if (reply->text_count < 2)
        end_settlement(settlement, SLUICE_NO_RESERVATION);
    else
        change_charges(settlement, reply);
}

void sl_channel_settle(struct sl_channel *channel, struct sl_settlement *settlement)
{
    SL_CHECK(settlement->done);
    settlement->channel = channel;
    settlement->bytes = sl_buffer(ASKED_MAX_BYTES);
    settlement->changes = NULL;
    settlement->waiting = 0;
    settlement->status = SLUICE_OK;
    settlement->told.tried = on_changed;
    settlement->query = (struct sl_redis_query){ .done = on_taken,
                                                 .nonce = sl_channel_nonce(channel),
                                                 .is_quiet = settlement->is_due,
                                                 .in_cluster = channel->shared->cluster };
    if (sl_ask_take(&channel->shared->scripts, settlement->id, settlement->is_due,
                    &settlement->bytes, &settlement->query))
        sl_channel_ask(channel, &settlement->query);
    else
        end_settlement(settlement, SLUICE_NO_MEMORY);
}

bool sl_channel_settles(const struct sl_channel *channel, bool also_again)
{
    const struct sl_undos *undos = &channel->undos;
    return channel->sweeping > 0 || undos->count > (also_again ? 0 : undos->again);
}

/* ---- sweeps ---- */

struct sweep {
    struct sl_redis_query query; /* first */
    struct sl_channel *channel;
    struct sl_buffer bytes;
};

static void on_expired_settled(struct sl_settlement *settlement)
{
    SL_CHECK(settlement->channel->sweeping > 0);
    settlement->channel->sweeping--;
    free(settlement);
}

static void settle_expired(struct sl_channel *channel, uint64_t id)
{
    struct sl_settlement *settlement = calloc(1, sizeof *settlement);
    if (!settlement)
        return;
    *settlement = (struct sl_settlement){ .id = id, .is_due = true, .done = on_expired_settled };
    channel->sweeping++;
    sl_channel_settle(channel, settlement);
}

static uint64_t id_of(struct sluice_text text)
{
    uint64_t id = 0;
    for (size_t i = 0; i < text.len; i++)
        id = id << 4 | (uint64_t)(sl_hex_digit(text.at[i]) & 15);
    return id;
}

/* Reads all numbers first: settling may lose the connection, and the reply with it. */
static void on_due(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply)
{
    struct sweep *sweep = (struct sweep *)query;
    struct sl_channel *channel = sweep->channel;
    uint64_t ids[DUE_MAX];
    size_t count = 0;
    for (; status == SLUICE_OK && count < DUE_MAX && count < reply->text_count; count++)
        ids[count] = id_of(sl_reply_text(reply, count));
    sl_buffer_release(&sweep->bytes);
    free(sweep);
    for (size_t i = 0; i < count; i++)
        settle_expired(channel, ids[i]);
}

static void sweep_shard(struct sl_channel *channel, uint32_t shard)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return;
    sweep->channel = channel;
    sweep->bytes = sl_buffer(ASKED_MAX_BYTES);
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

void sl_channel_sweep(struct sl_channel *channel)
{
    uint32_t shards = channel->shared->cluster ? SL_HELD_SHARDS : 1;
    for (uint32_t shard = 0; shard < shards; shard++)
        sweep_shard(channel, shard);
}
