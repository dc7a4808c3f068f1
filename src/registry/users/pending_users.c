/* A bounded ring of violations on their way into the registry. */
#include "registry/users/pending_users.h"

#include <stdlib.h>
#include <string.h>

static struct sl_violation *violation_at(const struct sl_waiting *waiting, size_t place)
{
    return &waiting->ring[(waiting->first + place) % SL_VIOLATIONS_WAITING_MAX];
}

void sl_violation_free(struct sl_violation *violation)
{
    free(violation->tenant);
    free(violation->id);
    *violation = (struct sl_violation){ NULL, NULL, 0 };
}

bool sl_waiting_open(struct sl_waiting *waiting)
{
    *waiting = (struct sl_waiting){ .first = 0 };
    waiting->ring = calloc(SL_VIOLATIONS_WAITING_MAX, sizeof *waiting->ring);
    return waiting->ring != NULL;
}

void sl_waiting_close(struct sl_waiting *waiting)
{
    for (size_t i = 0; i < waiting->count; i++)
        sl_violation_free(violation_at(waiting, i));
    free(waiting->ring);
}

bool sl_waiting_put(struct sl_waiting *waiting, struct sl_violation *violation)
{
    if (waiting->count == SL_VIOLATIONS_WAITING_MAX || !violation->tenant || !violation->id)
        return false;
    *violation_at(waiting, waiting->count++) = *violation;
    *violation = (struct sl_violation){ NULL, NULL, 0 };
    return true;
}

size_t sl_waiting_take(struct sl_waiting *waiting, struct sl_violation *out, size_t room)
{
    size_t taken = 0;
    for (; taken < room && waiting->count; taken++) {
        out[taken] = *violation_at(waiting, 0);
        waiting->first = (waiting->first + 1) % SL_VIOLATIONS_WAITING_MAX;
        waiting->count--;
    }
    return taken;
}

/* The other violations move up. */
void sl_waiting_drop(struct sl_waiting *waiting, const char *tenant, const char *id)
{
    size_t kept = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        struct sl_violation *violation = violation_at(waiting, i);
        if (strcmp(violation->id, id) == 0 && strcmp(violation->tenant, tenant) == 0)
            sl_violation_free(violation);
        else
            *violation_at(waiting, kept++) = *violation;
    }
    waiting->count = kept;
}
