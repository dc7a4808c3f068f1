/* Replication: a conversation with the shared registry that brings this instance's replica up to
 * date, question by question, or founds the registry where Redis has none (docs/replication.md).
 *
 *   sl_replication_begin → { sl_replication_ask → the call → sl_replication_take } …
 *
 * It knows neither connections nor loops: callers that block and callers that do not use it in the
 * same way. Two conversations of one registry share the position in the database. Each checks it in
 * the transaction in which it applies rows, and throws away rows that were fetched for another
 * position. */
#ifndef SL_REGISTRY_REPLICATION_REPLICATION_H
#define SL_REGISTRY_REPLICATION_REPLICATION_H

#include "registry/replication/shared_log.h"

enum sl_replication_phase {
    SL_REPLICATION_LOOKS,
    SL_REPLICATION_FETCHES,
    SL_REPLICATION_BIDS,
    SL_REPLICATION_FILLS,
    SL_REPLICATION_OPENS,
};

enum sl_replication_step {
    SL_REPLICATION_MORE,      /* ask the next question */
    SL_REPLICATION_DONE,      /* the replica is as Redis was at the last look */
    SL_REPLICATION_NONE,      /* there is no registry, and this conversation founds none; `error` */
    SL_REPLICATION_MUST_WAIT, /* ask again later: another instance fills it, or was faster */
    SL_REPLICATION_FAILED,    /* `error` says why */
};

/* The registry that a conversation may found where Redis has none. */
enum sl_replication_founds {
    SL_FOUNDS_NONE,
    SL_FOUNDS_REPLICA, /* from the rows of this database: it may take long, and no request waits */
    SL_FOUNDS_EMPTY,   /* an empty one, if this database is empty: for the first change */
};

struct sl_replication {
    /* Set by the owner: */
    struct sl_registry *registry;
    const char *database; /* its path; NULL: it is in memory */
    bool leaves_users;    /* fetches rules only */
    enum sl_replication_founds founds;
    const struct sl_row_name *row; /* its value is read too (row_value); or NULL */

    struct sl_scripts scripts;
    uint64_t who; /* this instance's number as a founder: the new registry's epoch */
    enum sl_replication_phase phase;
    struct sl_replica_position place; /* the replica's position at the last look */
    struct sl_logs_seen looked;       /* the logs in Redis at the last look */
    char *row_value;                  /* of `row` at the last look: "" none; NULL: not read */

    /* Fetching: */
    enum sl_log log;
    bool is_afresh;
    uint64_t from, known;
    struct sl_arena arena;
    struct sl_row *rows;
    size_t row_count, row_room, row_bytes;

    /* Filling; `rows` are the rules first: */
    struct sl_replica_position filled;
    size_t fill_at;
    int64_t fill_user;
    bool has_filled_rules;

    /* Results, which the owner clears: */
    bool has_new_rules, has_new_users;
    uint64_t applied;          /* rows */
    bool has_given_way;        /* other rows of this database were replaced */
    char saved_as[4096];       /* the file where they are saved, or "" */
    struct sluice_error error; /* the reason of a failure */
};

void sl_replication_open(struct sl_replication *replication, struct sl_registry *registry,
                         const char *database);
void sl_replication_close(struct sl_replication *replication);

/* Starts again from the first question. */
void sl_replication_begin(struct sl_replication *replication);

/* Writes the next question to `call`. Returns false if it cannot: `error` says why. */
bool sl_replication_ask(struct sl_replication *replication, struct sl_channel_call *call);

/* Takes the answer; to be called within the call's `done`. */
enum sl_replication_step sl_replication_take(struct sl_replication *replication,
                                             const struct sl_channel_call *call);

#endif
