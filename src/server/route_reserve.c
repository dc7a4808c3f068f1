/* Costs known only afterwards: reserve, then commit or cancel. */
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "server/conn.h"
#include "server/route.h"
#include "server/worker.h"
#include "wire/json_scan.h"

#define EXPIRES_US     INT64_C(60000000)
#define EXPIRES_MIN_US INT64_C(1000)
#define EXPIRES_MAX_US INT64_C(86400000000)

enum { ID_DIGITS = 16 };

/* ---- reserve ---- */

/* Takes `expires_in` out of the attributes, where the reader has put it. */
static bool take_expiry(const char *body, struct sluice_request *request, int64_t *expires_us)
{
    static const struct sluice_text name = { "expires_in", 10 };
    struct sluice_attribute *others = (struct sluice_attribute *)(uintptr_t)request->others;
    struct sl_decimal seconds;
    size_t i = 0;
    while (i < request->other_count && !sl_text_equal(others[i].name, name))
        i++;
    *expires_us = EXPIRES_US;
    if (i == request->other_count)
        return true;
    struct sluice_text text = others[i].value;
    others[i] = others[--request->other_count];
    if (!text.at)
        return true; /* null: not given */
    if (text.at > body && text.at[-1] == '"')
        return false; /* attributes are texts, whatever they were; this one is a number */
    if (!sl_parse_decimal(text, &seconds) || seconds.digits > UINT64_C(86400000000000))
        return false;
    uint64_t unit = sl_power_of_ten(seconds.places); /* at most 10^9 */
    *expires_us = (int64_t)((sl_u128)seconds.digits * 1000000 / unit);
    return *expires_us >= EXPIRES_MIN_US && *expires_us <= EXPIRES_MAX_US;
}

enum { RESERVATION_MAX_BYTES = 96 };

static struct sluice_text print_reservation(char out[RESERVATION_MAX_BYTES], uint64_t id,
                                            int64_t expires_at_us)
{
    if (id)
        snprintf(out, RESERVATION_MAX_BYTES,
                 "{\"reservation\": \"%0*" PRIx64 "\", \"expires_at_us\": %" PRId64 ",", ID_DIGITS,
                 id, expires_at_us);
    else
        snprintf(out, RESERVATION_MAX_BYTES, "{\"reservation\": null, \"expires_at_us\": null,");
    return sl_text(out);
}

static void reply_reserve(struct sl_round *round, struct sl_call *call)
{
    struct sluice_decision *decision = &round->decisions[call->first];
    struct sl_buffer *body = &round->scratch;
    uint64_t id = 0;
    int status = sl_limiter_reserve(round->limiter, &round->requests[call->first], call->expires_us,
                                    decision, &id);
    if (status == SLUICE_UNSUPPORTED) {
        call->status = 501;
        call->detail = "The store of these rules keeps no reservations.";
        sl_reply_problem(round, call);
        return;
    }
    sl_round_note(round, status);
    char text[RESERVATION_MAX_BYTES];
    struct sluice_text reservation =
        print_reservation(text, id, decision->decided_at_us + call->expires_us);
    sl_buffer_clear(body);
    sl_denial_print(body, reservation, decision, (struct sl_explained_rows){ 0 });
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = sl_decision_status(decision),
                                              .type = "application/json",
                                              .body = { body->at, body->len },
                                              .decision = decision });
}

void sl_call_reserve(struct sl_message *message)
{
    struct sluice_request *request = sl_round_request(message->round);
    if (!sl_message_read_request(message, request))
        return;
    if (!take_expiry(message->body, request, &message->call->expires_us)) {
        sl_message_refuse(message, 422,
                          "`expires_in` must be a number of seconds from 0.001 to 86400.");
        return;
    }
    if (request->peek || request->wait || request->explain) {
        sl_message_refuse(message, 422,
                          "`peek`, `wait` and `explain` do not go with a reservation.");
        return;
    }
    message->call->reply = reply_reserve;
    sl_round_add_alone(message->round, message->call);
}

/* ---- commit, cancel ---- */

struct settlement {
    uint64_t id;
    uint64_t cost;
    bool has_id, has_cost;
};

static bool parse_id(struct sluice_text text, uint64_t *out)
{
    uint64_t id = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = sl_hex_digit(text.at[i]);
        if (digit < 0)
            return false;
        id = id << 4 | (uint64_t)digit;
    }
    *out = id;
    return text.len == ID_DIGITS;
}

/* What is wrong with a body, and whether that is its JSON or its meaning. */
struct flaw {
    const char *what; /* NULL: nothing */
    bool is_json;     /* it is JSON, so far */
};

static const struct flaw not_json = {
    "Send a JSON object, as in {\"reservation\": \"00c0ffee00000001\", \"cost\": 1}.", false
};
static const struct flaw not_object = {
    "Send an object, as in {\"reservation\": \"00c0ffee00000001\", \"cost\": 1}.", true
};
static const struct flaw bad_member = {
    "There are `reservation` and, to commit, `cost`, each once, and nothing else.", true
};
static const struct flaw bad_id = {
    "`reservation` must be the 16 hex digits that /v1/reserve gave, as a string.", true
};
static const struct flaw bad_cost = { "`cost` must be a whole number from 0 to 4294967295.", true };
static const struct flaw none;

static struct flaw read_member(struct sl_json_scan *scan, struct settlement *out)
{
    struct sluice_text name, value = { 0 };
    if (!sl_json_string(scan, &name) || !sl_json_take(scan, ':'))
        return not_json;
    enum sl_json_kind kind = sl_json_scalar(scan, &value);
    if (kind == SL_JSON_BAD)
        return not_json;
    if (sl_text_is(name, "reservation") && !out->has_id) {
        out->has_id = true;
        return kind == SL_JSON_STRING && parse_id(value, &out->id) ? none : bad_id;
    }
    if (sl_text_is(name, "cost") && !out->has_cost) {
        out->has_cost = true;
        bool good = kind == SL_JSON_NUMBER && sl_parse_u64(value, &out->cost);
        return good && out->cost <= UINT32_MAX ? none : bad_cost;
    }
    return bad_member;
}

static struct flaw read_members(struct sl_json_scan *scan, struct settlement *out)
{
    struct sluice_text scalar;
    if (!sl_json_take(scan, '{'))
        return sl_json_scalar(scan, &scalar) == SL_JSON_BAD ? not_json : not_object;
    if (!sl_json_take(scan, '}')) {
        do {
            struct flaw flaw = read_member(scan, out);
            if (flaw.what)
                return flaw;
        } while (sl_json_take(scan, ','));
        if (!sl_json_take(scan, '}'))
            return not_json;
    }
    sl_json_skip_space(scan);
    return scan->at == scan->end ? none : not_json;
}

/* False: refused. */
static bool read_settlement(struct sl_message *message, struct settlement *out)
{
    struct sl_json_scan scan = sl_json_scan(message->body, message->body_len);
    struct flaw flaw = read_members(&scan, out);
    if (flaw.what)
        sl_message_refuse(message, flaw.is_json ? 422 : 400, flaw.what);
    return !flaw.what;
}

/* False: it could not be, and that is the answer. */
static bool settle(struct sl_round *round, struct sl_call *call)
{
    struct sl_store *store = round->worker->server->store;
    int status = store->ops->settle ? store->ops->settle(store, call->reservation, call->cost)
                                    : SLUICE_UNSUPPORTED;
    if (status == SLUICE_OK)
        return true;
    call->status = status == SLUICE_NO_RESERVATION ? 404 : status == SLUICE_UNSUPPORTED ? 501 : 503;
    call->detail = sluice_status_text(status);
    sl_reply_problem(round, call);
    return false;
}

static void reply_settled(struct sl_round *round, struct sl_call *call, const char *how)
{
    struct sl_buffer *body = &round->scratch;
    char text[128];
    int len = snprintf(text, sizeof text, "{\"reservation\": \"%0*" PRIx64 "\", %s}", ID_DIGITS,
                       call->reservation, how);
    sl_buffer_clear(body);
    sl_buffer_add(body, (struct sluice_text){ text, (size_t)len });
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = 200,
                                              .type = "application/json",
                                              .body = { body->at, body->len } });
}

static void reply_commit(struct sl_round *round, struct sl_call *call)
{
    char how[64];
    snprintf(how, sizeof how, "\"committed\": true, \"cost\": %" PRIu32, call->cost);
    if (settle(round, call))
        reply_settled(round, call, how);
}

static void reply_cancel(struct sl_round *round, struct sl_call *call)
{
    if (settle(round, call))
        reply_settled(round, call, "\"cancelled\": true");
}

void sl_call_commit(struct sl_message *message)
{
    struct settlement settlement = { 0 };
    if (!read_settlement(message, &settlement))
        return;
    if (!settlement.has_id || !settlement.has_cost) {
        sl_message_refuse(message, 422, "A commit needs `reservation` and `cost`.");
        return;
    }
    message->call->reservation = settlement.id;
    message->call->cost = (uint32_t)settlement.cost;
    message->call->reply = reply_commit;
    sl_round_add_alone(message->round, message->call);
}

void sl_call_cancel(struct sl_message *message)
{
    struct settlement settlement = { 0 };
    if (!read_settlement(message, &settlement))
        return;
    if (!settlement.has_id || settlement.has_cost) {
        sl_message_refuse(message, 422, "A cancellation needs `reservation`, and no `cost`.");
        return;
    }
    message->call->reservation = settlement.id;
    message->call->reply = reply_cancel;
    sl_round_add_alone(message->round, message->call);
}
