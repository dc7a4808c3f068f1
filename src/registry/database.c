/* The database file: its tables, how it is opened, made and checked.
 *
 *   counter      one row: the revision of the last change, and the number of users
 *   rule, tier   what the API has put on top of the rules file; json NULL: the file's is hidden
 *   exemption    a user, client, address or key that is not limited, and until when
 *   tenant       and tenant_key: of a key only its SHA-256 is kept
 *   user         every user with a record or days; `number` stands for tenant and id elsewhere
 *   user_day     what a user did on a day
 *   user_gone    users that were deleted lately, so that other processes delete them too
 *
 * Rows carry the revision of their last change. One process tells another nothing but
 * "look again": the other reads all rows newer than the revision it knows, by an index
 * where rows are many. A deleted row leaves nothing to find, hence user_gone; rules and
 * tenants are few and read whole.
 *
 * Why is a day a row, and not a ring of 30 numbers in the user's? Several processes add
 * outcomes at once: an upsert of one small row needs no reading first and loses no
 * process's numbers. The key is (day, user), not (user, day): the rows of today lie
 * together, in few pages, however many users there are, and forgetting a day cuts off one
 * end. The price is a walk over the days (some 30) to delete one user's.
 *
 * Why has a user without a record a row at all? The days would have to repeat tenant and
 * id, up to 30 times; and `last_day` finds, by an index, the users to forget without a
 * search through days. There are no foreign keys to `user` for the same reason: deleting
 * a user would search all days for its number.
 *
 * `made` numbers rows in the order in which they were made; a replaced one keeps its
 * place. Texts are bytes (BINARY collation); kinds are written as words, so that any tool
 * can read the file and the order of an enum does not matter.
 *
 * A file is ours by its application_id; an empty one (no tables, no id) may be one that
 * another process is just making. Any other file is left alone. user_version counts
 * layouts: another layout is the next number, and a step that gets there from this one.
 *
 * Damage: every table that rulesets are made of is compared with its indexes at every
 * opening. Users may be a gigabyte; they are checked whole up to CHECKED_WHOLE_BYTES, and
 * that when they are read, which SQLite does with bounds checked (cell_size_check). */
#include "registry/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "registry/query.h"

enum { APPLICATION_ID = 0x534c5549 /* "SLUI" */, VERSION = 1 };
enum { BUSY_MS = 3000 };

#define CHECKED_WHOLE_BYTES (INT64_C(64) << 20)

/* STRICT: a column has its declared type, in damaged files too, or a check finds it. */
static const char schema[] =
    "CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1),"
    "  revision INTEGER NOT NULL CHECK (revision >= 0),"
    "  configured INTEGER NOT NULL CHECK (configured BETWEEN 0 AND revision),"
    "  users INTEGER NOT NULL CHECK (users >= 0)) STRICT;"
    "INSERT INTO counter VALUES (1, 0, 0, 0);"

    "CREATE TABLE tenant (name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''), tier TEXT,"
    "  revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE tenant_key (made INTEGER PRIMARY KEY,"
    "  tenant TEXT NOT NULL REFERENCES tenant (name),"
    "  sha256 TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64), label TEXT, tier TEXT,"
    "  created_at_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX tenant_key_tenant ON tenant_key (tenant);"

    "CREATE TABLE rule (made INTEGER PRIMARY KEY, tenant TEXT REFERENCES tenant (name),"
    "  name TEXT NOT NULL, json TEXT, revision INTEGER NOT NULL, UNIQUE (tenant, name)) STRICT;"
    "CREATE UNIQUE INDEX rule_of_all ON rule (name) WHERE tenant IS NULL;"
    "CREATE TABLE tier (made INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, json TEXT,"
    "  revision INTEGER NOT NULL) STRICT;"
    "CREATE TABLE exemption (made INTEGER PRIMARY KEY,"
    "  kind TEXT NOT NULL CHECK (kind IN ('user', 'client', 'ip', 'api_key')),"
    "  value TEXT NOT NULL, until_us INTEGER, reason TEXT, revision INTEGER NOT NULL,"
    "  UNIQUE (kind, value)) STRICT;"

    /* revision NULL: there is no record, only days, the last of them last_day. */
    "CREATE TABLE user (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL,"
    "  created_at_us INTEGER, email_verified INTEGER, tier TEXT, limits TEXT,"
    "  last_day INTEGER, revision INTEGER, UNIQUE (tenant, id)) STRICT;"
    "CREATE INDEX user_revision ON user (revision) WHERE revision IS NOT NULL;"
    "CREATE INDEX user_tier ON user (tier) WHERE tier IS NOT NULL;"
    "CREATE INDEX user_without_record ON user (last_day) WHERE revision IS NULL;"
    "CREATE TABLE user_day (day INTEGER NOT NULL, user INTEGER NOT NULL,"
    "  calls INTEGER NOT NULL DEFAULT 0 CHECK (calls BETWEEN 0 AND 4611686018427387903),"
    "  successes INTEGER NOT NULL DEFAULT 0 CHECK (successes BETWEEN 0 AND 4611686018427387903),"
    "  violations INTEGER NOT NULL DEFAULT 0 CHECK (violations >= 0),"
    "  last_minute INTEGER NOT NULL DEFAULT -1, revision INTEGER NOT NULL,"
    "  PRIMARY KEY (day, user)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX user_day_revision ON user_day (revision);"
    "CREATE TABLE user_gone (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL,"
    "  revision INTEGER NOT NULL) STRICT;";

/* ---- error messages --------------------------------------------------------------- */

/* SQLITE_ERROR: a table or a column that one of our statements names is missing. */
static bool is_damage(int code)
{
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
}

bool sl_database_say(struct sl_registry *registry, const char *what, struct sluice_error *error)
{
    int code = registry->db ? sqlite3_errcode(registry->db) : SQLITE_NOMEM;
    const char *text = registry->db ? sqlite3_errmsg(registry->db) : sqlite3_errstr(code);
    int wrong = registry->db ? sqlite3_system_errno(registry->db) : 0;
    if (is_damage(code))
        return sl_error_say(error, "the database %s is damaged or none of Sluice: %s",
                            registry->name, text);
    if (code == SQLITE_BUSY)
        return sl_error_say(error, "the database %s cannot be %s: another process is busy with it",
                            registry->name, what);
    /* The text alone would be "disk I/O error" or "unable to open database file". */
    if (wrong && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN))
        return sl_error_say(error, "the database %s cannot be %s: %s (%s)", registry->name, what,
                            text, strerror(wrong));
    return sl_error_say(error, "the database %s cannot be %s: %s", registry->name, what, text);
}

bool sl_database_is_newer(struct sl_registry *registry, int64_t version, struct sluice_error *error)
{
    if (version <= VERSION)
        return false;
    sl_error_say(error,
                 "the database %s has version %lld, this program reads version %d: a newer Sluice "
                 "has written to it",
                 registry->name, (long long)version, VERSION);
    return true;
}

bool sl_database_is_lost(struct sl_registry *registry, struct sluice_error *error)
{
    int has_moved = 0;
    if (!registry->path)
        return false;
    sqlite3_file_control(registry->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved)
        sl_error_say(error,
                     "the database %s was removed or replaced while it was in use; start again to "
                     "use what is there now",
                     registry->name);
    return has_moved;
}

/* ---- statements that run once ----------------------------------------------------- */

static bool execute_sql(struct sl_registry *registry, const char *sql, struct sluice_error *error)
{
    if (sqlite3_exec(registry->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return sl_database_say(registry, registry->read_only ? "read" : "written", error);
}

/* Reads the first column of the first row. */
static bool read_number(struct sl_registry *registry, const char *sql, int64_t *out,
                        struct sluice_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(registry->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    bool good = code == SQLITE_ROW;
    if (good)
        *out = sqlite3_column_int64(statement, 0);
    else
        sl_database_say(registry, "read", error);
    sqlite3_finalize(statement);
    return good;
}

/* ---- damage ----------------------------------------------------------------------- */

/* Runs one of SQLite's checks, whose first row is `ok` or the damage it has found. */
static bool passes_check(struct sl_registry *registry, const char *check,
                         struct sluice_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(registry->db, check, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    const char *found = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    bool good = found && !strcmp(found, "ok");
    if (!found)
        sl_database_say(registry, "read", error);
    else if (!good)
        sl_error_say(error, "the database %s is damaged: %s", registry->name, found);
    for (char *c = error->text; !good && *c; c++)
        if (*c == '\n')
            *c = ' ';
    sqlite3_finalize(statement);
    return good;
}

static bool is_sound(struct sl_registry *registry, struct sluice_error *error)
{
    static const char *const checks[] = {
        "PRAGMA integrity_check(counter)", "PRAGMA integrity_check(rule)",
        "PRAGMA integrity_check(tier)",    "PRAGMA integrity_check(exemption)",
        "PRAGMA integrity_check(tenant)",  "PRAGMA integrity_check(tenant_key)",
    };
    int64_t pages, page_bytes, rows;
    if (!read_number(registry, "PRAGMA page_count", &pages, error) ||
        !read_number(registry, "PRAGMA page_size", &page_bytes, error))
        return false;
    if (pages <= CHECKED_WHOLE_BYTES / page_bytes &&
        !passes_check(registry, "PRAGMA quick_check(1)", error))
        return false;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!passes_check(registry, checks[i], error))
            return false;
    if (!read_number(registry, "SELECT count(*) FROM counter", &rows, error))
        return false;
    return rows == 1 || sl_error_say(error, "the database %s is damaged: it has lost its counter",
                                     registry->name);
}

/* ---- is the file ours? ------------------------------------------------------------ */

struct identity {
    int64_t application_id, version, tables;
};

/* Reads all of one moment: another process may be making the database just now. */
static bool read_identity(struct sl_registry *registry, struct identity *out,
                          struct sluice_error *error)
{
    bool is_alone = sqlite3_get_autocommit(registry->db);
    if (is_alone && !execute_sql(registry, "BEGIN", error))
        return false;
    bool good = read_number(registry, "PRAGMA application_id", &out->application_id, error) &&
                read_number(registry, "PRAGMA user_version", &out->version, error) &&
                read_number(registry, "SELECT count(*) FROM sqlite_schema", &out->tables, error);
    if (is_alone)
        sqlite3_exec(registry->db, "ROLLBACK", NULL, NULL, NULL);
    return good;
}

/* *is_made false: the file is empty, and may become ours. Returns false if it is not ours. */
static bool check_identity(struct sl_registry *registry, bool *is_made, struct sluice_error *error)
{
    struct identity found;
    if (!read_identity(registry, &found, error))
        return false;
    bool is_ours = found.application_id == APPLICATION_ID;
    if (!is_ours && (found.application_id != 0 || found.version != 0 || found.tables != 0))
        return sl_error_say(error,
                            "the database %s belongs to another program; it is left as it is: name "
                            "another file",
                            registry->name);
    if (sl_database_is_newer(registry, found.version, error))
        return false;
    if (is_ours && found.version != VERSION)
        return sl_error_say(error, "the database %s is damaged: it has no version", registry->name);
    *is_made = is_ours;
    return true;
}

/* Of several processes that make the tables at once the first does, the others find them made. */
static bool make_tables(struct sl_registry *registry, struct sluice_error *error)
{
    char *sql = sqlite3_mprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d;", schema,
                                APPLICATION_ID, VERSION);
    bool is_made;
    bool good = sql && execute_sql(registry, "BEGIN IMMEDIATE", error) &&
                check_identity(registry, &is_made, error) &&
                (is_made || execute_sql(registry, sql, error)) &&
                execute_sql(registry, "COMMIT", error);
    if (!sql)
        sl_error_say(error, "the database %s cannot be made: no memory", registry->name);
    if (!good && registry->db && !sqlite3_get_autocommit(registry->db))
        sqlite3_exec(registry->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_free(sql);
    return good;
}

/* ---- the file --------------------------------------------------------------------- */

/* Looks at the file by name and never opens it: closing any descriptor of a file gives up the
 * locks that SQLite holds on it in this process. */
static bool find_file(const struct sl_registry *registry, bool *is_there,
                      struct sluice_error *error)
{
    struct stat found;
    *is_there = stat(registry->path, &found) == 0;
    if (!*is_there && errno != ENOENT)
        return sl_error_say(error, "the database %s cannot be opened: %s", registry->name,
                            strerror(errno));
    if (*is_there && !S_ISREG(found.st_mode))
        return sl_error_say(error, "the database %s is not a file", registry->name);
    return true;
}

/* Only the owner may read the file: it names the users. SQLite's own files beside it get the
 * same mode. */
static bool create_file(const struct sl_registry *registry, struct sluice_error *error)
{
    int fd = open(registry->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
        return sl_error_say(error, "the database %s cannot be created: %s", registry->name,
                            strerror(errno));
    if (fd >= 0)
        close(fd);
    return true;
}

/* A name is never one of SQLite's own (":memory:", "file:…"). */
static bool open_file(struct sl_registry *registry, struct sluice_error *error)
{
    const char *at = registry->path ? registry->path : ":memory:";
    const char *before = registry->path && registry->path[0] != '/' ? "./" : "";
    char *full = sqlite3_mprintf("%s%s", before, at);
    /* A database in memory has to be made first; other code refuses its changes. */
    int way = registry->read_only && registry->path ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int code = SQLITE_NOMEM;
    if (full)
        code = sqlite3_open_v2(full, &registry->db, way | SQLITE_OPEN_NOMUTEX, NULL);
    sqlite3_free(full);
    if (code != SQLITE_OK)
        return sl_database_say(registry, "opened", error);
    if (!registry->read_only && sqlite3_db_readonly(registry->db, "main"))
        return sl_error_say(error, "the database %s cannot be written: %s", registry->name,
                            strerror(EACCES));
    return true;
}

static bool configure_connection(struct sl_registry *registry, struct sluice_error *error)
{
    sqlite3_busy_timeout(registry->db, BUSY_MS);
    /* We have no triggers, so none shall run. */
    sqlite3_db_config(registry->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(registry->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(registry->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    registry->care = SL_CARE_POWER_CUT;
    /* For a thousand outcomes of any of a million users, half as much is read with 16 MB of
     * pages as with SQLite's own 2 MB. As much is written. */
    return execute_sql(registry,
                       "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                       "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
                       "PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 16777216;"
                       "PRAGMA synchronous = FULL",
                       error);
}

/* Where WAL is impossible (a file system without shared memory), the rollback journal stays:
 * slower and as safe. */
static void use_wal(struct sl_registry *registry)
{
    if (!registry->read_only)
        sqlite3_exec(registry->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
}

/* ---- opening ---- */

static bool set_up_database(struct sl_registry *registry, bool create, bool *is_made,
                            struct sluice_error *error)
{
    if (!open_file(registry, error) || !configure_connection(registry, error) ||
        !check_identity(registry, is_made, error))
        return false;
    if (!*is_made && !create)
        return true;
    if (!*is_made && !make_tables(registry, error))
        return false;
    *is_made = true;
    use_wal(registry);
    return is_sound(registry, error) && sl_statements_open(registry, error) &&
           read_number(registry, "PRAGMA data_version", &registry->data_version, error);
}

bool sl_database_connect(struct sl_registry *registry, bool create, struct sluice_error *error)
{
    bool is_there = true, is_made = false;
    if (registry->path && !find_file(registry, &is_there, error))
        return false;
    if (!is_there && !create)
        return true;
    if (!is_there && !create_file(registry, error))
        return false;
    bool good = set_up_database(registry, create, &is_made, error);
    if (!good || !is_made)
        sl_database_disconnect(registry);
    return good;
}

void sl_database_disconnect(struct sl_registry *registry)
{
    sl_statements_close(registry);
    sqlite3_close(registry->db);
    registry->db = NULL;
}
