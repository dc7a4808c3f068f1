/* Running a prepared statement: bind, step, read columns, end. */
#include "registry/query.h"

#include "base/check.h"
#include "base/error.h"

enum about { NOTHING, RULES, USERS };

static const struct {
    enum about about;
    const char *sql;
} statements[SL_SQL_COUNT] = {
#define SL_SQL(name, about, sql) { about, sql },
#include "registry/statements.def"
#undef SL_SQL
};

bool sl_statements_open(struct sl_registry *registry, struct sluice_error *error)
{
    for (int i = 0; i < SL_SQL_COUNT; i++) {
        int code = sqlite3_prepare_v3(registry->db, statements[i].sql, -1,
                                      SQLITE_PREPARE_PERSISTENT, &registry->statements[i], NULL);
        if (code != SQLITE_OK)
            return sl_database_say(registry, "read", error);
    }
    return true;
}

void sl_statements_close(struct sl_registry *registry)
{
    for (int i = 0; i < SL_SQL_COUNT; i++) {
        sqlite3_finalize(registry->statements[i]);
        registry->statements[i] = NULL;
    }
}

struct sl_sql_query sl_query(struct sl_registry *registry, enum sl_sql which)
{
    sqlite3_stmt *statement = registry->db ? registry->statements[which] : NULL;
    SL_CHECK(!registry->db || (statement && !sqlite3_stmt_busy(statement)));
    return (struct sl_sql_query){ .registry = registry, .statement = statement, .which = which };
}

struct sl_sql_query sl_change(struct sl_registry *registry, enum sl_sql which)
{
    SL_CHECK(registry->is_changing);
    return sl_query(registry, which);
}

/* ---- binding ---------------------------------------------------------------------- */

static void note_bind_result(struct sl_sql_query *query, int code)
{
    if (query->wrong == SQLITE_OK)
        query->wrong = code;
}

void sl_bind_text(struct sl_sql_query *query, const char *text)
{
    int place = ++query->bound;
    if (query->statement)
        note_bind_result(query,
                         sqlite3_bind_text64(query->statement, place, text, text ? strlen(text) : 0,
                                             SQLITE_STATIC, SQLITE_UTF8));
}

void sl_bind_i64(struct sl_sql_query *query, int64_t number)
{
    int place = ++query->bound;
    if (query->statement)
        note_bind_result(query, sqlite3_bind_int64(query->statement, place, number));
}

void sl_bind_null(struct sl_sql_query *query)
{
    sl_bind_text(query, NULL);
}

/* ---- stepping --------------------------------------------------------------------- */

void sl_sql_query_end(struct sl_sql_query *query)
{
    if (!query->statement)
        return;
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
}

bool sl_sql_query_ended(struct sl_sql_query *query, enum sl_step last)
{
    if (last == SL_STEP_ROW)
        sl_sql_query_end(query);
    return last != SL_STEP_FAILED;
}

static void doom_transaction(struct sl_sql_query *query, const struct sluice_error *error)
{
    struct sl_registry *registry = query->registry;
    sl_sql_query_end(query);
    if (!registry->is_changing || registry->has_failed)
        return;
    registry->has_failed = true;
    registry->failure = *error;
}

bool sl_sql_query_doom(struct sl_sql_query *query, struct sluice_error *error, const char *format,
                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    doom_transaction(query, error);
    return false;
}

static enum sl_step fail_query(struct sl_sql_query *query, struct sluice_error *error)
{
    struct sl_registry *registry = query->registry;
    bool writes = registry->is_changing || !sqlite3_stmt_readonly(query->statement);
    if (query->wrong != SQLITE_OK)
        sl_error_say(error, "the database %s cannot take it: %s", registry->name,
                     sqlite3_errstr(query->wrong));
    else
        sl_database_say(registry, writes ? "written" : "read", error);
    doom_transaction(query, error);
    return SL_STEP_FAILED;
}

enum sl_step sl_sql_query_step(struct sl_sql_query *query, struct sluice_error *error)
{
    struct sl_registry *registry = query->registry;
    /* Part of the transaction may be rolled back already: this change would stand alone. */
    if (registry->has_failed) {
        *error = registry->failure;
        sl_sql_query_end(query);
        return SL_STEP_FAILED;
    }
    if (!query->statement)
        return SL_STEP_DONE;
    if (query->wrong != SQLITE_OK)
        return fail_query(query, error);
    SL_CHECK(query->bound == sqlite3_bind_parameter_count(query->statement));
    int code = sqlite3_step(query->statement);
    if (code == SQLITE_ROW)
        return SL_STEP_ROW;
    if (code != SQLITE_DONE)
        return fail_query(query, error);
    sl_sql_query_end(query);
    return SL_STEP_DONE;
}

bool sl_sql_query_run(struct sl_sql_query *query, int64_t *changed, struct sluice_error *error)
{
    struct sl_registry *registry = query->registry;
    enum sl_step step = sl_sql_query_step(query, error);
    SL_CHECK(step != SL_STEP_ROW);
    if (step == SL_STEP_FAILED)
        return false;
    enum about about = statements[query->which].about;
    int64_t rows = about == NOTHING ? 0 : sqlite3_changes64(registry->db);
    registry->has_changed = registry->has_changed || rows;
    if (rows && about == RULES)
        registry->counters.configured = registry->next;
    if (changed)
        *changed = rows;
    return true;
}

bool sl_sql_query_number(struct sl_sql_query *query, int64_t *out, struct sluice_error *error)
{
    enum sl_step step = sl_sql_query_step(query, error);
    if (step == SL_STEP_FAILED)
        return false;
    *out = step == SL_STEP_ROW ? sl_row_i64(query, 0) : 0;
    if (step == SL_STEP_ROW)
        sl_sql_query_end(query);
    return true;
}

bool sl_count_rows(struct sl_registry *registry, enum sl_sql which, size_t *out,
                   struct sluice_error *error)
{
    int64_t count;
    struct sl_sql_query query = sl_query(registry, which);
    if (!sl_sql_query_number(&query, &count, error))
        return false;
    *out = (size_t)count;
    return true;
}

/* ---- columns ---------------------------------------------------------------------- */

bool sl_row_is_null(struct sl_sql_query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

int64_t sl_row_i64(struct sl_sql_query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

const char *sl_row_maybe(struct sl_sql_query *query, int column)
{
    if (sl_row_is_null(query, column))
        return NULL;
    const char *text = (const char *)sqlite3_column_text(query->statement, column);
    SL_CHECK(text != NULL); /* no memory: a rule must not turn into a hidden one */
    return text;
}

const char *sl_row_text(struct sl_sql_query *query, int column)
{
    const char *text = sl_row_maybe(query, column);
    return text ? text : "";
}

const char *sl_row_copy(struct sl_sql_query *query, int column, struct sl_arena *arena)
{
    return sl_arena_copy(arena, sl_text(sl_row_text(query, column)));
}

const char *sl_row_maybe_copy(struct sl_sql_query *query, int column, struct sl_arena *arena)
{
    return sl_row_is_null(query, column) ? NULL : sl_row_copy(query, column, arena);
}
