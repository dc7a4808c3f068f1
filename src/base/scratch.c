/* A list of blocks, of which the newest is in use. */
#include "base/scratch.h"

#include <stdlib.h>

struct sl_scratch_block {
    struct sl_scratch_block *older;
    size_t used;
    size_t room;
    _Alignas(16) char at[];
};

static bool add_block(struct sl_scratch *scratch, size_t bytes)
{
    size_t room = bytes > scratch->block_bytes ? bytes : scratch->block_bytes;
    struct sl_scratch_block *block = malloc(sizeof *block + room);
    if (!block)
        return false;
    block->older = scratch->newest;
    block->used = 0;
    block->room = room;
    scratch->newest = block;
    return true;
}

void *sl_scratch_take(struct sl_scratch *scratch, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    const struct sl_scratch_block *newest = scratch->newest;
    if ((!newest || newest->room - newest->used < bytes) && !add_block(scratch, bytes))
        return NULL;
    void *taken = scratch->newest->at + scratch->newest->used;
    scratch->newest->used += bytes;
    scratch->taken_bytes += bytes;
    return taken;
}

static void drop_newest(struct sl_scratch *scratch)
{
    struct sl_scratch_block *block = scratch->newest;
    scratch->newest = block->older;
    free(block);
}

void sl_scratch_reset(struct sl_scratch *scratch)
{
    while (scratch->newest && scratch->newest->older)
        drop_newest(scratch);
    if (scratch->newest)
        scratch->newest->used = 0;
    scratch->taken_bytes = 0;
}

void sl_scratch_release(struct sl_scratch *scratch)
{
    while (scratch->newest)
        drop_newest(scratch);
    scratch->taken_bytes = 0;
}
