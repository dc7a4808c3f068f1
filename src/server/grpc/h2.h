/* HTTP/2 on a connection, by nghttp2: its session, and the streams of its calls.
 *
 *   conn->in  →  sl_h2_read   frames, fields, DATA  →  streams that are whole
 *                sl_h2_serve  →  grpc_call.c: their requests go into the round
 *   conn->out ←  sl_h2_write  ←  answers, as far as the client's windows allow
 *
 * A call that is in a round, or waits for the store, knows its stream by number and finds it by
 * sl_h2_find: the client may have reset the stream meanwhile. There is no session before a client
 * has sent the preface of HTTP/2.
 *
 * The memory that a client can use is bounded: streams, their fields, the bytes of messages that
 * are not whole (SL_H2_HELD_MAX_BYTES in all), answers that it does not read. h2_room.c bounds the
 * memory of all clients together. frame_budget.h bounds the useless work that a client can cause.
 */
#ifndef SL_SERVER_GRPC_H2_H
#define SL_SERVER_GRPC_H2_H

#include <nghttp2/nghttp2.h>

#include "server/conn.h"
#include "server/grpc/frame_budget.h"
#include "server/round.h"
#include "wire/grpc/grpc.h"
#include "wire/http/head.h"

enum {
    SL_H2_STREAMS_MAX = 256,          /* at a time */
    SL_H2_FIELDS_MAX_BYTES = 16384,   /* as SETTINGS_MAX_HEADER_LIST_SIZE counts them */
    SL_H2_HELD_MAX_BYTES = 2 << 20,   /* of messages that are not whole, on one connection */
    SL_H2_ROOM_MAX_BYTES = 8 << 20,   /* of all buffers of its streams; then they are refused */
    SL_H2_UNREAD_MAX_BYTES = 64 << 10 /* of a stream that goes on, in answers */
};

struct sl_grpc_method;
struct sl_h2;

/* The state of a stream, which is on one list of its session for each. */
enum sl_h2_list {
    SL_H2_OPEN,    /* the client has more to say */
    SL_H2_READY,   /* its message is whole, and waits for the round */
    SL_H2_ASKED,   /* it waits for its answer, or for the client to read it */
    SL_H2_WATCHED, /* it is told of every change */
    SL_H2_LISTS
};

struct sl_h2_stream {
    struct sl_h2 *h2;
    int32_t number;
    enum sl_h2_list list;
    struct sl_h2_stream *prev, *next;

    /* Its head. */
    const struct sl_grpc_method *method; /* NULL: there is no method with that path */
    bool is_post;
    bool is_grpc;     /* by its content type */
    bool is_encoded;  /* messages may be compressed */
    bool is_bad_time; /* `grpc-timeout` is malformed */
    bool is_long;     /* fields beyond SL_H2_FIELDS_MAX_BYTES, or too many */
    bool is_headed;   /* the head is whole */
    uint32_t field_count;
    uint32_t fields_bytes;
    int64_t due_us;          /* its deadline, by sl_boottime_us; 0: it has none */
    uint64_t since_ms;       /* when it or its newest message began, by the loop */
    struct sl_buffer fields; /* fields that may be asked for later; see h2_stream.c */

    /* Its messages, */
    struct sl_grpc_reader reader;
    struct sl_buffer in; /* one message, maybe not whole */
    bool has_message;    /* the message is whole */
    bool has_ended;      /* the client has sent all */
    bool is_whole;       /* the message was whole and the last: it has become a call */

    /* and the answer: messages with their prefixes, then a status. */
    struct sl_buffer out;
    size_t sent;
    size_t message_at; /* where the newest begins, in `out` */
    bool has_begun;    /* the HEADERS of the answer are queued */
    bool is_over;      /* the answer is complete */
    bool is_known;     /* a watcher asked for a service that there is */
    enum sl_grpc_status status;
    struct sluice_text why; /* the status' text, after messages: a static text */

    size_t room_bytes;   /* of its buffers, and */
    size_t unread_bytes; /* of `out`, as they are counted */
};

struct sl_h2_ends {
    struct sl_h2_stream *first, *last;
};

struct sl_h2 {
    struct sl_conn *conn;
    nghttp2_session *session;
    struct sl_h2_ends lists[SL_H2_LISTS];
    size_t held_bytes;   /* of messages; */
    size_t room_bytes;   /* of all buffers of its streams; */
    size_t unread_bytes; /* of answers */
    struct sl_frame_budget budget;
    int64_t read_us;                                /* the time of this turn, by sl_boottime_us */
    struct sl_h2_stream *recent[SL_H2_STREAMS_MAX]; /* by number; see sl_h2_find */
    uint32_t continuations; /* the stream of the block of fields that is being read */
    bool is_in_block;
    int32_t awaited; /* the stream whose time runs */
    bool is_calm;    /* it is to end; nothing more is read */
    bool is_draining;
};

/* ---- the session: h2.c ---- */

/* Returns NULL without memory. */
struct sl_h2 *sl_h2_new(struct sl_conn *conn);
void sl_h2_free(struct sl_h2 *h2);

/* Reads frames. Returns false if the client broke the protocol or used up its frame budget: it is
 * told so, and nothing more is to be read. */
bool sl_h2_read(struct sl_h2 *h2, struct sluice_text bytes);

/* Adds streams that are whole to the round. Returns false if the round is full. */
bool sl_h2_serve(struct sl_h2 *h2, struct sl_round *round);

/* Writes frames to conn->out, while the client reads it. Returns false if the session has ended. */
bool sl_h2_write(struct sl_h2 *h2);

/* Tells the client that the connection will end (GOAWAY): open streams are answered. If the server
 * ends, streams that never end by themselves are told too. */
void sl_h2_drain(struct sl_h2 *h2);

/* Ends it now. */
void sl_h2_end(struct sl_h2 *h2, uint32_t error_code);

/* Where a stream of that number is found, unless a later stream has taken its place. */
static inline struct sl_h2_stream **sl_h2_place(struct sl_h2 *h2, int32_t number)
{
    return &h2->recent[(uint32_t)number / 2 % SL_H2_STREAMS_MAX]; /* clients' numbers are odd */
}

/* NULL: it is gone. */
static inline struct sl_h2_stream *sl_h2_find(struct sl_h2 *h2, int32_t number)
{
    struct sl_h2_stream *stream = *sl_h2_place(h2, number);
    if (stream && stream->number == number)
        return stream;
    return nghttp2_session_get_stream_user_data(h2->session, number);
}

/* The front's part of a connection: no session before it is needed. */
struct sl_h2_own {
    struct sl_h2 *h2;
};

static inline struct sl_h2 **sl_h2_of(const struct sl_conn *conn)
{
    return &((struct sl_h2_own *)(uintptr_t)conn->own)->h2;
}

/* ---- a stream: h2_stream.c ---- */

/* A new stream, or one of the worker's spare ones, on the list of open ones. NULL: no memory. */
struct sl_h2_stream *sl_h2_stream_take(struct sl_h2 *h2, int32_t number);
void sl_h2_stream_give(struct sl_h2_stream *stream);
void sl_h2_streams_give(struct sl_h2 *h2);
void sl_h2_spares_free(struct sl_worker *worker);
void sl_h2_stream_move(struct sl_h2_stream *stream, enum sl_h2_list list);

/* Empties a buffer, and frees it if it is large. */
struct sl_buffer sl_h2_buffer_again(struct sl_buffer buffer);

/* Its timeout begins anew, as if it had just been opened. */
void sl_h2_stream_renew(struct sl_h2_stream *stream);

/* Adds one field of its head. Returns false if the fields are so many, or so long, that the
 * connection has to end. */
bool sl_h2_stream_field(struct sl_h2_stream *stream, struct sluice_text name,
                        struct sluice_text value);

/* Its fields as an HTTP head, for identifying its caller. */
void sl_h2_stream_head(const struct sl_h2_stream *stream, struct sl_http_head *out);

/* Frees its fields. */
void sl_h2_stream_forget_head(struct sl_h2_stream *stream);

/* Reads bytes of a message into `in`, as far as the session has room. */
enum sl_grpc_end sl_h2_stream_read(struct sl_h2_stream *stream, struct sluice_text *bytes);

/* Drops the message. */
void sl_h2_stream_clear(struct sl_h2_stream *stream);

/* ---- bounds of memory: h2_room.c ---- */

/* Counts its buffers again, after they grew or shrank; or not at all, of a stream that is not
 * alive. */
void sl_h2_stream_count(struct sl_h2_stream *stream);
void sl_h2_stream_uncount(struct sl_h2_stream *stream);

/* May its streams use more memory? May reset other streams to make room. */
bool sl_h2_has_room(const struct sl_h2 *h2);

/* ---- its answer: h2_answer.c ---- */

/* Begins one more message: it is appended, in one piece, to the buffer given, and then ended. */
struct sl_buffer *sl_h2_say_begin(struct sl_h2_stream *stream);
void sl_h2_say_end(struct sl_h2_stream *stream);

/* The same for a message that is there. */
void sl_h2_say(struct sl_h2_stream *stream, struct sluice_text message);

/* Ends the answer. Without a message before it, the answer is only the status. `why` may be empty;
 * after messages it must be static. */
void sl_h2_finish(struct sl_h2_stream *stream, enum sl_grpc_status status, struct sluice_text why);

/* The same for requests that are no gRPC: 405 or 415 of HTTP. */
void sl_h2_refuse(struct sl_h2_stream *stream, uint32_t http_status);

#endif
