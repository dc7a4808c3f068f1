/* A stream of HTTP/2: its fields, its message, and the lists it is on.
 *
 * Some fields are read at once and dropped. The others are kept as they came, since the caller is
 * identified only when the message is whole:
 *
 *   | name's length: 2 | value's: 2 | name | value | next …
 */
#include <stdlib.h>

#include "base/check.h"
#include "server/grpc/grpc_call.h"
#include "server/grpc/h2.h"
#include "server/worker.h"

enum {
    SPARE_MAX = 1024, /* streams that a worker keeps for the next ones: as many as a round has, */
    SPARE_ROOM_BYTES = 2048,  /* with buffers of at most that each: 6.5 MiB in all */
    FIELDS_HARD_BYTES = 65536 /* no head of an honest client is that long */
};

/* ---- lists ---- */

static void link_last(struct sl_h2_stream *stream, enum sl_h2_list list)
{
    struct sl_h2_ends *ends = &stream->h2->lists[list];
    stream->list = list;
    stream->prev = ends->last;
    stream->next = NULL;
    if (ends->last)
        ends->last->next = stream;
    else
        ends->first = stream;
    ends->last = stream;
}

static void unlink_stream(struct sl_h2_stream *stream)
{
    struct sl_h2_ends *ends = &stream->h2->lists[stream->list];
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        ends->first = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    else
        ends->last = stream->prev;
}

void sl_h2_stream_move(struct sl_h2_stream *stream, enum sl_h2_list list)
{
    if (stream->list == list)
        return;
    unlink_stream(stream);
    link_last(stream, list);
}

/* Keeps the list of open streams in the order in which their timeouts began. */
void sl_h2_stream_renew(struct sl_h2_stream *stream)
{
    struct sl_h2 *h2 = stream->h2;
    stream->since_ms = uv_now(&h2->conn->worker->loop);
    unlink_stream(stream);
    link_last(stream, stream->list);
    if (h2->awaited == stream->number)
        h2->awaited = 0;
}

/* ---- making and freeing ---- */

struct sl_buffer sl_h2_buffer_again(struct sl_buffer buffer)
{
    if (buffer.room > SPARE_ROOM_BYTES)
        sl_buffer_release(&buffer);
    sl_buffer_clear(&buffer);
    return buffer;
}

static struct sl_h2_stream *take_spare(struct sl_worker *worker)
{
    struct sl_h2_stream *stream = worker->spare_streams;
    worker->spare_streams = stream->next;
    worker->spare_count--;
    *stream =
        (struct sl_h2_stream){ .fields = stream->fields, .in = stream->in, .out = stream->out };
    return stream;
}

static struct sl_h2_stream *new_stream(void)
{
    struct sl_h2_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->fields = sl_buffer(SL_H2_FIELDS_MAX_BYTES);
    stream->in = sl_buffer(SL_GRPC_MESSAGE_MAX_BYTES);
    stream->out = sl_buffer(SL_CONN_OUT_MAX_BYTES);
    return stream;
}

struct sl_h2_stream *sl_h2_stream_take(struct sl_h2 *h2, int32_t number)
{
    struct sl_worker *worker = h2->conn->worker;
    struct sl_h2_stream *stream = worker->spare_streams ? take_spare(worker) : new_stream();
    if (!stream)
        return NULL;
    stream->h2 = h2;
    stream->number = number;
    *sl_h2_place(h2, number) = stream;
    stream->since_ms = uv_now(&worker->loop);
    link_last(stream, SL_H2_OPEN);
    sl_h2_stream_count(stream);
    return stream;
}

static void free_stream(struct sl_h2_stream *stream)
{
    sl_buffer_release(&stream->fields);
    sl_buffer_release(&stream->in);
    sl_buffer_release(&stream->out);
    free(stream);
}

void sl_h2_stream_give(struct sl_h2_stream *stream)
{
    struct sl_h2 *h2 = stream->h2;
    struct sl_worker *worker = h2->conn->worker;
    sl_h2_stream_clear(stream);
    sl_h2_stream_uncount(stream);
    unlink_stream(stream);
    if (*sl_h2_place(h2, stream->number) == stream)
        *sl_h2_place(h2, stream->number) = NULL;
    if (worker->spare_count == SPARE_MAX) {
        free_stream(stream);
        return;
    }
    stream->fields = sl_h2_buffer_again(stream->fields);
    stream->in = sl_h2_buffer_again(stream->in);
    stream->out = sl_h2_buffer_again(stream->out);
    stream->next = worker->spare_streams;
    worker->spare_streams = stream;
    worker->spare_count++;
}

void sl_h2_streams_give(struct sl_h2 *h2)
{
    for (size_t i = 0; i < SL_H2_LISTS; i++)
        while (h2->lists[i].first)
            sl_h2_stream_give(h2->lists[i].first);
}

void sl_h2_spares_free(struct sl_worker *worker)
{
    while (worker->spare_streams) {
        struct sl_h2_stream *stream = worker->spare_streams;
        worker->spare_streams = stream->next;
        free_stream(stream);
    }
    worker->spare_count = 0;
}

/* ---- fields ---- */

static void keep_field(struct sl_h2_stream *stream, struct sluice_text name,
                       struct sluice_text value)
{
    const uint16_t lengths[2] = { (uint16_t)name.len, (uint16_t)value.len };
    sl_buffer_add(&stream->fields, (struct sluice_text){ (const char *)lengths, sizeof lengths });
    sl_buffer_add(&stream->fields, name);
    sl_buffer_add(&stream->fields, value);
    stream->is_long |= stream->fields.failed;
}

static void read_timeout(struct sl_h2_stream *stream, struct sluice_text value)
{
    int64_t span_us;
    stream->is_bad_time = !sl_grpc_parse_timeout(value, &span_us);
    if (!stream->is_bad_time)
        stream->due_us = stream->h2->read_us + span_us;
}

static bool starts_with(struct sluice_text name, const char *start)
{
    size_t len = strlen(start);
    return name.len >= len && memcmp(name.at, start, len) == 0;
}

static void read_pseudo(struct sl_h2_stream *stream, struct sluice_text name,
                        struct sluice_text value)
{
    if (sl_text_is(name, ":path"))
        stream->method = sl_grpc_method_find(value);
    else if (sl_text_is(name, ":method"))
        stream->is_post = sl_text_is(value, "POST");
    else if (sl_text_is(name, ":authority"))
        keep_field(stream, SL_TEXT("host"), value);
}

/* Names are in lower case: nghttp2 refuses others. */
static void read_field(struct sl_h2_stream *stream, struct sluice_text name,
                       struct sluice_text value)
{
    if (name.at[0] == ':')
        read_pseudo(stream, name, value);
    else if (sl_text_is(name, "content-type"))
        stream->is_grpc = sl_grpc_is_content_type(value);
    else if (sl_text_is(name, "grpc-timeout"))
        read_timeout(stream, value);
    else if (sl_text_is(name, "grpc-encoding"))
        stream->is_encoded = !sl_text_is(value, "identity");
    else if (!sl_text_is(name, "te") && !sl_text_is(name, "user-agent") &&
             !starts_with(name, "grpc-"))
        keep_field(stream, name, value);
}

bool sl_h2_stream_field(struct sl_h2_stream *stream, struct sluice_text name,
                        struct sluice_text value)
{
    enum { FIELD_OVERHEAD_BYTES = 32 }; /* as HPACK counts */
    stream->fields_bytes += (uint32_t)(name.len + value.len + FIELD_OVERHEAD_BYTES);
    stream->field_count++;
    if (stream->fields_bytes > FIELDS_HARD_BYTES)
        return false;
    stream->is_long |=
        stream->fields_bytes > SL_H2_FIELDS_MAX_BYTES || stream->field_count > SL_HTTP_FIELDS_MAX;
    if (!stream->is_long && !stream->is_headed && name.len > 0)
        read_field(stream, name, value);
    return true;
}

/* The names of known fields, and their places. */
static void put_known(struct sl_http_head *head, const struct sl_http_field *field)
{
    static const struct sluice_text names[] = {
#define NAME(constant, lower) { lower, sizeof(lower) - 1 },
        SL_HTTP_KNOWN(NAME)
#undef NAME
    };
    for (size_t i = 0; i < SL_HTTP_KNOWN_COUNT; i++) {
        if (!sl_text_equal(field->name, names[i]))
            continue;
        if (head->known[i].at)
            head->repeated |= 1u << i;
        else
            head->known[i] = field->value;
    }
}

void sl_h2_stream_head(const struct sl_h2_stream *stream, struct sl_http_head *out)
{
    const struct sl_buffer *fields = &stream->fields;
    memset(out, 0, offsetof(struct sl_http_head, fields));
    out->field_count = 0;
    out->method = SL_TEXT("POST");
    out->keep_alive = true;
    for (size_t at = 0; at < fields->len;) {
        uint16_t lengths[2];
        struct sl_http_field *field = &out->fields[out->field_count++];
        SL_CHECK(out->field_count <= SL_HTTP_FIELDS_MAX && at + sizeof lengths <= fields->len);
        memcpy(lengths, fields->at + at, sizeof lengths);
        const char *name = fields->at + at + sizeof lengths;
        *field = (struct sl_http_field){ { name, lengths[0] }, { name + lengths[0], lengths[1] } };
        put_known(out, field);
        at += sizeof lengths + lengths[0] + lengths[1];
    }
}

void sl_h2_stream_forget_head(struct sl_h2_stream *stream)
{
    stream->fields = sl_h2_buffer_again(stream->fields);
    sl_h2_stream_count(stream);
}

/* ---- the message ---- */

enum sl_grpc_end sl_h2_stream_read(struct sl_h2_stream *stream, struct sluice_text *bytes)
{
    struct sl_h2 *h2 = stream->h2;
    size_t before = stream->in.len;
    if (h2->held_bytes + bytes->len > SL_H2_HELD_MAX_BYTES)
        return SL_GRPC_TOO_LONG;
    enum sl_grpc_end end = sl_grpc_read(&stream->reader, bytes, &stream->in);
    h2->held_bytes += stream->in.len - before;
    sl_h2_stream_count(stream);
    return stream->in.failed ? SL_GRPC_TOO_LONG : end;
}

void sl_h2_stream_clear(struct sl_h2_stream *stream)
{
    stream->h2->held_bytes -= stream->in.len;
    stream->in = sl_h2_buffer_again(stream->in);
    stream->has_message = false;
    sl_h2_stream_count(stream);
}
