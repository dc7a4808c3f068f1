/* Builds flat replies from what hiredis parses. */
#include "store/redis/link/reply.h"

#include <hiredis/read.h>
#include <stdlib.h>

/* The largest request that was ever tried meets 10,000 rules, with seven numbers each. */
enum { VALUES_MAX = 1 << 20, BYTES_MAX = 1 << 22 };

struct sl_reply_reader {
    redisReader *hiredis;
    struct sl_redis_reply reply;
};

/* hiredis takes NULL as "no memory"; any other pointer will do. */
static void *const not_null = &(char){ 0 };

static struct sl_redis_reply *reply_of(const redisReadTask *task)
{
    return task->privdata;
}

/* Makes room for one more element of `size` bytes. */
static bool grow_array(void **at, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 64;
    void *larger = more <= VALUES_MAX ? realloc(*at, more * size) : NULL;
    if (!larger)
        return false;
    *at = larger;
    *room = more;
    return true;
}

static void *add_value(const redisReadTask *task, long long value)
{
    struct sl_redis_reply *reply = reply_of(task);
    if (!grow_array((void **)&reply->values, reply->value_count, &reply->value_room,
                    sizeof *reply->values)) {
        reply->is_broken = true;
        return not_null;
    }
    reply->values[reply->value_count++] = value;
    return not_null;
}

static void *add_text(const redisReadTask *task, char *at, size_t len)
{
    struct sl_redis_reply *reply = reply_of(task);
    if (task->type == REDIS_REPLY_ERROR)
        reply->is_error = true;
    if (!grow_array((void **)&reply->texts, reply->text_count, &reply->text_room,
                    sizeof *reply->texts)) {
        reply->is_broken = true;
        return not_null;
    }
    reply->texts[reply->text_count++] = (struct sl_span){ reply->bytes.len, len };
    sl_buffer_add(&reply->bytes, (struct sluice_text){ at, len });
    reply->is_broken |= reply->bytes.failed;
    return not_null;
}

static void *add_array(const redisReadTask *task, int elements)
{
    return task->parent ? add_value(task, SL_REPLY_ARRAY + elements) : not_null;
}

static void *add_nil(const redisReadTask *task)
{
    return add_text(task, "", 0);
}

static void free_nothing(void *object)
{
    (void)object;
}

static redisReplyObjectFunctions functions = { add_text, add_array, add_value, add_nil,
                                               free_nothing };

struct sluice_text sl_reply_text(const struct sl_redis_reply *reply, size_t number)
{
    if (number >= reply->text_count)
        return SL_TEXT("");
    struct sl_span span = reply->texts[number];
    return (struct sluice_text){ span.len ? reply->bytes.at + span.at : "", span.len };
}

void sl_reply_unpack(struct sl_redis_reply *reply)
{
    struct sluice_text text = sl_reply_text(reply, 0);
    if (reply->is_error || reply->text_count != 1 || reply->value_count || text.len % 8)
        return;
    for (size_t i = 0; i < text.len; i += 8) {
        uint64_t value = 0;
        for (size_t k = 8; k-- > 0;)
            value = value << 8 | (unsigned char)text.at[i + k];
        if (!grow_array((void **)&reply->values, reply->value_count, &reply->value_room,
                        sizeof *reply->values))
            break; /* too few values: the caller notices */
        reply->values[reply->value_count++] = (int64_t)value;
    }
}

struct sl_reply_reader *sl_reply_reader_new(void)
{
    struct sl_reply_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->reply.bytes = sl_buffer(BYTES_MAX);
    reader->hiredis = redisReaderCreateWithFunctions(&functions);
    if (!reader->hiredis) {
        free(reader);
        return NULL;
    }
    reader->hiredis->privdata = &reader->reply;
    return reader;
}

void sl_reply_reader_free(struct sl_reply_reader *reader)
{
    if (!reader)
        return;
    redisReaderFree(reader->hiredis);
    sl_buffer_release(&reader->reply.bytes);
    free(reader->reply.values);
    free(reader->reply.texts);
    free(reader);
}

bool sl_reply_reader_feed(struct sl_reply_reader *reader, const char *at, size_t len)
{
    if (reader->hiredis->len - reader->hiredis->pos > BYTES_MAX)
        return false; /* a reply without end */
    return redisReaderFeed(reader->hiredis, at, len) == REDIS_OK;
}

enum sl_read sl_reply_reader_next(struct sl_reply_reader *reader, struct sl_redis_reply **out)
{
    struct sl_redis_reply *reply = &reader->reply;
    void *whole = NULL;
    if (reader->hiredis->ridx == -1) { /* the last reply is complete: begin another */
        reply->is_error = reply->is_broken = false;
        reply->value_count = reply->text_count = 0;
        sl_buffer_clear(&reply->bytes);
    }
    if (redisReaderGetReply(reader->hiredis, &whole) != REDIS_OK || reply->is_broken)
        return SL_READ_WRONG;
    *out = reply;
    return whole ? SL_READ_REPLY : SL_READ_MORE;
}
