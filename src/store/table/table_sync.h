/* A thread that writes a table back to its file at intervals. */
#ifndef SL_STORE_TABLE_TABLE_SYNC_H
#define SL_STORE_TABLE_TABLE_SYNC_H

#include "store/table/table.h"

struct sl_syncer;

/* Returns NULL if there is no memory, or no thread can be started. */
struct sl_syncer *sl_syncer_start(struct sl_table *table, int64_t every_us);

/* Stops the thread. `syncer` may be NULL. In a child of fork() there is no thread: only frees. */
void sl_syncer_stop(struct sl_syncer *syncer);

#endif
