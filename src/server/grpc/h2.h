/* HTTP/2 on a connection, by nghttp2: its session, and the streams that calls come on.
 *
 *   conn->in  →  sl_h2_read   frames, fields, DATA  →  streams that are whole
 *                sl_h2_serve  →  grpc_call.c: what they ask goes into the round
 *   conn->out ←  sl_h2_write  ←  what was answered, as far as the client lets us
 *
 * A call in a round or under way to a store names its stream by number, and finds it again by
 * sl_h2_find: it may be gone by then, reset by the client. There is no session before a client has
 * said that it speaks HTTP/2.
 *
 * What a client can make us hold is bounded: streams, their fields, the bytes of messages that are
 * not whole (SL_H2_HELD_MAX_BYTES of them all), answers that it does not read; and what all of them
 * can by h2_room.c. What it can make us do for nothing is bounded by frame_budget.h. */
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

/* Where a stream stands: on one of its session's lists. */
enum sl_h2_list {
    SL_H2_OPEN,    /* the client has more to say */
    SL_H2_READY,   /* it has been said, and waits for the round */
    SL_H2_ASKED,   /* the answer is being made, or read */
    SL_H2_WATCHED, /* it is told whenever something changes */
    SL_H2_LISTS
};

struct sl_h2_stream {
    struct sl_h2 *h2;
    int32_t number;
    enum sl_h2_list list;
    struct sl_h2_stream *prev, *next;

    /* Its head. */
    const struct sl_grpc_method *method; /* NULL: there is none of that path */
    bool is_post;
    bool is_grpc;     /* by its content type */
    bool is_encoded;  /* messages may be compressed */
    bool is_bad_time; /* `grpc-timeout` is none */
    bool is_long;     /* fields beyond SL_H2_FIELDS_MAX_BYTES, or too many */
    bool is_headed;   /* they have all come */
    uint32_t field_count;
    uint32_t fields_bytes;
    int64_t due_us;          /* by sl_boottime_us; 0: it has time */
    uint64_t since_ms;       /* it or its newest message has begun, by the loop */
    struct sl_buffer fields; /* those that somebody may look for; see h2_stream.c */

    /* What is said on it, */
    struct sl_grpc_reader reader;
    struct sl_buffer in; /* of one message, maybe not whole */
    bool has_message;    /* it is whole */
    bool has_ended;      /* nothing more comes */
    bool is_whole;       /* it was, and all that the client had to say: a call was made of it */

    /* and the answer: messages with their prefixes, then a status. */
    struct sl_buffer out;
    size_t sent;
    size_t message_at; /* where the newest begins, in `out` */
    bool has_begun;    /* its HEADERS are queued */
    bool is_over;      /* nothing more is said */
    bool is_known;     /* a watcher asked for a service that there is */
    enum sl_grpc_status status;
    struct sluice_text why; /* with it, behind messages: lives for ever */

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
    uint32_t continuations;                         /* of the block of fields that is being read */
    bool is_in_block;
    int32_t awaited; /* the stream whose time runs */
    bool is_calm;    /* it was told to be; nothing more is read */
    bool is_draining;
};

/* ---- the session: h2.c ---- */

/* NULL: no memory. */
struct sl_h2 *sl_h2_new(struct sl_conn *conn);
void sl_h2_free(struct sl_h2 *h2);

/* Frames in. False: the client broke the protocol or our patience; it has been told, and nothing
 * more is to be read. */
bool sl_h2_read(struct sl_h2 *h2, struct sluice_text bytes);

/* Streams that are whole, into the round. False: the round is full. */
bool sl_h2_serve(struct sl_h2 *h2, struct sl_round *round);

/* Frames out, into conn->out, while its client reads that. False: nothing will ever follow. */
bool sl_h2_write(struct sl_h2 *h2);

/* Says that the connection ends, in due course: who is here is answered. Those who would stay are
 * told where it is the server that ends. */
void sl_h2_drain(struct sl_h2 *h2);

/* Ends it now. */
void sl_h2_end(struct sl_h2 *h2, uint32_t error_code);

/* Where a stream of that number is remembered, unless one that came later took its place. */
static inline struct sl_h2_stream **sl_h2_place(struct sl_h2 *h2, int32_t number)
{
    return &h2->recent[(uint32_t)number / 2 % SL_H2_STREAMS_MAX]; /* those of clients are odd */
}

/* NULL: it is gone. */
static inline struct sl_h2_stream *sl_h2_find(struct sl_h2 *h2, int32_t number)
{
    struct sl_h2_stream *stream = *sl_h2_place(h2, number);
    if (stream && stream->number == number)
        return stream;
    return nghttp2_session_get_stream_user_data(h2->session, number);
}

/* What a front keeps of a connection: no session before it is needed. */
struct sl_h2_own {
    struct sl_h2 *h2;
};

static inline struct sl_h2 **sl_h2_of(const struct sl_conn *conn)
{
    return &((struct sl_h2_own *)(uintptr_t)conn->own)->h2;
}

/* ---- a stream: h2_stream.c ---- */

/* From the worker's spare ones, on the list of those that are open. NULL: no memory. */
struct sl_h2_stream *sl_h2_stream_take(struct sl_h2 *h2, int32_t number);
void sl_h2_stream_give(struct sl_h2_stream *stream);
void sl_h2_streams_give(struct sl_h2 *h2);
void sl_h2_spares_free(struct sl_worker *worker);
void sl_h2_stream_move(struct sl_h2_stream *stream, enum sl_h2_list list);

/* A buffer that is used up: what it has beyond a little is given back. */
struct sl_buffer sl_h2_buffer_again(struct sl_buffer buffer);

/* Its time begins now, as if it had just been opened. */
void sl_h2_stream_renew(struct sl_h2_stream *stream);

/* One field of its head. False: so many, or so long, that the connection has to end. */
bool sl_h2_stream_field(struct sl_h2_stream *stream, struct sluice_text name,
                        struct sluice_text value);

/* Its fields, as those who ask who sent a message want them. */
void sl_h2_stream_head(const struct sl_h2_stream *stream, struct sl_http_head *out);

/* Nobody asks for them any more. */
void sl_h2_stream_forget_head(struct sl_h2_stream *stream);

/* Bytes of a message: added to `in`, as far as the session holds so much. */
enum sl_grpc_end sl_h2_stream_read(struct sl_h2_stream *stream, struct sluice_text *bytes);

/* The message is used up. */
void sl_h2_stream_clear(struct sl_h2_stream *stream);

/* ---- what it holds: h2_room.c ---- */

/* Its buffers have become longer or shorter; or are nobody's. */
void sl_h2_stream_count(struct sl_h2_stream *stream);
void sl_h2_stream_uncount(struct sl_h2_stream *stream);

/* May its streams hold more? Others may be cut for it. */
bool sl_h2_has_room(const struct sl_h2 *h2);

/* ---- its answer: h2_answer.c ---- */

/* One more message: appended to what is given, in one piece, and then said. */
struct sl_buffer *sl_h2_say_begin(struct sl_h2_stream *stream);
void sl_h2_say_end(struct sl_h2_stream *stream);

/* The same of one that is there. */
void sl_h2_say(struct sl_h2_stream *stream, struct sluice_text message);

/* It is over. Without a message before it, the status is all there is. `why` may be empty; behind
 * messages it lives for ever. */
void sl_h2_finish(struct sl_h2_stream *stream, enum sl_grpc_status status, struct sluice_text why);

/* The same for what is no gRPC at all: 405 or 415 of HTTP. */
void sl_h2_refuse(struct sl_h2_stream *stream, uint32_t http_status);

#endif
