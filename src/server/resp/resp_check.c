/* SLUICE.CHECK attribute value …, and SLUICE.PEEK: POST /v1/check in the words of Redis. The
 * attributes are those of the JSON request, the reply has the members of the JSON decision.
 *
 * Commands with `explain` or `wait` are decided alone, as over HTTP: see route_check.c. */
#include "server/auth/caller.h"
#include "server/resp/resp.h"
#include "wire/json/request_member.h"

static const char at_us_detail[] =
    "`at_us` is for `sluice replay`: a server decides by its own clock. Leave it out.";

/* ---- reading ---- */

static bool refuse_member(struct sl_resp_ask *ask, uint32_t status, const char *detail)
{
    sl_message_refuse(&ask->message, status, detail);
    return false;
}

/* Copies the room's attributes into the round's memory. */
static bool keep_others(struct sl_resp_ask *ask, struct sluice_request *request)
{
    size_t bytes = request->other_count * sizeof *request->others;
    if (bytes == 0)
        return true;
    struct sluice_attribute *kept = sl_round_take(ask->message.round, bytes);
    if (!kept)
        return refuse_member(ask, 500, NULL);
    memcpy(kept, request->others, bytes);
    request->others = kept;
    return true;
}

static bool read_request(struct sl_resp_ask *ask, struct sluice_request *request)
{
    struct sl_json_room room;
    struct sl_members members = sl_members(&room, request);
    if (ask->count % 2 == 0) {
        sl_resp_fail_count(ask);
        return false;
    }
    for (size_t i = 1; i < ask->count; i += 2)
        if (!sl_members_put_word(&members, ask->args[i], ask->args[i + 1]))
            return refuse_member(ask, 422, sl_round_copy(ask->message.round, sl_text(room.error)));
    if (request->at_us != SLUICE_NOW)
        return refuse_member(ask, 422, at_us_detail);
    ask->message.told_ip = request->ip;
    return keep_others(ask, request);
}

/* ---- answering ---- */

static void reply_one(struct sl_round *round, struct sl_call *call)
{
    sl_resp_print_decision(sl_resp_to(call), &round->decisions[call->first], NULL, 0);
}

static void reply_alone(struct sl_round *round, struct sl_call *call)
{
    const struct sluice_request *request = &round->requests[call->first];
    const struct sluice_decision *decision = &round->decisions[call->first];
    const struct sluice_explained *rows = NULL;
    size_t start = call->conn->out.len, row_count = 0;
    sl_round_decide(round, call->first);
    if (request->explain)
        row_count = sl_round_explain(round, call->first, &rows);
    sl_resp_print_decision(sl_resp_to(call), decision, rows, row_count);
    if (request->wait && decision->allowed && decision->delay_us > 0)
        sl_conn_hold_from(call->conn, start, decision->delay_us);
}

static void add_check(struct sl_resp_ask *ask, bool only_looks)
{
    struct sl_message *message = &ask->message;
    struct sluice_request *request = sl_round_request(message->round);
    struct sl_caller caller;
    if (!read_request(ask, request) || !sl_caller_identify(message, &caller) ||
        !sl_caller_name(&caller, message, request, true))
        return;
    request->peek |= only_looks;
    if (!request->explain && !request->wait) {
        sl_resp_add(ask, reply_one);
        return;
    }
    message->call->reply = reply_alone;
    sl_round_add_alone(message->round, message->call);
}

void sl_resp_check(struct sl_resp_ask *ask)
{
    add_check(ask, false);
}

void sl_resp_peek(struct sl_resp_ask *ask)
{
    add_check(ask, true);
}
