/* A client of HTTP/2, by nghttp2, that talks to gRPC on a stage: no socket, and time stands still.
 *
 *   h2_ask → frames → conn->in → the front → the round → conn->out → frames → h2->heard[]
 *
 * What nghttp2 would never send is said byte by byte (h2_says). */
#ifndef TEST_SERVER_H2_VISITOR_H
#define TEST_SERVER_H2_VISITOR_H

#include "server/grpc/h2.h"
#include "unit/limiter/model_store.h"
#include "unit/server/stage.h"

enum { HEARD_MAX = 600, MORE_FIELDS_MAX = 128 };

/* What was answered on a stream. */
struct h2_heard {
    int32_t stream;
    int http;   /* status; 0: nothing yet */
    int status; /* of gRPC; -1: not yet */
    char why[512];
    struct sl_buffer body; /* with prefixes */
    bool is_closed;
    uint32_t error;        /* that it was closed with */
    struct sl_buffer said; /* what is sent on it, */
    size_t said_len;       /* as far as it is */
    bool says_more;        /* and the client is not done */
};

struct h2_visitor {
    struct visitor visitor;
    nghttp2_session *session;
    struct h2_heard heard[HEARD_MAX];
    size_t heard_count;
    int64_t goaway; /* its error; -1: none came */
    size_t pings, resets;
};

static struct model model;
static struct stage stage;
static struct h2_visitor h2;

/* ---- the client's side ---- */

static inline struct h2_heard *heard_on(struct h2_visitor *of, int32_t stream)
{
    for (size_t i = 0; i < of->heard_count; i++)
        if (of->heard[i].stream == stream)
            return &of->heard[i];
    return NULL;
}

static inline ssize_t h2_read_said(nghttp2_session *session, int32_t stream, uint8_t *at,
                                   size_t room, uint32_t *flags, nghttp2_data_source *source,
                                   void *about)
{
    struct h2_heard *heard = heard_on(about, stream);
    size_t left = heard->said.len - heard->said_len, count = left < room ? left : room;
    (void)session;
    (void)source;
    if (count)
        memcpy(at, heard->said.at + heard->said_len, count);
    heard->said_len += count;
    if (heard->said_len < heard->said.len)
        return (ssize_t)count;
    if (heard->says_more)
        return count ? (ssize_t)count : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

static inline int h2_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                               const uint8_t *name, size_t name_len, const uint8_t *value,
                               size_t value_len, uint8_t flags, void *about)
{
    struct h2_heard *heard = heard_on(about, frame->hd.stream_id);
    struct sluice_text key = { (const char *)name, name_len };
    (void)session;
    (void)flags;
    (void)value_len;
    if (sl_text_is(key, ":status"))
        heard->http = atoi((const char *)value);
    if (sl_text_is(key, "grpc-status"))
        heard->status = atoi((const char *)value);
    if (sl_text_is(key, "grpc-message"))
        snprintf(heard->why, sizeof heard->why, "%s", (const char *)value);
    return 0;
}

static inline int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
                             const uint8_t *at, size_t len, void *about)
{
    (void)session;
    (void)flags;
    sl_buffer_add(&heard_on(about, stream)->body, (struct sluice_text){ (const char *)at, len });
    return 0;
}

static inline int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *about)
{
    struct h2_visitor *of = about;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        of->goaway = frame->goaway.error_code;
    of->pings += frame->hd.type == NGHTTP2_PING;
    of->resets += frame->hd.type == NGHTTP2_RST_STREAM;
    return 0;
}

static inline int h2_on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *about)
{
    struct h2_heard *heard = heard_on(about, stream);
    (void)session;
    heard->is_closed = true;
    heard->error = error;
    return 0;
}

static inline void h2_open_session(struct h2_visitor *of)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    SL_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_on_close);
    SL_CHECK(nghttp2_option_new(&option) == 0);
    nghttp2_option_set_max_send_header_block_length(option, 1 << 20); /* longer than it likes */
    SL_CHECK(nghttp2_session_client_new2(&of->session, callbacks, of, option) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
}

/* ---- the way there and back ---- */

static inline struct sl_h2 *the_h2(void)
{
    return *sl_h2_of(h2.visitor.conn);
}

/* One turn of the server's, and what it sends is read. False: nothing was sent. */
static inline bool h2_serve(struct h2_visitor *of)
{
    struct sl_conn *conn = of->visitor.conn;
    struct sl_buffer *got = &of->visitor.got;
    visitor_read(&of->visitor);
    sl_round_finish(&conn->worker->round);
    conn->front->flush(conn);
    visitor_settle(&of->visitor);
    if (got->len)
        SL_CHECK(nghttp2_session_mem_recv(of->session, (const uint8_t *)got->at, got->len) ==
                 (ssize_t)got->len);
    bool has_sent = got->len > 0;
    got->len = 0;
    return has_sent;
}

/* Bytes as they are, cut into pieces of at most `piece`. */
static inline void h2_says_in(struct h2_visitor *of, struct sluice_text bytes, size_t piece)
{
    while (bytes.len && !of->visitor.conn->is_finished) {
        struct sluice_text part = { bytes.at, bytes.len < piece ? bytes.len : piece };
        size_t count = visitor_put(&of->visitor, part);
        bytes.at += count;
        bytes.len -= count;
        h2_serve(of);
    }
}

static inline void h2_says(struct sluice_text bytes)
{
    h2_says_in(&h2, bytes, SIZE_MAX);
}

/* What the client has to say, until neither has more. */
static inline void h2_turn_in(struct h2_visitor *of, size_t piece)
{
    bool moved = true;
    while (moved) {
        struct sl_buffer said = sl_buffer(16 << 20);
        const uint8_t *at;
        for (ssize_t count; (count = nghttp2_session_mem_send(of->session, &at)) > 0;)
            sl_buffer_add(&said, (struct sluice_text){ (const char *)at, (size_t)count });
        h2_says_in(of, (struct sluice_text){ said.at, said.len }, piece);
        moved = h2_serve(of) || said.len > 0;
        sl_buffer_release(&said);
    }
}

static inline void h2_turn(void)
{
    h2_turn_in(&h2, SIZE_MAX);
}

/* ---- asking ---- */

static inline nghttp2_nv h2_field(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                         strlen(value), NGHTTP2_NV_FLAG_NONE };
}

/* What a call has besides its path and its message. */
struct h2_call {
    const char *path;
    struct sluice_text message;                  /* without its prefix */
    const char *fields[2 * MORE_FIELDS_MAX + 1]; /* more of them: names and values */
    const char *method, *type;                   /* others than POST and application/grpc */
    bool says_more;                              /* it does not end */
    bool is_bare;                                /* `message` is DATA as it stands */
};

static inline struct h2_heard *h2_submit(struct h2_visitor *of, const struct h2_call *call)
{
    nghttp2_nv fields[6 + MORE_FIELDS_MAX];
    size_t count = 0;
    fields[count++] = h2_field(":method", call->method ? call->method : "POST");
    fields[count++] = h2_field(":scheme", "http");
    fields[count++] = h2_field(":path", call->path);
    fields[count++] = h2_field(":authority", "sluice");
    fields[count++] = h2_field("te", "trailers");
    fields[count++] = h2_field("content-type", call->type ? call->type : "application/grpc");
    for (size_t i = 0; call->fields[i]; i += 2)
        fields[count++] = h2_field(call->fields[i], call->fields[i + 1]);
    SL_CHECK(of->heard_count < HEARD_MAX);
    struct h2_heard *heard = &of->heard[of->heard_count++];
    *heard = (struct h2_heard){ .status = -1, .says_more = call->says_more };
    heard->said = sl_buffer(16 << 20);
    heard->body = sl_buffer(16 << 20);
    char prefix[SL_GRPC_PREFIX_BYTES];
    sl_grpc_print_prefix(prefix, (uint32_t)call->message.len);
    if (!call->is_bare)
        sl_buffer_add(&heard->said, (struct sluice_text){ prefix, sizeof prefix });
    if (call->message.len)
        sl_buffer_add(&heard->said, call->message);
    nghttp2_data_provider provider = { .read_callback = h2_read_said };
    heard->stream = nghttp2_submit_request(of->session, NULL, fields, count, &provider, NULL);
    SL_CHECK(heard->stream > 0);
    return heard;
}

/* Said and answered. */
static inline struct h2_heard *h2_ask(const struct h2_call *call)
{
    struct h2_heard *heard = h2_submit(&h2, call);
    h2_turn();
    return heard;
}

/* The only message of an answer, without its prefix. */
static inline struct sluice_text h2_message(const struct h2_heard *heard)
{
    SL_CHECK(heard->body.len >= SL_GRPC_PREFIX_BYTES);
    return (struct sluice_text){ heard->body.at + SL_GRPC_PREFIX_BYTES,
                                 heard->body.len - SL_GRPC_PREFIX_BYTES };
}

/* ---- coming and going ---- */

static inline void h2_enter(struct h2_visitor *of)
{
    memset(of, 0, sizeof *of);
    of->goaway = -1;
    of->visitor = visitor_enter(&stage);
    struct sl_conn *conn = of->visitor.conn;
    sl_conn_set_timer(conn, SL_TIMER_NONE);
    conn = realloc(conn, sizeof *conn + sl_front_grpc.state_bytes);
    SL_CHECK(conn != NULL);
    conn->front = &sl_front_grpc;
    memset(conn->own, 0, sl_front_grpc.state_bytes);
    of->visitor.conn = conn;
    h2_open_session(of);
}

static inline void h2_leave(struct h2_visitor *of)
{
    struct sl_conn *conn = of->visitor.conn;
    conn->front->close(conn);
    visitor_leave(&of->visitor);
    nghttp2_session_del(of->session);
    for (size_t i = 0; i < of->heard_count; i++) {
        sl_buffer_release(&of->heard[i].said);
        sl_buffer_release(&of->heard[i].body);
    }
}

/* *state: the rules. */
static inline int open_h2(void **state)
{
    model_open(&model);
    stage_open(&stage, *state, &model.store);
    h2_enter(&h2);
    SL_CHECK(nghttp2_submit_settings(h2.session, NGHTTP2_FLAG_NONE, NULL, 0) == 0);
    h2_turn();
    return 0;
}

static inline int close_h2(void **unused)
{
    (void)unused;
    h2_leave(&h2);
    stage_close(&stage);
    model_close(&model.store);
    return 0;
}

/* A test with these rules. */
#define OVER_H2(name, rules) TEST_ON(name, open_h2, close_h2, (void *)(rules))

#endif
