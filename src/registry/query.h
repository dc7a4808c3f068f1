/* Running a statement of statements.def: bind its values in their order, step.
 *
 *     struct sl_sql_query query = sl_query(registry, SL_SQL_FIND_USER);
 *     sl_bind_text(&query, tenant);
 *     sl_bind_text(&query, id);
 *     while (sl_sql_query_step(&query, error) == SL_STEP_ROW) …
 *
 * Where there is no database, a query has no rows. */
#ifndef SL_REGISTRY_QUERY_H
#define SL_REGISTRY_QUERY_H

#include "base/arena.h"
#include "registry/database.h"

struct sl_sql_query {
    struct sl_registry *registry;
    sqlite3_stmt *statement; /* NULL: there is no database */
    enum sl_sql which;
    int bound;
    int wrong; /* the first error of binding, or SQLITE_OK */
};

/* Compiles all statements. Returns false if the schema is not the expected one. */
bool sl_statements_open(struct sl_registry *registry, struct sluice_error *error);
void sl_statements_close(struct sl_registry *registry);

struct sl_sql_query sl_query(struct sl_registry *registry, enum sl_sql which);

/* The same for a change: only between sl_registry_begin and the end of the transaction. */
struct sl_sql_query sl_change(struct sl_registry *registry, enum sl_sql which);

/* Binds the next value. Texts must last until the query ends; NULL is NULL. */
void sl_bind_text(struct sl_sql_query *query, const char *text);
void sl_bind_i64(struct sl_sql_query *query, int64_t number);
void sl_bind_null(struct sl_sql_query *query);

enum sl_step { SL_STEP_FAILED = -1, SL_STEP_DONE, SL_STEP_ROW };

/* After any result but a row the query has ended. A failure within a transaction dooms it. */
enum sl_step sl_sql_query_step(struct sl_sql_query *query, struct sluice_error *error);

/* Ends a query that has rows left. */
void sl_sql_query_end(struct sl_sql_query *query);

/* The same at the end of a loop. Returns false if the last step failed. */
bool sl_sql_query_ended(struct sl_sql_query *query, enum sl_step last);

/* Ends the query with this message; dooms a transaction too. Always returns false. */
__attribute__((format(printf, 3, 4))) bool
sl_sql_query_doom(struct sl_sql_query *query, struct sluice_error *error, const char *format, ...);

/* Runs a statement without rows. *changed (may be NULL): the number of rows it changed. */
bool sl_sql_query_run(struct sl_sql_query *query, int64_t *changed, struct sluice_error *error);

/* Reads the first column of the only row, 0 if there is none. */
bool sl_sql_query_number(struct sl_sql_query *query, int64_t *out, struct sluice_error *error);

/* Runs a COUNT_ statement without values. */
bool sl_count_rows(struct sl_registry *registry, enum sl_sql which, size_t *out,
                   struct sluice_error *error);

/* ---- columns of a row ---- */

bool sl_row_is_null(struct sl_sql_query *query, int column);
int64_t sl_row_i64(struct sl_sql_query *query, int column);
/* Good until the next step. NULL becomes "": in a damaged file it may be where it must not. */
const char *sl_row_text(struct sl_sql_query *query, int column);
const char *sl_row_copy(struct sl_sql_query *query, int column, struct sl_arena *arena);
/* The same where it may be NULL. */
const char *sl_row_maybe(struct sl_sql_query *query, int column);
const char *sl_row_maybe_copy(struct sl_sql_query *query, int column, struct sl_arena *arena);

#endif
