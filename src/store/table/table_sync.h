/* A thread that writes a table back to its file every so often. */
#ifndef SL_STORE_TABLE_TABLE_SYNC_H
#define SL_STORE_TABLE_TABLE_SYNC_H

#include "store/table/table.h"

struct sl_syncer;

/* NULL: no memory, or no thread to be had. */
struct sl_syncer *sl_syncer_start(struct sl_table *table, int64_t every_us);

/* May be NULL. In a child of fork() the thread is not there: only freed. */
void sl_syncer_stop(struct sl_syncer *syncer);

#endif
