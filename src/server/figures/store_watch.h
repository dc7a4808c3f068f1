/* Watching whether the store answers: the main thread looks now and then, and logs and audits a
 * change. */
#ifndef SL_SERVER_FIGURES_STORE_WATCH_H
#define SL_SERVER_FIGURES_STORE_WATCH_H

#include "store/store.h"
#include "telemetry/audit/audit.h"

struct sl_store_watch {
    const char *name; /* of the store, for messages */
    bool is_down;
    bool was_open; /* a breaker has opened since the store was up: closed again, it proves that the
                      store is back */
    uint64_t good, bad, full, trips; /* calls and breakers, at the last look */
};

void sl_store_look(struct sl_store_watch *watch, struct sl_store *store, struct sl_audit *audit);

#endif
