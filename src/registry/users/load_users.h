/* Loading users from the registry into the user table. */
#ifndef SL_REGISTRY_USERS_LOAD_USERS_H
#define SL_REGISTRY_USERS_LOAD_USERS_H

#include "registry/users/users.h"

enum { SL_TRUST_DAYS = 30 }; /* how long days are stored */

/* The day of a moment, counted from 1970. */
int64_t sl_day_of(int64_t now_us);

/* Loads everything that changed after *revision (0: all of it) and all exemptions, and sets
 * *revision to the loaded state's. Returns false with error->text; a part may be loaded. */
bool sl_users_fill(struct sl_users *users, struct sl_registry *registry, int64_t now_us,
                   uint64_t *revision, struct sluice_error *error);

/* Loads the exemptions alone. */
bool sl_users_fill_exempt(struct sl_users *users, struct sl_registry *registry, int64_t now_us,
                          struct sluice_error *error);

#endif
