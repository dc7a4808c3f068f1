/* /v1/authorize: a proxy asks before it forwards a request.
 *
 * The proxy describes the original request in headers. A client can send headers of the same names,
 * and a proxy that sets one pair of them passes the other on: so a message whose headers contradict
 * each other is refused. */
#include <strings.h>

#include "auth/client_address.h"
#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/http/route.h"
#include "server/worker.h"
#include "wire/json/decision.h"

static const char contradiction[] =
    "Two headers contradict each other on the method, the URI or the caller; let the proxy remove "
    "what clients send (X-Forwarded-Method, X-Forwarded-Uri, X-Original-Method, X-Original-URI "
    "and the headers of `identity.headers`).";

/* Do all fields of this name say the same as the first? */
static bool are_all_equal(const struct sl_http_head *head, struct sluice_text lower,
                          struct sluice_text first)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (sl_http_name_is(head->fields[i].name, lower) &&
            !sl_text_equal(head->fields[i].value, first))
            return false;
    return true;
}

static bool is_unambiguous(const struct sl_http_head *head, enum sl_http_known known,
                           struct sluice_text lower)
{
    return !(head->repeated & 1u << known) || are_all_equal(head, lower, head->known[known]);
}

/* The value of two headers that mean the same. Returns false if they differ. */
static bool merge_values(struct sluice_text a, struct sluice_text b, struct sluice_text *out)
{
    if (a.at && b.at && !sl_text_equal(a, b))
        return false;
    *out = a.at ? a : b;
    return true;
}

static bool read_original(const struct sl_http_head *head, struct sluice_request *request)
{
    const struct sluice_text *known = head->known;
    uint32_t pairs = 1u << SL_HTTP_X_FORWARDED_METHOD | 1u << SL_HTTP_X_FORWARDED_URI |
                     1u << SL_HTTP_X_ORIGINAL_METHOD | 1u << SL_HTTP_X_ORIGINAL_URI;
    if (head->repeated & pairs &&
        !(is_unambiguous(head, SL_HTTP_X_FORWARDED_METHOD, SL_TEXT("x-forwarded-method")) &&
          is_unambiguous(head, SL_HTTP_X_FORWARDED_URI, SL_TEXT("x-forwarded-uri")) &&
          is_unambiguous(head, SL_HTTP_X_ORIGINAL_METHOD, SL_TEXT("x-original-method")) &&
          is_unambiguous(head, SL_HTTP_X_ORIGINAL_URI, SL_TEXT("x-original-uri"))))
        return false;
    if (!merge_values(known[SL_HTTP_X_FORWARDED_METHOD], known[SL_HTTP_X_ORIGINAL_METHOD],
                      &request->method) ||
        !merge_values(known[SL_HTTP_X_FORWARDED_URI], known[SL_HTTP_X_ORIGINAL_URI],
                      &request->resource))
        return false;
    size_t own = strlen("/v1/authorize");
    if (!request->method.at)
        request->method = head->method;
    if (!request->resource.at && head->path.len > own)
        request->resource = (struct sluice_text){ head->path.at + own, head->path.len - own };
    return true;
}

static bool is_same_name(struct sluice_text a, const char *b)
{
    return strlen(b) == a.len && strncasecmp(a.at, b, a.len) == 0;
}

/* The first field of this name, in any case. Returns false if two of that name differ. */
static bool find_field(const struct sl_http_head *head, const char *name, struct sluice_text *out)
{
    struct sluice_text found = { 0 };
    for (size_t i = 0; i < head->field_count; i++) {
        if (!is_same_name(head->fields[i].name, name))
            continue;
        if (found.at && !sl_text_equal(found, head->fields[i].value))
            return false;
        found = head->fields[i].value;
    }
    *out = found;
    return true;
}

/* Reads the attributes that identity.headers names; `others` has room for them. Returns false if
 * two fields contradict each other. */
static bool read_identity(struct sl_message *message, const struct sl_identity *identity,
                          struct sluice_attribute *others)
{
    struct sluice_request *request = &message->round->requests[message->call->first];
    request->others = others;
    for (size_t i = 0; i < identity->header_count; i++) {
        const struct sl_claim_map *map = &identity->headers[i];
        struct sluice_text value;
        if (!find_field(message->head, map->source, &value))
            return false;
        struct sluice_text *field = sl_request_field(request, map->attribute.attribute);
        if (!value.at)
            continue;
        if (field)
            *field = value;
        else
            others[request->other_count++] =
                (struct sluice_attribute){ map->attribute.name, value };
    }
    return true;
}

/* Mostly the peer's address, which is printed already. */
bool sl_message_address(struct sl_message *message, struct sluice_text *out)
{
    const struct sl_identity *identity = &message->round->settings->identity;
    const struct sl_conn *conn = message->conn;
    const struct sluice_text *known = message->head->known;
    if (!conn->is_local && !known[SL_HTTP_FORWARDED].at && !known[SL_HTTP_X_FORWARDED_FOR].at) {
        *out = (struct sluice_text){ conn->peer_text, conn->peer_len };
        return true;
    }
    struct sl_address client =
        sl_peer_client(identity, conn->is_local ? NULL : &conn->peer, message->head);
    char *text = sl_round_take(message->round, SL_ADDRESS_PRINT_MAX);
    if (!text) {
        sl_message_refuse(message, 500, NULL);
        return false;
    }
    *out = (struct sluice_text){ text, sl_address_print(&client, text) };
    return true;
}

static void reply_authorize(struct sl_round *round, struct sl_call *call)
{
    const struct sluice_decision *decision = &round->decisions[call->first];
    struct sl_answer_parts parts = { .status = sl_decision_status(decision), .decision = decision };
    if (!decision->allowed) {
        struct sl_buffer *body = &round->scratch;
        sl_buffer_clear(body);
        sl_denial_print(body, (struct sluice_text){ 0 }, decision, (struct sl_explained_rows){ 0 });
        parts.type = "application/json";
        parts.has_scratch = true;
        if (parts.status == 429)
            parts.status = round->settings->deny_status;
    }
    sl_reply_print(round, call, &parts);
}

void sl_call_authorize(struct sl_message *message)
{
    const struct sl_identity *identity = &message->round->settings->identity;
    const struct sl_conn *conn = message->conn;
    struct sluice_request *request = sl_round_request(message->round);
    struct sl_caller caller;
    bool is_trusted = conn->is_local || sl_peer_is_trusted(identity, &conn->peer);
    struct sluice_attribute *others =
        sl_round_take(message->round, identity->header_count * sizeof *others);
    message->is_authorize = true;
    if (!others) {
        sl_message_refuse(message, 500, NULL);
        return;
    }
    if (!sl_message_address(message, &request->ip))
        return;
    if (!read_original(message->head, request) ||
        (is_trusted && !read_identity(message, identity, others))) {
        sl_message_refuse(message, 400, contradiction);
        return;
    }
    if (!sl_caller_identify(message, &caller) || !sl_caller_name(&caller, message, request, false))
        return;
    message->call->reply = reply_authorize;
    sl_round_add(message->round, message->call);
}
