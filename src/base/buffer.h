/* A byte buffer that grows up to a ceiling fixed at the start. Text that does not fit
 * is dropped and sets `failed`; the writer checks once, at the end. */
#ifndef SL_BASE_BUFFER_H
#define SL_BASE_BUFFER_H

#include "base/check.h"
#include "base/text.h"

struct sl_buffer {
    char *at;
    size_t len;
    size_t room;
    size_t most;
    bool failed;
};

static inline struct sl_buffer sl_buffer(size_t most_bytes)
{
    return (struct sl_buffer){ .most = most_bytes };
}

/* The slow path of sl_buffer_add: no room, or nothing to add. */
void sl_buffer_add_slowly(struct sl_buffer *buffer, struct sluice_text text);

/* Inline, because an answer takes dozens of calls and most texts are literals, whose
 * length the compiler then knows. */
static inline void sl_buffer_add(struct sl_buffer *buffer, struct sluice_text text)
{
    if (text.len == 0 || text.len > buffer->room - buffer->len || buffer->failed) {
        sl_buffer_add_slowly(buffer, text);
        return;
    }
    memcpy(buffer->at + buffer->len, text.at, text.len);
    buffer->len += text.len;
}

void sl_buffer_add_i64(struct sl_buffer *buffer, int64_t number);

/* Writes the number at `at`, which has room for SL_DIGITS_MAX bytes; returns its end. */
enum { SL_DIGITS_MAX = 20 };
char *sl_digits_put_more(char *at, int64_t number);

/* The same, fast for one digit, which most numbers have: none left, no delay, a name's length. */
static inline char *sl_digits_put(char *at, int64_t number)
{
    if ((uint64_t)number > 9)
        return sl_digits_put_more(at, number);
    *at = (char)('0' + number);
    return at + 1;
}

/* Writes many small pieces in place, without asking for room each time: sl_buffer_begin returns the
 * place for at most `most_bytes`, sl_buffer_end takes the end of what was written. NULL: there is
 * no such room, and the buffer has failed. */
char *sl_buffer_begin_slowly(struct sl_buffer *buffer, size_t most_bytes);

static inline char *sl_buffer_begin(struct sl_buffer *buffer, size_t most_bytes)
{
    if (most_bytes > buffer->room - buffer->len || buffer->failed)
        return sl_buffer_begin_slowly(buffer, most_bytes);
    return buffer->at + buffer->len;
}

static inline void sl_buffer_end(struct sl_buffer *buffer, const char *end)
{
    SL_CHECK(end >= buffer->at + buffer->len && end <= buffer->at + buffer->room);
    buffer->len = (size_t)(end - buffer->at);
}

/* Empties the buffer and keeps its memory. */
static inline void sl_buffer_clear(struct sl_buffer *buffer)
{
    buffer->len = 0;
    buffer->failed = false;
}

void sl_buffer_release(struct sl_buffer *buffer);

#endif
