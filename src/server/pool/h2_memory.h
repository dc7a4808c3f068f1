/* Memory for nghttp2, which takes and gives back a dozen small pieces for every stream: kept in
 * lists by their size, for the next stream of any connection. malloc keeps seven of each size at
 * hand, and sixteen streams at a time need more than that. One thread's. */
#ifndef SL_SERVER_POOL_H2_MEMORY_H
#define SL_SERVER_POOL_H2_MEMORY_H

#include <nghttp2/nghttp2.h>

enum { SL_H2_MEMORY_SIZES = 16 };

struct sl_h2_memory {
    struct sl_h2_piece *free[SL_H2_MEMORY_SIZES];
    uint32_t free_count[SL_H2_MEMORY_SIZES];
};

/* As nghttp2 asks for it. */
nghttp2_mem sl_h2_memory(struct sl_h2_memory *memory);

/* What is in the lists. Pieces that are in use stay so. */
void sl_h2_memory_release(struct sl_h2_memory *memory);

#endif
