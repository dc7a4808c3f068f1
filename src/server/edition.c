#include "server/edition.h"

#include <stdlib.h>

static bool make_limiters(struct sl_edition *edition, struct sl_store *store)
{
    edition->limiters = calloc(edition->worker_count, sizeof(struct sl_limiter *));
    for (size_t i = 0; edition->limiters && i < edition->worker_count; i++) {
        edition->limiters[i] = sl_limiter_new(edition->rules, store);
        if (!edition->limiters[i])
            return false;
    }
    return edition->limiters;
}

struct sl_edition *sl_edition_new(struct sl_ruleset *rules, struct sl_tls *tls,
                                  struct sl_store *store, size_t worker_count)
{
    struct sl_edition *edition = calloc(1, sizeof *edition);
    if (!edition) {
        if (tls)
            sl_tls_drop(tls);
        sl_ruleset_free(rules);
        return NULL;
    }
    edition->holders = 1;
    edition->rules = rules;
    edition->tls = tls;
    edition->worker_count = worker_count;
    if (make_limiters(edition, store))
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
    for (size_t i = 0; edition->limiters && i < edition->worker_count; i++)
        sl_limiter_free(edition->limiters[i]);
    free(edition->limiters);
    if (edition->tls)
        sl_tls_drop(edition->tls);
    sl_ruleset_free(edition->rules);
    free(edition);
}
