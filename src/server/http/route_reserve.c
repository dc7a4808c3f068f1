/* /v1/reserve, /v1/commit and /v1/cancel: for costs that are known only afterwards. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text/number.h"
#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/http/route.h"
#include "server/worker.h"
#include "wire/json/decision.h"
#include "wire/json/scan.h"

#define EXPIRES_US     INT64_C(60000000)
#define EXPIRES_MIN_US INT64_C(1000)
#define EXPIRES_MAX_US INT64_C(86400000000)

enum { ID_DIGITS = 16, TAG_DIGITS = 16, NAME_MAX_BYTES = ID_DIGITS + 1 + TAG_DIGITS + 1 };

/* ---- names ---- */

/* A reservation's name is its number and a tag that only this store can make, for the tenant with
 * whose key it was made, or for no tenant: a client can settle a reservation whose name it was
 * told, and cannot guess other names by counting up. */
static uint64_t tag_of(struct sl_worker *worker, uint64_t id, struct sluice_text tenant)
{
    struct sl_digest digest;
    char text[2 * sizeof(uint64_t) + 256];
    uint64_t secret = worker->server->store->naming, tag;
    size_t len = tenant.len < 256 ? tenant.len : 256;
    memcpy(text, &secret, sizeof secret);
    memcpy(text + sizeof secret, &id, sizeof id);
    if (len)
        memcpy(text + 2 * sizeof secret, tenant.at, len);
    sl_sha256_of(worker->hasher, (struct sluice_text){ text, 2 * sizeof secret + len }, &digest);
    memcpy(&tag, digest.byte, sizeof tag);
    return tag;
}

static void print_name(char out[NAME_MAX_BYTES], struct sl_worker *worker, uint64_t id,
                       struct sluice_text tenant)
{
    snprintf(out, NAME_MAX_BYTES, "%0*" PRIx64 "-%0*" PRIx64, ID_DIGITS, id, TAG_DIGITS,
             tag_of(worker, id, tenant));
}

/* ---- reserve ---- */

/* Moves `expires_in` out of the attributes, where the reader has put it. Returns false if it is no
 * valid number. */
static bool read_expiry(const char *body, struct sluice_request *request, int64_t *expires_us)
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
        return true; /* null: as if it were not there */
    if (text.at > body && text.at[-1] == '"')
        return false; /* it was a string: this one must be a number */
    if (!sl_parse_decimal(text, &seconds) || seconds.digits > UINT64_C(86400000000000))
        return false;
    uint64_t unit = sl_power_of_ten(seconds.places); /* at most 10^9 */
    *expires_us = (int64_t)((sl_u128)seconds.digits * 1000000 / unit);
    return *expires_us >= EXPIRES_MIN_US && *expires_us <= EXPIRES_MAX_US;
}

enum { RESERVATION_MAX_BYTES = 128 };

static struct sluice_text print_reservation(char out[RESERVATION_MAX_BYTES], const char *name,
                                            int64_t expires_at_us)
{
    if (name)
        snprintf(out, RESERVATION_MAX_BYTES,
                 "{\"reservation\": \"%s\", \"expires_at_us\": %" PRId64 ",", name, expires_at_us);
    else
        snprintf(out, RESERVATION_MAX_BYTES, "{\"reservation\": null, \"expires_at_us\": null,");
    return sl_text(out);
}

/* Returns false if the store cannot: that is answered already. */
static bool reserve_now(struct sl_round *round, struct sl_call *call, uint64_t *id)
{
    int status = sl_limiter_reserve(round->limiter, &round->requests[call->first], call->expires_us,
                                    &round->decisions[call->first], id);
    if (status == SLUICE_UNSUPPORTED) {
        call->status = 501;
        call->detail = "The store of these rules keeps no reservations.";
        sl_reply_problem(round, call);
        return false;
    }
    sl_round_note(round, status);
    return true;
}

static void reply_reserve(struct sl_round *round, struct sl_call *call)
{
    struct sluice_decision *decision = &round->decisions[call->first];
    struct sl_buffer *body = &round->scratch;
    uint64_t id = round->held ? round->held[call->first] : 0;
    if (!round->errand && !reserve_now(round, call, &id))
        return;
    char text[RESERVATION_MAX_BYTES], name[NAME_MAX_BYTES];
    print_name(name, round->worker, id, call->tenant);
    struct sluice_text reservation =
        print_reservation(text, id ? name : NULL, decision->decided_at_us + call->expires_us);
    sl_buffer_clear(body);
    sl_denial_print(body, reservation, decision, (struct sl_explained_rows){ 0 });
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = sl_decision_status(decision),
                                              .type = "application/json",
                                              .has_scratch = true,
                                              .decision = decision });
}

void sl_call_reserve(struct sl_message *message)
{
    struct sluice_request *request = sl_round_request(message->round);
    if (!sl_message_read_request(message, request))
        return;
    if (!read_expiry(message->body, request, &message->call->expires_us)) {
        sl_message_refuse(message, 422,
                          "`expires_in` must be a number of seconds from 0.001 to 86400.");
        return;
    }
    if (request->peek || request->wait || request->explain) {
        sl_message_refuse(message, 422,
                          "`peek`, `wait` and `explain` do not go with a reservation.");
        return;
    }
    struct sl_caller caller;
    if (!sl_caller_identify(message, &caller) || !sl_caller_name(&caller, message, request, true))
        return;
    if (caller.owner)
        message->call->tenant = caller.owner->tenant;
    message->call->reply = reply_reserve;
    sl_round_add_alone(message->round, message->call);
}

/* ---- commit, cancel ---- */

struct settlement {
    uint64_t id;
    uint64_t tag;
    uint64_t cost;
    bool has_id, has_tag, has_cost;
};

static bool parse_hex(const char *at, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < ID_DIGITS; i++) {
        int digit = sl_hex_digit(at[i]);
        if (digit < 0)
            return false;
        number = number << 4 | (uint64_t)digit;
    }
    *out = number;
    return true;
}

static bool parse_name(struct sluice_text text, struct settlement *out)
{
    if (text.len != ID_DIGITS && text.len != ID_DIGITS + 1 + TAG_DIGITS)
        return false;
    out->has_tag = text.len > ID_DIGITS;
    return parse_hex(text.at, &out->id) &&
           (!out->has_tag ||
            (text.at[ID_DIGITS] == '-' && parse_hex(text.at + ID_DIGITS + 1, &out->tag)));
}

/* What is wrong with a body: its JSON, or its meaning. */
struct flaw {
    const char *what; /* NULL: nothing */
    bool is_json;     /* it is JSON, as far as it was read: 422 instead of 400 */
};

static const struct flaw not_json = { "Send a JSON object, as in {\"reservation\": "
                                      "\"00c0ffee00000001-5ca1ab1e0badcafe\", \"cost\": 1}.",
                                      false };
static const struct flaw not_object = {
    "Send an object, as in {\"reservation\": \"00c0ffee00000001-5ca1ab1e0badcafe\", \"cost\": 1}.",
    true
};
static const struct flaw bad_member = {
    "There are `reservation` and, to commit, `cost`, each once, and nothing else.", true
};
static const struct flaw bad_id = {
    "`reservation` must be what /v1/reserve gave, as a string: 16 hex digits, a dash and 16 more.",
    true
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
        return kind == SL_JSON_STRING && parse_name(value, out) ? none : bad_id;
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

/* Returns false if the message is refused. */
static bool read_settlement(struct sl_message *message, struct settlement *out)
{
    struct sl_json_scan scan = sl_json_scan(message->body, message->body_len);
    struct flaw flaw = read_members(&scan, out);
    if (flaw.what)
        sl_message_refuse(message, flaw.is_json ? 422 : 400, flaw.what);
    return !flaw.what;
}

/* Returns false if it was not settled: that is answered already. */
static bool settle_or_refuse(struct sl_round *round, struct sl_call *call)
{
    struct sl_store *store = round->worker->server->store;
    int status = round->errand        ? call->settled
                 : store->ops->settle ? store->ops->settle(store, call->reservation, call->cost)
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
    char text[128], name[NAME_MAX_BYTES];
    print_name(name, round->worker, call->reservation, call->tenant);
    int len = snprintf(text, sizeof text, "{\"reservation\": \"%s\", %s}", name, how);
    sl_buffer_clear(body);
    sl_buffer_add(body, (struct sluice_text){ text, (size_t)len });
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){
                       .status = 200, .type = "application/json", .has_scratch = true });
}

static void reply_commit(struct sl_round *round, struct sl_call *call)
{
    char how[64];
    snprintf(how, sizeof how, "\"committed\": true, \"cost\": %" PRIu32, call->cost);
    if (settle_or_refuse(round, call))
        reply_settled(round, call, how);
}

static void reply_cancel(struct sl_round *round, struct sl_call *call)
{
    if (settle_or_refuse(round, call))
        reply_settled(round, call, "\"cancelled\": true");
}

/* May this caller settle it? Another tenant's reservation is answered as one that does not exist.
 */
static bool check_caller(struct sl_message *message, const struct settlement *settlement)
{
    struct sl_caller caller;
    if (!sl_caller_identify(message, &caller))
        return false;
    if (caller.owner)
        message->call->tenant = caller.owner->tenant;
    uint64_t tag = tag_of(message->conn->worker, settlement->id, message->call->tenant);
    if (settlement->has_tag && settlement->tag == tag)
        return true;
    sl_message_refuse(message, 404, sluice_status_text(SLUICE_NO_RESERVATION));
    return false;
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
    if (!check_caller(message, &settlement))
        return;
    message->call->reservation = settlement.id;
    message->call->cost = (uint32_t)settlement.cost;
    message->call->settles = true;
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
    if (!check_caller(message, &settlement))
        return;
    message->call->reservation = settlement.id;
    message->call->settles = true;
    message->call->reply = reply_cancel;
    sl_round_add_alone(message->round, message->call);
}
