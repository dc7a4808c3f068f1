/* A connection to the database, and what a registry knows about it. */
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

/* The one row of the table `counter`, as it is at the beginning of a transaction, and as
 * a commit writes it. */
struct sl_counters {
    int64_t revision;   /* of the last change */
    int64_t configured; /* of the last one that was no user's */
    int64_t users;      /* rows of `user` */
};

struct sl_registry {
    char *path; /* NULL: in memory */
    char *name; /* as messages call it */
    bool read_only;

    /* NULL: there is no file yet. Otherwise all is there, and every statement is ready. */
    sqlite3 *db;
    sqlite3_stmt *statements[SL_SQL_COUNT];
    int64_t data_version;
    int64_t users_max;
    enum sl_registry_care care; /* what `synchronous` is set to */
    bool is_troubled;           /* sl_registry_is_changed could not tell, and has said so */

    /* A transaction: from its beginning to its end. */
    bool is_changing;
    bool has_changed;
    bool has_failed; /* it cannot be committed any more, for this reason: */
    struct sluice_error failure;
    struct sl_counters counters;
    int64_t next;  /* the revision of its changes */
    int64_t spent; /* given to changes that were rolled back: not to be given again */

    /* Where it is a change that all instances are to have: see replica.h. */
    int64_t stamp;            /* of rows that are no user's: the change's number, else `next` */
    bool notes;               /* rows that change are noted, */
    struct sl_buffer changed; /* names, each ended by NUL */
};

/* Opens the file that is there; makes one if there is none and `create` is set. True with
 * db NULL: there is none. */
bool sl_database_connect(struct sl_registry *registry, bool create, struct sluice_error *error);
void sl_database_disconnect(struct sl_registry *registry);

/* The file has another name now, or none: what is written to it nobody will find. Says so. */
bool sl_database_is_lost(struct sl_registry *registry, struct sluice_error *error);

/* Says what SQLite says: the database cannot be `what`. Always false. */
bool sl_database_say(struct sl_registry *registry, const char *what, struct sluice_error *error);

/* A newer Sluice has written to it, maybe while we had it open. Says so. */
bool sl_database_is_newer(struct sl_registry *registry, int64_t version,
                          struct sluice_error *error);

/* For looking, within a transaction or outside: everything read until the end is of one
 * moment. With no database it succeeds, and no query finds a row. */
bool sl_look_begin(struct sl_registry *registry, struct sluice_error *error);
void sl_look_end(struct sl_registry *registry);

#endif
