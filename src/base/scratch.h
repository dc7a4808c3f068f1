/* Scratch memory: taken piece by piece, given back all at once, and used again. A reset keeps the
 * first block and frees all others. */
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

/* Returns memory aligned for any type; NULL if there is none. */
void *sl_scratch_take(struct sl_scratch *scratch, size_t bytes);

/* All that was taken becomes invalid. */
void sl_scratch_reset(struct sl_scratch *scratch);
void sl_scratch_release(struct sl_scratch *scratch);

#endif
