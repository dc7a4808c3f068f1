#include "server/block.h"

#include <stdlib.h>

struct sl_block {
    struct sl_block *next;
};

char *sl_block_take(struct sl_blocks *blocks)
{
    struct sl_block *block = blocks->free;
    if (!block)
        return malloc(SL_BLOCK_BYTES);
    blocks->free = block->next;
    blocks->free_count--;
    return (char *)block;
}

void sl_block_give(struct sl_blocks *blocks, char *at, size_t room)
{
    struct sl_block *block = (struct sl_block *)(void *)at;
    if (!at)
        return;
    if (room != SL_BLOCK_BYTES || blocks->free_count == SL_BLOCKS_KEPT) {
        free(at);
        return;
    }
    block->next = blocks->free;
    blocks->free = block;
    blocks->free_count++;
}

void sl_blocks_release(struct sl_blocks *blocks)
{
    while (blocks->free)
        free(sl_block_take(blocks));
}
