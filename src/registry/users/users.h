/* Users in memory, found by every decision: an implementation of limiter/users/users.h.
 *
 * One fixed-size entry per user, in memory that is not freed while it is open, and a
 * sequence number on each: a reader copies the entry and checks whether it changed meanwhile.
 * So a reader does not wait for a writer (any thread, under one lock), unless writers
 * disturb it again and again (user_read.c). */
#ifndef SL_REGISTRY_USERS_USERS_H
#define SL_REGISTRY_USERS_USERS_H

#include "limiter/users/users.h"
#include "registry/registry.h"

enum { SL_USER_ID_MAX = 512 }; /* bytes; of a tenant too */
enum { SL_USERS_MAX = 1 << 20, SL_VIOLATIONS_WAITING_MAX = 4096 };

struct sl_users_config {
    size_t most;           /* users; 0: SL_USERS_MAX; at most 2^24 */
    bool hash_identifiers; /* requests name users by id; stored is its hex SHA-256 */
    bool ids_are_digests;  /* requests' ids of 64 hex digits are SHA-256 already */
};

/* Returns NULL if there is no memory. */
struct sl_users *sl_users_open(const struct sl_users_config *config);
void sl_users_close(struct sl_users *users);

/* The stored form of an id that the API was given: under hash_identifiers its digest (unless it
 * is 64 hex digits, and so one already), else the id itself. In `arena`; NULL: no memory. */
const char *sl_users_id(struct sl_users *users, struct sluice_text user, struct sl_arena *arena);

/* ---- from the registry into memory; ids are in their stored form ---- */

/* Adds or replaces a user. Returns false if the user is new and there is neither room nor a
 * stranger to make it, or no memory. Own limits that cannot be read, and a tier longer than
 * SL_USER_TIER_MAX, are left out. */
bool sl_users_put(struct sl_users *users, const struct sl_user_record *record);

/* Replaces calls and successes. Violations never become fewer: the last of those counted here
 * may still be on their way into the registry. */
bool sl_users_put_day(struct sl_users *users, const struct sl_user_day *day);

/* `day` is today. */
bool sl_users_add_outcomes(struct sl_users *users, const struct sl_user_day *more);

/* Drops the record, the days and the violations that wait, but not an exemption. */
void sl_users_drop(struct sl_users *users, const char *tenant, const char *id);

/* Drops the records and days of all users, at once. Exemptions stay. */
void sl_users_clear(struct sl_users *users);

/* Makes exactly these users exempt: `until_us` 0 does not end. Other kinds are passed over.
 * Returns false if there was no room or memory for all of them. */
bool sl_users_set_exempt(struct sl_users *users, const struct sl_exemption *exemptions,
                         size_t count);

/* The same look-up as a decision's, by the stored form of the id. */
bool sl_users_find_kept(struct sl_users *users, const char *tenant, const char *id, int64_t now_us,
                        struct sl_user *out);

/* ---- from decisions to the registry ---- */

/* Takes violations that are not in the registry yet, oldest first, at most `room`. Where more
 * than SL_VIOLATIONS_WAITING_MAX waited, the newest were dropped. */
struct sl_violation {
    char *tenant; /* both to be freed */
    char *id;
    int64_t minute;
};
size_t sl_users_take_violations(struct sl_users *users, struct sl_violation *out, size_t room);

/* Forgets users that have nothing but days before that one. */
void sl_users_sweep(struct sl_users *users, int64_t before_day);

/* Counts since it was opened: */
struct sl_users_counts {
    uint64_t evicted;            /* strangers that made room */
    uint64_t refused;            /* users for which there was none */
    uint64_t violations_dropped; /* that did not reach the registry */
};
void sl_users_measure(struct sl_users *users, struct sl_users_counts *out);

#endif
