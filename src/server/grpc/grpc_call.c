/* gRPC calls: methods, messages and answers: see grpc_call.h. */
#include "server/grpc/grpc_call.h"

#include <stdlib.h>

#include "base/clock.h"
#include "server/worker.h"

/* ---- the methods ---- */

/* Requests to health and reflection are a name, which reflection's answers repeat. */
enum { NAME_MAX_BYTES = 4096 };

static const struct sl_grpc_method methods[] = {
    { SL_TEXT("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
      SL_GRPC_MESSAGE_MAX_BYTES, .ask = sl_grpc_should_limit },
    { SL_TEXT("/grpc.health.v1.Health/Check"), NAME_MAX_BYTES, .ask = sl_grpc_health_check },
    { SL_TEXT("/grpc.health.v1.Health/Watch"), NAME_MAX_BYTES, .ask = sl_grpc_health_watch },
    { SL_TEXT("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"), NAME_MAX_BYTES,
      .hear = sl_grpc_reflect },
    { SL_TEXT("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"), NAME_MAX_BYTES,
      .hear = sl_grpc_reflect },
};

const struct sl_grpc_method *sl_grpc_method_find(struct sluice_text path)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (sl_text_equal(path, methods[i].path))
            return &methods[i];
    return NULL;
}

/* ---- messages on a stream ---- */

/* Returns false if the stream has failed for lack of room. */
static bool has_room(struct sl_h2_stream *stream)
{
    if (sl_h2_has_room(stream->h2))
        return true;
    sl_grpc_fail(stream, SL_GRPC_RESOURCE_EXHAUSTED,
                 "Too much is on its way; read what was answered, end what was begun, and try "
                 "again.");
    return false;
}

void sl_grpc_begin(struct sl_h2_stream *stream)
{
    sl_h2_stream_count(stream);
    if (!stream->is_post && !stream->is_long)
        sl_h2_refuse(stream, 405);
    else if (!stream->is_grpc && !stream->is_long)
        sl_h2_refuse(stream, 415);
    else if (stream->is_long)
        sl_grpc_fail(stream, SL_GRPC_RESOURCE_EXHAUSTED,
                     "The metadata is too long: at most 16 KiB and 100 fields are read.");
    else if (!stream->method)
        sl_grpc_fail(stream, SL_GRPC_UNIMPLEMENTED,
                     "There is no such method; server reflection lists what there is.");
    else if (stream->is_bad_time)
        sl_grpc_fail(stream, SL_GRPC_INVALID_ARGUMENT,
                     "`grpc-timeout` is up to eight digits and one of H, M, S, m, u, n.");
    else
        has_room(stream);
}

static void refuse_message(struct sl_h2_stream *stream, enum sl_grpc_end end)
{
    if (end == SL_GRPC_COMPRESSED && stream->is_encoded)
        sl_grpc_fail(stream, SL_GRPC_UNIMPLEMENTED,
                     "Compressed messages are not read; send them as they are (identity).");
    else if (end == SL_GRPC_COMPRESSED)
        sl_grpc_fail(stream, SL_GRPC_INTERNAL,
                     "A message is marked as compressed, and no `grpc-encoding` says how.");
    else if (end == SL_GRPC_BAD_FLAG)
        sl_grpc_fail(stream, SL_GRPC_INTERNAL, "A message begins with neither 0 nor 1.");
    else if (stream->method->most_bytes < SL_GRPC_MESSAGE_MAX_BYTES)
        sl_grpc_fail(stream, SL_GRPC_RESOURCE_EXHAUSTED,
                     "Too long: a message to this method has at most 4 KiB.");
    else
        sl_grpc_fail(stream, SL_GRPC_RESOURCE_EXHAUSTED,
                     "Too long: a message has at most 1 MiB, and all that are on their way over "
                     "one connection 2 MiB.");
}

void sl_grpc_hear(struct sl_h2_stream *stream, struct sluice_text bytes)
{
    while (bytes.len > 0 && !stream->is_over) {
        if (stream->has_message) {
            sl_grpc_fail(stream, SL_GRPC_UNIMPLEMENTED,
                         "This method takes one message, and more were sent.");
            return;
        }
        if (stream->method->hear && !sl_grpc_is_within(&stream->reader))
            sl_h2_stream_renew(stream);
        enum sl_grpc_end end = sl_h2_stream_read(stream, &bytes);
        if (stream->in.len + stream->reader.left > stream->method->most_bytes)
            end = SL_GRPC_TOO_LONG;
        stream->has_message = end == SL_GRPC_WHOLE;
        if (end != SL_GRPC_WHOLE && end != SL_GRPC_MORE) {
            refuse_message(stream, end);
        } else if (!has_room(stream)) {
            return;
        } else if (end == SL_GRPC_WHOLE && stream->method->hear) {
            stream->method->hear(stream, (struct sluice_text){ stream->in.at, stream->in.len });
            sl_h2_stream_clear(stream);
        }
    }
}

void sl_grpc_end_of(struct sl_h2_stream *stream)
{
    if (sl_grpc_is_within(&stream->reader))
        sl_grpc_fail(stream, SL_GRPC_INTERNAL, "The stream ended in the middle of a message.");
    else if (stream->method->hear)
        sl_grpc_fail(stream, SL_GRPC_OK, "");
    else if (!stream->has_message)
        sl_grpc_fail(stream, SL_GRPC_UNIMPLEMENTED,
                     "This method takes one message, and none was sent.");
    else {
        stream->is_whole = true;
        sl_h2_stream_move(stream, SL_H2_READY);
    }
}

/* Methods that answer messages as they come allow any time between two messages. */
const struct sl_h2_stream *sl_grpc_oldest_unfinished(const struct sl_h2 *h2)
{
    const struct sl_h2_stream *stream = h2->lists[SL_H2_OPEN].first;
    while (stream && stream->is_headed && stream->method->hear &&
           !sl_grpc_is_within(&stream->reader))
        stream = stream->next;
    return stream;
}

static bool is_too_late(const struct sl_h2_stream *stream, int64_t now_us)
{
    return stream->due_us && now_us >= stream->due_us;
}

static void fail_late(struct sl_h2_stream *stream)
{
    sl_grpc_fail(stream, SL_GRPC_DEADLINE_EXCEEDED,
                 "Its `grpc-timeout` was over before it could be answered.");
}

void sl_grpc_ask(struct sl_h2_stream *stream, struct sl_round *round)
{
    if (is_too_late(stream, stream->h2->read_us)) { /* by the time of this turn */
        fail_late(stream);
        return;
    }
    if (!has_room(stream))
        return;
    struct sluice_text message = { stream->in.at, stream->in.len };
    stream->method->ask(&(struct sl_grpc_ask){ stream, round, message });
    sl_h2_stream_clear(stream);
    sl_h2_stream_forget_head(stream);
}

void sl_grpc_drain(struct sl_h2 *h2)
{
    sl_grpc_health_drain(h2);
    struct sl_h2_stream *next;
    for (struct sl_h2_stream *stream = h2->lists[SL_H2_OPEN].first; stream; stream = next) {
        next = stream->next;
        if (stream->is_headed && stream->method->hear && !sl_grpc_is_within(&stream->reader))
            sl_grpc_fail(stream, SL_GRPC_UNAVAILABLE, "The server is shutting down.");
    }
}

/* ---- answers ---- */

struct sl_h2_stream *sl_grpc_stream_of(const struct sl_call *call)
{
    struct sl_h2_stream *stream = sl_h2_find(*sl_h2_of(call->conn), (int32_t)call->stream);
    if (!stream || !stream->due_us || !is_too_late(stream, sl_boottime_us()))
        return stream;
    fail_late(stream);
    return NULL;
}

void sl_grpc_say(struct sl_h2_stream *stream, const ProtobufCMessage *message)
{
    uint8_t room[4096], *at = room;
    size_t len = protobuf_c_message_get_packed_size(message);
    if (len > sizeof room && !(at = malloc(len))) {
        sl_grpc_fail(stream, SL_GRPC_INTERNAL, "There is no memory for so long an answer.");
        return;
    }
    protobuf_c_message_pack(message, at);
    sl_h2_say(stream, (struct sluice_text){ (const char *)at, len });
    if (at != room)
        free(at);
}

void sl_grpc_answer(struct sl_h2_stream *stream, const ProtobufCMessage *message)
{
    sl_grpc_say(stream, message);
    sl_h2_finish(stream, SL_GRPC_OK, SL_TEXT(""));
}

void sl_grpc_fail(struct sl_h2_stream *stream, enum sl_grpc_status status, const char *why)
{
    sl_h2_finish(stream, status, sl_text(why));
}

/* ---- reading messages ---- */

/* Memory of one unpacked message: a few bytes on the wire may become a struct. */
enum { UNPACKED_MAX_BYTES = 4 << 20 };

struct unpacking {
    struct sl_scratch *memory;
    size_t left;
};

static void *take_unpacked(void *about, size_t bytes)
{
    struct unpacking *unpacking = about;
    if (bytes > unpacking->left) {
        unpacking->left = 0;
        return NULL;
    }
    unpacking->left -= bytes;
    return sl_scratch_take(unpacking->memory, bytes);
}

static void ignore_free(void *about, void *at)
{
    (void)about;
    (void)at; /* freed with the scratch */
}

ProtobufCMessage *sl_grpc_read_message(struct sl_h2_stream *stream, struct sl_scratch *memory,
                                       const ProtobufCMessageDescriptor *type,
                                       struct sluice_text message)
{
    struct unpacking unpacking = { memory, UNPACKED_MAX_BYTES };
    ProtobufCAllocator allocator = { take_unpacked, ignore_free, &unpacking };
    ProtobufCMessage *read =
        protobuf_c_message_unpack(type, &allocator, message.len, (const uint8_t *)message.at);
    if (!read && unpacking.left == 0)
        sl_grpc_fail(stream, SL_GRPC_RESOURCE_EXHAUSTED,
                     "The message has too many parts; send fewer at once.");
    else if (!read)
        sl_grpc_fail(stream, SL_GRPC_INVALID_ARGUMENT,
                     "The message is no protobuf of the type that this method takes.");
    return read;
}
