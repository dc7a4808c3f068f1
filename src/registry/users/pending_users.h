/* Violations on their way into the registry: a queue of bounded length. One thread at a
 * time. */
#ifndef SL_REGISTRY_USERS_PENDING_USERS_H
#define SL_REGISTRY_USERS_PENDING_USERS_H

#include "registry/users/users.h"

struct sl_waiting {
    struct sl_violation *ring; /* of SL_VIOLATIONS_WAITING_MAX */
    size_t first, count;
};

/* False: no memory. */
bool sl_waiting_open(struct sl_waiting *waiting);
void sl_waiting_close(struct sl_waiting *waiting);

/* Takes its texts over. False: it is full, or a text is missing; they are still the
 * caller's. */
bool sl_waiting_put(struct sl_waiting *waiting, struct sl_violation *violation);

/* The oldest; their texts are the caller's. */
size_t sl_waiting_take(struct sl_waiting *waiting, struct sl_violation *out, size_t room);

/* All of one user. */
void sl_waiting_drop(struct sl_waiting *waiting, const char *tenant, const char *id);

void sl_violation_free(struct sl_violation *violation);

#endif
