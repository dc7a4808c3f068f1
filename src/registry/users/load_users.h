/* What the registry holds of users, put among the people. */
#ifndef SL_REGISTRY_USERS_LOAD_USERS_H
#define SL_REGISTRY_USERS_LOAD_USERS_H

#include "registry/users/users.h"

enum { SL_TRUST_DAYS = 30 }; /* that days are kept for */

/* The day of a moment, since 1970. */
int64_t sl_day_of(int64_t now_us);

/* Everything that changed after *revision (0: all of it), which is then that of what they
 * hold; and who is exempt. False: error->text, and some of it may be in. */
bool sl_users_fill(struct sl_users *users, struct sl_registry *registry, int64_t now_us,
                   uint64_t *revision, struct sluice_error *error);

/* Who is exempt, alone. */
bool sl_users_fill_exempt(struct sl_users *users, struct sl_registry *registry, int64_t now_us,
                          struct sluice_error *error);

#endif
