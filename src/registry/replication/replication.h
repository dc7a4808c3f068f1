/* A conversation with the shared registry: question by question, it brings this instance's copy
 * up to what Redis holds, or founds the registry where there is none (docs/replication.md).
 *
 *   sl_replication_begin → { sl_replication_ask → the call is made, whichever way →
 * sl_replication_take } …
 *
 * It knows neither Redis nor loops: who waits for each answer and who does not drive it alike. What
 * two conversations of one registry have in common is the place in the database, which each checks
 * in the transaction in which it applies something: what was fetched for another place is thrown
 * away. */
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
    SL_REPLICATION_MORE,      /* ask on */
    SL_REPLICATION_DONE,      /* the copy is what Redis held when it was last looked at */
    SL_REPLICATION_NONE,      /* there is no registry, and this conversation founds none; `error` */
    SL_REPLICATION_MUST_WAIT, /* ask again in a while: somebody is about to fill it, or was faster
                               */
    SL_REPLICATION_FAILED,    /* `error` says why */
};

/* Which registry a conversation may found, where Redis has none. */
enum sl_replication_founds {
    SL_FOUNDS_NONE,
    SL_FOUNDS_REPLICA, /* out of what is here: it may take long, and nobody waits for it */
    SL_FOUNDS_EMPTY,   /* where nothing is here: for a change that is the first */
};

struct sl_replication {
    /* The owner's: */
    struct sl_registry *registry;
    const char *database; /* its path; NULL: in memory */
    bool leaves_users;    /* rules are enough */
    enum sl_replication_founds founds;
    const struct sl_row_name *row; /* is looked at too; or NULL */

    struct sl_scripts scripts;
    uint64_t who; /* as a founder */
    enum sl_replication_phase phase;
    struct sl_replica_position place; /* of the copy, when it was last looked at, */
    struct sl_logs_seen looked;       /* and of Redis */
    char *row_value;                  /* as it was then: "" none; NULL: not looked at */

    /* Fetching: */
    enum sl_log log;
    bool is_afresh;
    uint64_t from, known;
    struct sl_arena arena;
    struct sl_row *rows;
    size_t row_count, row_room, row_bytes;

    /* Filling, `rows` of rules first: */
    struct sl_replica_position filled;
    size_t fill_at;
    int64_t fill_user;
    bool has_filled_rules;

    /* What has come of it, for the owner to clear: */
    bool has_new_rules, has_new_users;
    uint64_t applied;          /* rows */
    bool has_given_way;        /* what was here before did not come from there; */
    char saved_as[4096];       /* it is kept in this file, or "" */
    struct sluice_error error; /* why not */
};

void sl_replication_open(struct sl_replication *spread, struct sl_registry *registry,
                         const char *database);
void sl_replication_close(struct sl_replication *spread);

/* From the start, whatever it was at. */
void sl_replication_begin(struct sl_replication *spread);

/* The next question. False: `error` says why there is none. */
bool sl_replication_ask(struct sl_replication *spread, struct sl_channel_call *call);

/* Its answer: within the call's `done`. */
enum sl_replication_step sl_replication_take(struct sl_replication *spread,
                                             const struct sl_channel_call *call);

#endif
