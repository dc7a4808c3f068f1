/* Applies rows of other instances to the database, and keeps the replica's position.
 *
 * Rows of the rules log are first dropped, all of them, then inserted: their order (`made`) and
 * their references are true only when all have arrived, not in between. SQLite checks the
 * references when the transaction ends.
 *
 * The tables `spread` (one row: the position) and `spread_unseen` (users whose record has not been
 * confirmed yet) are made when they are first needed: a database that is not shared has none, and a
 * process that only reads rules needs none. */
#include "registry/replication/replica.h"

#include "base/check.h"
#include "base/error.h"
#include "registry/rows.h"

/* ---- the rules log ---- */

static bool defer_references(struct sl_registry *registry, struct sluice_error *error)
{
    if (sqlite3_exec(registry->db, "PRAGMA defer_foreign_keys = ON", NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return sl_database_say(registry, "written", error);
}

static bool clear_rules_log(struct sl_registry *registry, struct sluice_error *error)
{
    static const enum sl_sql steps[] = { SL_SQL_CLEAR_RULES, SL_SQL_CLEAR_TIERS,
                                         SL_SQL_CLEAR_EXEMPTIONS, SL_SQL_CLEAR_KEYS,
                                         SL_SQL_CLEAR_TENANTS };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct sl_sql_query query = sl_change(registry, steps[i]);
        if (!sl_sql_query_run(&query, NULL, error))
            return false;
    }
    return true;
}

static bool drop_row(struct sl_registry *registry, const struct sl_row_name *name,
                     struct sluice_error *error)
{
    static const enum sl_sql drops[] = {
        [SL_ROW_RULE] = SL_SQL_DROP_RULE,           [SL_ROW_TIER] = SL_SQL_DROP_TIER,
        [SL_ROW_EXEMPTION] = SL_SQL_DROP_EXEMPTION, [SL_ROW_TENANT] = SL_SQL_DROP_TENANT,
        [SL_ROW_KEY] = SL_SQL_DROP_DIGEST,
    };
    SL_CHECK(name->kind < SL_ROW_USER);
    struct sl_sql_query query = sl_change(registry, drops[name->kind]);
    bool has_no_tenant = name->kind == SL_ROW_RULE && *name->first == '\0';
    sl_bind_text(&query, has_no_tenant ? NULL : name->first);
    if (name->second)
        sl_bind_text(&query, name->second);
    return sl_sql_query_run(&query, NULL, error);
}

static void bind_number(struct sl_sql_query *query, struct sl_row_number number)
{
    if (number.is_there)
        sl_bind_i64(query, number.number);
    else
        sl_bind_null(query);
}

/* Binds the members that the kind has, in the order of its statement. */
static void bind_members(struct sl_sql_query *query, const struct sl_row *row)
{
    if (row->name.kind != SL_ROW_KEY)
        sl_bind_i64(query, (int64_t)row->change);
    if (row->name.kind != SL_ROW_TENANT)
        bind_number(query, row->made);
    switch (row->name.kind) {
    case SL_ROW_RULE:
    case SL_ROW_TIER:
        sl_bind_text(query, row->json);
        break;
    case SL_ROW_EXEMPTION:
        bind_number(query, row->until_us);
        sl_bind_text(query, row->reason);
        break;
    case SL_ROW_TENANT:
        sl_bind_text(query, row->tier);
        break;
    default:
        sl_bind_text(query, row->tenant);
        sl_bind_text(query, row->label);
        sl_bind_text(query, row->tier);
        bind_number(query, row->created_at_us);
    }
}

static bool insert_row(struct sl_registry *registry, const struct sl_row *row,
                       struct sluice_error *error)
{
    static const enum sl_sql puts[] = {
        [SL_ROW_RULE] = SL_SQL_APPLY_RULE,
        [SL_ROW_TIER] = SL_SQL_APPLY_TIER,
        [SL_ROW_EXEMPTION] = SL_SQL_APPLY_EXEMPTION,
        [SL_ROW_TENANT] = SL_SQL_APPLY_TENANT,
        [SL_ROW_KEY] = SL_SQL_APPLY_KEY,
    };
    SL_CHECK(row->name.kind < SL_ROW_USER);
    if (row->is_gone)
        return drop_row(registry, &row->name, error);
    struct sl_sql_query query = sl_change(registry, puts[row->name.kind]);
    sl_bind_text(&query, row->name.first);
    if (row->name.second)
        sl_bind_text(&query, row->name.second);
    bind_members(&query, row);
    return sl_sql_query_run(&query, NULL, error);
}

bool sl_replica_apply(struct sl_registry *registry, const struct sl_row *rows, size_t count,
                      bool afresh, struct sluice_error *error)
{
    SL_CHECK(registry->is_changing);
    if (!defer_references(registry, error) || (afresh && !clear_rules_log(registry, error)))
        return false;
    for (size_t i = 0; !afresh && i < count; i++)
        if (!drop_row(registry, &rows[i].name, error))
            return false;
    for (size_t i = 0; i < count; i++)
        if (!insert_row(registry, &rows[i], error))
            return false;
    return true;
}

/* ---- tables that may not exist ---- */

static bool has_tables(struct sl_registry *registry, bool *out, struct sluice_error *error)
{
    int64_t count = 0;
    sqlite3_stmt *statement = NULL;
    *out = false;
    if (!registry->db)
        return true;
    int code = sqlite3_prepare_v2(
        registry->db,
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('spread', 'spread_unseen')", -1,
        &statement, NULL);
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    *out = count == 2;
    return code == SQLITE_OK || sl_database_say(registry, "read", error);
}

/* After a failure the transaction can only be rolled back, as after that of any statement. */
static bool execute_sql(struct sl_registry *registry, const char *sql, struct sluice_error *error)
{
    if (sqlite3_exec(registry->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    sl_database_say(registry, "written", error);
    registry->has_failed = true;
    registry->failure = *error;
    return false;
}

/* Creates the tables if they do not exist; STRICT, as the others. */
static bool create_tables(struct sl_registry *registry, struct sluice_error *error)
{
    bool are_there;
    if (!has_tables(registry, &are_there, error))
        return false;
    return are_there ||
           execute_sql(
               registry,
               "CREATE TABLE IF NOT EXISTS spread (one INTEGER PRIMARY KEY CHECK (one = 1),"
               "  epoch INTEGER NOT NULL, rules INTEGER NOT NULL, rules_last INTEGER NOT NULL,"
               "  users INTEGER NOT NULL, users_last INTEGER NOT NULL,"
               "  is_partial INTEGER NOT NULL) STRICT;"
               "CREATE TABLE IF NOT EXISTS spread_unseen (number INTEGER PRIMARY KEY) STRICT",
               error);
}

/* ---- the position ---- */

static bool read_position(struct sl_registry *registry, struct sl_replica_position *out,
                          struct sluice_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(registry->db,
                                  "SELECT epoch, rules, rules_last, users, users_last, is_partial "
                                  "FROM spread",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        out->epoch = (uint64_t)sqlite3_column_int64(statement, 0);
        for (int i = 0; i < SL_LOG_COUNT; i++) {
            out->logs[i].version = (uint64_t)sqlite3_column_int64(statement, 1 + 2 * i);
            out->logs[i].last = (uint64_t)sqlite3_column_int64(statement, 2 + 2 * i);
        }
        out->is_partial = sqlite3_column_int64(statement, 5);
    }
    sqlite3_finalize(statement);
    return code == SQLITE_OK || sl_database_say(registry, "read", error);
}

bool sl_replica_place(struct sl_registry *registry, struct sl_replica_position *out,
                      struct sluice_error *error)
{
    bool are_there = false;
    struct sl_replica_position place = { 0 };
    if (!sl_look_begin(registry, error))
        return false;
    bool good = has_tables(registry, &are_there, error) &&
                (!are_there || read_position(registry, &place, error));
    sl_look_end(registry);
    if (good)
        *out = place;
    return good;
}

bool sl_replica_put_place(struct sl_registry *registry, const struct sl_replica_position *place,
                          struct sluice_error *error)
{
    SL_CHECK(registry->is_changing);
    if (!create_tables(registry, error))
        return false;
    char *sql = sqlite3_mprintf(
        "INSERT OR REPLACE INTO spread VALUES (1, %lld, %lld, %lld, %lld, %lld, %d)",
        (long long)place->epoch, (long long)place->logs[SL_LOG_RULES].version,
        (long long)place->logs[SL_LOG_RULES].last, (long long)place->logs[SL_LOG_USERS].version,
        (long long)place->logs[SL_LOG_USERS].last, place->is_partial);
    bool good = sql ? execute_sql(registry, sql, error) : sl_error_say(error, "out of memory");
    sqlite3_free(sql);
    return good;
}

bool sl_replica_leave(struct sl_registry *registry, struct sluice_error *error)
{
    bool are_there;
    SL_CHECK(registry->is_changing);
    return has_tables(registry, &are_there, error) &&
           (!are_there || execute_sql(registry, "DELETE FROM spread", error));
}

/* ---- users ---- */

bool sl_replica_begin_users(struct sl_registry *registry, struct sluice_error *error)
{
    SL_CHECK(registry->is_changing);
    return create_tables(registry, error) &&
           execute_sql(registry,
                       "INSERT OR IGNORE INTO spread_unseen "
                       "SELECT number FROM user WHERE revision IS NOT NULL",
                       error);
}

static bool confirm_user(struct sl_registry *registry, const struct sl_row *row,
                         struct sluice_error *error)
{
    char *sql = sqlite3_mprintf("DELETE FROM spread_unseen WHERE number = (SELECT number FROM user "
                                "WHERE tenant = %Q AND id = %Q)",
                                row->name.first, row->name.second);
    bool good = sql ? execute_sql(registry, sql, error) : sl_error_say(error, "out of memory");
    sqlite3_free(sql);
    return good;
}

bool sl_replica_apply_user(struct sl_registry *registry, const struct sl_row *row, bool is_awaited,
                           struct sluice_error *error)
{
    bool found;
    SL_CHECK(registry->is_changing && row->name.kind == SL_ROW_USER);
    if (row->is_gone)
        return sl_registry_drop_user(registry, row->name.first, row->name.second, &found, error);
    struct sl_user_record record = {
        .tenant = row->name.first,
        .id = row->name.second,
        .has_created_at = row->created_at_us.is_there,
        .created_at_us = row->created_at_us.number,
        .has_email_verified = row->email_verified.is_there,
        .email_verified = row->email_verified.number,
        .tier = row->tier,
        .limits = row->limits,
    };
    return sl_registry_put_user(registry, &record, error) &&
           (!is_awaited || confirm_user(registry, row, error));
}

/* A user with counted days stays, without a record. All processes load all users again. */
bool sl_replica_end_users(struct sl_registry *registry, struct sluice_error *error)
{
    SL_CHECK(registry->is_changing);
    int64_t before = sqlite3_total_changes64(registry->db);
    if (!create_tables(registry, error) ||
        !execute_sql(registry,
                     "DELETE FROM user WHERE last_day IS NULL AND number IN "
                     "(SELECT number FROM spread_unseen)",
                     error))
        return false;
    registry->counters.users -= sqlite3_total_changes64(registry->db) - before;
    if (!execute_sql(registry,
                     "UPDATE user SET created_at_us = NULL, email_verified = NULL, tier = NULL, "
                     "limits = NULL, revision = NULL WHERE number IN (SELECT number FROM "
                     "spread_unseen); DELETE FROM spread_unseen",
                     error))
        return false;
    struct sl_sql_query forget = sl_change(registry, SL_SQL_FORGET_GONE);
    sl_bind_i64(&forget, registry->next);
    struct sl_sql_query gone = sl_change(registry, SL_SQL_CLEAR_GONE);
    return sl_sql_query_run(&forget, NULL, error) && sl_sql_query_run(&gone, NULL, error);
}
