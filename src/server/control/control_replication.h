/* Replication in the control plane (docs/replication.md): it follows changes of other instances,
 * and changes nothing that Redis has not taken first.
 *
 * Two conversations: the follower's runs on the main thread's loop and blocks nothing; a change's
 * is waited for, because the caller waits for the change. */
#ifndef SL_SERVER_CONTROL_CONTROL_REPLICATION_H
#define SL_SERVER_CONTROL_CONTROL_REPLICATION_H

#include "registry/replication/replication.h"
#include "rules/ruleset.h"
#include "server/figures/replication_figures.h"
#include "server/store_io.h"

struct sl_control;
struct sl_job;

struct sl_control_replication {
    struct sl_replication follower, visitor;
    struct sl_store_io io;
    struct sl_channel_call call; /* the follower's call */
    bool is_asking;              /* it is under way */
    uint64_t asked_at;           /* `writes` when it was made */
    uint64_t writes;             /* changes made by this instance */
    bool has_said_failure;

    struct sl_channel_call waited; /* a change's call */
    enum sl_replication_step step; /* the result of the last call: of a conversation, */
    enum sl_told told;             /* of a write, */
    struct sl_told_more more;      /* with its details, */
    bool was_made;                 /* or of asking whether a change was made */

    /* A change, from its beginning to its end. */
    struct sl_row_name row; /* the user it is about */
    bool has_row;
    uint64_t row_on; /* the change that wrote Redis' record of that user; 0: there is none */
    bool wants_users;
    bool is_noting; /* changed rows go to Redis */
    struct sl_replica_position place;
    uint64_t change;
};

/* Does nothing unless the store is Redis and `spread` is on. Fetches what Redis holds, if Redis
 * answers. Returns false after logging the reason. */
bool sl_control_replication_open(struct sl_control *control, const struct sl_settings *settings);

/* From now on changes of other instances are fetched. Returns false if there is no memory. */
bool sl_control_replication_follow(struct sl_control *control, uv_loop_t *loop);

/* Called before the loop ends. */
void sl_control_replication_leave(struct sl_control *control);
void sl_control_replication_close(struct sl_control *control);

/* Called four times a second. */
void sl_control_replication_look(struct sl_control *control);

/* ---- a change: change_replicated.c ---- */

/* Holds the visitor's conversation, for at most these times, and puts in force what it brings. */
enum sl_replication_step sl_replication_visit(struct sl_control *control, int64_t fetch_us,
                                              int64_t wait_us);

/* Makes one call of `waited` and waits until it is done. */
void sl_replication_call(struct sl_control *control, void (*done)(struct sl_channel_call *call));

/* Called before a change's transaction: brings everything up to what Redis has. Returns false with
 * error->text. */
bool sl_replication_ready(struct sl_control *control, bool is_dry_run, struct sluice_error *error);

/* Called in the transaction, before anything is changed. */
bool sl_replication_start(struct sl_control *control, struct sluice_error *error);

enum sl_replication_end {
    SL_REPLICATION_WON,      /* Redis has taken it, or there was nothing to take: commit */
    SL_REPLICATION_CONFLICT, /* another instance was faster: run the job again */
    SL_REPLICATION_REFUSED,  /* nothing has changed anywhere: error->text */
    SL_REPLICATION_LARGE,    /* nothing has changed: a row is too large */
    SL_REPLICATION_FULL,     /* nothing has changed: all rows together are too large */
    SL_REPLICATION_UNKNOWN /* it is unknown whether it was made, or it is in force elsewhere alone:
                              error->text */
};

/* The message if Redis has taken a change and the database has not. */
#define SL_ELSEWHERE_ALONE "Redis has it, and other instances; here it is not in force, because"

/* Called in the transaction, after all is changed. */
enum sl_replication_end sl_replication_write(struct sl_control *control,
                                             struct sluice_error *error);

/* Deletes some of the exemptions that ended at least `kept_us` ago, on every instance. Errors are
 * not reported: the next sweep tries again. Returns true if there may be more. */
bool sl_replication_sweep(struct sl_control *control, int64_t kept_us);

#endif
