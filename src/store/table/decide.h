/* Deciding a bundle on the shared table. */
#ifndef SL_STORE_TABLE_DECIDE_H
#define SL_STORE_TABLE_DECIDE_H

#include "store/store.h"
#include "store/table/table.h"

/* Fills in the bundle's answers and status. own_clock: bundle->now_us is a reading
 * of the table's clock, and may be replaced by a new one where docs/table.md says
 * so (T8); else it is the caller's and stays. */
void sl_table_decide(struct sl_table *table, struct sl_bundle *bundle, bool own_clock);

#endif
