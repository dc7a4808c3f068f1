/* A call of a script, word by word, for whoever has other things in Redis than counts.
 *
 *     sl_call_begin(&call, script, keys, count);
 *     sl_call_text(&call, name);
 *     if (sl_call_end(&call)) sl_channel_call(channel, &call);
 *
 * The script's first two arguments are the frame's (frame.lua): one that is run when its
 * deadline has passed does nothing. */
#ifndef SL_STORE_REDIS_CALL_H
#define SL_STORE_REDIS_CALL_H

#include "store/redis/channel.h"

/* Whatever the call was before; its `bytes` are used again. `script` NULL: there was no memory. */
void sl_call_begin(struct sl_channel_call *call, const struct sl_script *script,
                   const struct sluice_text *keys, size_t count);
void sl_call_text(struct sl_channel_call *call, struct sluice_text text);
void sl_call_number(struct sl_channel_call *call, int64_t number);

/* False: no memory, or longer than `bytes` may be. */
bool sl_call_end(struct sl_channel_call *call);

#endif
