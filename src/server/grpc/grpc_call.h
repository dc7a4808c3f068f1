/* gRPC calls: which method a stream is for, and what the method does with its messages. */
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
    /* For methods with one message: the client has sent all. Adds a call to the round, or answers.
     */
    void (*ask)(const struct sl_grpc_ask *ask);
    /* For methods with any number of messages: answers each as it comes, outside of the round; else
     * NULL. */
    void (*hear)(struct sl_h2_stream *stream, struct sluice_text message);
};

/* Returns NULL if there is no such method. */
const struct sl_grpc_method *sl_grpc_method_find(struct sluice_text path);

/* ---- events of a stream, for h2.c ---- */

void sl_grpc_begin(struct sl_h2_stream *stream); /* its head is whole */
void sl_grpc_hear(struct sl_h2_stream *stream, struct sluice_text bytes);
void sl_grpc_end_of(struct sl_h2_stream *stream); /* the client has sent all */
void sl_grpc_ask(struct sl_h2_stream *stream, struct sl_round *round);
void sl_grpc_drain(struct sl_h2 *h2); /* the server ends: streams without an end are told */

/* The stream that has waited longest for the rest of a message which must be whole before it is
 * answered. NULL: there is none. */
const struct sl_h2_stream *sl_grpc_oldest_unfinished(const struct sl_h2 *h2);

/* ---- for the methods ---- */

/* The stream of a call that is to be answered now. NULL: the stream is gone, or its deadline is
 * over (it is told so already). */
struct sl_h2_stream *sl_grpc_stream_of(const struct sl_call *call);

/* Answers with one message and status OK. */
void sl_grpc_answer(struct sl_h2_stream *stream, const ProtobufCMessage *message);
void sl_grpc_say(struct sl_h2_stream *stream, const ProtobufCMessage *message);

/* Ends the stream with a status and a sentence. */
void sl_grpc_fail(struct sl_h2_stream *stream, enum sl_grpc_status status, const char *why);

/* Reads a message into the scratch's memory. NULL: the stream has failed, and is told why. */
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
