/* A registry as this instance's copy of what all instances share (docs/replication.md): which state
 * of it this is, what a change has changed, and rows that come from elsewhere.
 *
 * What is shared is two logs. Rules and all that belongs to them depend on one another, so they
 * are applied whole; users stand alone, and there may be a million. */
#ifndef SL_REGISTRY_REPLICATION_REPLICA_H
#define SL_REGISTRY_REPLICATION_REPLICA_H

#include "registry/registry.h"
#include "registry/row.h"

enum sl_log { SL_LOG_RULES, SL_LOG_USERS, SL_LOG_COUNT };

static inline enum sl_log sl_log_of(enum sl_row_kind kind)
{
    return kind == SL_ROW_USER ? SL_LOG_USERS : SL_LOG_RULES;
}

/* How far a log is: its version, and the change that made it. 0: nothing ever was. */
struct sl_log_place {
    uint64_t version, last;
};

struct sl_replica_position {
    uint64_t epoch; /* 0: this is no copy yet */
    struct sl_log_place logs[SL_LOG_COUNT];
    bool is_partial; /* users are being fetched afresh */
};

/* A change's number: a version, so that they grow, and 30 random bits, so that no two are the
 * same in whatever history. It fits SQLite's numbers. */
#define SL_CHANGE_VERSION(change) ((change) >> 30)
uint64_t sl_change_new(uint64_t version);

/* What there is nothing of is 0. Within a transaction or outside. */
bool sl_replica_place(struct sl_registry *registry, struct sl_replica_position *out,
                      struct sluice_error *error);

/* Within a transaction, as everything below that changes something. */
bool sl_replica_put_place(struct sl_registry *registry, const struct sl_replica_position *place,
                          struct sluice_error *error);

/* What is changed from here on is nobody else's: this is no copy any more. */
bool sl_replica_leave(struct sl_registry *registry, struct sluice_error *error);

/* ---- a change of ours ---- */

/* From here to the transaction's end: rows carry this number and are noted. */
void sl_replica_note(struct sl_registry *registry, uint64_t change);

/* Those that changed since, each once, as they are now. */
bool sl_replica_noted(struct sl_registry *registry, struct sl_arena *arena, struct sl_row **out,
                      size_t *count, struct sluice_error *error);

/* ---- changes from elsewhere ---- */

/* Of the rules log, each row once. `afresh`: there are no others. */
bool sl_replica_apply(struct sl_registry *registry, const struct sl_row *rows, size_t count,
                      bool afresh, struct sluice_error *error);
/* `is_awaited`: between the two below. */
bool sl_replica_apply_user(struct sl_registry *registry, const struct sl_row *row, bool is_awaited,
                           struct sluice_error *error);

/* Everybody's record is taken for gone unless it is applied before the end. What they did stays
 * known. */
bool sl_replica_begin_users(struct sl_registry *registry, struct sluice_error *error);
bool sl_replica_end_users(struct sl_registry *registry, struct sluice_error *error);

/* ---- the whole of it ---- */

/* Is there nothing that could be shared? */
bool sl_replica_is_empty(struct sl_registry *registry, bool *out, struct sluice_error *error);

/* Rows without a change's number get this one. */
bool sl_replica_stamp(struct sl_registry *registry, uint64_t change, struct sluice_error *error);

/* All of the rules log. */
bool sl_replica_rules(struct sl_registry *registry, struct sl_arena *arena, struct sl_row **out,
                      size_t *count, struct sluice_error *error);

/* The next `most` users behind number *after, which becomes that of the last. */
bool sl_replica_users(struct sl_registry *registry, int64_t *after, size_t most,
                      struct sl_arena *arena, struct sl_row *out, size_t *count,
                      struct sluice_error *error);

/* ---- what gives way: replica_save.c ---- */

/* Its files are called as the database, then this, then as their owner likes. */
#define SL_SAVED_BEFORE ".before-"
enum { SL_SAVED_MAX = 3 };

/* A copy of the file as this one, whole or not at all. */
bool sl_replica_save(struct sl_registry *registry, const char *path, struct sluice_error *error);

/* The last ones stay, SL_SAVED_MAX of them: this one, whatever clocks say, and those written last
 * before. One too many is nobody's failure. */
void sl_replica_leave_newest(const char *database, const char *newest);

#endif
