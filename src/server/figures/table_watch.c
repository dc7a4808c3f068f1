/* Counting how full the table is: see table_watch.h. */
#include "server/figures/table_watch.h"

void sl_table_watch_open(struct sl_table_watch *watch, struct sl_store *store)
{
    struct sl_store *own = store->local ? store->local : store;
    *watch = (struct sl_table_watch){ .store = own->ops->tally ? own : NULL };
    sl_table_look(watch);
}

void sl_table_look(struct sl_table_watch *watch)
{
    struct sluice_stats stats;
    if (!watch->store)
        return;
    watch->store->ops->tally(watch->store, &watch->tally);
    sl_tally_sum(&watch->tally, &stats);
    atomic_store_explicit(&watch->live, stats.live, memory_order_relaxed);
    atomic_store_explicit(&watch->limiting, stats.limiting, memory_order_relaxed);
    atomic_store_explicit(&watch->log_live, stats.log_live, memory_order_relaxed);
}

bool sl_table_read(const struct sl_table_watch *watch, struct sluice_stats *out)
{
    if (!watch->store)
        return false;
    watch->store->ops->glance(watch->store, out);
    out->live = atomic_load_explicit(&watch->live, memory_order_relaxed);
    out->limiting = atomic_load_explicit(&watch->limiting, memory_order_relaxed);
    out->log_live = atomic_load_explicit(&watch->log_live, memory_order_relaxed);
    return true;
}
