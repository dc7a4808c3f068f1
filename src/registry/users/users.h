/* Users in memory, found by every decision: an implementation of limiter/users/users.h.
 *
 * One fixed-size entry a user, in memory that is never given back while it is open, and
 * a sequence number on each: a reader copies and looks whether it changed meanwhile,
 * a writer (any thread, under one lock) is never waited for. */
#ifndef SL_REGISTRY_USERS_USERS_H
#define SL_REGISTRY_USERS_USERS_H

#include "limiter/users/users.h"
#include "registry/registry.h"

enum { SL_USER_ID_MAX = 512 }; /* bytes; of a tenant too */
enum { SL_USERS_MAX = 1 << 20, SL_VIOLATIONS_WAITING_MAX = 4096 };

struct sl_users_config {
    size_t most;           /* users; 0: SL_USERS_MAX; at most 2^24 */
    bool hash_identifiers; /* users are asked for by id and kept by the hex SHA-256 of it */
    bool ids_are_digests;  /* ... unless it is one: requests' ids of 64 hex digits are */
};

/* NULL: no memory. */
struct sl_users *sl_users_open(const struct sl_users_config *config);
void sl_users_close(struct sl_users *users);

/* The id as it is kept, of one that the API was given: under hash_identifiers its digest
 * (unless it is 64 hex digits, and so one already), else itself. In `arena`; NULL: no
 * memory. */
const char *sl_users_id(struct sl_users *users, struct sluice_text user, struct sl_arena *arena);

/* ---- what the registry holds goes in; ids are as they are kept ---- */

/* False: the user is somebody new and there is neither room nor a stranger to make it, or
 * no memory. Own limits that cannot be read, and a tier longer than SL_USER_TIER_MAX,
 * are left out. */
bool sl_users_put(struct sl_users *users, const struct sl_user_record *record);

/* Calls and successes are replaced. Violations never become fewer: of those that were
 * seen here, the last may be on their way into the registry. */
bool sl_users_put_day(struct sl_users *users, const struct sl_user_day *day);

/* `day` is today. */
bool sl_users_add_outcomes(struct sl_users *users, const struct sl_user_day *more);

/* The record, the days and the violations that wait. An exemption is no part of it. */
void sl_users_drop(struct sl_users *users, const char *tenant, const char *id);

/* The records and days of everybody, at once. Exemptions stay. */
void sl_users_clear(struct sl_users *users);

/* Exempt users: `until_us` 0 does not end. All others are not exempt any more. Other kinds
 * are passed over. False: not all of them could be taken. */
bool sl_users_set_exempt(struct sl_users *users, const struct sl_exemption *exemptions,
                         size_t count);

/* The same look-up as a decision's, by the kept id. */
bool sl_users_find_kept(struct sl_users *users, const char *tenant, const char *id, int64_t now_us,
                        struct sl_user *out);

/* ---- what decisions have seen comes out ---- */

/* Violations that are not in the registry yet, oldest first, at most `room`; they are not
 * given again. Where more waited than SL_VIOLATIONS_WAITING_MAX, the newest were dropped. */
struct sl_violation {
    char *tenant; /* both to be freed */
    char *id;
    int64_t minute;
};
size_t sl_users_take_violations(struct sl_users *users, struct sl_violation *out, size_t room);

/* Forgets those of whom nothing is known but days before that one. */
void sl_users_sweep(struct sl_users *users, int64_t before_day);

/* Since it was opened: */
struct sl_users_counts {
    uint64_t evicted;            /* strangers who made room */
    uint64_t refused;            /* users who found none */
    uint64_t violations_dropped; /* that the registry will not hear of */
};
void sl_users_measure(struct sl_users *users, struct sl_users_counts *out);

#endif
