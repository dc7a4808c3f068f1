/* Calls of gRPC: which method a stream is for, and what its messages are to it. */
#ifndef SL_SERVER_GRPC_GRPC_CALL_H
#define SL_SERVER_GRPC_GRPC_CALL_H

#include <protobuf-c/protobuf-c.h>

#include "server/grpc/h2.h"

/* A stream whose message is whole, and the round that it goes into. */
struct sl_grpc_ask {
    struct sl_h2_stream *stream;
    struct sl_round *round; /* with room for SL_JOINED_MAX requests */
    struct sluice_text message;
};

struct sl_grpc_method {
    struct sluice_text path;
    uint32_t most_bytes; /* of a message */
    /* One message, and the client is done: adds a call to the round, or answers. */
    void (*ask)(const struct sl_grpc_ask *ask);
    /* Any number of messages, answered as they come, outside of the round; NULL: it is not one of
     * those. */
    void (*hear)(struct sl_h2_stream *stream, struct sluice_text message);
};

/* NULL: there is none. */
const struct sl_grpc_method *sl_grpc_method_find(struct sluice_text path);

/* ---- for h2.c: what happens on a stream ---- */

void sl_grpc_begin(struct sl_h2_stream *stream); /* its head is whole */
void sl_grpc_hear(struct sl_h2_stream *stream, struct sluice_text bytes);
void sl_grpc_end_of(struct sl_h2_stream *stream); /* nothing more will be said */
void sl_grpc_ask(struct sl_h2_stream *stream, struct sl_round *round);
void sl_grpc_drain(struct sl_h2 *h2); /* the server ends: who would stay is told */

/* The stream that has been waited for longest, since the client has more to say on it and
 * nothing can be answered before; NULL: there is none. */
const struct sl_h2_stream *sl_grpc_oldest_unfinished(const struct sl_h2 *h2);

/* ---- for the methods ---- */

/* The stream of a call whose answer has been made. NULL: it is gone, or its time is over, which it
 * was told. */
struct sl_h2_stream *sl_grpc_stream_of(const struct sl_call *call);

/* Says a message and that it is all. */
void sl_grpc_answer(struct sl_h2_stream *stream, const ProtobufCMessage *message);
void sl_grpc_say(struct sl_h2_stream *stream, const ProtobufCMessage *message);

/* The end, in a sentence. */
void sl_grpc_fail(struct sl_h2_stream *stream, enum sl_grpc_status status, const char *why);

/* Reads a message, into memory that lasts as long as the scratch's. NULL: it has failed. */
ProtobufCMessage *sl_grpc_read_message(struct sl_h2_stream *stream, struct sl_scratch *memory,
                                       const ProtobufCMessageDescriptor *type,
                                       struct sluice_text message);

/* ---- the methods' own files ---- */

void sl_grpc_should_limit(const struct sl_grpc_ask *ask); /* grpc_ratelimit.c */
void sl_grpc_health_check(const struct sl_grpc_ask *ask); /* grpc_health.c */
void sl_grpc_health_watch(const struct sl_grpc_ask *ask);
void sl_grpc_health_drain(struct sl_h2 *h2);
void sl_grpc_reflect(struct sl_h2_stream *stream,
                     struct sluice_text message); /* grpc_reflection.c */

#endif
