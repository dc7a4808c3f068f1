/* A pool of memory for nghttp2, which allocates and frees a dozen small pieces for every stream.
 * Free pieces are kept in lists by size, for the next stream of any connection. malloc keeps seven
 * of each size at hand; sixteen streams at a time need more. For one thread. */
#ifndef SL_SERVER_POOL_H2_MEMORY_H
#define SL_SERVER_POOL_H2_MEMORY_H

#include <nghttp2/nghttp2.h>

enum { SL_H2_MEMORY_SIZES = 16 };

struct sl_h2_memory {
    struct sl_h2_piece *free[SL_H2_MEMORY_SIZES];
    uint32_t free_count[SL_H2_MEMORY_SIZES];
};

/* The pool as nghttp2's allocator. */
nghttp2_mem sl_h2_memory(struct sl_h2_memory *memory);

/* Frees the pieces in the lists. Pieces in use are left alone. */
void sl_h2_memory_release(struct sl_h2_memory *memory);

#endif
