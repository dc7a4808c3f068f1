/* gRPC server reflection: lists the services and gives the files that describe them. v1 and v1alpha
 * are the same on the wire. */
#include <grpc/reflection/v1/reflection.pb-c.h>

#include "server/grpc/file_set.h"
#include "server/grpc/grpc_call.h"
#include "server/http/assets.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest request_message;
typedef Grpc__Reflection__V1__ServerReflectionResponse response_message;

#define ASKS(what)  GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##what
#define TELLS(what) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##what

enum { SERVICES_MAX = 16, NAME_MAX_BYTES = 128, MEMORY_BYTES = 4096 };

static struct sluice_text text_of(ProtobufCBinaryData bytes)
{
    return (struct sluice_text){ (const char *)bytes.data, bytes.len };
}

static ProtobufCBinaryData bytes_of(struct sluice_text text)
{
    union {
        const char *in;
        uint8_t *out; /* it is only read */
    } same = { .in = text.at };
    return (ProtobufCBinaryData){ text.len, same.out };
}

/* ---- answers ---- */

static void tell_missing(struct sl_h2_stream *stream, response_message *out, const char *why)
{
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    error.error_code = SL_GRPC_NOT_FOUND;
    error.error_message = bytes_of(sl_text(why));
    out->message_response_case = TELLS(ERROR_RESPONSE);
    out->error_response = &error;
    sl_grpc_say(stream, &out->base);
}

static void tell_file(struct sl_h2_stream *stream, response_message *out, struct sluice_text file)
{
    Grpc__Reflection__V1__FileDescriptorResponse files =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    ProtobufCBinaryData bytes = bytes_of(file);
    files.n_file_descriptor_proto = 1;
    files.file_descriptor_proto = &bytes;
    out->message_response_case = TELLS(FILE_DESCRIPTOR_RESPONSE);
    out->file_descriptor_response = &files;
    sl_grpc_say(stream, &out->base);
}

static void tell_services(struct sl_h2_stream *stream, response_message *out)
{
    Grpc__Reflection__V1__ListServiceResponse list =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    Grpc__Reflection__V1__ServiceResponse services[SERVICES_MAX], *pointers[SERVICES_MAX];
    char names[SERVICES_MAX][NAME_MAX_BYTES];
    size_t place = 0;
    while (
        list.n_service < SERVICES_MAX &&
        sl_file_set_service(sl_asset_services(), &place, names[list.n_service], NAME_MAX_BYTES)) {
        size_t i = list.n_service++;
        grpc__reflection__v1__service_response__init(&services[i]);
        services[i].name = bytes_of(sl_text(names[i]));
        pointers[i] = &services[i];
    }
    list.service = pointers;
    out->message_response_case = TELLS(LIST_SERVICES_RESPONSE);
    out->list_services_response = &list;
    sl_grpc_say(stream, &out->base);
}

/* ---- requests ---- */

static void answer_request(struct sl_h2_stream *stream, request_message *request)
{
    response_message out = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    struct sluice_text set = sl_asset_services(), file;
    out.valid_host = request->host;
    out.original_request = request;
    switch (request->message_request_case) {
    case ASKS(LIST_SERVICES):
        tell_services(stream, &out);
        return;
    case ASKS(FILE_BY_FILENAME):
        if (sl_file_named(set, text_of(request->file_by_filename), &file))
            tell_file(stream, &out, file);
        else
            tell_missing(stream, &out, "There is no file of that name.");
        return;
    case ASKS(FILE_CONTAINING_SYMBOL):
        if (sl_file_defining(set, text_of(request->file_containing_symbol), &file))
            tell_file(stream, &out, file);
        else
            tell_missing(stream, &out, "Nothing has that name.");
        return;
    default:
        tell_missing(stream, &out, "There are no extensions here.");
    }
}

void sl_grpc_reflect(struct sl_h2_stream *stream, struct sluice_text message)
{
    struct sl_scratch memory = sl_scratch(MEMORY_BYTES);
    request_message *request = (request_message *)sl_grpc_read_message(
        stream, &memory, &grpc__reflection__v1__server_reflection_request__descriptor, message);
    if (request && stream->out.len - stream->sent > SL_H2_UNREAD_MAX_BYTES)
        sl_grpc_fail(stream, SL_GRPC_RESOURCE_EXHAUSTED,
                     "Too much was asked before answers were read; read them first.");
    else if (request)
        answer_request(stream, request);
    sl_scratch_release(&memory);
}
