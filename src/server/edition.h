/* An edition of the rules: a file read once, and all that the server makes of it.
 *
 * Immutable but for the limiters, one for each worker, which only that worker
 * uses. A worker goes from one edition to the next between two rounds, so no
 * request meets half of each. Who holds one keeps it; the last to drop it frees
 * it. */
#ifndef SL_SERVER_EDITION_H
#define SL_SERVER_EDITION_H

#include <stdatomic.h>

#include "limiter/limiter.h"
#include "server/tls.h"

struct sl_edition {
    _Atomic uint32_t holders;
    struct sl_ruleset *rules;
    struct sl_tls *tls;           /* NULL: no listener speaks it */
    struct sl_limiter **limiters; /* by worker */
    size_t worker_count;
};

/* Takes over the rules and (NULL: none) the TLS, also if it fails. Held once. NULL:
 * no memory. */
struct sl_edition *sl_edition_new(struct sl_ruleset *rules, struct sl_tls *tls,
                                  struct sl_store *store, size_t worker_count);
struct sl_edition *sl_edition_keep(struct sl_edition *edition);
void sl_edition_drop(struct sl_edition *edition);

#endif
