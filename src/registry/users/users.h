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
enum { SL_PEOPLE_MAX = 1 << 20, SL_VIOLATIONS_WAITING_MAX = 4096 };

struct sl_people_config {
    size_t most;           /* users; 0: SL_PEOPLE_MAX; at most 2^24 */
    bool hash_identifiers; /* users are asked for by id and kept by the hex SHA-256 of it */
    bool ids_are_digests;  /* ... unless it is one: requests' ids of 64 hex digits are */
};

/* NULL: no memory. */
struct sl_people *sl_people_open(const struct sl_people_config *config);
void sl_people_close(struct sl_people *people);

/* The id as it is kept, of one that the API was given: under hash_identifiers its digest
 * (unless it is 64 hex digits, and so one already), else itself. In `arena`; NULL: no
 * memory. */
const char *sl_people_id(struct sl_people *people, struct sluice_text user, struct sl_arena *arena);

/* ---- what the registry holds goes in; ids are as they are kept ---- */

/* False: the user is somebody new and there is neither room nor a stranger to make it, or
 * no memory. Own limits that cannot be read, and a tier longer than SL_PERSON_TIER_MAX,
 * are left out. */
bool sl_people_put(struct sl_people *people, const struct sl_user_record *record);

/* Calls and successes are replaced. Violations never become fewer: of those that were
 * seen here, the last may be on their way into the registry. */
bool sl_people_put_day(struct sl_people *people, const struct sl_user_day *day);

/* `day` is today. */
bool sl_people_add_outcomes(struct sl_people *people, const struct sl_user_day *more);

/* The record, the days and the violations that wait. An exemption is no part of it. */
void sl_people_drop(struct sl_people *people, const char *tenant, const char *id);

/* The records and days of everybody, at once. Exemptions stay. */
void sl_people_clear(struct sl_people *people);

/* Exempt users: `until_us` 0 does not end. All others are not exempt any more. Other kinds
 * are passed over. False: not all of them could be taken. */
bool sl_people_set_exempt(struct sl_people *people, const struct sl_exemption *exemptions,
                          size_t count);

/* The same look-up as a decision's, by the kept id. */
bool sl_people_find_kept(struct sl_people *people, const char *tenant, const char *id,
                         int64_t now_us, struct sl_person *out);

/* ---- what decisions have seen comes out ---- */

/* Violations that are not in the registry yet, oldest first, at most `room`; they are not
 * given again. Where more waited than SL_VIOLATIONS_WAITING_MAX, the newest were dropped. */
struct sl_violation {
    char *tenant; /* both to be freed */
    char *id;
    int64_t minute;
};
size_t sl_people_take_violations(struct sl_people *people, struct sl_violation *out, size_t room);

/* Forgets those of whom nothing is known but days before that one. */
void sl_people_sweep(struct sl_people *people, int64_t before_day);

/* Since it was opened: */
struct sl_people_counts {
    uint64_t evicted;            /* strangers who made room */
    uint64_t refused;            /* users who found none */
    uint64_t violations_dropped; /* that the registry will not hear of */
};
void sl_people_measure(struct sl_people *people, struct sl_people_counts *out);

#endif
