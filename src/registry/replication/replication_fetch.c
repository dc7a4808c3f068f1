/* Rows come here: page by page, and into the copy, rules all at once (S6), users as they come. */
#include "registry/replication/replication_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

enum { FETCHED_MAX_BYTES = 64 << 20 };

/* ---- what to fetch ---- */

static bool are_same(struct sl_log_place a, struct sl_log_place b)
{
    return a.version == b.version && a.last == b.last;
}

static enum sl_replication_step fetch(struct sl_replication *spread, enum sl_log log,
                                      bool is_afresh)
{
    struct sl_log_place place = spread->place.logs[log];
    sl_replication_forget_rows(spread);
    spread->phase = SL_REPLICATION_FETCHES;
    spread->log = log;
    spread->is_afresh = is_afresh;
    spread->from = is_afresh ? 0 : place.version;
    spread->known = is_afresh ? 0 : place.last;
    return SL_REPLICATION_MORE;
}

/* What of the two logs is not here yet. */
enum sl_replication_step sl_replication_fetch_next(struct sl_replication *spread)
{
    const struct sl_replica_position *place = &spread->place;
    const struct sl_log_place *there = spread->looked.logs;
    bool is_other = spread->looked.epoch.number != place->epoch;
    if (is_other || !are_same(place->logs[SL_LOG_RULES], there[SL_LOG_RULES]))
        return fetch(spread, SL_LOG_RULES, is_other || place->logs[SL_LOG_RULES].last == 0);
    bool has_users = !place->is_partial && are_same(place->logs[SL_LOG_USERS], there[SL_LOG_USERS]);
    if (!spread->leaves_users && !has_users)
        return fetch(spread, SL_LOG_USERS, false);
    spread->phase = SL_REPLICATION_LOOKS;
    return SL_REPLICATION_DONE;
}

/* ---- pages ---- */

static bool keep_row(struct sl_replication *spread, struct sluice_text name,
                     struct sluice_text value)
{
    spread->row_bytes += name.len + value.len;
    if (spread->row_bytes > FETCHED_MAX_BYTES)
        return sl_error_say(&spread->error, "the registry in Redis is larger than %d MiB",
                            FETCHED_MAX_BYTES >> 20);
    if (spread->row_count == spread->row_room) {
        size_t room = spread->row_room ? 2 * spread->row_room : 64;
        struct sl_row *rows = realloc(spread->rows, room * sizeof *rows);
        if (!rows)
            return sl_error_say(&spread->error, "out of memory");
        spread->rows = rows;
        spread->row_room = room;
    }
    struct sl_row *row = &spread->rows[spread->row_count];
    if (!sl_row_parse(name, value, &spread->arena, row, &spread->error))
        return false;
    if (sl_log_of(row->name.kind) != spread->log)
        return sl_error_say(&spread->error, "the registry in Redis is damaged: a row is in the "
                                            "wrong log");
    spread->row_count++;
    return true;
}

static bool keep_rows(struct sl_replication *spread, const struct sl_redis_reply *reply,
                      size_t first)
{
    for (size_t i = first; i + 1 < reply->text_count; i += 2)
        if (!keep_row(spread, sl_reply_text(reply, i), sl_reply_text(reply, i + 1)))
            return false;
    return true;
}

/* What is here gives way to another history: it is kept beside, once. Its file's name says to which
 * epoch it gave way, and the last change it had; where it never was a copy, that of the database.
 */
static bool save(struct sl_replication *spread)
{
    char path[sizeof spread->saved_as];
    uint64_t last = spread->place.logs[SL_LOG_RULES].last;
    int len = snprintf(path, sizeof path, "%s" SL_SAVED_BEFORE "%016llx-%016llx", spread->database,
                       (unsigned long long)spread->looked.epoch.number,
                       (unsigned long long)(last ? last : sl_registry_revision(spread->registry)));
    if (len >= (int)sizeof path)
        return sl_error_say(&spread->error, "the database's path is too long to keep a copy");
    /* Where it could not be applied then, it is tried again soon. */
    if (strcmp(path, spread->saved_as) == 0 && access(path, F_OK) == 0)
        return true;
    *spread->saved_as = '\0';
    if (!sl_replica_save(spread->registry, path, &spread->error))
        return false;
    memcpy(spread->saved_as, path, (size_t)len + 1);
    sl_replica_leave_newest(spread->database, path);
    return true;
}

/* In the transaction: is the copy still what was asked for? */
static bool is_still(struct sl_replication *spread, bool *out)
{
    struct sl_replica_position now;
    if (!sl_replica_place(spread->registry, &now, &spread->error))
        return false;
    const struct sl_replica_position *then = &spread->place;
    *out = now.epoch == then->epoch && now.is_partial == then->is_partial &&
           are_same(now.logs[SL_LOG_RULES], then->logs[SL_LOG_RULES]) &&
           are_same(now.logs[SL_LOG_USERS], then->logs[SL_LOG_USERS]);
    return true;
}

/* By name; of one name by how they came. */
static int in_order(const void *one, const void *other)
{
    const struct sl_row *a = *(const struct sl_row *const *)one;
    const struct sl_row *b = *(const struct sl_row *const *)other;
    int order = (a->name.kind > b->name.kind) - (a->name.kind < b->name.kind);
    if (order == 0)
        order = strcmp(a->name.first, b->name.first);
    if (order == 0 && a->name.second)
        order = strcmp(a->name.second, b->name.second);
    return order ? order : (a > b) - (a < b);
}

static bool have_one_name(const struct sl_row *a, const struct sl_row *b)
{
    return a->name.kind == b->name.kind && strcmp(a->name.first, b->name.first) == 0 &&
           (!a->name.second || strcmp(a->name.second, b->name.second) == 0);
}

/* A row that changes between two pages comes twice. As it was first it may be in the way of
 * another, which has its place by now. */
static bool leave_last(struct sl_replication *spread)
{
    size_t count = spread->row_count, kept = 0;
    struct sl_row **sorted = calloc(count + 1, sizeof *sorted);
    bool *is_older = calloc(count + 1, sizeof *is_older);
    bool good = sorted && is_older;
    for (size_t i = 0; good && i < count; i++)
        sorted[i] = &spread->rows[i];
    if (good)
        qsort(sorted, count, sizeof *sorted, in_order);
    for (size_t i = 1; good && i < count; i++)
        is_older[sorted[i - 1] - spread->rows] = have_one_name(sorted[i - 1], sorted[i]);
    for (size_t i = 0; good && i < count; i++)
        if (!is_older[i])
            spread->rows[kept++] = spread->rows[i];
    if (good)
        spread->row_count = kept;
    free(sorted);
    free(is_older);
    return good || sl_error_say(&spread->error, "out of memory");
}

static bool apply_rules(struct sl_replication *spread, struct sl_replica_position *place)
{
    bool is_other = place->epoch != spread->looked.epoch.number;
    if (!leave_last(spread) || !sl_replica_apply(spread->registry, spread->rows, spread->row_count,
                                                 spread->is_afresh, &spread->error))
        return false;
    if (!is_other)
        return true;
    place->epoch = spread->looked.epoch.number;
    place->logs[SL_LOG_USERS] = (struct sl_log_place){ 0 };
    place->is_partial = true;
    return sl_replica_begin_users(spread->registry, &spread->error);
}

static bool apply_users(struct sl_replication *spread, struct sl_replica_position *place,
                        bool is_last)
{
    if (spread->is_afresh && !sl_replica_begin_users(spread->registry, &spread->error))
        return false;
    place->is_partial |= spread->is_afresh;
    for (size_t i = 0; i < spread->row_count; i++)
        if (!sl_replica_apply_user(spread->registry, &spread->rows[i], place->is_partial,
                                   &spread->error))
            return false;
    if (!is_last || !place->is_partial)
        return true;
    place->is_partial = false;
    return sl_replica_end_users(spread->registry, &spread->error);
}

/* One transaction. *is_still false: nothing was applied. */
static bool apply(struct sl_replication *spread, const struct sl_told_more *told, bool *is_applied)
{
    struct sl_registry *registry = spread->registry;
    struct sl_replica_position place = spread->place;
    bool is_rules = spread->log == SL_LOG_RULES;
    if (!sl_registry_begin(registry, is_rules ? SL_CARE_POWER_CUT : SL_CARE_KILL, &spread->error))
        return false;
    bool good = is_still(spread, is_applied);
    if (good && *is_applied) {
        good =
            is_rules ? apply_rules(spread, &place) : apply_users(spread, &place, !told->has_more);
        place.logs[spread->log] = told->has_more
                                      ? (struct sl_log_place){ told->upto, spread->known }
                                      : (struct sl_log_place){ told->version, told->last };
        good = good && sl_replica_put_place(registry, &place, &spread->error);
    }
    if (!good || !*is_applied) {
        sl_registry_rollback(registry);
        return good;
    }
    if (!sl_registry_commit(registry, &spread->error))
        return false;
    spread->place = place;
    spread->applied += spread->row_count;
    return true;
}

static enum sl_replication_step apply_page(struct sl_replication *spread,
                                           const struct sl_told_more *told)
{
    bool is_applied = false, is_rules = spread->log == SL_LOG_RULES, is_empty = true;
    if (is_rules && spread->is_afresh &&
        !sl_replica_is_empty(spread->registry, &is_empty, &spread->error))
        return sl_replication_fail(spread);
    if ((!is_empty && spread->database && !save(spread)) || !apply(spread, told, &is_applied))
        return sl_replication_fail(spread);
    if (!is_applied)
        return sl_replication_look_again(spread);
    spread->has_given_way |= !is_empty;
    spread->has_new_rules |= is_rules;
    spread->has_new_users |= !is_rules;
    spread->looked.logs[spread->log] = (struct sl_log_place){ told->version, told->last };
    spread->is_afresh = false;
    if (told->has_more)
        return fetch(spread, spread->log, false);
    return sl_replication_fetch_next(spread);
}

enum sl_replication_step sl_replication_take_page(struct sl_replication *spread,
                                                  const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    switch (sl_answer(reply, &told)) {
    case SL_TOLD_EPOCH:
        return sl_replication_look_again(spread);
    case SL_TOLD_AFRESH:
        return fetch(spread, spread->log, true);
    case SL_TOLD_ROWS:
        break;
    case SL_TOLD_DAMAGED:
        return sl_replication_fail_saying(spread,
                                          "the registry in Redis is damaged: it has lost rows");
    default:
        return sl_replication_fail_saying(spread, "the registry in Redis is none of Sluice's");
    }
    if (!keep_rows(spread, reply, told.first))
        return sl_replication_fail(spread);
    spread->from = told.upto;
    /* Until the last page is here, what was known before the first: of what was deleted since no
     * trace may be gone. */
    if (spread->known == 0)
        spread->known = told.last;
    /* Rules are applied when all are there. */
    if (spread->log == SL_LOG_RULES && told.has_more)
        return SL_REPLICATION_MORE;
    return apply_page(spread, &told);
}
