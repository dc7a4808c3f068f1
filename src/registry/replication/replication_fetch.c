/* Fetches rows page by page, and applies them to the replica: all rules at once (S6), users as they
 * come. */
#include "registry/replication/replication_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"

enum { FETCHED_MAX_BYTES = 64 << 20 };

/* ---- choosing the log ---- */

static bool are_same(struct sl_log_place a, struct sl_log_place b)
{
    return a.version == b.version && a.last == b.last;
}

static enum sl_replication_step start_fetching(struct sl_replication *replication, enum sl_log log,
                                               bool is_afresh)
{
    struct sl_log_place place = replication->place.logs[log];
    sl_replication_forget_rows(replication);
    replication->phase = SL_REPLICATION_FETCHES;
    replication->log = log;
    replication->is_afresh = is_afresh;
    replication->from = is_afresh ? 0 : place.version;
    replication->known = is_afresh ? 0 : place.last;
    return SL_REPLICATION_MORE;
}

enum sl_replication_step sl_replication_fetch_next(struct sl_replication *replication)
{
    const struct sl_replica_position *place = &replication->place;
    const struct sl_log_place *there = replication->looked.logs;
    bool is_other = replication->looked.epoch.number != place->epoch;
    if (is_other || !are_same(place->logs[SL_LOG_RULES], there[SL_LOG_RULES]))
        return start_fetching(replication, SL_LOG_RULES,
                              is_other || place->logs[SL_LOG_RULES].last == 0);
    bool has_users = !place->is_partial && are_same(place->logs[SL_LOG_USERS], there[SL_LOG_USERS]);
    if (!replication->leaves_users && !has_users)
        return start_fetching(replication, SL_LOG_USERS, false);
    replication->phase = SL_REPLICATION_LOOKS;
    return SL_REPLICATION_DONE;
}

/* ---- pages ---- */

static bool keep_row(struct sl_replication *replication, struct sluice_text name,
                     struct sluice_text value)
{
    SL_CHECK(replication->row_count <= replication->row_room);
    replication->row_bytes += name.len + value.len;
    if (replication->row_bytes > FETCHED_MAX_BYTES)
        return sl_error_say(&replication->error, "the registry in Redis is larger than %d MiB",
                            FETCHED_MAX_BYTES >> 20);
    if (replication->row_count == replication->row_room) {
        size_t room = replication->row_room ? 2 * replication->row_room : 64;
        struct sl_row *rows = realloc(replication->rows, room * sizeof *rows);
        if (!rows)
            return sl_error_say(&replication->error, "out of memory");
        replication->rows = rows;
        replication->row_room = room;
    }
    struct sl_row *row = &replication->rows[replication->row_count];
    if (!sl_row_parse(name, value, &replication->arena, row, &replication->error))
        return false;
    if (sl_log_of(row->name.kind) != replication->log)
        return sl_error_say(&replication->error,
                            "the registry in Redis is damaged: a row is in the "
                            "wrong log");
    replication->row_count++;
    return true;
}

static bool keep_rows(struct sl_replication *replication, const struct sl_redis_reply *reply,
                      size_t first)
{
    for (size_t i = first; i + 1 < reply->text_count; i += 2)
        if (!keep_row(replication, sl_reply_text(reply, i), sl_reply_text(reply, i + 1)))
            return false;
    return true;
}

/* Saves the rows of this database, once, before another history replaces them. The file's name has
 * the new epoch and the last change of the rows that it saves; for a database that never was a
 * replica, the database's revision. */
static bool save_database(struct sl_replication *replication)
{
    char path[sizeof replication->saved_as];
    uint64_t last = replication->place.logs[SL_LOG_RULES].last;
    int len =
        snprintf(path, sizeof path, "%s" SL_SAVED_BEFORE "%016llx-%016llx", replication->database,
                 (unsigned long long)replication->looked.epoch.number,
                 (unsigned long long)(last ? last : sl_registry_revision(replication->registry)));
    if (len >= (int)sizeof path)
        return sl_error_say(&replication->error, "the database's path is too long to keep a copy");
    /* Applying may have failed after an earlier save. */
    if (strcmp(path, replication->saved_as) == 0 && access(path, F_OK) == 0)
        return true;
    *replication->saved_as = '\0';
    if (!sl_replica_save(replication->registry, path, &replication->error))
        return false;
    memcpy(replication->saved_as, path, (size_t)len + 1);
    sl_replica_leave_newest(replication->database, path);
    return true;
}

/* Within the transaction: is the replica's position still the one that rows were fetched for? */
static bool is_position_unchanged(struct sl_replication *replication, bool *out)
{
    struct sl_replica_position now;
    if (!sl_replica_place(replication->registry, &now, &replication->error))
        return false;
    const struct sl_replica_position *then = &replication->place;
    *out = now.epoch == then->epoch && now.is_partial == then->is_partial &&
           are_same(now.logs[SL_LOG_RULES], then->logs[SL_LOG_RULES]) &&
           are_same(now.logs[SL_LOG_USERS], then->logs[SL_LOG_USERS]);
    return true;
}

/* By name; rows of one name in the order of arrival. */
static int compare_rows(const void *one, const void *other)
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

static bool have_same_name(const struct sl_row *a, const struct sl_row *b)
{
    return a->name.kind == b->name.kind && strcmp(a->name.first, b->name.first) == 0 &&
           (!a->name.second || strcmp(a->name.second, b->name.second) == 0);
}

/* Keeps the last of rows with the same name: a row that changes between two pages comes twice. Its
 * older value may conflict with another row that has taken its place since. */
static bool keep_last_values(struct sl_replication *replication)
{
    size_t count = replication->row_count, kept = 0;
    struct sl_row **sorted = calloc(count + 1, sizeof *sorted);
    bool *is_older = calloc(count + 1, sizeof *is_older);
    bool good = sorted && is_older;
    for (size_t i = 0; good && i < count; i++)
        sorted[i] = &replication->rows[i];
    if (good)
        qsort(sorted, count, sizeof *sorted, compare_rows);
    for (size_t i = 1; good && i < count; i++)
        is_older[sorted[i - 1] - replication->rows] = have_same_name(sorted[i - 1], sorted[i]);
    for (size_t i = 0; good && i < count; i++)
        if (!is_older[i])
            replication->rows[kept++] = replication->rows[i];
    if (good)
        replication->row_count = kept;
    free(sorted);
    free(is_older);
    return good || sl_error_say(&replication->error, "out of memory");
}

static bool apply_rules(struct sl_replication *replication, struct sl_replica_position *place)
{
    bool is_other = place->epoch != replication->looked.epoch.number;
    if (!keep_last_values(replication) ||
        !sl_replica_apply(replication->registry, replication->rows, replication->row_count,
                          replication->is_afresh, &replication->error))
        return false;
    if (!is_other)
        return true;
    place->epoch = replication->looked.epoch.number;
    place->logs[SL_LOG_USERS] = (struct sl_log_place){ 0 };
    place->is_partial = true;
    return sl_replica_begin_users(replication->registry, &replication->error);
}

static bool apply_users(struct sl_replication *replication, struct sl_replica_position *place,
                        bool is_last)
{
    if (replication->is_afresh &&
        !sl_replica_begin_users(replication->registry, &replication->error))
        return false;
    place->is_partial |= replication->is_afresh;
    for (size_t i = 0; i < replication->row_count; i++)
        if (!sl_replica_apply_user(replication->registry, &replication->rows[i], place->is_partial,
                                   &replication->error))
            return false;
    if (!is_last || !place->is_partial)
        return true;
    place->is_partial = false;
    return sl_replica_end_users(replication->registry, &replication->error);
}

/* Applies the rows in one transaction. Sets *is_applied to false if the position has changed, and
 * nothing was applied. */
static bool apply_in_transaction(struct sl_replication *replication,
                                 const struct sl_told_more *told, bool *is_applied)
{
    struct sl_registry *registry = replication->registry;
    struct sl_replica_position place = replication->place;
    bool is_rules = replication->log == SL_LOG_RULES;
    if (!sl_registry_begin(registry, is_rules ? SL_CARE_POWER_CUT : SL_CARE_KILL,
                           &replication->error))
        return false;
    bool good = is_position_unchanged(replication, is_applied);
    if (good && *is_applied) {
        good = is_rules ? apply_rules(replication, &place)
                        : apply_users(replication, &place, !told->has_more);
        place.logs[replication->log] = told->has_more
                                           ? (struct sl_log_place){ told->upto, replication->known }
                                           : (struct sl_log_place){ told->version, told->last };
        good = good && sl_replica_put_place(registry, &place, &replication->error);
    }
    if (!good || !*is_applied) {
        sl_registry_rollback(registry);
        return good;
    }
    if (!sl_registry_commit(registry, &replication->error))
        return false;
    replication->place = place;
    replication->applied += replication->row_count;
    return true;
}

static enum sl_replication_step apply_page(struct sl_replication *replication,
                                           const struct sl_told_more *told)
{
    bool is_applied = false, is_rules = replication->log == SL_LOG_RULES, is_empty = true;
    if (is_rules && replication->is_afresh &&
        !sl_replica_is_empty(replication->registry, &is_empty, &replication->error))
        return sl_replication_fail(replication);
    if ((!is_empty && replication->database && !save_database(replication)) ||
        !apply_in_transaction(replication, told, &is_applied))
        return sl_replication_fail(replication);
    if (!is_applied)
        return sl_replication_look_again(replication);
    replication->has_given_way |= !is_empty;
    replication->has_new_rules |= is_rules;
    replication->has_new_users |= !is_rules;
    replication->looked.logs[replication->log] = (struct sl_log_place){ told->version, told->last };
    replication->is_afresh = false;
    if (told->has_more)
        return start_fetching(replication, replication->log, false);
    return sl_replication_fetch_next(replication);
}

enum sl_replication_step sl_replication_take_page(struct sl_replication *replication,
                                                  const struct sl_redis_reply *reply)
{
    struct sl_told_more told;
    switch (sl_answer(reply, &told)) {
    case SL_TOLD_EPOCH:
        return sl_replication_look_again(replication);
    case SL_TOLD_AFRESH:
        return start_fetching(replication, replication->log, true);
    case SL_TOLD_ROWS:
        break;
    case SL_TOLD_DAMAGED:
        return sl_replication_fail_saying(replication,
                                          "the registry in Redis is damaged: it has lost rows");
    default:
        return sl_replication_fail_saying(replication,
                                          "the registry in Redis was not written by Sluice");
    }
    if (!keep_rows(replication, reply, told.first))
        return sl_replication_fail(replication);
    replication->from = told.upto;
    /* Until the last page is here, the change that was known before the first page: all marks of
     * rows that were deleted since must still exist. */
    if (replication->known == 0)
        replication->known = told.last;
    /* Rules are applied when all are here. */
    if (replication->log == SL_LOG_RULES && told.has_more)
        return SL_REPLICATION_MORE;
    return apply_page(replication, &told);
}
