/* Memory for a while: taken piece by piece, given back all at once, and used again. What has
 * grown beyond its first block shrinks back to it. */
#ifndef SL_BASE_SCRATCH_H
#define SL_BASE_SCRATCH_H

#include "base/text.h"

struct sl_scratch {
    struct sl_scratch_block *newest; /* NULL: nothing was taken yet */
    size_t block_bytes;
    size_t taken_bytes; /* since it was reset */
};

static inline struct sl_scratch sl_scratch(size_t block_bytes)
{
    return (struct sl_scratch){ .block_bytes = block_bytes };
}

/* Aligned for any type. NULL: there is none. */
void *sl_scratch_take(struct sl_scratch *scratch, size_t bytes);

/* What was taken is void. */
void sl_scratch_reset(struct sl_scratch *scratch);
void sl_scratch_release(struct sl_scratch *scratch);

#endif
