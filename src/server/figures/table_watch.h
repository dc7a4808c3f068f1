/* How full the embedded table is: counted bit by bit by the main thread, read by any. With a store
 * elsewhere it is the table where `on_store_failure: local` decides, and wrong credentials are
 * counted. */
#ifndef SL_SERVER_FIGURES_TABLE_WATCH_H
#define SL_SERVER_FIGURES_TABLE_WATCH_H

#include <stdatomic.h>

#include "store/store.h"
#include "store/table/tally.h"

struct sl_table_watch {
    struct sl_store *store; /* NULL: there is no table */
    struct sl_tally tally;  /* the main thread's */
    _Atomic uint64_t live, limiting, log_live;
};

/* Looks for the first time. Keeps the store. */
void sl_table_watch_open(struct sl_table_watch *watch, struct sl_store *store);

/* A few times a second: see store/table/tally.h. */
void sl_table_look(struct sl_table_watch *watch);

/* Any thread. Counters are as of now. False: there is no table; *out is untouched. */
bool sl_table_read(const struct sl_table_watch *watch, struct sluice_stats *out);

#endif
