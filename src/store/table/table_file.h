/* A table's file: creating, opening and checking it; and its clock. */
#ifndef SL_STORE_TABLE_TABLE_FILE_H
#define SL_STORE_TABLE_TABLE_FILE_H

#include "base/clock.h"
#include "store/store.h"
#include "store/table/table.h"

/* Returns false with the reason in error->text; on success error->text is a note, or empty. */
bool sl_table_open(const struct sl_memory_config *config, struct sl_table *table,
                   struct sluice_error *error);
void sl_table_close(struct sl_table *table);

/* Writes it back to its file. Returns 0 or an errno. */
int sl_table_sync(struct sl_table *table);

/* Returns the table's time (T10). */
static inline int64_t sl_table_now_us(const struct sl_table *table)
{
    uint64_t offset_us = __atomic_load_n(&table->header->clock.hi, __ATOMIC_RELAXED);
    int64_t now_us = (int64_t)((uint64_t)sl_boottime_us() + offset_us);
    /* A damaged header must not lead out of the range of times. */
    return (uint64_t)now_us <= (uint64_t)SL_TIME_MAX_US ? now_us : SL_TIME_MAX_US;
}

/* Makes the first decision at or after this instant do the periodic work (memory.c). */
void sl_table_call_attention(struct sl_table *table, int64_t at_us);

#define SL_WALL_SEEN_US INT64_C(100000)

/* Reads the wall clock and returns the new wall shift. */
int64_t sl_table_look_at_wall_us(struct sl_table *table, int64_t now_us);

/* Returns wall time − table time, read anew every tenth of a second. */
static inline int64_t sl_table_wall_shift_us(struct sl_table *table, int64_t now_us)
{
    int64_t seen_us = __atomic_load_n(&table->wall_seen_us, __ATOMIC_ACQUIRE);
    if ((uint64_t)(now_us - seen_us) >= (uint64_t)SL_WALL_SEEN_US)
        return sl_table_look_at_wall_us(table, now_us);
    return __atomic_load_n(&table->wall_shift_us, __ATOMIC_RELAXED);
}

#endif
