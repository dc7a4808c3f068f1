/* The HTTP/1.1 front: finds where a message ends, and which route it is for.
 *
 * A message goes to its route when it is whole, head and body lying in the connection's buffer one
 * behind the other. While the body is on its way, only lengths are kept; the head is read again
 * when the body is whole, since the buffer may have moved. That is rare: a message that fits into
 * one packet is read once. */
#include "server/front.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/worker.h"
#include "wire/http/chunked.h"

enum {
    BODY_MAX_BYTES = 1 << 20,
    MESSAGES_MAX = 256, /* in one go, before the client must read their answers */
};

struct http {
    struct sl_http_search search;
    bool in_body;
    bool chunked;
    bool continued;       /* the body was asked for */
    enum sl_timer timing; /* the part of this message that is being waited for */
    size_t head_len;
    size_t body_len; /* unless it is in chunks */
    struct sl_chunked chunks;
};

enum http_step { WAIT, NEXT, FULL };

/* Every message has its own timeout, also if the one before it ended within the same packet. */
static void start_timer(struct sl_conn *conn, struct http *http, enum sl_timer timer)
{
    sl_conn_await(conn, timer, http->timing != timer);
    http->timing = timer;
}

static struct http *state_of(struct sl_conn *conn)
{
    return (struct http *)(void *)conn->own;
}

/* Refuses a malformed message and closes: where the next message begins is unknown. */
static enum http_step refuse_message(struct sl_conn *conn, struct sl_round *round,
                                     const struct sl_http_wrong *wrong)
{
    struct sl_call *call = sl_round_call(round, conn);
    sl_count_add(&conn->worker->traffic.malformed, 1);
    call->status = (uint16_t)wrong->status;
    call->detail = wrong->detail;
    call->reply = sl_reply_problem;
    sl_round_add(round, call);
    conn->in_start = conn->in_end;
    sl_conn_finish(conn, true);
    return WAIT;
}

static enum http_step refuse_body(struct sl_conn *conn, struct sl_round *round, bool too_long)
{
    static const struct sl_http_wrong long_body = {
        413, "The body is too long: at most 1 MiB (1048576 bytes) are read."
    };
    static const struct sl_http_wrong no_memory = {
        503, "There is no memory left for a body of that size; try again, or send less at once."
    };
    return refuse_message(conn, round, too_long ? &long_body : &no_memory);
}

static struct sl_message message_of(struct sl_conn *conn, struct sl_round *round,
                                    const struct sl_http_head *head)
{
    struct sl_message message = { .round = round, .conn = conn, .head = head };
    message.call = sl_round_call(round, conn);
    message.call->keep_alive = head->keep_alive;
    message.call->is_1_0 = head->is_1_0;
    message.call->is_head = sl_text_is(head->method, "HEAD");
    return message;
}

/* Hands the message to its route. Its bytes are consumed, and stay until the round is finished. */
static enum http_step hand_on(struct sl_conn *conn, struct sl_message *message, size_t total)
{
    const struct sl_route *route = sl_route_find(message->head->path);
    bool keep_alive = message->head->keep_alive;
    conn->in_start += total;
    *state_of(conn) = (struct http){ 0 };
    message->route = route;
    if (sl_route_accepts(route, message))
        route->call(message);
    else
        sl_round_add(message->round, message->call);
    if (!keep_alive)
        sl_conn_finish(conn, conn->in_start < conn->in_end);
    return keep_alive ? NEXT : WAIT;
}

/* Answers `Expect: 100-continue`: the client waits to be told whether to send its body. */
static enum http_step answer_expectation(struct sl_conn *conn, struct sl_round *round,
                                         const struct sl_http_head *head)
{
    struct sl_message message = message_of(conn, round, head);
    message.call->keep_alive = false;
    if (!sl_route_accepts(sl_route_find(head->path), &message)) {
        sl_round_add(round, message.call);
        conn->in_start = conn->in_end;
        sl_conn_finish(conn, true);
        return WAIT;
    }
    message.call->reply = sl_reply_continue;
    sl_round_add(round, message.call);
    state_of(conn)->continued = true;
    return WAIT;
}

static enum http_step wait_for_body(struct sl_conn *conn, struct sl_round *round,
                                    const struct sl_http_head *head)
{
    struct http *http = state_of(conn);
    start_timer(conn, http, SL_TIMER_BODY);
    bool is_asked = head->expects_continue && !http->continued &&
                    conn->in_end - conn->in_start == http->head_len;
    return is_asked ? answer_expectation(conn, round, head) : WAIT;
}

/* Makes room for a message of so many bytes. Earlier calls may point into the buffer, so they are
 * finished first. */
static enum http_step make_room(struct sl_conn *conn, struct sl_round *round, size_t total)
{
    if (round->call_count > 0)
        return FULL;
    return sl_conn_expect(conn, total) ? WAIT : refuse_body(conn, round, false);
}

/* The next size of the buffer: it grows with the bytes that have come, not with the length that a
 * client announces. The largest size has room for a head and a body of full length. */
static size_t next_size(size_t len)
{
    size_t wanted = len + len / 2 + SL_BLOCK_BYTES / 2;
    return wanted < SL_CONN_IN_MAX_BYTES ? wanted : SL_CONN_IN_MAX_BYTES;
}

static enum http_step read_sized(struct sl_conn *conn, struct sl_round *round,
                                 const struct sl_http_head *head)
{
    struct http *http = state_of(conn);
    size_t total = http->head_len + http->body_len, have = conn->in_end - conn->in_start;
    if (have < total) {
        enum http_step step = wait_for_body(conn, round, head);
        if (conn->in_end == conn->in_room && !conn->is_finished)
            return make_room(conn, round, total < next_size(have) ? total : next_size(have));
        return step;
    }
    struct sl_message message = message_of(conn, round, head);
    message.body = conn->in + conn->in_start + http->head_len;
    message.body_len = http->body_len;
    return hand_on(conn, &message, total);
}

/* Moves the bytes after a chunk down over its framing. */
static void close_gap(struct sl_conn *conn, size_t head_and_body, const char *rest)
{
    char *to = conn->in + conn->in_start + head_and_body;
    size_t len = (size_t)(conn->in + conn->in_end - rest);
    memmove(to, rest, len);
    conn->in_end = (size_t)(to - conn->in) + len;
}

static enum http_step read_chunked(struct sl_conn *conn, struct sl_round *round,
                                   const struct sl_http_head *head)
{
    struct http *http = state_of(conn);
    struct sl_http_wrong wrong = { 0 };
    char *body = conn->in + conn->in_start + http->head_len;
    char *at = body + http->chunks.decoded_len;
    enum sl_chunked_end end =
        sl_chunked_read(&http->chunks, body, &at, conn->in + conn->in_end, BODY_MAX_BYTES, &wrong);
    if (end == SL_CHUNKED_WRONG)
        return refuse_message(conn, round, &wrong);
    size_t body_len = http->chunks.decoded_len;
    close_gap(conn, http->head_len + body_len, at);
    if (end == SL_CHUNKED_MORE) {
        enum http_step step = wait_for_body(conn, round, head);
        size_t have = conn->in_end - conn->in_start;
        if (conn->in_end == conn->in_room && !conn->is_finished)
            return make_room(conn, round, next_size(have));
        return step;
    }
    struct sl_message message = message_of(conn, round, head);
    message.body = conn->in + conn->in_start + http->head_len;
    message.body_len = body_len;
    return hand_on(conn, &message, http->head_len + body_len);
}

/* Does the body begin as an array, or may it do so? */
static bool may_be_array(struct sl_conn *conn, const struct sl_http_head *head)
{
    const char *at = conn->in + conn->in_start + state_of(conn)->head_len;
    const char *end = conn->in + conn->in_end;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return head->chunked || at == end || *at == '[';
}

/* Must the round be finished, and the connection wait, before this message is read?
 *
 * Where the store answers later, earlier requests of the connection may wait for the store, or be
 * about to. No later answer of the connection may overtake theirs: neither an answer of the main
 * thread, nor an array that needs a round of its own. */
static bool must_wait(struct sl_conn *conn, const struct sl_round *round,
                      const struct sl_http_head *head)
{
    if (!conn->has_asked || !conn->worker->store_io.channel)
        return false;
    const struct sl_route *route = sl_route_find(head->path);
    if (!route)
        return false;
    bool needs_room = route->call == sl_call_check && may_be_array(conn, head);
    return route->run || (needs_room && !sl_round_has_room(round, SL_ARRAY_MAX));
}

/* Reads one message, as far as it has come. */
static enum http_step read_message(struct sl_conn *conn, struct sl_round *round)
{
    struct http *http = state_of(conn);
    struct sl_http_wrong wrong = { 0 };
    struct sl_http_head head;
    struct sluice_text bytes = sl_conn_bytes(conn);
    if (!http->head_len) {
        http->head_len = sl_http_find_end(&http->search, bytes, &wrong);
        if (wrong.status)
            return refuse_message(conn, round, &wrong);
        if (!http->head_len) {
            start_timer(conn, http, SL_TIMER_HEAD);
            return WAIT;
        }
    }
    bytes.len = http->head_len;
    if (!sl_http_read_head(bytes, &head, &wrong))
        return refuse_message(conn, round, &wrong);
    if (must_wait(conn, round, &head))
        return FULL;
    if (!http->in_body) {
        if (head.length > BODY_MAX_BYTES)
            return refuse_body(conn, round, true);
        http->in_body = true;
        http->chunked = head.chunked;
        http->body_len = (size_t)head.length;
    }
    return http->chunked ? read_chunked(conn, round, &head) : read_sized(conn, round, &head);
}

static enum sl_front_end read_messages(struct sl_conn *conn, struct sl_round *round)
{
    for (int i = 0; sl_conn_is_open(conn); i++) {
        if (conn->in_start == conn->in_end) {
            sl_conn_await(conn, SL_TIMER_IDLE, false);
            break;
        }
        if (i == MESSAGES_MAX || !sl_round_has_room(round, 1))
            return SL_FRONT_FULL;
        enum http_step step = read_message(conn, round);
        if (step == FULL)
            return SL_FRONT_FULL;
        if (step == WAIT)
            break;
    }
    return SL_FRONT_MORE;
}

static void answer_late(struct sl_conn *conn)
{
    struct sl_round *round = &conn->worker->round;
    struct sl_call call = { .conn = conn, .status = 408 };
    call.detail = conn->timer == SL_TIMER_HEAD
                      ? "The head of the request did not arrive in time; send it faster."
                      : "The body of the request did not arrive in time; send it faster.";
    sl_reply_problem(round, &call);
}

static void answer_full(struct sl_conn *conn)
{
    struct sl_call call = { .conn = conn, .status = 503, .retry_after_s = 1 };
    call.detail = "There are too many connections; close some or raise `max_connections`.";
    sl_reply_problem(&conn->worker->round, &call);
}

const struct sl_front sl_front_http = {
    .schemes = { "http", "https" },
    .protocol = SL_TLS_HTTP1,
    .state_bytes = sizeof(struct http),
    .read = read_messages,
    .late = answer_late,
    .refuse = answer_full,
    .problem = sl_reply_problem,
};
