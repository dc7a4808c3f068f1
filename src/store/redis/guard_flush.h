/* Guard flush: adds requests that were denied without asking Redis to the burst guards there. */
#ifndef SL_STORE_REDIS_GUARD_FLUSH_H
#define SL_STORE_REDIS_GUARD_FLUSH_H

#include "store/redis/channel.h"

/* Flushes about ten times a second, in one thread at a time. Queues the calls on the channel; the
 * caller flushes that, and does not wait for the replies. */
void sl_guard_flush(struct sl_channel *channel, struct sl_scripts *scripts,
                    struct sl_guard_backlog *backlog);

#endif
