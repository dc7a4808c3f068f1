/* POST /v1/check: one request, or an array of them.
 *
 * Most are decided together with all others of the round. Requests with `explain` or `wait` are
 * decided alone: the rows of an explanation last until the next decision, and messages behind an
 * answer that is held must not be decided before that answer is sent. */
#include <stdio.h>

#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/http/route.h"
#include "wire/json/decision.h"
#include "wire/json/request.h"

enum {
    /* Of an answer to an array; decisions beyond that are not explained. All of them are charged,
     * so all must be in the answer. */
    EXPLAINED_MAX_BYTES = 12 << 20,
};
#define NOTHING       ((struct sluice_text){ 0 })
#define NOT_EXPLAINED ((struct sl_explained_rows){ 0 })

_Static_assert((int)SL_ARRAY_MAX <= (int)SL_ROUND_REQUESTS, "an array fits an empty round");

/* ---- reading ---- */

static const char at_us_detail[] =
    "`at_us` is for `sluice replay`: a server decides by its own clock. Leave it out.";

/* Copies the attributes, which were read into the caller's `room`, into the round's memory. */
static bool keep_others(struct sl_message *message, struct sluice_request *request)
{
    size_t bytes = request->other_count * sizeof *request->others;
    if (bytes == 0)
        return true;
    struct sluice_attribute *kept = sl_round_take(message->round, bytes);
    if (!kept) {
        sl_message_refuse(message, 500, NULL);
        return false;
    }
    memcpy(kept, request->others, bytes);
    request->others = kept;
    return true;
}

static void refuse_json(struct sl_message *message, const char *error, bool unfit)
{
    const char *detail = sl_round_copy(message->round, sl_text(error));
    sl_message_refuse(message, unfit ? 422 : 400, detail);
}

bool sl_message_read_request(struct sl_message *message, struct sluice_request *out)
{
    struct sl_json_room room;
    if (!sl_json_read_request(message->body, message->body_len, &room, out)) {
        refuse_json(message, room.error, room.unfit);
        return false;
    }
    if (out->at_us != SLUICE_NOW) {
        sl_message_refuse(message, 422, at_us_detail);
        return false;
    }
    message->told_ip = out->ip;
    return keep_others(message, out);
}

/* ---- answering one ---- */

static void print_one(struct sl_round *round, struct sl_call *call, struct sl_explained_rows rows)
{
    const struct sluice_decision *decision = &round->decisions[call->first];
    struct sl_buffer *body = &round->scratch;
    sl_buffer_clear(body);
    sl_denial_print(body, NOTHING, decision, rows);
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = sl_decision_status(decision),
                                              .type = "application/json",
                                              .has_scratch = true,
                                              .decision = decision });
}

static void reply_one(struct sl_round *round, struct sl_call *call)
{
    print_one(round, call, NOT_EXPLAINED);
}

/* The rows of the newest decision. */
static struct sl_explained_rows explain_newest(struct sl_round *round, size_t number,
                                               bool is_wanted)
{
    struct sl_explained_rows rows = NOT_EXPLAINED;
    if (is_wanted)
        rows.count = sl_round_explain(round, number, &rows.at);
    return rows;
}

static void reply_one_alone(struct sl_round *round, struct sl_call *call)
{
    const struct sluice_request *request = &round->requests[call->first];
    const struct sluice_decision *decision = &round->decisions[call->first];
    size_t start = call->conn->out.len;
    sl_round_decide(round, call->first);
    print_one(round, call, explain_newest(round, call->first, request->explain));
    if (request->wait && decision->allowed && decision->delay_us > 0)
        sl_conn_hold_from(call->conn, start, decision->delay_us);
}

static void read_one(struct sl_message *message)
{
    struct sluice_request *request = sl_round_request(message->round);
    struct sl_caller caller;
    if (!sl_message_read_request(message, request) || !sl_caller_identify(message, &caller) ||
        !sl_caller_name(&caller, message, request, true))
        return;
    bool alone = request->explain || request->wait;
    message->call->reply = alone ? reply_one_alone : reply_one;
    if (alone)
        sl_round_add_alone(message->round, message->call);
    else
        sl_round_add(message->round, message->call);
}

/* ---- answering many ---- */

static void print_array(struct sl_round *round, struct sl_call *call)
{
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){
                       .status = 200, .type = "application/json", .has_scratch = true });
}

static void reply_array(struct sl_round *round, struct sl_call *call)
{
    struct sl_buffer *body = &round->scratch;
    sl_buffer_clear(body);
    for (uint32_t i = 0; i < call->count; i++) {
        sl_buffer_add(body, i ? SL_TEXT(", ") : SL_TEXT("["));
        sl_denial_print(body, NOTHING, &round->decisions[call->first + i], NOT_EXPLAINED);
    }
    sl_buffer_add(body, SL_TEXT("]"));
    print_array(round, call);
}

static void reply_array_alone(struct sl_round *round, struct sl_call *call)
{
    struct sl_buffer *body = &round->scratch;
    size_t start = call->conn->out.len;
    int64_t delay_us = 0;
    sl_buffer_clear(body);
    for (uint32_t i = call->first; i < call->first + call->count; i++) {
        const struct sluice_request *request = &round->requests[i];
        const struct sluice_decision *decision = &round->decisions[i];
        sl_round_decide(round, i);
        bool explains = request->explain && body->len < EXPLAINED_MAX_BYTES;
        sl_buffer_add(body, i > call->first ? SL_TEXT(", ") : SL_TEXT("["));
        sl_denial_print(body, NOTHING, decision, explain_newest(round, i, explains));
        if (request->wait && decision->allowed && decision->delay_us > delay_us)
            delay_us = decision->delay_us;
    }
    sl_buffer_add(body, SL_TEXT("]"));
    print_array(round, call);
    if (delay_us > 0)
        sl_conn_hold_from(call->conn, start, delay_us);
}

/* ---- reading many ---- */

static void refuse_element(struct sl_message *message, size_t number, const char *what, bool unfit)
{
    char detail[256];
    snprintf(detail, sizeof detail, "request %zu of the array: %s", number, what);
    refuse_json(message, detail, unfit);
}

/* Returns false if the message is refused. Sets *alone if the element has to be decided alone. */
static bool read_element(struct sl_message *message, struct sl_json_scan *scan,
                         const struct sl_caller *caller, bool *alone)
{
    struct sl_json_room room;
    size_t number = message->round->request_count - message->call->first + 1;
    if (number > SL_ARRAY_MAX) {
        sl_message_refuse(message, 413, "An array has at most 1,000 requests; send more arrays.");
        return false;
    }
    struct sluice_request *request = sl_round_request(message->round);
    if (!sl_json_next_request(scan, &room, request)) {
        refuse_element(message, number, room.error, room.unfit);
        return false;
    }
    if (request->at_us != SLUICE_NOW) {
        refuse_element(message, number, at_us_detail, true);
        return false;
    }
    *alone |= request->explain || request->wait;
    return keep_others(message, request) && sl_caller_name(caller, message, request, true);
}

static void refuse_at_byte(struct sl_message *message, const struct sl_json_scan *scan,
                           const char *what)
{
    char detail[256];
    snprintf(detail, sizeof detail, "byte %zu: %s", (size_t)(scan->at - scan->start) + 1, what);
    refuse_json(message, detail, false);
}

/* Reads the end of the array. Returns false if the message is refused. */
static bool read_array_end(struct sl_message *message, struct sl_json_scan *scan)
{
    if (!sl_json_take(scan, ']')) {
        refuse_at_byte(message, scan, "expected `,` or `]` behind a request of the array");
        return false;
    }
    sl_json_skip_space(scan);
    if (scan->at != scan->end)
        refuse_at_byte(message, scan, "there is something behind the array");
    return scan->at == scan->end;
}

static void read_array(struct sl_message *message, struct sl_json_scan *scan)
{
    bool alone = false;
    struct sl_caller caller;
    /* This comes first: it may finish the round, and free the memory that a caller's names are in.
     */
    message->call = sl_round_make_room(message->round, message->call, SL_ARRAY_MAX);
    if (!sl_caller_identify(message, &caller))
        return;
    if (sl_json_take(scan, ']')) {
        sl_message_refuse(message, 422, "The array is empty; it holds 1 to 1,000 requests.");
        return;
    }
    do {
        if (!read_element(message, scan, &caller, &alone))
            return;
    } while (sl_json_take(scan, ','));
    if (!read_array_end(message, scan))
        return;
    message->call->reply = alone ? reply_array_alone : reply_array;
    if (alone)
        sl_round_add_alone(message->round, message->call);
    else
        sl_round_add_now(message->round, message->call);
}

void sl_call_check(struct sl_message *message)
{
    struct sl_json_scan scan = sl_json_scan(message->body, message->body_len);
    if (message->body_len && sl_json_take(&scan, '['))
        read_array(message, &scan);
    else
        read_one(message);
}
