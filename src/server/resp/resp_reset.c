/* SLUICE.RESET [rule NAME] attribute value …: POST /v1/reset in the words of Redis. It goes the
 * same way, as a job for the main thread, and so has the same credentials, the same answers and
 * the same place in the audit log. */
#include <jansson.h>

#include "base/text/utf8.h"
#include "server/job.h"
#include "server/resp/resp.h"
#include "wire/json/decision.h"

/* ---- the request ---- */

/* Prints the attributes as a JSON object, into the round's scratch. Returns false if one is not
 * UTF-8: in JSON it could not be told from another one. */
static bool print_body(const struct sl_resp_ask *ask, struct sl_buffer *body)
{
    sl_buffer_clear(body);
    for (size_t i = 1; i < ask->count; i++) {
        if (!sl_utf8_is_text(ask->args[i]))
            return false;
        sl_buffer_add(body, i == 1 ? SL_TEXT("{") : i % 2 ? SL_TEXT(", ") : SL_TEXT(": "));
        sl_json_print_string(body, ask->args[i]);
    }
    sl_buffer_add(body, SL_TEXT("}"));
    return true;
}

/* ---- the answer ---- */

static void print_problem(struct sl_round *round, struct sl_call *call, const json_t *answer)
{
    const char *detail = json_string_value(json_object_get(answer, "detail"));
    call->status = (uint16_t)call->job->status;
    call->detail = detail;
    sl_resp_problem(round, call);
}

/* Answers with the names of the rules whose counts of this identifier were reset. */
static void reply_reset(struct sl_round *round, struct sl_call *call)
{
    const struct sl_job *job = call->job;
    json_t *answer = job->out.failed ? NULL : json_loadb(job->out.at, job->out.len, 0, NULL), *name;
    const json_t *names = json_object_get(answer, "reset");
    struct sl_resp_out out = sl_resp_to(call);
    size_t i;
    if (job->is_problem || !names) {
        print_problem(round, call, answer);
    } else {
        sl_resp_print_array(out, json_array_size(names));
        json_array_foreach(names, i, name) sl_resp_print_bulk(
            out, (struct sluice_text){ json_string_value(name), json_string_length(name) });
    }
    json_decref(answer);
}

void sl_resp_reset_counts(struct sl_resp_ask *ask)
{
    struct sl_message *message = &ask->message;
    struct sl_buffer *body = &message->round->scratch;
    if (ask->count % 2 == 0) {
        sl_resp_fail_count(ask);
        return;
    }
    if (!print_body(ask, body) || body->failed) {
        sl_message_refuse(message, 400, "A name or a value is no UTF-8, or all are too long.");
        return;
    }
    message->route = sl_route_find(SL_TEXT("/v1/reset"));
    message->body = body->at;
    message->body_len = body->len;
    ask->head.method = SL_TEXT("POST");
    ask->head.path = message->route->path;
    ask->head.known[SL_HTTP_CONTENT_TYPE] = SL_TEXT("application/json");
    message->call->reply = reply_reset;
    sl_call_admin(message);
}
