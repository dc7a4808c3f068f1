/* Answering a stream: HEADERS, messages in DATA, and a status in trailers; or the status alone, in
 * the HEADERS. */
#include "server/grpc/h2.h"
#include "server/worker.h"

/* ---- fields ---- */

/* nghttp2 takes pointers to writable bytes, and does not write to them. */
static uint8_t *bytes_of(struct sluice_text text)
{
    union {
        const char *in;
        uint8_t *out;
    } same = { .in = text.at };
    return same.out;
}

static nghttp2_nv field_of(struct sluice_text name, struct sluice_text value, bool is_copied)
{
    uint8_t flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
    if (!is_copied)
        flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE;
    return (nghttp2_nv){ bytes_of(name), bytes_of(value), name.len, value.len, flags };
}

static nghttp2_nv static_field(struct sluice_text name, struct sluice_text value)
{
    return field_of(name, value, false);
}

enum { STATUS_FIELDS_MAX = 3, MESSAGE_MAX_BYTES = 4096 };

/* grpc-status and grpc-message; *room holds their values until they are submitted. */
static size_t put_status(nghttp2_nv *fields, const struct sl_h2_stream *stream,
                         struct sluice_text why, struct sl_buffer *room)
{
    size_t count = 0;
    fields[count++] = static_field(SL_TEXT("grpc-status"), sl_grpc_status_digits(stream->status));
    if (stream->status == SL_GRPC_UNIMPLEMENTED)
        fields[count++] = static_field(SL_TEXT("grpc-accept-encoding"), SL_TEXT("identity"));
    sl_grpc_print_message(room, why);
    if (room->len)
        fields[count++] =
            field_of(SL_TEXT("grpc-message"), (struct sluice_text){ room->at, room->len }, true);
    return count;
}

/* ---- messages ---- */

static void submit_trailers(struct sl_h2_stream *stream)
{
    nghttp2_nv fields[STATUS_FIELDS_MAX];
    struct sl_buffer room = sl_buffer(MESSAGE_MAX_BYTES);
    size_t count = put_status(fields, stream, stream->why, &room);
    nghttp2_submit_trailer(stream->h2->session, stream->number, fields, count);
    sl_buffer_release(&room);
}

static ssize_t read_answer(nghttp2_session *session, int32_t number, uint8_t *at, size_t room,
                           uint32_t *flags, nghttp2_data_source *source, void *about)
{
    struct sl_h2_stream *stream = source->ptr; /* nghttp2 does not read a stream that is gone */
    (void)session;
    (void)number;
    (void)about;
    if (stream->out.failed)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t left = stream->out.len - stream->sent, count = left < room ? left : room;
    if (count)
        memcpy(at, stream->out.at + stream->sent, count);
    stream->sent += count;
    if (count == left) {
        stream->out = sl_h2_buffer_again(stream->out);
        stream->sent = 0;
    }
    sl_h2_stream_count(stream);
    if (count < left)
        return (ssize_t)count;
    if (stream->is_over) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(stream);
        return (ssize_t)count;
    }
    return count ? (ssize_t)count : NGHTTP2_ERR_DEFERRED;
}

/* Submits the HEADERS; or resumes a stream that had nothing more to send. */
static void begin_or_resume(struct sl_h2_stream *stream)
{
    if (stream->has_begun) {
        nghttp2_session_resume_data(stream->h2->session, stream->number);
        return;
    }
    nghttp2_nv fields[] = {
        static_field(SL_TEXT(":status"), SL_TEXT("200")),
        static_field(SL_TEXT("content-type"), SL_TEXT("application/grpc")),
    };
    nghttp2_data_provider provider = { .source.ptr = stream, .read_callback = read_answer };
    stream->has_begun = true;
    nghttp2_submit_response(stream->h2->session, stream->number, fields, 2, &provider);
}

struct sl_buffer *sl_h2_say_begin(struct sl_h2_stream *stream)
{
    static const char prefix[SL_GRPC_PREFIX_BYTES];
    stream->message_at = stream->out.len;
    sl_buffer_add(&stream->out, (struct sluice_text){ prefix, sizeof prefix });
    return &stream->out;
}

void sl_h2_say_end(struct sl_h2_stream *stream)
{
    size_t len = stream->out.len - stream->message_at - SL_GRPC_PREFIX_BYTES;
    if (!stream->out.failed)
        sl_grpc_print_prefix(stream->out.at + stream->message_at, (uint32_t)len);
    sl_h2_stream_count(stream);
    begin_or_resume(stream);
}

void sl_h2_say(struct sl_h2_stream *stream, struct sluice_text message)
{
    struct sl_buffer *out = sl_h2_say_begin(stream);
    if (message.len)
        sl_buffer_add(out, message);
    sl_h2_say_end(stream);
}

/* ---- the status ---- */

/* Submits an answer that is only a status. */
static void submit_alone(struct sl_h2_stream *stream, struct sluice_text why)
{
    nghttp2_nv fields[2 + STATUS_FIELDS_MAX] = {
        static_field(SL_TEXT(":status"), SL_TEXT("200")),
        static_field(SL_TEXT("content-type"), SL_TEXT("application/grpc")),
    };
    struct sl_buffer room = sl_buffer(MESSAGE_MAX_BYTES);
    size_t count = 2 + put_status(fields + 2, stream, why, &room);
    stream->has_begun = true;
    nghttp2_submit_response(stream->h2->session, stream->number, fields, count, NULL);
    sl_buffer_release(&room);
}

static void end_answer(struct sl_h2_stream *stream, enum sl_grpc_status status)
{
    stream->is_over = true;
    stream->status = status;
    sl_count_add(&stream->h2->conn->worker->traffic.statuses[status], 1);
    sl_h2_stream_clear(stream);
    sl_h2_stream_forget_head(stream);
    sl_h2_stream_move(stream, SL_H2_ASKED);
}

void sl_h2_finish(struct sl_h2_stream *stream, enum sl_grpc_status status, struct sluice_text why)
{
    if (stream->is_over)
        return;
    end_answer(stream, status);
    if (!stream->has_begun) {
        submit_alone(stream, why);
        return;
    }
    stream->why = why;
    begin_or_resume(stream);
}

void sl_h2_refuse(struct sl_h2_stream *stream, uint32_t http_status)
{
    bool is_method = http_status == 405;
    nghttp2_nv fields[] = {
        static_field(SL_TEXT(":status"), is_method ? SL_TEXT("405") : SL_TEXT("415")),
        static_field(is_method ? SL_TEXT("allow") : SL_TEXT("accept"),
                     is_method ? SL_TEXT("POST") : SL_TEXT("application/grpc")),
    };
    end_answer(stream, SL_GRPC_UNKNOWN);
    stream->has_begun = true;
    nghttp2_submit_response(stream->h2->session, stream->number, fields, 2, NULL);
}
