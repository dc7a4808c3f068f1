/* The registry: what the API has changed, on disk: rules, tiers, exemptions, tenants with
 * their keys, and users. SQLite below; one thread above.
 *
 *   begin → put, delete, … → overlay (as it would be) → commit, or roll back
 *
 * Changes are made inside a transaction and read back from it, so that the overlay that
 * is composed and checked is exactly what the database will hold, whichever process made
 * which part of it; a commit is on disk when it returns. Outcomes and violations are
 * too many for that: they survive the end of the process, but not a power cut (see
 * sl_registry_begin).
 *
 * Every function that can fail returns false (or NULL) with error->text and changes nothing
 * then. Within a transaction a failure dooms all of it: every later call fails for the same
 * reason, and so does the commit. Texts are any bytes but NUL; they are compared byte by
 * byte. */
#ifndef SL_REGISTRY_REGISTRY_H
#define SL_REGISTRY_REGISTRY_H

#include "base/sha256.h"
#include "rules/reading/overlay.h"

struct sl_registry;

/* So many users have a row, with or without a record; then one without a record makes room. */
enum { SL_REGISTRY_USERS_MAX = 1 << 20 };

/* Opens the database; `path` NULL: in memory. A file that is not there is not created before
 * the first sl_registry_begin; with `read_only` never, changes fail, and the registry is empty
 * until another process makes the file. Returns NULL with error->text if the file is damaged,
 * of a newer version, not a database, of another program, or not permitted. For one thread,
 * and not across a fork. */
struct sl_registry *sl_registry_open(const char *path, bool read_only, struct sluice_error *error);
void sl_registry_close(struct sl_registry *registry);

/* Returns true if another process has changed the registry since the last call, or if a file
 * has appeared where there was none. Our own commits do not count. Cheap: it is called four
 * times a second. Creates nothing.
 *
 * A file that is removed or replaced while it is open would be read by no other process: from
 * then on every function fails with that reason until the registry is opened anew (starting
 * empty instead would take away an operator's limits silently). For that, and for any other
 * reason why it cannot look, it returns true once, so that the caller's next read reports
 * the reason. */
bool sl_registry_is_changed(struct sl_registry *registry);

/* ---- transactions ---- */

/* What a commit survives: a power cut (fsync), or only the end of this process. */
enum sl_registry_care { SL_CARE_POWER_CUT, SL_CARE_KILL };

/* Waits for another process's transaction to end, at most three seconds; then sees its
 * changes. */
bool sl_registry_begin(struct sl_registry *registry, enum sl_registry_care care,
                       struct sluice_error *error);
/* Either way the transaction has ended. One without changes writes nothing. */
bool sl_registry_commit(struct sl_registry *registry, struct sluice_error *error);
void sl_registry_rollback(struct sl_registry *registry);

/* ---- reading, within a transaction or outside ---- */

/* The revision of the last change by any process. It grows with every transaction that changes
 * something, and this process does not use a number again that was rolled back. 0: there was
 * no change yet, or it cannot be read. */
uint64_t sl_registry_revision(struct sl_registry *registry);

/* The same of the last change that was not about users: of rules, tiers, exemptions, tenants
 * or keys. While it stays the same, an overlay need not be read again. */
uint64_t sl_registry_rules_revision(struct sl_registry *registry);

/* Reads all of it, into *arena. Exemptions that are over at now_us are left out; those of
 * users are not part of it. A rule or tier that is replaced keeps its place. */
bool sl_registry_overlay(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                         struct sl_overlay *out, struct sluice_error *error);

/* ---- rules and tiers ---- */

/* `tenant` NULL: a rule for all tenants; otherwise the tenant must exist. `json` NULL: hides
 * the rule of the file. */
bool sl_registry_put_rule(struct sl_registry *registry, const char *tenant, const char *name,
                          const char *json, struct sluice_error *error);
/* *found: there was a row. */
bool sl_registry_drop_rule(struct sl_registry *registry, const char *tenant, const char *name,
                           bool *found, struct sluice_error *error);
bool sl_registry_put_tier(struct sl_registry *registry, const char *name, const char *json,
                          struct sluice_error *error);
bool sl_registry_drop_tier(struct sl_registry *registry, const char *name, bool *found,
                           struct sluice_error *error);
/* Finds a user of that tier: "tenant `acme`", "a key of tenant `acme`", "user `acme/u1`", in
 * `arena`; NULL in *out if nothing names the tier. */
bool sl_registry_tier_user(struct sl_registry *registry, const char *name, struct sl_arena *arena,
                           const char **out, struct sluice_error *error);

/* ---- exemptions ---- */

/* `user`, `client`, `ip`, `api_key`, on disk as in the API. */
const char *sl_exempt_kind_name(enum sl_exempt_kind kind);
bool sl_exempt_kind_read(const char *name, enum sl_exempt_kind *out);

struct sl_exemption {
    enum sl_exempt_kind kind;
    const char *value;  /* users: "tenant/id" or the bare id */
    int64_t until_us;   /* 0: it does not end */
    const char *reason; /* or NULL */
};

/* A replaced exemption keeps its place. One that is over stays until it is swept. */
bool sl_registry_put_exemption(struct sl_registry *registry, const struct sl_exemption *exemption,
                               bool *is_new, struct sluice_error *error);
bool sl_registry_drop_exemption(struct sl_registry *registry, enum sl_exempt_kind kind,
                                const char *value, bool *found, struct sluice_error *error);
/* All that are not over at now_us, in the order in which they were made. */
bool sl_registry_exemptions(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                            struct sl_exemption **out, size_t *count, struct sluice_error *error);
/* Deletes exemptions that are over, at most so many. */
enum { SL_SWEEP_MAX = 256 };
bool sl_registry_sweep(struct sl_registry *registry, int64_t now_us, bool *has_more,
                       struct sluice_error *error);

/* ---- tenants ---- */

struct sl_tenant_key {
    const char *tenant;
    struct sl_digest digest;
    const char *label; /* or NULL */
    const char *tier;  /* or NULL: the tenant's */
    int64_t created_at_us;
};

struct sl_tenant {
    const char *name;
    const char *tier;                 /* or NULL */
    uint64_t revision;                /* also of its keys and of its own rules */
    const struct sl_tenant_key *keys; /* in the order in which they were made */
    size_t key_count;
};

bool sl_registry_put_tenant(struct sl_registry *registry, const char *name, const char *tier,
                            bool *is_new, struct sluice_error *error);
/* Deletes its keys and its own rules too (users stay). */
bool sl_registry_drop_tenant(struct sl_registry *registry, const char *name, bool *found,
                             struct sluice_error *error);
/* *is_new false: a key of that digest exists already, of this or another tenant; nothing
 * changed. */
bool sl_registry_put_key(struct sl_registry *registry, const struct sl_tenant_key *key,
                         bool *is_new, struct sluice_error *error);
bool sl_registry_drop_key(struct sl_registry *registry, const char *tenant,
                          const struct sl_digest *digest, bool *found, struct sluice_error *error);
/* Sorted by name. */
bool sl_registry_tenants(struct sl_registry *registry, struct sl_arena *arena,
                         struct sl_tenant **out, size_t *count, struct sluice_error *error);

/* ---- users ---- */

/* A user's record. `tenant` is "" where there is none; the id is in the form that is stored (a
 * digest under `hash_identifiers`). */
struct sl_user_record {
    const char *tenant;
    const char *id;
    bool has_created_at;
    int64_t created_at_us;
    bool has_email_verified;
    bool email_verified;
    const char *tier;   /* or NULL */
    const char *limits; /* a JSON object, or NULL */
    uint64_t revision;
};

/* One UTC day of a user. */
struct sl_user_day {
    const char *tenant;
    const char *id;
    int64_t day; /* since 1970 */
    uint64_t calls, successes, violations;
    int64_t last_minute; /* of the last violation, since 1970; -1: none */
};

/* Replaces the whole record; its `revision` is not read. Fails where there are
 * SL_REGISTRY_USERS_MAX users and each has a record. */
bool sl_registry_put_user(struct sl_registry *registry, const struct sl_user_record *record,
                          struct sluice_error *error);
/* Deletes record and days. */
bool sl_registry_drop_user(struct sl_registry *registry, const char *tenant, const char *id,
                           bool *found, struct sluice_error *error);
/* *found false: there is no record (there may be days). */
bool sl_registry_user(struct sl_registry *registry, const char *tenant, const char *id,
                      struct sl_arena *arena, struct sl_user_record *out, bool *found,
                      struct sluice_error *error);

/* Adds its calls and successes to the day's. They stop growing at 2^62 − 1. */
bool sl_registry_add_outcomes(struct sl_registry *registry, const struct sl_user_day *more,
                              struct sluice_error *error);
/* Counts a violation in that minute, unless one is stored of the same minute or, that day, of
 * a later one. */
bool sl_registry_add_violation(struct sl_registry *registry, const char *tenant, const char *id,
                               int64_t minute, struct sluice_error *error);

/* Calls back for each change after `since` (0: for everything), except days before
 * `first_day`: first for users that were deleted, then records, then days. A user that was
 * deleted and has come back is in both.
 *
 * Call sl_registry_revision before: with that as the next `since` no change is missed, and
 * changes in between only come twice. Pointers are good during the call, which must not use
 * the registry. A function that is NULL is not called. */
struct sl_user_visitor {
    /* Called first, where deletions are no longer known: clear the table, all users follow. So
     * when more than SL_REGISTRY_GONE_MAX were deleted, or when `since` lies ahead of the
     * registry. */
    void (*afresh)(void *about);
    void (*gone)(void *about, const char *tenant, const char *id);
    void (*record)(void *about, const struct sl_user_record *record);
    void (*day)(void *about, const struct sl_user_day *day);
    void *about;
};
enum { SL_REGISTRY_GONE_MAX = 4096 };
bool sl_registry_visit_users(struct sl_registry *registry, uint64_t since, int64_t first_day,
                             const struct sl_user_visitor *visitor, struct sluice_error *error);
/* Deletes days before that, and users without anything else. Other processes are not told: every
 * process forgets by the same date. */
bool sl_registry_forget_days(struct sl_registry *registry, int64_t before_day,
                             struct sluice_error *error);

#endif
