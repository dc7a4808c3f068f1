/* Founds the registry in Redis: the instance with the newest replica writes its rows, page by page,
 * then opens the registry (S8). */
#include "registry/replication/replication_internal.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/error.h"

/* Versions start again with every epoch, so they alone do not say which replica is newer. That is
 * why an epoch begins with the number of epochs before it, as far as its founder knew; the rest of
 * it is random. */
enum { GENERATIONS = 4096, VERSION_BITS = 40 };

static uint64_t generation_of(uint64_t epoch)
{
    return epoch >> SL_EPOCH_RANDOM_BITS;
}

static void count_generation(struct sl_replication *replication)
{
    uint64_t before = replication->place.epoch, random = UINT64_C(1) << SL_EPOCH_RANDOM_BITS;
    uint64_t next = before ? generation_of(before) + 1 : 0;
    next = next < GENERATIONS ? next : GENERATIONS - 1;
    replication->who = next << SL_EPOCH_RANDOM_BITS | replication->who % random;
}

/* Replicas rank before databases that never were one, and replicas of a later epoch before those of
 * an earlier one. Below 2^53, for Lua. */
static uint64_t rank_of(const struct sl_replication *replication)
{
    const struct sl_replica_position *place = &replication->place;
    uint64_t version = place->logs[SL_LOG_RULES].version + place->logs[SL_LOG_USERS].version;
    uint64_t most = (UINT64_C(1) << VERSION_BITS) - 1, generations = 0;
    if (place->epoch)
        generations = 1 + generation_of(place->epoch) % GENERATIONS;
    else
        version = sl_registry_revision(replication->registry);
    return generations << VERSION_BITS | (version < most ? version : most);
}

bool sl_replication_ask_bid(struct sl_replication *replication, struct sl_channel_call *call)
{
    count_generation(replication);
    return sl_ask_found(&replication->scripts, call, replication->who, rank_of(replication), false);
}

/* Gives a change's number to rows that were never shared. */
static bool stamp_rows(struct sl_replication *replication)
{
    struct sl_registry *registry = replication->registry;
    if (!sl_registry_begin(registry, SL_CARE_POWER_CUT, &replication->error))
        return false;
    if (!sl_replica_stamp(registry, sl_change_new(1), &replication->error)) {
        sl_registry_rollback(registry);
        return false;
    }
    replication->has_new_rules = true; /* their entity tags are new */
    return sl_registry_commit(registry, &replication->error);
}

static enum sl_replication_step begin_filling(struct sl_replication *replication)
{
    sl_replication_forget_rows(replication);
    replication->filled = (struct sl_replica_position){ .epoch = replication->who };
    replication->fill_at = 0;
    replication->fill_user = 0;
    replication->has_filled_rules = false;
    replication->phase = SL_REPLICATION_FILLS;
    struct sl_row *rows;
    size_t count;
    if (!stamp_rows(replication) || !sl_replica_rules(replication->registry, &replication->arena,
                                                      &rows, &count, &replication->error))
        return sl_replication_fail(replication);
    replication->rows = malloc((count + 1) * sizeof *rows);
    if (!replication->rows)
        return sl_replication_fail_saying(replication, "out of memory");
    memcpy(replication->rows, rows, count * sizeof *rows);
    replication->row_count = count;
    return SL_REPLICATION_MORE;
}

enum sl_replication_step sl_replication_take_bid(struct sl_replication *replication,
                                                 const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    switch (sl_answer(reply, &told)) {
    case SL_TOLD_GRANTED:
        return begin_filling(replication);
    case SL_TOLD_WAIT:
    case SL_TOLD_TAKEN:
        return sl_replication_later(replication, "the registry in Redis is being filled");
    default:
        return sl_replication_fail_saying(replication,
                                          "the registry in Redis was not written by Sluice");
    }
}

/* Returns how many rows from `fill_at` on go into one call: at least one, and those that fit. */
static size_t page_count(const struct sl_replication *replication)
{
    struct sl_buffer scratch = sl_buffer(SL_PAGE_BYTES + 1);
    SL_CHECK(replication->fill_at < replication->row_count);
    size_t most = replication->row_count - replication->fill_at, count = 0, bytes = 0;
    most = most < SL_PAGE_ROWS ? most : SL_PAGE_ROWS;
    while (count < most) {
        bytes += sl_row_size_bytes(&replication->rows[replication->fill_at + count], &scratch);
        if (count && bytes > SL_PAGE_BYTES)
            break;
        count++;
    }
    sl_buffer_release(&scratch);
    SL_CHECK(count > 0);
    return count;
}

/* Loads the next rows to write: rules, then users, a page at a time. */
static bool load_next_rows(struct sl_replication *replication)
{
    if (replication->fill_at < replication->row_count)
        return true;
    if (!replication->has_filled_rules || replication->row_room < SL_PAGE_ROWS) {
        sl_replication_forget_rows(replication);
        replication->has_filled_rules = true;
        replication->rows = calloc(SL_PAGE_ROWS, sizeof *replication->rows);
        replication->row_room = SL_PAGE_ROWS;
    }
    if (!replication->rows)
        return sl_error_say(&replication->error, "out of memory");
    sl_arena_release(&replication->arena);
    replication->fill_at = 0;
    return sl_replica_users(replication->registry, &replication->fill_user, SL_PAGE_ROWS,
                            &replication->arena, replication->rows, &replication->row_count,
                            &replication->error);
}

/* Gives this call's number to rows that have none. */
static void number_rows(struct sl_row *rows, size_t count, uint64_t change)
{
    for (size_t i = 0; i < count; i++)
        if (SL_CHANGE_VERSION(rows[i].change) == 0)
            rows[i].change = change;
}

bool sl_replication_ask_fill(struct sl_replication *replication, struct sl_channel_call *call)
{
    if (!load_next_rows(replication))
        return false;
    if (replication->row_count == 0) {
        replication->phase = SL_REPLICATION_OPENS;
        return sl_ask_found(&replication->scripts, call, replication->who, 0, true);
    }
    replication->log = replication->has_filled_rules ? SL_LOG_USERS : SL_LOG_RULES;
    struct sl_log_place *filled = &replication->filled.logs[replication->log];
    struct sl_write_asked asked = {
        .epoch = { replication->who, true },
        .log = replication->log,
        .on = SL_ANY,
        .other_on = SL_ANY,
        .row_on = SL_ANY,
        .change = sl_change_new(filled->version + 1),
        .rows = &replication->rows[replication->fill_at],
        .count = page_count(replication),
    };
    number_rows(&replication->rows[replication->fill_at], asked.count, asked.change);
    replication->fill_at += asked.count;
    filled->last = asked.change;
    return sl_ask_write(&replication->scripts, call, &asked) ||
           sl_error_say(&replication->error,
                        "a row of this database is too large for Redis, or there "
                        "is no memory");
}

enum sl_replication_step sl_replication_take_fill(struct sl_replication *replication,
                                                  const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    enum sl_told answer = sl_answer(reply, &told);
    if (answer == SL_TOLD_FULL)
        return sl_replication_fail_saying(replication,
                                          "this database is larger than the registry in Redis "
                                          "may be");
    if (answer != SL_TOLD_DONE)
        return sl_replication_look_again(replication);
    replication->filled.logs[replication->log].version = told.version;
    return SL_REPLICATION_MORE;
}

/* The registry is open: this database is its replica from now on. */
enum sl_replication_step sl_replication_take_open(struct sl_replication *replication,
                                                  const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    struct sl_registry *registry = replication->registry;
    if (sl_answer(reply, &told) != SL_TOLD_OPENED)
        return sl_replication_look_again(replication);
    if (!sl_registry_begin(registry, SL_CARE_POWER_CUT, &replication->error))
        return sl_replication_fail(replication);
    if (!sl_replica_put_place(registry, &replication->filled, &replication->error)) {
        sl_registry_rollback(registry);
        return sl_replication_fail(replication);
    }
    if (!sl_registry_commit(registry, &replication->error))
        return sl_replication_fail(replication);
    struct sl_replica_position filled = replication->filled;
    sl_replication_begin(replication);
    sl_replication_take_name(replication);
    replication->place = filled;
    replication->looked.epoch = (struct sl_epoch){ filled.epoch, false };
    memcpy(replication->looked.logs, filled.logs, sizeof filled.logs);
    /* `row` may be in the registry by now. */
    return replication->row ? sl_replication_look_again(replication) : SL_REPLICATION_DONE;
}
