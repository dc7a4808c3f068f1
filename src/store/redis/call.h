/* Builds a script call word by word, for data in Redis that is not counts.
 *
 *     sl_call_begin(&call, script, keys, count);
 *     sl_call_text(&call, name);
 *     if (sl_call_end(&call)) sl_channel_call(channel, &call);
 *
 * The script's first two arguments are the frame's (frame.lua): it does nothing if it is run after
 * its deadline. */
#ifndef SL_STORE_REDIS_CALL_H
#define SL_STORE_REDIS_CALL_H

#include "store/redis/channel.h"

/* Begins a call, and reuses `bytes`. `script` may be NULL if memory was missing: sl_call_end tells.
 * There is at least one key. */
void sl_call_begin(struct sl_channel_call *call, const struct sl_script *script,
                   const struct sluice_text *keys, size_t count);
void sl_call_text(struct sl_channel_call *call, struct sluice_text text);
void sl_call_number(struct sl_channel_call *call, int64_t number);

/* Returns false if memory is missing, or the call is longer than `bytes` may be. */
bool sl_call_end(struct sl_channel_call *call);

#endif
