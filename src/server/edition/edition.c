/* Making and dropping editions: see edition.h. */
#include "server/edition/edition.h"

#include <stdlib.h>

static bool make_limiters(struct sl_edition *edition, const struct sl_edition_parts *parts)
{
    size_t count = parts->worker_count + 1;
    if (parts->wants_numbers && !parts->numbers)
        return false;
    edition->limiters = calloc(count, sizeof(struct sl_limiter *));
    for (size_t i = 0; edition->limiters && i < count; i++) {
        struct sl_limiter *limiter = sl_limiter_new(edition->rules, parts->store);
        if (!limiter)
            return false;
        sl_limiter_set_users(limiter, parts->users);
        edition->limiters[edition->limiter_count++] = limiter;
        if (i < parts->worker_count &&
            !sl_limiter_set_observer(limiter, parts->observers ? parts->observers[i] : NULL,
                                     parts->numbers))
            return false;
    }
    return edition->limiters;
}

struct sl_edition *sl_edition_new(const struct sl_edition_parts *parts)
{
    struct sl_edition *edition = calloc(1, sizeof *edition);
    if (!edition) {
        sl_ruleset_free(parts->rules);
        sl_files_drop(parts->files);
        sl_keyring_free(parts->keyring);
        free(parts->numbers);
        return NULL;
    }
    edition->holders = 1;
    edition->rules = parts->rules;
    edition->files = parts->files;
    edition->keyring = parts->keyring;
    edition->numbers = parts->numbers;
    if (make_limiters(edition, parts))
        return edition;
    sl_edition_drop(edition);
    return NULL;
}

struct sl_edition *sl_edition_keep(struct sl_edition *edition)
{
    atomic_fetch_add(&edition->holders, 1);
    return edition;
}

void sl_edition_drop(struct sl_edition *edition)
{
    if (!edition || atomic_fetch_sub(&edition->holders, 1) != 1)
        return;
    for (size_t i = 0; i < edition->limiter_count; i++)
        sl_limiter_free(edition->limiters[i]);
    free(edition->limiters);
    free(edition->numbers);
    sl_files_drop(edition->files);
    sl_keyring_free(edition->keyring);
    sl_ruleset_free(edition->rules);
    free(edition);
}

/* The audit log needs the identifiers. */
bool sl_is_observed(const struct sl_settings *settings)
{
    return settings->statistics || strcmp(settings->audit, "off") != 0;
}
