/* The pool of blocks: see block.h. */
#include "server/pool/block.h"

#include <stdlib.h>

char *sl_block_take(struct sl_blocks *blocks)
{
    return blocks->free_count ? blocks->free[--blocks->free_count] : malloc(SL_BLOCK_BYTES);
}

void sl_block_give(struct sl_blocks *blocks, char *at, size_t room)
{
    if (at && room == SL_BLOCK_BYTES && blocks->free_count < SL_BLOCKS_KEPT)
        blocks->free[blocks->free_count++] = at;
    else
        free(at);
}

void sl_blocks_release(struct sl_blocks *blocks)
{
    while (blocks->free_count)
        free(blocks->free[--blocks->free_count]);
}
