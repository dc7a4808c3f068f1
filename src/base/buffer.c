#include "base/buffer.h"

#include <stdlib.h>

static bool make_room(struct sl_buffer *buffer, size_t more)
{
    if (more <= buffer->room - buffer->len)
        return true;
    /* Its ceiling may have been lowered below what it holds. */
    if (buffer->len > buffer->most || more > buffer->most - buffer->len)
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

void sl_buffer_add_slowly(struct sl_buffer *buffer, struct sluice_text text)
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

/* The digits that end at `end`, two for every division; where they start. */
static char *put_digits(char *end, uint64_t number)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    for (; number >= 100; number /= 100)
        memcpy(end -= 2, pairs + 2 * (number % 100), 2);
    if (number >= 10)
        return memcpy(end - 2, pairs + 2 * number, 2);
    *--end = (char)('0' + number);
    return end;
}

char *sl_digits_put(char *end, int64_t number)
{
    char *at = put_digits(end, number < 0 ? -(uint64_t)number : (uint64_t)number);
    if (number < 0)
        *--at = '-';
    return at;
}

void sl_buffer_add_i64(struct sl_buffer *buffer, int64_t number)
{
    char digits[SL_DIGITS_MAX];
    char *end = digits + sizeof digits, *at = sl_digits_put(end, number);
    sl_buffer_add(buffer, (struct sluice_text){ at, (size_t)(end - at) });
}

void sl_buffer_release(struct sl_buffer *buffer)
{
    free(buffer->at);
    *buffer = (struct sl_buffer){ .most = buffer->most };
}
