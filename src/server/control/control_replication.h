/* What the office does where rules spread (docs/replication.md): it follows what others change, and
 * changes nothing that Redis has not taken first.
 *
 * Two conversations: the follower's is on the main thread's loop, and nobody waits for it; a
 * change's is waited for, because the caller waits for the change. */
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
    struct sl_store_io line;
    struct sl_channel_call call; /* the follower's, */
    bool is_asking;              /* under way, */
    uint64_t asked_at;           /* of `writes` then */
    uint64_t writes;             /* changes of ours */
    bool has_said_failure;

    struct sl_channel_call waited; /* a change's calls, */
    enum sl_replication_step step; /* what the last one came to: of the conversation, */
    enum sl_told told;             /* or of a write, */
    struct sl_told_more more;      /* with this, */
    bool was_made;                 /* or of a question whether one was made */

    /* A change, from its beginning to its end: */
    struct sl_row_name row; /* the user whom it is about, */
    bool has_row;
    uint64_t row_on; /* and the change that Redis' record is of; 0: there is none */
    bool wants_users;
    bool is_noting; /* what it changes is to go to Redis: */
    struct sl_replica_position place;
    uint64_t change;
};

/* Nothing where the store is no Redis, or `spread` is off. Fetches what Redis holds, if it
 * answers. False: it has said why. */
bool sl_control_replication_open(struct sl_control *control, const struct sl_settings *settings);

/* From now on changes of others come in by themselves. False: no memory. */
bool sl_control_replication_follow(struct sl_control *control, uv_loop_t *loop);

/* The loop is about to end: */
void sl_control_replication_leave(struct sl_control *control);
void sl_control_replication_close(struct sl_control *control);

/* Four times a second. */
void sl_control_replication_look(struct sl_control *control);

/* ---- a change: change_replicated.c ---- */

/* The visitor's conversation, at most so long, and in force what it brings. */
enum sl_replication_step sl_replication_visit(struct sl_control *control, int64_t fetch_us,
                                              int64_t wait_us);

/* One call of `waited`, until it is done. */
void sl_replication_call(struct sl_control *control, void (*done)(struct sl_channel_call *call));

/* Before its transaction: everything as Redis has it. False: error->text. */
bool sl_replication_ready(struct sl_control *control, bool is_dry_run, struct sluice_error *error);

/* In the transaction, before anything is changed. */
bool sl_replication_start(struct sl_control *control, struct sluice_error *error);

enum sl_replication_end {
    SL_REPLICATION_WON,      /* Redis has taken it, or there was nothing to take: commit it */
    SL_REPLICATION_CONFLICT, /* another was faster: do it again */
    SL_REPLICATION_REFUSED,  /* nothing has changed anywhere: error->text, */
    SL_REPLICATION_LARGE,    /* nor has it where a row is too large, */
    SL_REPLICATION_FULL,     /* or all of them are */
    SL_REPLICATION_UNKNOWN   /* nobody can tell, or it is in force elsewhere alone: error->text */
};

/* What is said where Redis has taken a change, and the database has not. */
#define SL_ELSEWHERE_ALONE "Redis has it, and other instances; here it is not in force, because"

/* In the transaction, when all is changed. */
enum sl_replication_end sl_replication_write(struct sl_control *control,
                                             struct sluice_error *error);

/* Exemptions that have been over for so long go, everywhere, some of them at a time. A failure is
 * none of anybody's. True: there may be more. */
bool sl_replication_sweep(struct sl_control *control, int64_t kept_us);

#endif
