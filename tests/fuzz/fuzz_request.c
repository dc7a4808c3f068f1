/* Any bytes as a request: our reader against a JSON library, then decided.
 *
 *   what we accept, jansson accepts too, with the same values;
 *   an object that jansson accepts we accept too, or refuse for its meaning
 *   (a type, a range, too many members), and rightly so;
 *   the same for arrays of them, object by object;
 *   every error and every decision is printed as JSON that jansson reads.
 *
 * Where the two may differ: jansson refuses numbers beyond its own types and
 * \u0000 in a name, and swallows a zero byte behind a number; and of -0, and of
 * scores that a double rounds to 0 or 1, it no longer knows what was written. */
#include <jansson.h>
#include <stdlib.h>

#include "base/check.h"
#include "limiter/limiter.h"
#include "wire/json/decision.h"
#include "wire/json/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* ---- what jansson has read, against what we have ------------------------------ */

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

static const struct sluice_text *own_text(const struct sluice_request *request, const char *name)
{
    const struct {
        const char *name;
        const struct sluice_text *text;
    } rows[] = {
        { "tenant", &request->tenant }, { "resource", &request->resource },
        { "method", &request->method }, { "user", &request->user },
        { "ip", &request->ip },         { "client", &request->client },
        { "tier", &request->tier },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is(name, rows[i].name))
            return rows[i].text;
    for (size_t i = 0; i < request->other_count; i++)
        if (sl_text_is(request->others[i].name, name))
            return &request->others[i].value;
    return NULL;
}

/* A number is kept as it was written. */
static bool same_number(struct sluice_text text, const json_t *value)
{
    char copy[512];
    if (text.len >= sizeof copy)
        return true;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    if (json_is_integer(value))
        return strtoll(copy, NULL, 10) == json_integer_value(value);
    return strtod(copy, NULL) == json_real_value(value);
}

static bool same_text(struct sluice_text text, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return sl_text_equal(
            text, (struct sluice_text){ json_string_value(value), json_string_length(value) });
    case JSON_INTEGER:
    case JSON_REAL:
        return same_number(text, value);
    case JSON_TRUE:
        return sl_text_is(text, "true");
    case JSON_FALSE:
        return sl_text_is(text, "false");
    case JSON_NULL:
        return text.at == NULL;
    default:
        return false;
    }
}

static bool same_trust(int32_t thousandths, const json_t *value)
{
    double score = json_number_value(value) * 1000;
    return thousandths >= 0 && thousandths <= 1000 && thousandths <= score + 1e-6 &&
           thousandths + 1 >= score - 1e-6;
}

static bool same_member(const struct sluice_request *request, const char *name, const json_t *value)
{
    bool null = json_is_null(value);
    if (is(name, "cost"))
        return request->cost == (null ? 1 : json_integer_value(value));
    if (is(name, "at_us"))
        return request->at_us == (null ? SLUICE_NOW : json_integer_value(value));
    if (is(name, "peek"))
        return request->peek == json_is_true(value);
    if (is(name, "wait"))
        return request->wait == json_is_true(value);
    if (is(name, "explain"))
        return request->explain == json_is_true(value);
    if (is(name, "trust_score"))
        return null ? request->trust_thousandths == SLUICE_NO_TRUST
                    : same_trust(request->trust_thousandths, value);
    const struct sluice_text *text = own_text(request, name);
    return text && same_text(*text, value);
}

static void compare(const struct sluice_request *request, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) SL_CHECK(same_member(request, name, value));
}

/* ---- what a request may mean ----------------------------------------------------- */

enum legal { NO, YES, UNKNOWN };

static enum legal legal_integer(const json_t *value, json_int_t most)
{
    if (!json_is_integer(value))
        return NO;
    json_int_t number = json_integer_value(value);
    return number == 0 ? UNKNOWN : number > 0 && number <= most ? YES : NO;
}

static enum legal legal_score(const json_t *value)
{
    double score = json_number_value(value);
    if (!json_is_number(value) || score < 0 || score > 1)
        return NO;
    return score > 0 && score < 1 ? YES : UNKNOWN;
}

static enum legal legal_member(const char *name, const json_t *value)
{
    if (json_is_null(value))
        return YES;
    if (is(name, "cost"))
        return legal_integer(value, UINT32_MAX);
    if (is(name, "at_us"))
        return legal_integer(value, SL_TIME_MAX_US);
    if (is(name, "trust_score"))
        return legal_score(value);
    if (is(name, "peek") || is(name, "wait") || is(name, "explain"))
        return json_is_boolean(value) ? YES : NO;
    return json_is_object(value) || json_is_array(value) ? NO : YES;
}

static enum legal legal_object(json_t *object)
{
    static const struct sluice_request nobody;
    enum legal all = YES;
    size_t others = 0;
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        enum legal one = legal_member(name, value);
        if (one == NO)
            return NO;
        if (one == UNKNOWN)
            all = UNKNOWN;
        others += !own_text(&nobody, name) && !is(name, "cost") && !is(name, "at_us") &&
                  !is(name, "trust_score") && !is(name, "peek") && !is(name, "wait") &&
                  !is(name, "explain");
    }
    return others > SL_JSON_OTHERS_MAX ? NO : all;
}

/* ---- deciding what was accepted --------------------------------------------------- */

static const char yaml[] =
    "tiers: { free: { scale: 0.5 }, pro: { scale: 10 }, admin: { unlimited: true } }\n"
    "exempt: { ips: [10.0.0.0/8, 'fd00::/8'], users: [root, acme/root], clients: [c] }\n"
    "max_wait: 2s\n"
    "rules:\n"
    "  - { name: all, per: global, algorithm: fixed_window, capacity: 1000, window: 1s }\n"
    "  - { name: ip, per: ip, limit: 10/m }\n"
    "  - { name: log, resource: /api/*, except: [/api/health], per: [user, resource],\n"
    "      algorithm: sliding_window_log, limit: 3/10s, adaptive: true }\n"
    "  - { name: bucket, when: { method: [GET, POST], plan: gold }, per: client,\n"
    "      algorithm: token_bucket, capacity: 5, refill_rate: 0.083, burst_allowance: 1.5,\n"
    "      burst_guard: { window: 1s, threshold: 3, penalty: 10s } }\n"
    "  - { name: queue, resource: a.*.c, per: tenant, algorithm: leaky_bucket, capacity: 4,\n"
    "      refill_rate: 2, on_missing: deny }\n"
    "  - { name: tried, resource: '*', per: user, limit: 1/h, shadow: true }\n";

static struct sl_ruleset *rules;
static struct sl_store *store;
static struct sl_limiter *limiter;

/* A store forgets nothing, so a fresh one from time to time. */
static void refresh_limiter(void)
{
    static unsigned age;
    if (age++ % 4096)
        return;
    if (!rules) {
        struct sl_report report = { .file = "rules.yaml" };
        rules =
            sl_ruleset_parse("rules.yaml", (struct sluice_text){ yaml, sizeof yaml - 1 }, &report);
        SL_CHECK(rules && report.errors == 0);
        sl_report_release(&report);
    }
    sl_limiter_free(limiter);
    sl_store_close(store);
    store = sl_heap_open();
    limiter = sl_limiter_new(rules, store);
    SL_CHECK(store && limiter);
}

static void check_printed(struct sl_buffer *out)
{
    SL_CHECK(!out->failed);
    json_t *json = json_loadb(out->at, out->len,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    SL_CHECK(json != NULL);
    json_decref(json);
    sl_buffer_release(out);
}

static void decide(struct sluice_request *request)
{
    struct sluice_decision decision;
    const struct sluice_explained *rows;
    refresh_limiter();
    if (request->at_us == SLUICE_NOW)
        request->at_us = INT64_C(1700000000000000); /* the same in every run */
    SL_CHECK(sl_limiter_decide(limiter, request, &decision) == SLUICE_OK);
    SL_CHECK(decision.allowed ? decision.retry_after_us == 0 : decision.retry_after_us != 0);
    SL_CHECK(!decision.rule == (decision.limit == SLUICE_NONE));
    SL_CHECK(decision.remaining <= decision.limit);
    size_t count = sl_limiter_explain(limiter, &rows);
    struct sl_buffer out = sl_buffer(1 << 20);
    sl_json_print_decision(&out, &decision, request->explain ? rows : NULL, count);
    check_printed(&out);
}

static void check_error(const struct sl_json_room *room)
{
    struct sl_buffer out = sl_buffer(4096);
    SL_CHECK(room->error[0] != 0);
    sl_json_print_string(&out, sl_text(room->error));
    check_printed(&out);
}

static bool may_differ(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_null_byte_in_key || code == json_error_numeric_overflow;
}

/* ---- one object, and an array of them ---------------------------------------------- */

struct read {
    json_t *json; /* as jansson has it, or NULL */
    json_error_t error;
    bool zero_byte; /* jansson may swallow it */
};

/* *text, exactly as long, so that reading further is seen. */
static struct read read_bytes(const uint8_t *bytes, size_t len, char **text)
{
    struct read read;
    *text = malloc(len ? len : 1);
    SL_CHECK(*text != NULL);
    if (len)
        memcpy(*text, bytes, len);
    read.zero_byte = memchr(*text, 0, len) != NULL;
    read.json =
        json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &read.error);
    return read;
}

static struct sl_json_room room;

static void check_object(const struct read *read, char *text, size_t len)
{
    struct sluice_request request;
    bool accepted = sl_json_read_request(text, len, &room, &request);
    if (read->json && !read->zero_byte)
        SL_CHECK(accepted || room.unfit);
    if (json_is_object(read->json) && !read->zero_byte) {
        enum legal legal = legal_object(read->json);
        SL_CHECK(legal == UNKNOWN || accepted == (legal == YES));
    }
    if (accepted) {
        SL_CHECK(json_is_object(read->json) || (!read->json && may_differ(&read->error)));
        if (read->json)
            compare(&request, read->json);
        decide(&request);
    } else {
        check_error(&room);
    }
}

static enum legal legal_element(json_t *value)
{
    return json_is_object(value) ? legal_object(value) : NO;
}

/* Element by element, up to the first that is refused. */
static void check_array(const struct read *read, char *text, size_t len)
{
    struct sl_json_scan scan = sl_json_scan(text, len);
    bool told = json_is_array(read->json) && !read->zero_byte;
    size_t count = 0;
    if (!sl_json_take(&scan, '[') || sl_json_take(&scan, ']'))
        return;
    do {
        struct sluice_request request;
        bool accepted = sl_json_next_request(&scan, &room, &request);
        json_t *value = told ? json_array_get(read->json, count++) : NULL;
        SL_CHECK(!told || value);
        enum legal legal = told ? legal_element(value) : UNKNOWN;
        SL_CHECK(legal == UNKNOWN || accepted == (legal == YES));
        SL_CHECK(accepted || room.unfit || !told);
        if (!accepted) {
            check_error(&room);
            return;
        }
        if (told)
            compare(&request, value);
    } while (sl_json_take(&scan, ','));
    bool ended = sl_json_take(&scan, ']');
    SL_CHECK(!told || (ended && count == json_array_size(read->json)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static void (*const checks[])(const struct read *, char *, size_t) = { check_object,
                                                                           check_array };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char *text;
        struct read read = read_bytes(bytes, len, &text);
        checks[i](&read, text, len);
        json_decref(read.json);
        free(text);
    }
    return 0;
}
