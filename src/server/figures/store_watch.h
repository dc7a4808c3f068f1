/* Is the store answering? Looked at now and then by the main thread, which says and audits when
 * that changes. */
#ifndef SL_SERVER_FIGURES_STORE_WATCH_H
#define SL_SERVER_FIGURES_STORE_WATCH_H

#include "store/store.h"
#include "telemetry/audit/audit.h"

struct sl_store_watch {
    const char *name; /* of the store, for people */
    bool is_down;
    bool was_open; /* a breaker, since it was last up: closed, they prove that it is back */
    uint64_t good, bad, full, trips; /* calls and breakers, then */
};

void sl_store_look(struct sl_store_watch *watch, struct sl_store *store, struct sl_audit *audit);

#endif
