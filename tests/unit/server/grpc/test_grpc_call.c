#include "server/grpc/grpc_call.h"

#include "unit/server/h2_visitor.h"

static const char rules[] = "rules: [{ name: many, per: user, limit: 100000/m }]\n";

#define CHECK "/grpc.health.v1.Health/Check"
#define LIMIT "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
/* domain "d", a descriptor of (user, u) */
#define ONE SL_TEXT("\x0a\1d\x12\x0b\x0a\x09\x0a\4user\x12\1u")

struct row {
    const char *name;
    struct h2_call call;
    int http, status;
    const char *why;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct h2_heard *heard = h2_ask(&rows[i].call);
        SAME(rows[i].name, heard->http, rows[i].http);
        SAME(rows[i].name, heard->status, rows[i].status);
        SAME(rows[i].name, heard->is_closed, true);
        if (rows[i].why && !strstr(heard->why, rows[i].why))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].name, heard->why, rows[i].why);
        if (rows[i].status != 0)
            SAME(rows[i].name, heard->body.len, 0);
    }
}

OVER_H2(heads_are_looked_at_before_messages, rules)
{
    static const struct row rows[] = {
        { "GET", { .path = CHECK, .method = "GET" }, 405, -1 },
        { "PUT", { .path = "/", .method = "PUT" }, 405, -1 },
        { "JSON", { .path = CHECK, .type = "application/json" }, 415, -1 },
        { "gRPC-Web", { .path = CHECK, .type = "application/grpc-web" }, 415, -1 },
        { "+proto", { .path = CHECK, .type = "application/grpc+proto" }, 200, 0 },
        { "no path", { .path = "/" }, 200, 12, "no such method" },
        { "other case", { .path = "/grpc.health.v1.health/Check" }, 200, 12, "reflection" },
        { "v2",
          { .path = "/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit" },
          200,
          12,
          "no such method" },
        { "time", { .path = CHECK, .fields = { "grpc-timeout", "1s" } }, 200, 3, "eight digits" },
        { "metadata", { .path = CHECK, .fields = { "x-a", "b", "a-bin", "AAE" } }, 200, 0 },
    };
    check_rows(rows, COUNT(rows));
}

OVER_H2(one_message_is_one_message, rules)
{
    static const struct row rows[] = {
        { "none", { .path = LIMIT, .is_bare = true }, 200, 12, "none was sent" },
        { "two",
          { .path = LIMIT, .is_bare = true, .message = SL_TEXT("\0\0\0\0\0\0\0\0\0\0") },
          200,
          12,
          "more were sent" },
        { "cut",
          { .path = LIMIT, .is_bare = true, .message = SL_TEXT("\0\0\0\0\2a") },
          200,
          13,
          "in the middle" },
        { "half a prefix",
          { .path = LIMIT, .is_bare = true, .message = SL_TEXT("\0\0") },
          200,
          13,
          "in the middle" },
        { "compressed",
          { .path = LIMIT, .is_bare = true, .message = SL_TEXT("\1\0\0\0\1a") },
          200,
          13,
          "no `grpc-encoding`" },
        { "gzip",
          { .path = LIMIT,
            .is_bare = true,
            .message = SL_TEXT("\1\0\0\0\1a"),
            .fields = { "grpc-encoding", "gzip" } },
          200,
          12,
          "identity" },
        { "gzip, not compressed",
          { .path = LIMIT, .message = ONE, .fields = { "grpc-encoding", "gzip" } },
          200,
          0 },
        { "flag",
          { .path = LIMIT, .is_bare = true, .message = SL_TEXT("\2\0\0\0\1a") },
          200,
          13,
          "neither 0 nor 1" },
        { "long",
          { .path = LIMIT, .is_bare = true, .message = SL_TEXT("\0\0\x10\0\1a") },
          200,
          8,
          "at most 1 MiB" },
        { "no protobuf", { .path = LIMIT, .message = SL_TEXT("\xff") }, 200, 3, "in protobuf" },
        { "good", { .path = LIMIT, .message = ONE }, 200, 0 },
    };
    check_rows(rows, COUNT(rows));
    SAME("decided", model.decide_calls, 2);
    SAME("held", the_h2()->held_bytes, 0);
}

OVER_H2(a_client_that_is_refused_early_need_not_send_the_rest, rules)
{
    struct h2_heard *heard = h2_ask(&(struct h2_call){ .path = "/none", .says_more = true });
    SAME("status", heard->status, 12);
    SAME("resets", h2.resets, 1);
    SAME("error", heard->error, NGHTTP2_NO_ERROR);
    SAME("there", sl_h2_find(the_h2(), heard->stream) == NULL, true);
}

OVER_H2(a_message_of_very_many_parts_is_refused, rules)
{
    static char message[1 << 20] = "\x0a\2de";
    for (size_t i = 4; i + 1 < sizeof message; i += 2)
        memcpy(message + i, "\x12\0", 2); /* a descriptor of nothing */
    struct h2_heard *heard =
        h2_ask(&(struct h2_call){ .path = LIMIT, .message = { message, sizeof message } });
    SAME("status", heard->status, SL_GRPC_INVALID_ARGUMENT);
    assert_non_null(strstr(heard->why, "more than 64 descriptors"));
}

OVER_H2(time_that_is_over_is_not_spent, rules)
{
    struct h2_call call = { .path = LIMIT, .message = ONE, .fields = { "grpc-timeout", "0n" } };
    struct h2_heard *heard = h2_ask(&call);
    SAME("status", heard->status, SL_GRPC_DEADLINE_EXCEEDED);
    SAME("decided", model.decide_calls, 0);
    call.fields[1] = "99999999H";
    SAME("status", h2_ask(&call)->status, SL_GRPC_OK);
    SAME("decided", model.decide_calls, 1);
}

/* It was decided; the answer is too late all the same. */
OVER_H2(an_answer_that_comes_too_late_is_not_given, rules)
{
    struct h2_heard *heard = h2_submit(&h2, &(struct h2_call){ .path = LIMIT, .message = ONE });
    const uint8_t *at;
    for (ssize_t count; (count = nghttp2_session_mem_send(h2.session, &at)) > 0;)
        visitor_put(&h2.visitor, (struct sluice_text){ (const char *)at, (size_t)count });
    visitor_read(&h2.visitor);
    sl_h2_find(the_h2(), heard->stream)->due_us = 1;
    h2_turn();
    SAME("status", heard->status, SL_GRPC_DEADLINE_EXCEEDED);
    SAME("decided", model.decide_calls, 1);
}

OVER_H2(problems_are_told_with_their_status, rules)
{
    struct h2_call call = { .path = LIMIT, .message = ONE };
    call.fields[0] = call.fields[2] = "authorization";
    call.fields[1] = call.fields[3] = "Bearer a";
    struct h2_heard *heard = h2_ask(&call);
    SAME("status", heard->status, SL_GRPC_INVALID_ARGUMENT);
    assert_non_null(strstr(heard->why, "is there twice"));
    SAME("decided", model.decide_calls, 0);
}
