/* Printing answers over HTTP/1.1: see reply.h. */
#include "server/http/reply.h"

#include "server/conn.h"
#include "server/worker.h"
#include "wire/http/limit_fields.h"
#include "wire/http/status.h"

static void add_line(struct sl_buffer *out, struct sluice_text name, const char *value)
{
    sl_buffer_add(out, name);
    sl_buffer_add(out, sl_text(value));
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

/* Is this the last answer that the connection gets before the server ends? Answers to earlier
 * messages are not, nor is one while more bytes wait. */
static bool is_last_answer(const struct sl_round *round, const struct sl_call *call)
{
    if (!round->worker->is_draining)
        return false;
    const struct sl_call *next = call + 1, *end = round->calls + round->call_count;
    const struct sl_conn *conn = call->conn;
    /* If the buffer is full, more may lie in the kernel; there is none if it was given back while
     * the connection was parked. */
    return (next >= end || next->conn != conn) && conn->in_start == conn->in_end &&
           (!conn->in || conn->in_end < conn->in_room);
}

/* The last line of the head. An answer that says "not modified" has no length, and a body never
 * follows: the client knows both. */
static void add_length(struct sl_buffer *out, uint32_t status, struct sluice_text body)
{
    if (status == 304) {
        sl_buffer_add(out, SL_TEXT("\r\n"));
    } else if (body.len == 0) {
        sl_buffer_add(out, SL_TEXT("Content-Length: 0\r\n\r\n"));
    } else {
        sl_buffer_add(out, SL_TEXT("Content-Length: "));
        sl_buffer_add_i64(out, (int64_t)body.len);
        sl_buffer_add(out, SL_TEXT("\r\n\r\n"));
    }
}

/* A problem whose body is ready: nothing but the connection's own bytes takes memory. */
static void print_without_scratch(struct sl_round *round, struct sl_call *call)
{
    struct sluice_text body = SL_TEXT(
        "{\"type\": \"about:blank\", \"title\": \"Internal Server Error\", \"status\": 500, "
        "\"detail\": \"There is no memory for the answer; try again, or ask for less at once.\"}");
    call->status = 500;
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){
                       .status = 500, .type = "application/problem+json", .body = body });
}

void sl_reply_print(struct sl_round *round, struct sl_call *call,
                    const struct sl_answer_parts *parts)
{
    struct sl_buffer *out = sl_conn_out(call->conn);
    const struct sl_buffer *scratch = &round->scratch;
    if (parts->has_scratch &&
        scratch->failed) { /* cut short, or without a body, it would be wrong */
        print_without_scratch(round, call);
        return;
    }
    struct sluice_text body =
        parts->has_scratch ? (struct sluice_text){ scratch->at, scratch->len } : parts->body;
    bool stays = call->keep_alive && !is_last_answer(round, call);
    sl_count_add(&round->worker->traffic.answers[parts->status / 100], 1);
    sl_status_line_print(out, parts->status);
    sl_buffer_add(out, sl_text(round->worker->date));
    if (parts->decision)
        sl_limit_fields_print(out, parts->decision, round->settings->headers);
    if (parts->type)
        add_line(out, SL_TEXT("Content-Type: "), parts->type);
    if (parts->allow)
        add_line(out, SL_TEXT("Allow: "), parts->allow);
    if (parts->authenticate)
        add_line(out, SL_TEXT("WWW-Authenticate: "), parts->authenticate);
    if (parts->etag)
        add_line(out, SL_TEXT("ETag: "), parts->etag);
    if (parts->more)
        sl_buffer_add(out, sl_text(parts->more));
    if (parts->retry_after_s) {
        sl_buffer_add(out, SL_TEXT("Retry-After: "));
        sl_buffer_add_i64(out, parts->retry_after_s);
        sl_buffer_add(out, SL_TEXT("\r\n"));
    }
    if (!stays)
        sl_buffer_add(out, SL_TEXT("Connection: close\r\n"));
    else if (call->is_1_0)
        sl_buffer_add(out, SL_TEXT("Connection: keep-alive\r\n"));
    add_length(out, parts->status, body);
    if (!call->is_head)
        sl_buffer_add(out, body);
    if (!stays)
        sl_conn_finish(call->conn, call->keep_alive);
}

void sl_reply_problem(struct sl_round *round, struct sl_call *call)
{
    struct sl_buffer *body = &round->scratch;
    sl_buffer_clear(body);
    sl_problem_print(body, call->status, call->detail ? call->detail : "Out of memory; try again.");
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = call->status,
                                              .type = "application/problem+json",
                                              .has_scratch = true,
                                              .allow = call->allow,
                                              .authenticate = call->authenticate,
                                              .retry_after_s = call->retry_after_s });
}

void sl_reply_continue(struct sl_round *round, struct sl_call *call)
{
    (void)round;
    sl_buffer_add(sl_conn_out(call->conn), SL_TEXT("HTTP/1.1 100 Continue\r\n\r\n"));
}
