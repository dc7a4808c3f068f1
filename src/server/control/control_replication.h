/* What the office does where rules spread (docs/spreading.md): it follows what others change, and
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

struct sl_office;
struct sl_job;

struct sl_office_spread {
    struct sl_spread follower, visitor;
    struct sl_line line;
    struct sl_channel_call call; /* the follower's, */
    bool is_asking;              /* under way, */
    uint64_t asked_at;           /* of `writes` then */
    uint64_t writes;             /* changes of ours */
    bool has_said_failure;

    struct sl_channel_call waited; /* a change's calls, */
    enum sl_spread_step step;      /* what the last one came to: of the conversation, */
    enum sl_told told;             /* or of a write, */
    struct sl_told_more more;      /* with this, */
    bool was_made;                 /* or of a question whether one was made */

    /* A change, from its beginning to its end: */
    struct sl_row_name row; /* the user whom it is about, */
    bool has_row;
    uint64_t row_on; /* and the change that Redis' record is of; 0: there is none */
    bool wants_users;
    bool is_noting; /* what it changes is to go to Redis: */
    struct sl_place place;
    uint64_t change;
};

/* Nothing where the store is no Redis, or `spread` is off. Fetches what Redis holds, if it
 * answers. False: it has said why. */
bool sl_office_spread_open(struct sl_office *office, const struct sl_settings *settings);

/* From now on changes of others come in by themselves. False: no memory. */
bool sl_office_spread_follow(struct sl_office *office, uv_loop_t *loop);

/* The loop is about to end: */
void sl_office_spread_leave(struct sl_office *office);
void sl_office_spread_close(struct sl_office *office);

/* Four times a second. */
void sl_office_spread_look(struct sl_office *office);

/* ---- a change: change_replicated.c ---- */

/* The visitor's conversation, at most so long, and in force what it brings. */
enum sl_spread_step sl_spread_visit(struct sl_office *office, int64_t fetch_us, int64_t wait_us);

/* One call of `waited`, until it is done. */
void sl_spread_call(struct sl_office *office, void (*done)(struct sl_channel_call *call));

/* Before its transaction: everything as Redis has it. False: error->text. */
bool sl_spread_ready(struct sl_office *office, bool is_dry_run, struct sluice_error *error);

/* In the transaction, before anything is changed. */
bool sl_spread_start(struct sl_office *office, struct sluice_error *error);

enum sl_spread_end {
    SL_SPREAD_WON,      /* Redis has taken it, or there was nothing to take: commit it */
    SL_SPREAD_CONFLICT, /* another was faster: do it again */
    SL_SPREAD_REFUSED,  /* nothing has changed anywhere: error->text, */
    SL_SPREAD_LARGE,    /* nor has it where a row is too large, */
    SL_SPREAD_FULL,     /* or all of them are */
    SL_SPREAD_UNKNOWN   /* nobody can tell, or it is in force elsewhere alone: error->text */
};

/* What is said where Redis has taken a change, and the database has not. */
#define SL_ELSEWHERE_ALONE "Redis has it, and other instances; here it is not in force, because"

/* In the transaction, when all is changed. */
enum sl_spread_end sl_spread_write(struct sl_office *office, struct sluice_error *error);

/* Exemptions that have been over for so long go, everywhere, some of them at a time. A failure is
 * none of anybody's. True: there may be more. */
bool sl_spread_sweep(struct sl_office *office, int64_t kept_us);

#endif
