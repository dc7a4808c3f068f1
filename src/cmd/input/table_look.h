/* Looks at a shared table without deciding on it, for `sluice table` and `sluice top`. A
 * file that does not exist is not created. */
#ifndef SL_CMD_INPUT_TABLE_LOOK_H
#define SL_CMD_INPUT_TABLE_LOOK_H

#include "sluice.h"

struct sl_store;

/* The store's figures, and its times as wall time. */
struct sl_table_figures {
    struct sluice_stats stats;
    int64_t now_us;
    int64_t created_at_us;
};

/* Returns NULL with error->text set; else error->text is a note, or empty. */
struct sl_store *sl_table_look_open(const char *file, struct sluice_error *error);

void sl_table_look_close(struct sl_store *store);

/* Counts keys slot by slot, which takes seconds for gigabytes. Returns false with error->text
 * set. */
bool sl_table_look_now(struct sl_store *store, const char *file, struct sl_table_figures *out,
                       struct sluice_error *error);

#endif
