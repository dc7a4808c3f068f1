/* A change where rules spread: made on what is newest, taken by Redis, then by the database. */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/number.h"
#include "server/control/control.h"
#include "server/control/control_replication.h"

enum {
    FETCH_US = 3000000, /* what is new since, */
    WAIT_US = 4000000,  /* somebody who fills the registry, */
    TRIES = 3,          /* to find out what became of a change, */
    PAUSE_US = 100000   /* one after the other */
};

/* ---- before ---- */

static bool are_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_so(struct sl_row_number number, bool is_there, int64_t value)
{
    return number.is_there == is_there && (!is_there || number.number == value);
}

static bool is_kept(const struct sl_row *row, const struct sl_user_record *record, bool is_here)
{
    if (row->is_gone || !is_here)
        return row->is_gone && !is_here;
    return is_so(row->created_at_us, record->has_created_at, record->created_at_us) &&
           is_so(row->email_verified, record->has_email_verified, record->email_verified) &&
           are_same(row->tier, record->tier) && are_same(row->limits, record->limits);
}

/* What Redis has of this user, in a transaction of its own: whoever is refused then and looks
 * again sees why. */
static bool keep_row(struct sl_control *control, const struct sl_row *row,
                     struct sluice_error *error)
{
    struct sl_registry *registry = control->registry;
    if (!sl_registry_begin(registry, SL_CARE_KILL, error))
        return false;
    if (!sl_replica_apply_user(registry, row, control->spread->visitor.place.is_partial, error)) {
        sl_registry_rollback(registry);
        return false;
    }
    control->spread->writes++;
    return sl_registry_commit(registry, error) && sl_control_refresh_users(control, error);
}

/* The record as Redis has it: that is what is changed. */
static bool take_row(struct sl_control *control, struct sluice_error *error)
{
    struct sl_control_replication *spread = control->spread;
    const char *value = spread->visitor.row_value;
    struct sl_arena arena = { 0 };
    struct sl_row row = { .name = spread->row, .is_gone = true };
    struct sl_user_record record = { 0 };
    struct sl_buffer name = sl_buffer(1 << 16);
    bool is_here = false;
    sl_row_name_print(&name, &spread->row);
    bool good = !value || !*value ||
                sl_row_parse((struct sluice_text){ name.at, name.len }, sl_text(value), &arena,
                             &row, error);
    spread->row_on = row.change;
    good = good && sl_registry_user(control->registry, row.name.first, row.name.second, &arena,
                                    &record, &is_here, error);
    if (good && !is_kept(&row, &record, is_here))
        good = keep_row(control, &row, error);
    sl_buffer_release(&name);
    sl_arena_release(&arena);
    return good;
}

bool sl_replication_ready(struct sl_control *control, bool is_dry_run, struct sluice_error *error)
{
    struct sl_control_replication *spread = control->spread;
    struct sl_replication *talk = &spread->visitor;
    talk->leaves_users = !spread->wants_users;
    talk->founds = is_dry_run ? SL_FOUNDS_NONE : SL_FOUNDS_EMPTY;
    talk->who = spread->follower.who; /* one bidder */
    talk->row = spread->has_row ? &spread->row : NULL;
    spread->is_noting = false;
    switch (sl_replication_visit(control, FETCH_US, WAIT_US)) {
    case SL_REPLICATION_DONE:
        spread->is_noting = true;
        return !spread->has_row || take_row(control, error);
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
    struct sl_control_replication *spread = control->spread;
    enum sl_log log = spread->has_row ? SL_LOG_USERS : SL_LOG_RULES;
    if (!spread->is_noting)
        return true;
    if (!sl_replica_place(control->registry, &spread->place, error))
        return false;
    if (spread->place.epoch != spread->visitor.looked.epoch.number)
        return sl_error_say(error, "the registry in Redis has just been replaced");
    spread->change = sl_change_new(spread->place.logs[log].version + 1);
    sl_replica_note(control->registry, spread->change);
    return true;
}

/* ---- the end ---- */

static struct sl_control_replication *spread_of(struct sl_channel_call *call)
{
    return (
        struct sl_control_replication *)(void *)((char *)call -
                                                 offsetof(struct sl_control_replication, waited));
}

static void on_written(struct sl_channel_call *call)
{
    struct sl_control_replication *spread = spread_of(call);
    spread->told = call->reply ? sl_answer(call->reply, &spread->more) : SL_TOLD_WRONG;
}

static void on_found_out(struct sl_channel_call *call)
{
    struct sl_control_replication *spread = spread_of(call);
    struct sl_logs_seen looked;
    bool good = call->reply && sl_answer_look(call->reply, &looked);
    spread->was_made = good && looked.was_made;
    spread->told = good ? SL_TOLD_DONE : SL_TOLD_WRONG;
}

/* The answer was lost. Once its deadline has passed the script does nothing any more, and whether
 * it did stays true. */
static enum sl_replication_end find_out(struct sl_control *control, enum sl_log log,
                                        struct sluice_error *error)
{
    struct sl_control_replication *spread = control->spread;
    struct sl_store *store = control->server->store;
    struct sluice_error why = { 0 };
    int64_t rest_us = spread->waited.query.due_us - sl_link_now_us();
    store->ops->why(store, &why);
    if (spread->waited.query.sent_us == 0) {
        sl_error_say(error, "Redis does not answer (%s)", why.text);
        return SL_REPLICATION_REFUSED;
    }
    usleep((useconds_t)sl_max_i64(rest_us, 0));
    for (int i = 0; i < TRIES; i++) {
        usleep(i ? PAUSE_US : 0);
        if (!sl_ask_look(&spread->visitor.scripts, &spread->waited, log, NULL, spread->change))
            continue;
        sl_replication_call(control, on_found_out);
        if (spread->told != SL_TOLD_DONE)
            continue;
        sl_error_say(error, "Redis did not take it in time (%s)", why.text);
        return spread->was_made ? SL_REPLICATION_WON : SL_REPLICATION_REFUSED;
    }
    sl_error_say(error,
                 "whether it was changed is not known: Redis was asked to and does not answer any "
                 "more (%s). Look at it again",
                 why.text);
    return SL_REPLICATION_UNKNOWN;
}

/* Where nobody else has changed that log meanwhile, this is where it is now; but not where rows of
 * it are still to come, of which users have many. */
static bool move_on(struct sl_control *control, enum sl_log log, size_t count,
                    struct sluice_error *error)
{
    struct sl_control_replication *spread = control->spread;
    struct sl_log_place *place = &spread->place.logs[log];
    struct sluice_error why = { 0 };
    bool is_partial = log == SL_LOG_USERS && spread->place.is_partial;
    bool is_next =
        spread->more.last == place->last && spread->more.version == place->version + count;
    spread->writes++;
    if (is_partial || !is_next)
        return true;
    *place = (struct sl_log_place){ spread->more.version, spread->change };
    if (sl_replica_put_place(control->registry, &spread->place, &why)) {
        atomic_store(&control->server->spread.versions[log], place->version);
        return true;
    }
    return sl_error_say(error, SL_ELSEWHERE_ALONE ": %s", why.text);
}

/* What is written must be fetched again, by everybody. */
static bool fit(const struct sl_row *rows, size_t count, struct sluice_error *error)
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
    struct sl_control_replication *spread = control->spread;
    enum sl_log log = sl_log_of(rows[0].name.kind);
    const struct sl_log_place *places = spread->place.logs;
    bool is_user = log == SL_LOG_USERS;
    struct sl_write_asked asked = {
        .epoch = { spread->place.epoch, false },
        .log = log,
        .on = is_user ? SL_ANY : places[SL_LOG_RULES].last,
        .other_on = is_user               ? places[SL_LOG_RULES].last
                    : spread->wants_users ? places[SL_LOG_USERS].last
                                          : SL_ANY,
        .row_on = is_user ? spread->row_on : SL_ANY,
        .change = spread->change,
        .rows = rows,
        .count = count,
    };
    if (!fit(rows, count, error))
        return SL_REPLICATION_LARGE;
    if (!sl_ask_write(&spread->visitor.scripts, &spread->waited, &asked)) {
        sl_error_say(error, "it is too large, or there is no memory");
        return SL_REPLICATION_REFUSED;
    }
    sl_replication_call(control, on_written);
    if (spread->told == SL_TOLD_DONE)
        return move_on(control, log, count, error) ? SL_REPLICATION_WON : SL_REPLICATION_UNKNOWN;
    if (spread->told == SL_TOLD_CONFLICT || spread->told == SL_TOLD_EPOCH) {
        atomic_fetch_add(&control->server->spread.conflicts, 1);
        return SL_REPLICATION_CONFLICT;
    }
    if (spread->told == SL_TOLD_FULL) {
        sl_error_say(error,
                     "rules, tiers, exemptions, tenants and keys have %d MiB in Redis, and more "
                     "are not taken; delete some first",
                     SL_RULES_MAX_BYTES >> 20);
        return SL_REPLICATION_FULL;
    }
    if (spread->told == SL_TOLD_DAMAGED) {
        sl_error_say(error, "the registry in Redis is damaged: it has lost rows");
        return SL_REPLICATION_REFUSED;
    }
    enum sl_replication_end end = find_out(control, log, error);
    spread->writes += end == SL_REPLICATION_WON;
    return end;
}

enum sl_replication_end sl_replication_write(struct sl_control *control, struct sluice_error *error)
{
    struct sl_arena arena = { 0 };
    struct sl_row *rows;
    size_t count;
    enum sl_replication_end end = SL_REPLICATION_WON;
    if (!control->spread->is_noting)
        return SL_REPLICATION_WON;
    if (!sl_replica_noted(control->registry, &arena, &rows, &count, error))
        end = SL_REPLICATION_REFUSED;
    else if (count)
        end = write_rows(control, rows, count, error);
    sl_arena_release(&arena);
    return end;
}

/* ---- now and then ---- */

bool sl_replication_sweep(struct sl_control *control, int64_t kept_us)
{
    struct sl_control_replication *spread = control->spread;
    struct sl_registry *registry = control->registry;
    struct sluice_error error = { 0 };
    bool has_more = false;
    spread->has_row = spread->wants_users = false;
    if (atomic_load(&control->server->spread.versions[SL_LOG_RULES]) == 0 ||
        !sl_replication_ready(control, true, &error) || !spread->is_noting ||
        !sl_registry_begin(registry, SL_CARE_KILL, &error))
        return false;
    /* By the one clock that all have in common: what goes here goes everywhere. */
    int64_t before_us = spread->visitor.looked.now_us - kept_us;
    if (sl_replication_start(control, &error) &&
        sl_registry_sweep(registry, before_us, &has_more, &error) &&
        sl_replication_write(control, &error) == SL_REPLICATION_WON)
        return sl_registry_commit(registry, &error) && has_more;
    sl_registry_rollback(registry);
    return false;
}
