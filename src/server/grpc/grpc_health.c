/* The gRPC health service: serving, as /readyz, from the first connection until shutdown begins. */
#include <grpc/health/v1/health.pb-c.h>

#include "server/grpc/grpc_call.h"
#include "server/worker.h"

typedef Grpc__Health__V1__HealthCheckRequest request_message;
typedef Grpc__Health__V1__HealthCheckResponse response_message;

#define STATUS(name) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

/* The names: the whole server, and its one service. */
static bool is_known(ProtobufCBinaryData service)
{
    static const char *const names[] = { "", "ratelimit",
                                         "envoy.service.ratelimit.v3.RateLimitService" };
    struct sluice_text name = { (const char *)service.data, service.len };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sl_text_is(name, names[i]))
            return true;
    return false;
}

static Grpc__Health__V1__HealthCheckResponse__ServingStatus status_of(const struct sl_h2 *h2)
{
    return h2->conn->worker->is_draining ? STATUS(NOT_SERVING) : STATUS(SERVING);
}

static const request_message *read_request(const struct sl_grpc_ask *ask)
{
    return (const request_message *)sl_grpc_read_message(
        ask->stream, &ask->round->memory, &grpc__health__v1__health_check_request__descriptor,
        ask->message);
}

void sl_grpc_health_check(const struct sl_grpc_ask *ask)
{
    const request_message *request = read_request(ask);
    response_message out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    if (!request)
        return;
    out.status = status_of(ask->stream->h2);
    if (is_known(request->service))
        sl_grpc_answer(ask->stream, &out.base);
    else
        sl_grpc_fail(ask->stream, SL_GRPC_NOT_FOUND,
                     "There is no such service; an empty name is the whole server.");
}

/* Answers with the status now, and again when it changes; SERVICE_UNKNOWN for unknown services. */
void sl_grpc_health_watch(const struct sl_grpc_ask *ask)
{
    const request_message *request = read_request(ask);
    response_message out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    if (!request)
        return;
    bool known = is_known(request->service);
    out.status = known ? status_of(ask->stream->h2) : STATUS(SERVICE_UNKNOWN);
    ask->stream->is_known = known;
    sl_grpc_say(ask->stream, &out.base);
    sl_h2_stream_move(ask->stream, SL_H2_WATCHED);
    if (ask->stream->h2->conn->worker->is_draining)
        sl_grpc_health_drain(ask->stream->h2);
}

void sl_grpc_health_drain(struct sl_h2 *h2)
{
    response_message out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    struct sl_h2_stream *stream;
    out.status = STATUS(NOT_SERVING);
    while ((stream = h2->lists[SL_H2_WATCHED].first)) {
        if (stream->is_known)
            sl_grpc_say(stream, &out.base);
        sl_grpc_fail(stream, SL_GRPC_UNAVAILABLE, "The server is shutting down.");
    }
}
