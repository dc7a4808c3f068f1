/* The registry: opening it, noticing changes by other processes, and transactions.
 *
 * A transaction takes the right to write at its beginning (BEGIN IMMEDIATE): from there on
 * it reads the latest state, which stays so, and every other process that wants to write
 * waits. Its changes all carry one revision, the next. The commit writes the counter, and
 * only if a row has changed, so that a transaction without changes costs no write and makes
 * no process look again.
 *
 * An error dooms the transaction it happens in: SQLite may have rolled it back by itself
 * (a full disk), and later statements would be committed alone, at once. */
#include "registry/registry.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/error.h"
#include "registry/query.h"

/* Far from where adding one would overflow. Only damage makes a revision so large. */
#define REVISION_MAX (INT64_MAX / 2)

/* Differs from every data_version. */
#define UNSEEN INT64_C(-1)

/* ---- opening ---------------------------------------------------------------------- */

static void release_registry(struct sl_registry *registry)
{
    free(registry->path);
    sl_buffer_release(&registry->changed);
    sqlite3_free(registry->name);
    free(registry);
}

static struct sl_registry *new_registry(const char *path, bool read_only)
{
    struct sl_registry *registry = calloc(1, sizeof *registry);
    if (!registry)
        return NULL;
    registry->read_only = read_only;
    registry->users_max = SL_REGISTRY_USERS_MAX;
    registry->path = path ? strdup(path) : NULL;
    registry->name = path ? sqlite3_mprintf("`%s`", path) : sqlite3_mprintf("in memory");
    if ((registry->path || !path) && registry->name)
        return registry;
    release_registry(registry);
    return NULL;
}

struct sl_registry *sl_registry_open(const char *path, bool read_only, struct sluice_error *error)
{
    struct sl_registry *registry = new_registry(path, read_only);
    if (!registry) {
        sl_error_say(error, "the database cannot be opened: no memory");
        return NULL;
    }
    if (sl_database_connect(registry, path == NULL, error))
        return registry;
    release_registry(registry);
    return NULL;
}

void sl_registry_close(struct sl_registry *registry)
{
    if (!registry)
        return;
    if (registry->is_changing)
        sl_registry_rollback(registry);
    sl_database_disconnect(registry);
    release_registry(registry);
}

/* ---- noticing changes by other processes ------------------------------------------ */

/* Returns false if it could not find out. */
static bool look_for_change(struct sl_registry *registry, bool *is_changed,
                            struct sluice_error *error)
{
    int64_t version;
    if (!registry->db) {
        bool good = sl_database_connect(registry, false, error);
        *is_changed = registry->db != NULL;
        return good;
    }
    if (sl_database_is_lost(registry, error))
        return false;
    struct sl_sql_query query = sl_query(registry, SL_SQL_DATA_VERSION);
    if (!sl_sql_query_number(&query, &version, error))
        return false;
    *is_changed = version != registry->data_version;
    registry->data_version = version;
    return true;
}

bool sl_registry_is_changed(struct sl_registry *registry)
{
    struct sluice_error unread;
    bool is_changed = false;
    if (registry->is_changing)
        return false; /* no other process can change it now */
    if (look_for_change(registry, &is_changed, &unread)) {
        registry->is_troubled = false;
        return is_changed;
    }
    /* The caller then reads, and gets the reason; once, not four times a second. */
    bool is_news = !registry->is_troubled;
    registry->is_troubled = true;
    return is_news;
}

/* ---- reading ---------------------------------------------------------------------- */

static bool read_counters(struct sl_registry *registry, struct sl_counters *out,
                          struct sluice_error *error)
{
    struct sl_sql_query query = sl_query(registry, SL_SQL_COUNTERS);
    enum sl_step step = sl_sql_query_step(&query, error);
    if (step == SL_STEP_DONE)
        sl_error_say(error, "the database %s is damaged: it has lost its counter", registry->name);
    if (step != SL_STEP_ROW)
        return false;
    *out =
        (struct sl_counters){ sl_row_i64(&query, 0), sl_row_i64(&query, 1), sl_row_i64(&query, 2) };
    sl_sql_query_end(&query);
    return true;
}

/* Opens a file that has appeared by now, or makes it. A caller that watches for changes has
 * not seen yet what other processes have put into it. */
static bool connect_late(struct sl_registry *registry, bool create, struct sluice_error *error)
{
    struct sl_counters found = { .revision = 0 };
    if (registry->db)
        return true;
    if (!sl_database_connect(registry, create, error))
        return false;
    if (registry->db && !read_counters(registry, &found, error))
        return false;
    if (found.revision > 0)
        registry->data_version = UNSEEN;
    return true;
}

bool sl_look_begin(struct sl_registry *registry, struct sluice_error *error)
{
    if (registry->is_changing)
        return true;
    if (!connect_late(registry, false, error))
        return false;
    if (registry->db && sl_database_is_lost(registry, error))
        return false;
    struct sl_sql_query query = sl_query(registry, SL_SQL_BEGIN_LOOK);
    return sl_sql_query_run(&query, NULL, error);
}

void sl_look_end(struct sl_registry *registry)
{
    struct sluice_error unread;
    struct sl_sql_query query = sl_query(registry, SL_SQL_COMMIT);
    if (!registry->is_changing)
        sl_sql_query_run(&query, NULL, &unread);
}

/* The counters as they are now, in the middle of a transaction too. */
static struct sl_counters counters_now(struct sl_registry *registry)
{
    struct sluice_error unread;
    struct sl_counters now = { .revision = 0 };
    if (registry->is_changing) {
        now = registry->counters;
        now.revision = registry->has_changed ? registry->next : now.revision;
    } else if (sl_look_begin(registry, &unread)) {
        read_counters(registry, &now, &unread);
        sl_look_end(registry);
    }
    return now;
}

uint64_t sl_registry_revision(struct sl_registry *registry)
{
    return (uint64_t)counters_now(registry).revision;
}

uint64_t sl_registry_rules_revision(struct sl_registry *registry)
{
    return (uint64_t)counters_now(registry).configured;
}

/* ---- transactions ----------------------------------------------------------------- */

static bool set_care(struct sl_registry *registry, enum sl_registry_care care,
                     struct sluice_error *error)
{
    if (registry->care == care)
        return true;
    /* The pragma takes effect when it is compiled, so it is not one of the prepared statements. */
    const char *sql =
        care == SL_CARE_POWER_CUT ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
    if (sqlite3_exec(registry->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sl_database_say(registry, "written", error);
    registry->care = care;
    return true;
}

/* Reads the state that the transaction starts from. */
static bool start_transaction(struct sl_registry *registry, struct sluice_error *error)
{
    int64_t version;
    struct sl_sql_query query = sl_query(registry, SL_SQL_VERSION);
    if (!sl_sql_query_number(&query, &version, error) ||
        sl_database_is_newer(registry, version, error))
        return false;
    if (!read_counters(registry, &registry->counters, error))
        return false;
    int64_t revision = registry->counters.revision;
    if (revision < 0 || revision >= REVISION_MAX)
        return sl_error_say(error, "the database %s is damaged: its revision is %lld",
                            registry->name, (long long)revision);
    registry->next = (revision > registry->spent ? revision : registry->spent) + 1;
    registry->stamp = registry->next;
    registry->notes = false;
    return true;
}

static void abandon_transaction(struct sl_registry *registry)
{
    struct sluice_error unread;
    registry->is_changing = false;
    registry->has_failed = false;
    if (registry->has_changed)
        registry->spent = registry->next;
    struct sl_sql_query query = sl_query(registry, SL_SQL_ROLLBACK);
    if (!sqlite3_get_autocommit(registry->db))
        sl_sql_query_run(&query, NULL, &unread);
}

bool sl_registry_begin(struct sl_registry *registry, enum sl_registry_care care,
                       struct sluice_error *error)
{
    SL_CHECK(!registry->is_changing);
    if (registry->read_only)
        return sl_error_say(error, "the database %s cannot be written: it was opened for reading",
                            registry->name);
    if (!connect_late(registry, true, error))
        return false;
    if (sl_database_is_lost(registry, error) || !set_care(registry, care, error))
        return false;
    struct sl_sql_query query = sl_query(registry, SL_SQL_BEGIN_CHANGE);
    if (!sl_sql_query_run(&query, NULL, error))
        return false;
    registry->has_changed = false;
    registry->is_changing = start_transaction(registry, error);
    if (!registry->is_changing)
        abandon_transaction(registry);
    return registry->is_changing;
}

static bool write_counters(struct sl_registry *registry, struct sluice_error *error)
{
    if (!registry->has_changed)
        return true;
    struct sl_sql_query query = sl_change(registry, SL_SQL_PUT_COUNTERS);
    sl_bind_i64(&query, registry->next);
    sl_bind_i64(&query, registry->counters.configured);
    sl_bind_i64(&query, registry->counters.users > 0 ? registry->counters.users : 0);
    return sl_sql_query_run(&query, NULL, error);
}

bool sl_registry_commit(struct sl_registry *registry, struct sluice_error *error)
{
    SL_CHECK(registry->is_changing);
    if (registry->has_failed)
        *error = registry->failure;
    struct sl_sql_query query = sl_query(registry, SL_SQL_COMMIT);
    if (registry->has_failed || !write_counters(registry, error) ||
        !sl_sql_query_run(&query, NULL, error)) {
        abandon_transaction(registry);
        return false;
    }
    registry->is_changing = false;
    return true;
}

void sl_registry_rollback(struct sl_registry *registry)
{
    SL_CHECK(registry->is_changing);
    abandon_transaction(registry);
}
