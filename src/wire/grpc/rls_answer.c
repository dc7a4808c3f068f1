/* Prints a RateLimitResponse, field by field, without protobuf-c. */
#include "wire/grpc/rls_answer.h"

#include "base/check.h"
#include "rules/ruleset.h"
#include "wire/grpc/descriptor.h"
#include "wire/grpc/proto_print.h"

/* Numbers of fields. */
enum { CALL_CODE = 1, CALL_STATUSES = 2, CALL_HEADERS = 3, CALL_BODY = 5 };
enum { STATUS_CODE = 1, STATUS_LIMIT = 2, STATUS_REMAINING = 3, STATUS_RESET = 4 };
enum { LIMIT_REQUESTS = 1, LIMIT_UNIT = 2, LIMIT_NAME = 3 };
enum { DURATION_SECONDS = 1, DURATION_NANOS = 2 };
enum { HEADER_KEY = 1, HEADER_VALUE = 2 };
enum { OK = 1, OVER_LIMIT = 2 };

enum {
    RULE_NAME_MAX_BYTES = 2 * SL_RULE_NAME_MAX + 1, /* a tenant's own is TENANT/RULE */
    PART_MAX_BYTES = RULE_NAME_MAX_BYTES + 3 * 2 * SL_PROTO_VARINT_MAX_BYTES,
    STATUS_MAX_BYTES = 2 * PART_MAX_BYTES + 4 * 2 * SL_PROTO_VARINT_MAX_BYTES
};

static struct sluice_text between(const char *start, const char *end)
{
    return (struct sluice_text){ start, (size_t)(end - start) };
}

/* ---- a status ---- */

static uint32_t saturated(int64_t number)
{
    return number < 0 ? 0 : number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* An exempt request has no limit: the largest number. If no rule matches, `remaining` is none. */
static uint32_t remaining_of(const struct sluice_decision *decision)
{
    return decision->reason == SLUICE_REASON_EXEMPT ? UINT32_MAX : saturated(decision->remaining);
}

/* A window that is none of Envoy's units has the unit UNKNOWN: from a wrong unit Envoy would make
 * a wrong `x-ratelimit-limit`. A limit that a descriptor brought has no name. */
static char *put_limit(char *at, const struct sluice_decision *decision)
{
    char part[PART_MAX_BYTES];
    if (!decision->rule || decision->limit == SLUICE_NONE)
        return at;
    struct sluice_text name = sl_text(*decision->rule == '@' ? "" : decision->rule);
    SL_CHECK(name.len <= RULE_NAME_MAX_BYTES);
    char *end = sl_proto_put_number(part, LIMIT_REQUESTS, saturated(decision->limit));
    end = sl_proto_put_number(end, LIMIT_UNIT, (uint64_t)sl_unit_of(decision->window_us));
    end = sl_proto_put_text(end, LIMIT_NAME, name);
    SL_CHECK(end <= part + sizeof part);
    at = sl_proto_put_head(at, STATUS_LIMIT, (size_t)(end - part));
    memcpy(at, part, (size_t)(end - part));
    return at + (end - part);
}

static char *put_reset(char *at, const struct sluice_decision *decision)
{
    char part[PART_MAX_BYTES];
    if (decision->reset_at_us == SLUICE_NONE || decision->decided_at_us == SLUICE_NONE)
        return at;
    int64_t left_us = decision->reset_at_us - decision->decided_at_us;
    uint64_t us = left_us > 0 ? (uint64_t)left_us : 0;
    char *end = sl_proto_put_number(part, DURATION_SECONDS, us / 1000000);
    end = sl_proto_put_number(end, DURATION_NANOS, us % 1000000 * 1000);
    SL_CHECK(end <= part + sizeof part);
    at = sl_proto_put_head(at, STATUS_RESET, (size_t)(end - part));
    memcpy(at, part, (size_t)(end - part));
    return at + (end - part);
}

static void print_status(struct sl_buffer *out, const struct sluice_decision *decision)
{
    char part[STATUS_MAX_BYTES], head[2 * SL_PROTO_VARINT_MAX_BYTES];
    char *end = sl_proto_put_number(part, STATUS_CODE, decision->allowed ? OK : OVER_LIMIT);
    end = put_limit(end, decision);
    end = sl_proto_put_number(end, STATUS_REMAINING, remaining_of(decision));
    end = put_reset(end, decision);
    SL_CHECK(end <= part + sizeof part);
    sl_buffer_add(out, between(head, sl_proto_put_head(head, CALL_STATUSES, (size_t)(end - part))));
    sl_buffer_add(out, between(part, end));
}

/* ---- headers ---- */

/* Written in place: an answer has half a dozen of them. */
static void print_header(struct sl_buffer *out, struct sluice_text name, struct sluice_text value)
{
    size_t len = sl_proto_text_size(name.len) + sl_proto_text_size(value.len);
    char *at = sl_buffer_begin(out, len + 2 * SL_PROTO_VARINT_MAX_BYTES);
    if (!at)
        return;
    at = sl_proto_put_head(at, CALL_HEADERS, len);
    const char *fields = at;
    at = sl_proto_put_text(at, HEADER_KEY, name);
    at = sl_proto_put_text(at, HEADER_VALUE, value);
    SL_CHECK(at == fields + len);
    sl_buffer_end(out, at);
}

static void print_lines(struct sl_buffer *out, struct sluice_text lines)
{
    const char *at = lines.at, *end = lines.at + lines.len;
    while (at < end) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const char *line_end = memchr(at, '\r', (size_t)(end - at));
        SL_CHECK(colon && line_end && colon + 2 <= line_end);
        print_header(out, between(at, colon), between(colon + 2, line_end));
        at = line_end + 2;
    }
}

/* ---- the answer ---- */

static void print_body(struct sl_buffer *out, struct sluice_text body)
{
    char head[2 * SL_PROTO_VARINT_MAX_BYTES];
    sl_buffer_add(out, between(head, sl_proto_put_head(head, CALL_BODY, body.len)));
    sl_buffer_add(out, body);
}

void sl_rls_print(struct sl_buffer *out, const struct sl_rls_answer *answer)
{
    char code[2 * SL_PROTO_VARINT_MAX_BYTES];
    bool passes = true;
    SL_CHECK(answer->decisions || answer->count == 0);
    for (size_t i = 0; i < answer->count; i++)
        passes &= answer->decisions[i].allowed;
    sl_buffer_add(out,
                  between(code, sl_proto_put_number(code, CALL_CODE, passes ? OK : OVER_LIMIT)));
    for (size_t i = 0; i < answer->count; i++)
        print_status(out, &answer->decisions[i]);
    if (answer->body.len)
        print_header(out, SL_TEXT("content-type"), SL_TEXT("application/json"));
    if (answer->lines.len)
        print_lines(out, answer->lines);
    if (answer->body.len)
        print_body(out, answer->body);
}

/* ---- the decision that headers and body show ---- */

/* A denial that never ends waits longest. */
static int64_t wait_us(const struct sluice_decision *decision)
{
    return decision->retry_after_us == SLUICE_NEVER ? INT64_MAX : decision->retry_after_us;
}

static bool has_figures(const struct sluice_decision *decision)
{
    return decision->rule && decision->remaining != SLUICE_NONE;
}

static bool matters_more(const struct sluice_decision *a, const struct sluice_decision *b)
{
    if (a->allowed != b->allowed)
        return b->allowed;
    if (!a->allowed)
        return wait_us(a) > wait_us(b);
    return has_figures(a) && (!has_figures(b) || a->remaining < b->remaining);
}

const struct sluice_decision *sl_rls_foremost(const struct sluice_decision *decisions, size_t count)
{
    const struct sluice_decision *first = decisions;
    SL_CHECK(decisions && count > 0);
    for (size_t i = 1; i < count; i++)
        if (matters_more(&decisions[i], first))
            first = &decisions[i];
    return first;
}
