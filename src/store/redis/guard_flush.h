/* What was denied without asking, reported to the burst guards in Redis. */
#ifndef SL_STORE_REDIS_GUARD_FLUSH_H
#define SL_STORE_REDIS_GUARD_FLUSH_H

#include "store/redis/channel.h"

/* About ten times a second, by one thread at a time: asks over the channel, to be flushed, with
 * scripts of these. Nobody waits for it. */
void sl_guard_flush(struct sl_channel *channel, struct sl_scripts *scripts,
                    struct sl_guard_backlog *backlog);

#endif
