/* Envoy's rate limit service: ShouldRateLimit. Every descriptor is a request; those of one call
 * are charged together, all or none. */
#include "base/check.h"
#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/grpc/grpc_call.h"
#include "wire/grpc/rls_answer.h"
#include "wire/grpc/rls_request.h"
#include "wire/http/limit_fields.h"
#include "wire/json/decision.h"

_Static_assert((int)SL_RLS_DESCRIPTORS_MAX <= (int)SL_JOINED_MAX,
               "all of a call are charged as one");

/* ---- requests ---- */

static bool fail_call(const struct sl_grpc_ask *ask, const char *why)
{
    enum sl_grpc_status status =
        why == sl_rls_no_memory ? SL_GRPC_UNAVAILABLE : SL_GRPC_INVALID_ARGUMENT;
    sl_grpc_fail(ask->stream, status, why);
    return false;
}

/* A limit in the descriptor takes the place of the rules' limits. */
static bool name_alone(const struct sl_grpc_ask *ask, const struct sl_rls_descriptor *from,
                       struct sluice_request *request)
{
    struct sl_direct *direct = sl_round_take(ask->round, sizeof *direct);
    if (!direct ||
        !sl_descriptor_name_alone(&from->descriptor, SL_DIRECT_KEY, &ask->round->memory, request))
        return false;
    SL_CHECK(sl_direct_window(from->limit, from->unit_us, direct)); /* any 32 bits fit */
    sl_round_options(ask->round)->direct = direct;
    return true;
}

/* Adds one descriptor as a request of the call. Returns false without memory. */
static bool add_request(const struct sl_grpc_ask *ask, const struct sl_rls_descriptor *from,
                        struct sluice_request **out)
{
    struct sluice_request *request = *out = sl_round_request(ask->round);
    request->cost = from->cost;
    request->peek = from->peeks;
    return from->has_limit ? name_alone(ask, from, request)
                           : sl_descriptor_name(&from->descriptor, &ask->round->memory, request);
}

/* Returns false if the call was refused, and is in the round as a problem, or if its stream has
 * failed. */
static bool add_requests(const struct sl_grpc_ask *ask, const struct sl_rls_request *said,
                         struct sl_message *message)
{
    struct sl_caller caller;
    if (!sl_caller_identify(message, &caller))
        return false;
    for (size_t i = 0; i < said->count; i++) {
        struct sluice_request *request;
        if (!add_request(ask, &said->descriptors[i], &request)) {
            sl_round_drop(ask->round, message->call);
            return fail_call(ask, sl_rls_no_memory);
        }
        if (i > 0)
            sl_round_options(ask->round)->joins = true;
        if (!sl_caller_name(&caller, message, request, true))
            return false;
    }
    return true;
}

/* Copies the message into the round's memory: the client may reset the stream before the round is
 * decided. */
static bool copy_message(const struct sl_grpc_ask *ask, struct sluice_text *message)
{
    char *kept = sl_round_take(ask->round, message->len + 1);
    if (!kept)
        return fail_call(ask, sl_rls_no_memory);
    if (message->len)
        memcpy(kept, message->at, message->len);
    message->at = kept;
    return true;
}

static sl_reply reply_rate_limit;

void sl_grpc_should_limit(const struct sl_grpc_ask *ask)
{
    struct sluice_text bytes = ask->message;
    struct sl_rls_request said;
    struct sl_http_head head;
    if (!copy_message(ask, &bytes))
        return;
    const char *wrong = sl_rls_read(bytes, &ask->round->memory, &said);
    if (wrong) {
        fail_call(ask, wrong);
        return;
    }
    struct sl_message message = { .round = ask->round,
                                  .conn = ask->stream->h2->conn,
                                  .head = &head };
    message.call = sl_round_call(ask->round, message.conn);
    message.call->stream = (uint32_t)ask->stream->number;
    message.call->reply = reply_rate_limit;
    sl_h2_stream_head(ask->stream, &head);
    if (add_requests(ask, &said, &message))
        sl_round_add(ask->round, message.call);
}

/* ---- answering ---- */

static bool has_failed(const struct sluice_decision *decisions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sl_decision_status(&decisions[i]) == 503)
            return true;
    return false;
}

static void answer_decided(struct sl_round *round, const struct sl_call *call,
                           struct sl_h2_stream *stream)
{
    const struct sluice_decision *decisions = &round->decisions[call->first];
    const struct sluice_decision *first = sl_rls_foremost(decisions, call->count);
    struct sl_buffer *text = &round->scratch;
    sl_buffer_clear(text);
    if (!first->allowed)
        sl_denial_print(text, (struct sluice_text){ 0 }, first, (struct sl_explained_rows){ 0 });
    size_t body_len = text->len;
    sl_limit_fields_print(text, first, round->settings->headers);
    if (text->failed) {
        sl_grpc_fail(stream, SL_GRPC_INTERNAL, "There is no memory for the answer; try again.");
        return;
    }
    struct sl_rls_answer answer = { .decisions = decisions, .count = call->count };
    answer.body = (struct sluice_text){ text->at, body_len };
    if (text->len > body_len)
        answer.lines = (struct sluice_text){ text->at + body_len, text->len - body_len };
    sl_rls_print(sl_h2_say_begin(stream), &answer);
    sl_h2_say_end(stream);
    sl_h2_finish(stream, SL_GRPC_OK, SL_TEXT(""));
}

/* Where the store fails and the rules deny then, Envoy decides what happens (failure_mode_deny). */
static void reply_rate_limit(struct sl_round *round, struct sl_call *call)
{
    struct sl_h2_stream *stream = sl_grpc_stream_of(call);
    if (!stream)
        return;
    if (has_failed(&round->decisions[call->first], call->count))
        sl_grpc_fail(stream, SL_GRPC_UNAVAILABLE,
                     "The store of the counts does not answer, and the rules deny then.");
    else
        answer_decided(round, call, stream);
}
