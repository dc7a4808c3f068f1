/* A connection to the database, and the state of the registry on top of it. */
#ifndef SL_REGISTRY_DATABASE_H
#define SL_REGISTRY_DATABASE_H

#include <sqlite3.h>

#include "base/buffer.h"
#include "registry/registry.h"

/* Every statement, by its name in statements.def. */
enum sl_sql {
#define SL_SQL(name, about, sql) SL_SQL_##name,
#include "registry/statements.def"
#undef SL_SQL
    SL_SQL_COUNT
};

/* The one row of the table `counter`: as it is when a transaction begins, and as a commit
 * writes it. */
struct sl_counters {
    int64_t revision;   /* of the last change of any kind */
    int64_t configured; /* of the last change that was not about a user */
    int64_t users;      /* rows of `user` */
};

struct sl_registry {
    char *path; /* NULL: in memory */
    char *name; /* its name in messages */
    bool read_only;

    /* NULL: there is no file yet. Otherwise all tables are there and every statement is ready. */
    sqlite3 *db;
    sqlite3_stmt *statements[SL_SQL_COUNT];
    int64_t data_version;
    int64_t users_max;
    enum sl_registry_care care; /* what `synchronous` is set to */
    bool is_troubled;           /* sl_registry_is_changed has failed, and has reported it */

    /* A transaction: from its beginning to its end. */
    bool is_changing;
    bool has_changed;
    bool has_failed; /* it cannot be committed any more, for this reason: */
    struct sluice_error failure;
    struct sl_counters counters;
    int64_t next;  /* the revision of its changes */
    int64_t spent; /* used by changes that were rolled back: never used again */

    /* For a change that goes to all instances: see replica.h. */
    int64_t stamp;            /* of rows that are not a user's: the change's number, else `next` */
    bool notes;               /* the names of rows that change are collected */
    struct sl_buffer changed; /* here, each ended by NUL */
};

/* Opens the file that is there; makes one if there is none and `create` is set. Returns true
 * with db NULL if there is none. */
bool sl_database_connect(struct sl_registry *registry, bool create, struct sluice_error *error);
void sl_database_disconnect(struct sl_registry *registry);

/* Returns true, with a message, if the file has another name now or none: no other process
 * would find what is written to it. */
bool sl_database_is_lost(struct sl_registry *registry, struct sluice_error *error);

/* Reports SQLite's error: the database cannot be `what`. Always returns false. */
bool sl_database_say(struct sl_registry *registry, const char *what, struct sluice_error *error);

/* Returns true, with a message, if a newer Sluice has written to the file, maybe while we had
 * it open. */
bool sl_database_is_newer(struct sl_registry *registry, int64_t version,
                          struct sluice_error *error);

/* Begins reading, within a transaction or outside: all reads until the end see one moment.
 * Without a database it succeeds, and no query finds a row. */
bool sl_look_begin(struct sl_registry *registry, struct sluice_error *error);
void sl_look_end(struct sl_registry *registry);

#endif
