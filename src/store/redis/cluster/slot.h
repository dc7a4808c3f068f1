/* Which of a Redis Cluster's 16,384 slots a key lives in, by Redis' own rule: CRC16 (XMODEM) of
 * the key, or of the part between the first `{` and the next `}`, if that is not empty. */
#ifndef SL_STORE_REDIS_CLUSTER_SLOT_H
#define SL_STORE_REDIS_CLUSTER_SLOT_H

#include "base/text.h"

enum { SL_SLOT_COUNT = 16384 };

/* Returns a slot below SL_SLOT_COUNT. */
uint32_t sl_slot_of(struct sluice_text key);

#endif
