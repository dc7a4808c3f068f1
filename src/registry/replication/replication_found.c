/* The registry is founded: who has the newest copy writes it, some rows at a time, then opens it
 * (S8). */
#include "registry/replication/replication_internal.h"

#include <stdlib.h>

#include "base/error.h"

/* Versions begin anew with every epoch, so they alone do not say which copy is newer. That is why
 * an epoch begins with how many there were before it, as far as its founder knew; the rest of it
 * is random. */
enum { GENERATIONS = 4096, VERSION_BITS = 40 };

static uint64_t generation_of(uint64_t epoch)
{
    return epoch >> SL_EPOCH_RANDOM_BITS;
}

static void count_generation(struct sl_replication *spread)
{
    uint64_t before = spread->place.epoch, random = UINT64_C(1) << SL_EPOCH_RANDOM_BITS;
    uint64_t next = before ? generation_of(before) + 1 : 0;
    next = next < GENERATIONS ? next : GENERATIONS - 1;
    spread->who = next << SL_EPOCH_RANDOM_BITS | spread->who % random;
}

/* Copies of the registry rank before databases that never were one, and those of a later epoch
 * before those of an earlier one. Below 2^53, for Lua. */
static uint64_t rank_of(const struct sl_replication *spread)
{
    const struct sl_replica_position *place = &spread->place;
    uint64_t version = place->logs[SL_LOG_RULES].version + place->logs[SL_LOG_USERS].version;
    uint64_t most = (UINT64_C(1) << VERSION_BITS) - 1, generations = 0;
    if (place->epoch)
        generations = 1 + generation_of(place->epoch) % GENERATIONS;
    else
        version = sl_registry_revision(spread->registry);
    return generations << VERSION_BITS | (version < most ? version : most);
}

bool sl_replication_ask_bid(struct sl_replication *spread, struct sl_channel_call *call)
{
    count_generation(spread);
    return sl_ask_found(&spread->scripts, call, spread->who, rank_of(spread), false);
}

/* Rows that were never shared have no change's number yet. */
static bool stamp(struct sl_replication *spread)
{
    struct sl_registry *registry = spread->registry;
    if (!sl_registry_begin(registry, SL_CARE_POWER_CUT, &spread->error))
        return false;
    if (!sl_replica_stamp(registry, sl_change_new(1), &spread->error)) {
        sl_registry_rollback(registry);
        return false;
    }
    spread->has_new_rules = true; /* their tags are */
    return sl_registry_commit(registry, &spread->error);
}

static enum sl_replication_step begin_filling(struct sl_replication *spread)
{
    sl_replication_forget_rows(spread);
    spread->filled = (struct sl_replica_position){ .epoch = spread->who };
    spread->fill_at = 0;
    spread->fill_user = 0;
    spread->has_filled_rules = false;
    spread->phase = SL_REPLICATION_FILLS;
    struct sl_row *rows;
    size_t count;
    if (!stamp(spread) ||
        !sl_replica_rules(spread->registry, &spread->arena, &rows, &count, &spread->error))
        return sl_replication_fail(spread);
    spread->rows = malloc((count + 1) * sizeof *rows);
    if (!spread->rows)
        return sl_replication_fail_saying(spread, "out of memory");
    memcpy(spread->rows, rows, count * sizeof *rows);
    spread->row_count = count;
    return SL_REPLICATION_MORE;
}

enum sl_replication_step sl_replication_take_bid(struct sl_replication *spread,
                                                 const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    switch (sl_answer(reply, &told)) {
    case SL_TOLD_GRANTED:
        return begin_filling(spread);
    case SL_TOLD_WAIT:
    case SL_TOLD_TAKEN:
        return sl_replication_later(spread, "the registry in Redis is being filled");
    default:
        return sl_replication_fail_saying(spread, "the registry in Redis is none of Sluice's");
    }
}

/* So many of the rows from `fill_at` on go into one call: one, and those that fit besides. */
static size_t next_count(const struct sl_replication *spread)
{
    struct sl_buffer scratch = sl_buffer(SL_PAGE_BYTES + 1);
    size_t most = spread->row_count - spread->fill_at, count = 0, bytes = 0;
    most = most < SL_PAGE_ROWS ? most : SL_PAGE_ROWS;
    while (count < most) {
        bytes += sl_row_size_bytes(&spread->rows[spread->fill_at + count], &scratch);
        if (count && bytes > SL_PAGE_BYTES)
            break;
        count++;
    }
    sl_buffer_release(&scratch);
    return count;
}

/* Rules, then users, some at a time. */
static bool next_rows(struct sl_replication *spread)
{
    if (spread->fill_at < spread->row_count)
        return true;
    if (!spread->has_filled_rules || spread->row_room < SL_PAGE_ROWS) {
        sl_replication_forget_rows(spread);
        spread->has_filled_rules = true;
        spread->rows = calloc(SL_PAGE_ROWS, sizeof *spread->rows);
        spread->row_room = SL_PAGE_ROWS;
    }
    if (!spread->rows)
        return sl_error_say(&spread->error, "out of memory");
    sl_arena_release(&spread->arena);
    spread->fill_at = 0;
    return sl_replica_users(spread->registry, &spread->fill_user, SL_PAGE_ROWS, &spread->arena,
                            spread->rows, &spread->row_count, &spread->error);
}

/* A row that has no number of its own gets this call's. */
static void number_rows(struct sl_row *rows, size_t count, uint64_t change)
{
    for (size_t i = 0; i < count; i++)
        if (SL_CHANGE_VERSION(rows[i].change) == 0)
            rows[i].change = change;
}

bool sl_replication_ask_fill(struct sl_replication *spread, struct sl_channel_call *call)
{
    if (!next_rows(spread))
        return false;
    if (spread->row_count == 0) {
        spread->phase = SL_REPLICATION_OPENS;
        return sl_ask_found(&spread->scripts, call, spread->who, 0, true);
    }
    spread->log = spread->has_filled_rules ? SL_LOG_USERS : SL_LOG_RULES;
    struct sl_log_place *filled = &spread->filled.logs[spread->log];
    struct sl_write_asked asked = {
        .epoch = { spread->who, true },
        .log = spread->log,
        .on = SL_ANY,
        .other_on = SL_ANY,
        .row_on = SL_ANY,
        .change = sl_change_new(filled->version + 1),
        .rows = &spread->rows[spread->fill_at],
        .count = next_count(spread),
    };
    number_rows(&spread->rows[spread->fill_at], asked.count, asked.change);
    spread->fill_at += asked.count;
    filled->last = asked.change;
    return sl_ask_write(&spread->scripts, call, &asked) ||
           sl_error_say(&spread->error, "a row of this database is too large for Redis, or there "
                                        "is no memory");
}

enum sl_replication_step sl_replication_take_fill(struct sl_replication *spread,
                                                  const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    enum sl_told answer = sl_answer(reply, &told);
    if (answer == SL_TOLD_FULL)
        return sl_replication_fail_saying(spread,
                                          "this database is larger than the registry in Redis "
                                          "may be");
    if (answer != SL_TOLD_DONE)
        return sl_replication_look_again(spread);
    spread->filled.logs[spread->log].version = told.version;
    return SL_REPLICATION_MORE;
}

/* The copy is the registry's from now on. */
enum sl_replication_step sl_replication_take_open(struct sl_replication *spread,
                                                  const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    struct sl_registry *registry = spread->registry;
    if (sl_answer(reply, &told) != SL_TOLD_OPENED)
        return sl_replication_look_again(spread);
    if (!sl_registry_begin(registry, SL_CARE_POWER_CUT, &spread->error))
        return sl_replication_fail(spread);
    if (!sl_replica_put_place(registry, &spread->filled, &spread->error)) {
        sl_registry_rollback(registry);
        return sl_replication_fail(spread);
    }
    if (!sl_registry_commit(registry, &spread->error))
        return sl_replication_fail(spread);
    struct sl_replica_position filled = spread->filled;
    sl_replication_begin(spread);
    sl_replication_take_name(spread);
    spread->place = filled;
    spread->looked.epoch = (struct sl_epoch){ filled.epoch, false };
    memcpy(spread->looked.logs, filled.logs, sizeof filled.logs);
    /* The row that is looked at is there by now, or not. */
    return spread->row ? sl_replication_look_again(spread) : SL_REPLICATION_DONE;
}
