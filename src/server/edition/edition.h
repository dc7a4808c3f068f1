/* An edition: one reading of the rules, with everything that is made of it. Immutable but for the
 * limiters, of which each worker has its own.
 *
 * A reload makes a new edition; workers go over to it between two rounds, so that no request meets
 * half of each. Editions are counted by reference. Certificate, keys and tokens are read from
 * their files together with the rules; editions that the API makes until the next reload share
 * them. */
#ifndef SL_SERVER_EDITION_EDITION_H
#define SL_SERVER_EDITION_EDITION_H

#include <stdatomic.h>

#include "auth/access.h"
#include "limiter/limiter.h"
#include "limiter/users/users.h"
#include "server/edition/files.h"

struct sl_edition {
    _Atomic uint32_t holders;
    struct sl_ruleset *rules;
    struct sl_files *files;
    struct sl_keyring *keyring;
    struct sl_limiter **limiters; /* by worker; the last is the main thread's */
    size_t limiter_count;
    uint32_t *numbers; /* of the rules, for rule stats; NULL: there are none */
};

struct sl_edition_parts {
    struct sl_ruleset *rules;
    struct sl_files *files;
    struct sl_keyring *keyring;
    struct sl_store *store;
    struct sl_users *users; /* NULL: there is no user table */
    size_t worker_count;
    struct sl_observer **observers; /* by worker; NULL: there are no statistics */
    bool wants_numbers;             /* of the rules, for the observers, */
    uint32_t *numbers;              /* and rule stats */
};

/* Takes over rules, files, keyring and numbers, also if it fails. One reference is held. NULL: no
 * memory. */
struct sl_edition *sl_edition_new(const struct sl_edition_parts *parts);
struct sl_edition *sl_edition_keep(struct sl_edition *edition);
void sl_edition_drop(struct sl_edition *edition);

/* Do limiters with these settings observe identifiers and durations? Else they only count. */
bool sl_is_observed(const struct sl_settings *settings);

#endif
