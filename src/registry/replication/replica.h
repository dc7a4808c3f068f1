/* The replica: a registry as this instance's copy of the shared one (docs/replication.md). It knows
 * its position in the shared logs, notes the rows of our own changes, and applies rows of others.
 *
 * There are two shared logs. Rules and all that belongs to them depend on one another, so they are
 * applied as a whole. Users are independent of one another, and there may be a million. */
#ifndef SL_REGISTRY_REPLICATION_REPLICA_H
#define SL_REGISTRY_REPLICATION_REPLICA_H

#include "registry/registry.h"
#include "registry/row.h"

enum sl_log { SL_LOG_RULES, SL_LOG_USERS, SL_LOG_COUNT };

static inline enum sl_log sl_log_of(enum sl_row_kind kind)
{
    return kind == SL_ROW_USER ? SL_LOG_USERS : SL_LOG_RULES;
}

/* A position in a log: its version, and the change that made it. 0: the log never had a change. */
struct sl_log_place {
    uint64_t version, last;
};

struct sl_replica_position {
    uint64_t epoch; /* 0: this is no replica yet */
    struct sl_log_place logs[SL_LOG_COUNT];
    bool is_partial; /* all users are being fetched again */
};

/* The number of a change: a version, so that numbers grow, and 30 random bits, so that no two are
 * the same, not even in different histories. It fits SQLite's integers. */
#define SL_CHANGE_VERSION(change) ((change) >> 30)
uint64_t sl_change_new(uint64_t version);

/* Reads the position; what there is none of is 0. Within a transaction or outside. */
bool sl_replica_place(struct sl_registry *registry, struct sl_replica_position *out,
                      struct sluice_error *error);

/* Writes the position. This and all functions below that write need a transaction. */
bool sl_replica_put_place(struct sl_registry *registry, const struct sl_replica_position *place,
                          struct sluice_error *error);

/* Deletes the position: this is no replica any more, and later changes stay local. */
bool sl_replica_leave(struct sl_registry *registry, struct sluice_error *error);

/* ---- our own changes ---- */

/* From here to the transaction's end, changed rows get this number and are noted. */
void sl_replica_note(struct sl_registry *registry, uint64_t change);

/* Returns the rows that have changed since, each once, as they are now. */
bool sl_replica_noted(struct sl_registry *registry, struct sl_arena *arena, struct sl_row **out,
                      size_t *count, struct sluice_error *error);

/* ---- changes of other instances ---- */

/* Applies rows of the rules log, each at most once in `rows`. `afresh`: all other rows go. */
bool sl_replica_apply(struct sl_registry *registry, const struct sl_row *rows, size_t count,
                      bool afresh, struct sluice_error *error);

/* Applies one user. `is_awaited`: between the two functions below. */
bool sl_replica_apply_user(struct sl_registry *registry, const struct sl_row *row, bool is_awaited,
                           struct sluice_error *error);

/* Between the two every user's record must be applied: records that were not are deleted at the
 * end. What the users did stays known. */
bool sl_replica_begin_users(struct sl_registry *registry, struct sluice_error *error);
bool sl_replica_end_users(struct sl_registry *registry, struct sluice_error *error);

/* ---- the whole of it ---- */

/* Is there no row that could be shared? */
bool sl_replica_is_empty(struct sl_registry *registry, bool *out, struct sluice_error *error);

/* Gives this number to rows that have no change's number. */
bool sl_replica_stamp(struct sl_registry *registry, uint64_t change, struct sluice_error *error);

/* Returns all rows of the rules log. */
bool sl_replica_rules(struct sl_registry *registry, struct sl_arena *arena, struct sl_row **out,
                      size_t *count, struct sluice_error *error);

/* Returns at most `most` users after number *after, which becomes that of the last. */
bool sl_replica_users(struct sl_registry *registry, int64_t *after, size_t most,
                      struct sl_arena *arena, struct sl_row *out, size_t *count,
                      struct sluice_error *error);

/* ---- saved databases: replica_save.c ---- */

/* The name of such a file is the database's, then this, then what the caller adds. */
#define SL_SAVED_BEFORE ".before-"
enum { SL_SAVED_MAX = 3 };

/* Saves a copy of the database to `path`, whole or not at all. */
bool sl_replica_save(struct sl_registry *registry, const char *path, struct sluice_error *error);

/* Keeps SL_SAVED_MAX files: `newest`, whatever clocks say, and those written last before. Deletes
 * the others; a file that cannot be deleted is no failure. */
void sl_replica_leave_newest(const char *database, const char *newest);

#endif
