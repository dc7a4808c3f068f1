/* Violations on their way into the registry: a queue of bounded length. For one thread at a
 * time. */
#ifndef SL_REGISTRY_USERS_PENDING_USERS_H
#define SL_REGISTRY_USERS_PENDING_USERS_H

#include "registry/users/users.h"

struct sl_waiting {
    struct sl_violation *ring; /* of SL_VIOLATIONS_WAITING_MAX */
    size_t first, count;
};

/* Returns false if there is no memory. */
bool sl_waiting_open(struct sl_waiting *waiting);
void sl_waiting_close(struct sl_waiting *waiting);

/* Takes over the violation's texts. Returns false if the queue is full or a text is missing;
 * the texts are still the caller's then. */
bool sl_waiting_put(struct sl_waiting *waiting, struct sl_violation *violation);

/* Moves the oldest violations to `out`; their texts are the caller's. */
size_t sl_waiting_take(struct sl_waiting *waiting, struct sl_violation *out, size_t room);

/* Drops all violations of one user. */
void sl_waiting_drop(struct sl_waiting *waiting, const char *tenant, const char *id);

void sl_violation_free(struct sl_violation *violation);

#endif
