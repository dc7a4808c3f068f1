/* Growing a buffer, and numbers as digits. */
#include "base/buffer.h"

#include <stdlib.h>

static bool grow_for(struct sl_buffer *buffer, size_t more)
{
    if (more <= buffer->room - buffer->len)
        return true;
    /* The ceiling may have been lowered below the buffer's length. */
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
    if (!grow_for(buffer, text.len)) {
        buffer->failed = true;
        return;
    }
    memcpy(buffer->at + buffer->len, text.at, text.len);
    buffer->len += text.len;
}

char *sl_buffer_begin_slowly(struct sl_buffer *buffer, size_t most_bytes)
{
    buffer->failed = buffer->failed || !grow_for(buffer, most_bytes);
    return buffer->failed ? NULL : buffer->at + buffer->len;
}

/* ---- numbers ---- */

static void put_pair(char *at, uint32_t below_100)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    memcpy(at, pairs + (size_t)2 * below_100, 2);
}

/* Writes eight digits by divisions that do not wait for each other: a time has 16 digits. */
static void put_eight(char *at, uint32_t number)
{
    uint32_t high = number / 10000, low = number % 10000;
    put_pair(at, high / 100);
    put_pair(at + 2, high % 100);
    put_pair(at + 4, low / 100);
    put_pair(at + 6, low % 100);
}

static size_t digits_of(uint64_t number)
{
    static const uint64_t powers[] = { 1,
                                       10,
                                       100,
                                       1000,
                                       10000,
                                       100000,
                                       1000000,
                                       10000000,
                                       100000000,
                                       1000000000,
                                       10000000000,
                                       100000000000,
                                       1000000000000,
                                       10000000000000,
                                       100000000000000,
                                       1000000000000000,
                                       10000000000000000,
                                       100000000000000000,
                                       1000000000000000000,
                                       UINT64_C(10000000000000000000) };
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    unsigned least = bits * 1233 >> 12; /* times log 2 */
    return least + ((number | 1) >= powers[least]);
}

char *sl_digits_put_more(char *at, int64_t number)
{
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    if (number < 0)
        *at++ = '-';
    char *end = at + digits_of(left), *place = end;
    for (; left >= 100000000; left /= 100000000)
        put_eight(place -= 8, (uint32_t)(left % 100000000));
    uint32_t rest = (uint32_t)left;
    for (; rest >= 10; rest /= 100)
        put_pair(place -= 2, rest % 100);
    if (place > at)
        *at = (char)('0' + rest);
    return end;
}

void sl_buffer_add_i64(struct sl_buffer *buffer, int64_t number)
{
    char digits[SL_DIGITS_MAX];
    char *end = sl_digits_put(digits, number);
    sl_buffer_add(buffer, (struct sluice_text){ digits, (size_t)(end - digits) });
}

void sl_buffer_release(struct sl_buffer *buffer)
{
    free(buffer->at);
    *buffer = (struct sl_buffer){ .most = buffer->most };
}
