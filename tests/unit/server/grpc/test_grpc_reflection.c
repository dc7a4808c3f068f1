#include <grpc/reflection/v1/reflection.pb-c.h>

#include "server/grpc/file_set.h"
#include "unit/server/h2_visitor.h"

static const char rules[] = "rules: []\n";

#define V1      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define V1ALPHA "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"

typedef Grpc__Reflection__V1__ServerReflectionRequest request_message;
typedef Grpc__Reflection__V1__ServerReflectionResponse response_message;

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
}

/* One question, `what` by its number, and its answer; the caller's. */
static response_message *ask(const char *path, int what, const char *text)
{
    request_message request;
    uint8_t packed[512];
    grpc__reflection__v1__server_reflection_request__init(&request);
    request.host = bytes_of("here");
    request.message_request_case =
        (Grpc__Reflection__V1__ServerReflectionRequest__MessageRequestCase)what;
    request.file_by_filename = bytes_of(text); /* as all texts of the union */
    size_t len = grpc__reflection__v1__server_reflection_request__pack(&request, packed);
    struct h2_heard *heard = h2_ask(&(struct h2_call){ path, { (const char *)packed, len } });
    SAME(text, heard->status, 0);
    struct sluice_text message = h2_message(heard);
    response_message *got = grpc__reflection__v1__server_reflection_response__unpack(
        NULL, message.len, (const uint8_t *)message.at);
    assert_non_null(got);
    assert_memory_equal(got->valid_host.data, "here", 4);
    SAME(text, got->original_request->message_request_case, what);
    return got;
}

enum { BY_NAME = 3, BY_SYMBOL = 4, ALL_EXTENSIONS = 6, SERVICES = 7 };

OVER_H2(all_services_are_listed, rules)
{
    static const char *const paths[] = { V1, V1ALPHA };
    static const char *const names[] = {
        "envoy.service.ratelimit.v3.RateLimitService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    };
    for (size_t i = 0; i < COUNT(paths); i++) {
        response_message *got = ask(paths[i], SERVICES, "*");
        SAME("services", got->list_services_response->n_service, COUNT(names));
        for (size_t n = 0; n < COUNT(names); n++) {
            ProtobufCBinaryData name = got->list_services_response->service[n]->name;
            SAME_TEXT("name", ((struct sluice_text){ (const char *)name.data, name.len }),
                      names[n]);
        }
        grpc__reflection__v1__server_reflection_response__free_unpacked(got, NULL);
    }
}

struct row {
    int what;
    const char *text, *file; /* NULL: it is not found */
};

static void check_row(const struct row *row)
{
    response_message *got = ask(V1, row->what, row->text);
    if (!row->file) {
        assert_non_null(got->error_response);
        SAME(row->text, got->message_response_case, 7);
        SAME(row->text, got->error_response->error_code, SL_GRPC_NOT_FOUND);
    } else {
        char wanted[128];
        SAME(row->text, got->message_response_case, 4);
        SAME(row->text, got->file_descriptor_response->n_file_descriptor_proto, 1);
        ProtobufCBinaryData file = got->file_descriptor_response->file_descriptor_proto[0];
        /* A FileDescriptorProto begins with its name. */
        int len = snprintf(wanted, sizeof wanted, "\x0a%c%s", (int)strlen(row->file), row->file);
        assert_memory_equal(file.data, wanted, (size_t)len);
    }
    grpc__reflection__v1__server_reflection_response__free_unpacked(got, NULL);
}

OVER_H2(files_are_found_by_name_and_by_what_is_in_them, rules)
{
#define RLS        "envoy/service/ratelimit/v3/rls.proto"
#define DESCRIPTOR "envoy/extensions/common/ratelimit/v3/ratelimit.proto"
    static const struct row rows[] = {
        { BY_NAME, RLS, RLS },
        { BY_NAME, "google/protobuf/struct.proto", "google/protobuf/struct.proto" },
        { BY_NAME, "rls.proto", NULL },
        { BY_NAME, "", NULL },
        { BY_SYMBOL, "envoy.service.ratelimit.v3.RateLimitService", RLS },
        { BY_SYMBOL, "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit", RLS },
        { BY_SYMBOL, "envoy.service.ratelimit.v3.RateLimitService.Other", NULL },
        { BY_SYMBOL, "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit", RLS },
        { BY_SYMBOL, "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Units", NULL },
        { BY_SYMBOL, "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry", DESCRIPTOR },
        { BY_SYMBOL, "envoy.type.v3.RateLimitUnit", "envoy/type/v3/ratelimit_unit.proto" },
        { BY_SYMBOL, "google.protobuf.UInt64Value", "google/protobuf/wrappers.proto" },
        { BY_SYMBOL, "envoy.service.ratelimit.v3", NULL },
        { BY_SYMBOL, ".", NULL },
        { BY_SYMBOL, "", NULL },
        { ALL_EXTENSIONS, "google.protobuf.Duration", NULL },
        { 0, "", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(&rows[i]);
}

OVER_H2(a_stream_goes_on_until_its_client_ends_it, rules)
{
    struct h2_heard *heard = h2_ask(&(struct h2_call){ V1, SL_TEXT("\x3a\0"), .says_more = true });
    size_t one = heard->body.len;
    assert_true(one > 100);
    for (size_t i = 2; i < 5; i++) {
        sl_buffer_add(&heard->said, SL_TEXT("\0\0\0\0\2\x3a\0"));
        nghttp2_session_resume_data(h2.session, heard->stream);
        h2_turn();
        SAME("answers", heard->body.len, i * one);
        SAME("status", heard->status, -1);
    }
    heard->says_more = false;
    nghttp2_session_resume_data(h2.session, heard->stream);
    h2_turn();
    SAME("status", heard->status, 0);
}

/* Questions are short, and their answers are not. */
OVER_H2(answers_that_the_client_does_not_read_do_not_pile_up, rules)
{
    static const nghttp2_settings_entry small[] = { { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 } };
    nghttp2_submit_settings(h2.session, NGHTTP2_FLAG_NONE, small, 1);
    struct h2_heard *heard = h2_submit(&h2, &(struct h2_call){ V1, SL_TEXT("\x3a\0") });
    for (size_t i = 0; i < 2000; i++)
        sl_buffer_add(&heard->said, SL_TEXT("\0\0\0\0\2\x3a\0"));
    h2_turn();
    struct sl_h2_stream *stream = sl_h2_find(the_h2(), heard->stream);
    assert_non_null(stream);
    SAME("over", stream->is_over, true);
    SAME("status", stream->status, SL_GRPC_RESOURCE_EXHAUSTED);
    assert_true(stream->out.len < SL_H2_UNREAD_MAX_BYTES + 1024);
}

/* What is asked is in the answer twice. */
OVER_H2(a_long_question_is_refused_by_its_prefix, rules)
{
    static char host[4096] = "\x0a\xf9\x1f"; /* of 4089 bytes, and `list_services` */
    memset(host + 3, 'h', sizeof host - 5);
    memcpy(host + sizeof host - 2, "\x3a", 2);
    struct h2_heard *heard = h2_ask(&(struct h2_call){ V1, { host, sizeof host - 2 + 2 } });
    SAME("the longest", heard->status, 0);
    assert_true(heard->body.len > 2 * sizeof host - 20);
    heard = h2_ask(
        &(struct h2_call){ V1, SL_TEXT("\0\0\0\x10\1"), .is_bare = true, .says_more = true });
    SAME("one more", heard->status, SL_GRPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(heard->why, "4 KiB"));
}

/* On many streams a little each. */
OVER_H2(what_a_session_holds_is_bounded, rules)
{
    static const nghttp2_settings_entry small[] = { { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 } };
    nghttp2_submit_settings(h2.session, NGHTTP2_FLAG_NONE, small, 1);
    size_t refused = 0;
    for (size_t i = 0; i < SL_H2_STREAMS_MAX; i++) {
        struct h2_heard *heard = h2_submit(&h2, &(struct h2_call){ V1, SL_TEXT("\x3a\0") });
        for (size_t n = 0; n < 250; n++)
            sl_buffer_add(&heard->said, SL_TEXT("\0\0\0\0\2\x3a\0"));
        h2_turn();
        refused += heard->status == SL_GRPC_RESOURCE_EXHAUSTED; /* which needs no window */
        assert_true(the_h2()->room_bytes < SL_H2_ROOM_MAX_BYTES + (256 << 10));
    }
    assert_true(refused > 0 && refused < SL_H2_STREAMS_MAX);
    assert_true(the_h2()->unread_bytes > SL_H2_ROOM_MAX_BYTES / 4);
    SAME("of the worker", stage.workers[0].stream_bytes, the_h2()->room_bytes);
}

OVER_H2(it_ends_with_the_server, rules)
{
    struct h2_heard *heard = h2_ask(&(struct h2_call){ V1, SL_TEXT("\x3a\0"), .says_more = true });
    stage.workers[0].is_draining = true;
    h2.visitor.conn->front->drain(h2.visitor.conn);
    h2_turn();
    SAME("status", heard->status, SL_GRPC_UNAVAILABLE);
    SAME("open", h2.visitor.conn->is_finished, true);
}
