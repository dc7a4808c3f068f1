/* A pool of blocks of one size, for the bytes of connections. A connection has a block only while
 * it has bytes, so that ten thousand idle ones have none. For one thread. */
#ifndef SL_SERVER_POOL_BLOCK_H
#define SL_SERVER_POOL_BLOCK_H

#include "base/buffer.h"

enum { SL_BLOCK_BYTES = 16384, SL_BLOCKS_KEPT = 256 };

/* The addresses of free blocks lie apart from them: a block that was free for a while is in no
 * cache. */
struct sl_blocks {
    char *free[SL_BLOCKS_KEPT];
    size_t free_count;
};

/* SL_BLOCK_BYTES of malloc's memory, or NULL. The caller may make it longer by realloc. */
char *sl_block_take(struct sl_blocks *blocks);

/* Gives it back. `room` is its length by now: only a block of the usual size is kept. */
void sl_block_give(struct sl_blocks *blocks, char *block, size_t room);

void sl_blocks_release(struct sl_blocks *blocks);

#endif
