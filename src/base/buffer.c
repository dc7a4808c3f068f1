#include "base/buffer.h"

#include <stdlib.h>

static bool make_room(struct sl_buffer *buffer, size_t more)
{
    if (more <= buffer->room - buffer->len)
        return true;
    if (more > buffer->most - buffer->len)
        return false;
    size_t room = buffer->room ? buffer->room : 256;
    while (room - buffer->len < more)
        room *= 2;
    if (room > buffer->most)
        room = buffer->most;
    char *larger = realloc(buffer->at, room);
    if (!larger)
        return false;
    buffer->at = larger;
    buffer->room = room;
    return true;
}

void sl_buffer_add(struct sl_buffer *buffer, struct sluice_text text)
{
    if (text.len == 0 || buffer->failed)
        return;
    if (!make_room(buffer, text.len)) {
        buffer->failed = true;
        return;
    }
    memcpy(buffer->at + buffer->len, text.at, text.len);
    buffer->len += text.len;
}

void sl_buffer_add_i64(struct sl_buffer *buffer, int64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        digits[--at] = '-';
    sl_buffer_add(buffer, (struct sluice_text){ digits + at, sizeof digits - at });
}

void sl_buffer_release(struct sl_buffer *buffer)
{
    free(buffer->at);
    *buffer = (struct sl_buffer){ .most = buffer->most };
}
