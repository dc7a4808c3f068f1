/* One change with replication: made on the newest rows, taken by Redis, then committed by the
 * database. */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/number.h"
#include "server/control/control.h"
#include "server/control/control_replication.h"

enum {
    FETCH_US = 3000000, /* for rows that are new in Redis */
    WAIT_US = 4000000,  /* for another instance that fills the registry */
    TRIES = 3,          /* to find out whether Redis made a change */
    PAUSE_US = 100000   /* between these tries */
};

/* ---- before the transaction ---- */

static bool are_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same_number(struct sl_row_number number, bool is_there, int64_t value)
{
    return number.is_there == is_there && (!is_there || number.number == value);
}

static bool is_row_current(const struct sl_row *row, const struct sl_user_record *record,
                           bool is_here)
{
    if (row->is_gone || !is_here)
        return row->is_gone && !is_here;
    return is_same_number(row->created_at_us, record->has_created_at, record->created_at_us) &&
           is_same_number(row->email_verified, record->has_email_verified,
                          record->email_verified) &&
           are_same(row->tier, record->tier) && are_same(row->limits, record->limits);
}

/* Writes the row that Redis has of this user, in a transaction of its own: a client that is refused
 * and reads again then sees the reason. */
static bool save_redis_row(struct sl_control *control, const struct sl_row *row,
                           struct sluice_error *error)
{
    struct sl_registry *registry = control->registry;
    if (!sl_registry_begin(registry, SL_CARE_KILL, error))
        return false;
    if (!sl_replica_apply_user(registry, row, control->replication->visitor.place.is_partial,
                               error)) {
        sl_registry_rollback(registry);
        return false;
    }
    control->replication->writes++;
    return sl_registry_commit(registry, error) && sl_control_refresh_users(control, error);
}

/* Fetches the user's record from Redis: the change is made on that. */
static bool fetch_redis_row(struct sl_control *control, struct sluice_error *error)
{
    struct sl_control_replication *replication = control->replication;
    const char *value = replication->visitor.row_value;
    struct sl_arena arena = { 0 };
    struct sl_row row = { .name = replication->row, .is_gone = true };
    struct sl_user_record record = { 0 };
    struct sl_buffer name = sl_buffer(1 << 16);
    bool is_here = false;
    sl_row_name_print(&name, &replication->row);
    bool good = !value || !*value ||
                sl_row_parse((struct sluice_text){ name.at, name.len }, sl_text(value), &arena,
                             &row, error);
    replication->row_on = row.change;
    good = good && sl_registry_user(control->registry, row.name.first, row.name.second, &arena,
                                    &record, &is_here, error);
    if (good && !is_row_current(&row, &record, is_here))
        good = save_redis_row(control, &row, error);
    sl_buffer_release(&name);
    sl_arena_release(&arena);
    return good;
}

bool sl_replication_ready(struct sl_control *control, bool is_dry_run, struct sluice_error *error)
{
    struct sl_control_replication *replication = control->replication;
    struct sl_replication *talk = &replication->visitor;
    talk->leaves_users = !replication->wants_users;
    talk->founds = is_dry_run ? SL_FOUNDS_NONE : SL_FOUNDS_EMPTY;
    talk->who = replication->follower.who; /* both conversations bid under one name */
    talk->row = replication->has_row ? &replication->row : NULL;
    replication->is_noting = false;
    switch (sl_replication_visit(control, FETCH_US, WAIT_US)) {
    case SL_REPLICATION_DONE:
        replication->is_noting = true;
        return !replication->has_row || fetch_redis_row(control, error);
    case SL_REPLICATION_NONE:
        *error = talk->error;
        return is_dry_run;
    case SL_REPLICATION_MORE:
        return sl_error_say(error, "this instance is still fetching what others have changed");
    default:
        *error = talk->error;
        return false;
    }
}

/* ---- in the transaction ---- */

bool sl_replication_start(struct sl_control *control, struct sluice_error *error)
{
    struct sl_control_replication *replication = control->replication;
    enum sl_log log = replication->has_row ? SL_LOG_USERS : SL_LOG_RULES;
    if (!replication->is_noting)
        return true;
    if (!sl_replica_place(control->registry, &replication->place, error))
        return false;
    if (replication->place.epoch != replication->visitor.looked.epoch.number)
        return sl_error_say(error, "the registry in Redis has just been replaced");
    replication->change = sl_change_new(replication->place.logs[log].version + 1);
    sl_replica_note(control->registry, replication->change);
    return true;
}

/* ---- the end ---- */

static struct sl_control_replication *replication_of(struct sl_channel_call *call)
{
    return (
        struct sl_control_replication *)(void *)((char *)call -
                                                 offsetof(struct sl_control_replication, waited));
}

static void on_written(struct sl_channel_call *call)
{
    struct sl_control_replication *replication = replication_of(call);
    replication->told = call->reply ? sl_answer(call->reply, &replication->more) : SL_TOLD_WRONG;
}

static void on_found_out(struct sl_channel_call *call)
{
    struct sl_control_replication *replication = replication_of(call);
    struct sl_logs_seen looked;
    bool good = call->reply && sl_answer_look(call->reply, &looked);
    replication->was_made = good && looked.was_made;
    replication->told = good ? SL_TOLD_DONE : SL_TOLD_WRONG;
}

/* The reply was lost. Past its deadline the script does nothing, so what is found then stays
 * true. */
static enum sl_replication_end find_out_whether_made(struct sl_control *control, enum sl_log log,
                                                     struct sluice_error *error)
{
    struct sl_control_replication *replication = control->replication;
    struct sl_store *store = control->server->store;
    struct sluice_error why = { 0 };
    int64_t rest_us = replication->waited.query.due_us - sl_link_now_us();
    store->ops->why(store, &why);
    if (replication->waited.query.sent_us == 0) {
        sl_error_say(error, "Redis does not answer (%s)", why.text);
        return SL_REPLICATION_REFUSED;
    }
    usleep((useconds_t)sl_max_i64(rest_us, 0));
    for (int i = 0; i < TRIES; i++) {
        usleep(i ? PAUSE_US : 0);
        if (!sl_ask_look(&replication->visitor.scripts, &replication->waited, log, NULL,
                         replication->change))
            continue;
        sl_replication_call(control, on_found_out);
        if (replication->told != SL_TOLD_DONE)
            continue;
        sl_error_say(error, "Redis did not take it in time (%s)", why.text);
        return replication->was_made ? SL_REPLICATION_WON : SL_REPLICATION_REFUSED;
    }
    sl_error_say(error,
                 "whether it was changed is not known: Redis was asked to and does not answer any "
                 "more (%s). Look at it again",
                 why.text);
    return SL_REPLICATION_UNKNOWN;
}

/* Moves this instance's position past its own change, if no other instance has changed that log
 * meanwhile, and no rows of it are still to be fetched (there are many users). */
static bool advance_position(struct sl_control *control, enum sl_log log, size_t count,
                             struct sluice_error *error)
{
    struct sl_control_replication *replication = control->replication;
    struct sl_log_place *place = &replication->place.logs[log];
    struct sluice_error why = { 0 };
    bool is_partial = log == SL_LOG_USERS && replication->place.is_partial;
    bool is_next = replication->more.last == place->last &&
                   replication->more.version == place->version + count;
    replication->writes++;
    if (is_partial || !is_next)
        return true;
    *place = (struct sl_log_place){ replication->more.version, replication->change };
    if (sl_replica_put_place(control->registry, &replication->place, &why)) {
        atomic_store(&control->server->spread.versions[log], place->version);
        return true;
    }
    return sl_error_say(error, SL_ELSEWHERE_ALONE ": %s", why.text);
}

/* Every instance must be able to fetch the rows: checks their size. */
static bool rows_fit(const struct sl_row *rows, size_t count, struct sluice_error *error)
{
    struct sl_buffer scratch = sl_buffer(SL_ROW_MAX_BYTES + 1);
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = sl_row_size_bytes(&rows[i], &scratch) <= SL_ROW_MAX_BYTES;
    sl_buffer_release(&scratch);
    return good || sl_error_say(error,
                                "as Redis would keep it, it has more than %d MiB (a control "
                                "character, such as a tab or the end of a line, takes six bytes "
                                "there)",
                                SL_ROW_MAX_BYTES >> 20);
}

static enum sl_replication_end write_rows(struct sl_control *control, const struct sl_row *rows,
                                          size_t count, struct sluice_error *error)
{
    struct sl_control_replication *replication = control->replication;
    enum sl_log log = sl_log_of(rows[0].name.kind);
    const struct sl_log_place *places = replication->place.logs;
    bool is_user = log == SL_LOG_USERS;
    struct sl_write_asked asked = {
        .epoch = { replication->place.epoch, false },
        .log = log,
        .on = is_user ? SL_ANY : places[SL_LOG_RULES].last,
        .other_on = is_user                    ? places[SL_LOG_RULES].last
                    : replication->wants_users ? places[SL_LOG_USERS].last
                                               : SL_ANY,
        .row_on = is_user ? replication->row_on : SL_ANY,
        .change = replication->change,
        .rows = rows,
        .count = count,
    };
    if (!rows_fit(rows, count, error))
        return SL_REPLICATION_LARGE;
    if (!sl_ask_write(&replication->visitor.scripts, &replication->waited, &asked)) {
        sl_error_say(error, "it is too large, or there is no memory");
        return SL_REPLICATION_REFUSED;
    }
    sl_replication_call(control, on_written);
    if (replication->told == SL_TOLD_DONE)
        return advance_position(control, log, count, error) ? SL_REPLICATION_WON
                                                            : SL_REPLICATION_UNKNOWN;
    if (replication->told == SL_TOLD_CONFLICT || replication->told == SL_TOLD_EPOCH) {
        atomic_fetch_add(&control->server->spread.conflicts, 1);
        return SL_REPLICATION_CONFLICT;
    }
    if (replication->told == SL_TOLD_FULL) {
        sl_error_say(error,
                     "rules, tiers, exemptions, tenants and keys have %d MiB in Redis, and more "
                     "are not taken; delete some first",
                     SL_RULES_MAX_BYTES >> 20);
        return SL_REPLICATION_FULL;
    }
    if (replication->told == SL_TOLD_DAMAGED) {
        sl_error_say(error, "the registry in Redis is damaged: it has lost rows");
        return SL_REPLICATION_REFUSED;
    }
    enum sl_replication_end end = find_out_whether_made(control, log, error);
    replication->writes += end == SL_REPLICATION_WON;
    return end;
}

enum sl_replication_end sl_replication_write(struct sl_control *control, struct sluice_error *error)
{
    struct sl_arena arena = { 0 };
    struct sl_row *rows;
    size_t count;
    enum sl_replication_end end = SL_REPLICATION_WON;
    if (!control->replication->is_noting)
        return SL_REPLICATION_WON;
    if (!sl_replica_noted(control->registry, &arena, &rows, &count, error))
        end = SL_REPLICATION_REFUSED;
    else if (count)
        end = write_rows(control, rows, count, error);
    sl_arena_release(&arena);
    return end;
}

/* ---- sweeping ---- */

bool sl_replication_sweep(struct sl_control *control, int64_t kept_us)
{
    struct sl_control_replication *replication = control->replication;
    struct sl_registry *registry = control->registry;
    struct sluice_error error = { 0 };
    bool has_more = false;
    replication->has_row = replication->wants_users = false;
    if (atomic_load(&control->server->spread.versions[SL_LOG_RULES]) == 0 ||
        !sl_replication_ready(control, true, &error) || !replication->is_noting ||
        !sl_registry_begin(registry, SL_CARE_KILL, &error))
        return false;
    /* By the clock of Redis, which all instances share: the rows go everywhere. */
    int64_t before_us = replication->visitor.looked.now_us - kept_us;
    if (sl_replication_start(control, &error) &&
        sl_registry_sweep(registry, before_us, &has_more, &error) &&
        sl_replication_write(control, &error) == SL_REPLICATION_WON)
        return sl_registry_commit(registry, &error) && has_more;
    sl_registry_rollback(registry);
    return false;
}
