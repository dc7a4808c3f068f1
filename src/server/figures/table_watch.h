/* How full the embedded table is: the main thread counts it bit by bit, any thread reads it. With a
 * Redis store this is the table by which `on_store_failure: local` decides and in which wrong
 * credentials are counted. */
#ifndef SL_SERVER_FIGURES_TABLE_WATCH_H
#define SL_SERVER_FIGURES_TABLE_WATCH_H

#include <stdatomic.h>

#include "store/store.h"
#include "store/table/tally.h"

struct sl_table_watch {
    struct sl_store *store; /* NULL: there is no table */
    struct sl_tally tally;  /* for the main thread */
    _Atomic uint64_t live, limiting, log_live;
};

/* Takes the first look. The store must outlive it. */
void sl_table_watch_open(struct sl_table_watch *watch, struct sl_store *store);

/* To be called a few times a second: see store/table/tally.h. */
void sl_table_look(struct sl_table_watch *watch);

/* Any thread. Counters are as of now. Returns false if there is no table; *out is untouched then.
 */
bool sl_table_read(const struct sl_table_watch *watch, struct sluice_stats *out);

#endif
