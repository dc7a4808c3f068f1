/* Builds a script call word by word. */
#include "store/redis/call.h"

#include "base/check.h"
#include "store/redis/cluster/slot.h"

void sl_call_text(struct sl_channel_call *call, struct sluice_text text)
{
    struct sl_buffer *out = &call->bytes;
    sl_buffer_add(out, SL_TEXT("$"));
    sl_buffer_add_i64(out, (int64_t)text.len);
    sl_buffer_add(out, SL_TEXT("\r\n"));
    sl_buffer_add(out, text);
    sl_buffer_add(out, SL_TEXT("\r\n"));
    call->query.words++;
}

void sl_call_number(struct sl_channel_call *call, int64_t number)
{
    char digits[SL_DIGITS_MAX];
    char *end = sl_digits_put(digits, number);
    sl_call_text(call, (struct sluice_text){ digits, (size_t)(end - digits) });
}

void sl_call_begin(struct sl_channel_call *call, const struct sl_script *script,
                   const struct sluice_text *keys, size_t count)
{
    SL_CHECK(keys && count > 0);
    sl_buffer_clear(&call->bytes);
    call->query = (struct sl_redis_query){ .script = script, .bytes = &call->bytes };
    call->query.slot = sl_slot_of(keys[0]);
    sl_call_number(call, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        sl_call_text(call, keys[i]);
    sl_call_text(call, SL_TEXT(""));
    call->query.deadline_at = (uint32_t)(call->bytes.len + strlen("$16\r\n"));
    sl_call_text(call, SL_TEXT("9999999999999999"));
}

bool sl_call_end(struct sl_channel_call *call)
{
    SL_CHECK(call->query.words > 0 && call->query.bytes == &call->bytes);
    call->query.len = call->bytes.len;
    return call->query.script && !call->bytes.failed;
}
