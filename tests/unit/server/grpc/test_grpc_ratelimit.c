/* ShouldRateLimit, from a message to its answer, both by protobuf-c. */
#include <envoy/service/ratelimit/v3/rls.pb-c.h>

#include "unit/server/h2_visitor.h"

#define LIMIT "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

typedef Envoy__Service__Ratelimit__V3__RateLimitRequest request_message;
typedef Envoy__Service__Ratelimit__V3__RateLimitResponse response_message;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor descriptor_message;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor__Entry entry_message;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor__RateLimitOverride
    override_message;

static const char rules[] =
    "on_store_failure: deny\n"
    "exempt: { users: [d/root] }\n"
    "rules:\n"
    "  - { name: two, when: { descriptor: user }, per: user, algorithm: fixed_window, limit: 2/m "
    "}\n"
    "  - { name: week, when: { descriptor: week }, per: week, algorithm: fixed_window,\n"
    "      limit: 5/7d }\n"
    "  - { name: odd, when: { descriptor: odd }, per: odd, algorithm: fixed_window, limit: 5/90s "
    "}\n"
    "  - { name: dim, when: { descriptor: dim }, per: dim, algorithm: fixed_window, limit: 1/m,\n"
    "      shadow: true }\n"
    "  - { name: soft, when: { descriptor: soft }, per: soft, limit: 9/m,\n"
    "      on_store_failure: allow }\n";

enum { DESCRIPTORS_MAX = 65, ENTRIES_MAX = 4 };

/* A descriptor: "user=u", with what stands beside its entries. */
struct said {
    const char *entries;
    bool has_cost;
    uint64_t cost;
    bool has_limit;
    uint32_t limit;
    int unit;
};

/* Room for one message. */
static struct {
    request_message request;
    descriptor_message descriptors[DESCRIPTORS_MAX], *pointers[DESCRIPTORS_MAX];
    entry_message entries[DESCRIPTORS_MAX][ENTRIES_MAX],
        *entry_pointers[DESCRIPTORS_MAX][ENTRIES_MAX];
    override_message limits[DESCRIPTORS_MAX];
    Google__Protobuf__UInt64Value costs[DESCRIPTORS_MAX];
    char text[DESCRIPTORS_MAX][256];
} room;

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
}

static void put_entries(size_t number, const char *text)
{
    char *rest = room.text[number];
    snprintf(rest, sizeof room.text[number], "%s", text);
    for (char *word; *text && (word = strsep(&rest, " "));) {
        entry_message *entry = &room.entries[number][room.descriptors[number].n_entries];
        envoy__extensions__common__ratelimit__v3__rate_limit_descriptor__entry__init(entry);
        char *value = strchr(word, '=');
        entry->value = bytes_of(value ? value + 1 : "");
        if (value)
            *value = 0;
        entry->key = bytes_of(word);
        room.entry_pointers[number][room.descriptors[number].n_entries++] = entry;
    }
    room.descriptors[number].entries = room.entry_pointers[number];
}

static void put_descriptor(size_t number, const struct said *said)
{
    descriptor_message *descriptor = &room.descriptors[number];
    envoy__extensions__common__ratelimit__v3__rate_limit_descriptor__init(descriptor);
    room.pointers[number] = descriptor;
    put_entries(number, said->entries);
    google__protobuf__uint64_value__init(&room.costs[number]);
    room.costs[number].value = said->cost;
    descriptor->hits_addend = said->has_cost ? &room.costs[number] : NULL;
    envoy__extensions__common__ratelimit__v3__rate_limit_descriptor__rate_limit_override__init(
        &room.limits[number]);
    room.limits[number].requests_per_unit = said->limit;
    room.limits[number].unit = (Envoy__Type__V3__RateLimitUnit)said->unit;
    descriptor->limit = said->has_limit ? &room.limits[number] : NULL;
}

static struct h2_heard *ask_in(const char *domain, const struct said *said, size_t count,
                               uint32_t cost)
{
    static uint8_t packed[65536];
    envoy__service__ratelimit__v3__rate_limit_request__init(&room.request);
    for (size_t i = 0; i < count; i++)
        put_descriptor(i, &said[i]);
    room.request.domain = bytes_of(domain);
    room.request.descriptors = room.pointers;
    room.request.n_descriptors = count;
    room.request.hits_addend = cost;
    size_t len = envoy__service__ratelimit__v3__rate_limit_request__pack(&room.request, packed);
    return h2_ask(&(struct h2_call){ .path = LIMIT, .message = { (const char *)packed, len } });
}

/* What was answered, in a line: codes, and of each status the limit, its unit, what remains and
 * when it is reset. "OK: OK two 2/2 1 60.0" */
static const char *answered(const struct said *said, size_t count, uint32_t cost)
{
    static char text[2048];
    static const char *const codes[] = { "UNKNOWN", "OK", "OVER" };
    struct h2_heard *heard = ask_in("d", said, count, cost);
    if (heard->status != 0) {
        snprintf(text, sizeof text, "%d %s", heard->status, heard->why);
        return text;
    }
    struct sluice_text message = h2_message(heard);
    response_message *got = envoy__service__ratelimit__v3__rate_limit_response__unpack(
        NULL, message.len, (const uint8_t *)message.at);
    assert_non_null(got);
    int len = snprintf(text, sizeof text, "%s:", codes[got->overall_code]);
    for (size_t i = 0; i < got->n_statuses; i++) {
        const Envoy__Service__Ratelimit__V3__RateLimitResponse__DescriptorStatus *status =
            got->statuses[i];
        len += snprintf(text + len, sizeof text - (size_t)len, " %s", codes[status->code]);
        if (status->current_limit)
            len += snprintf(text + len, sizeof text - (size_t)len, " %.*s %u/%d",
                            (int)status->current_limit->name.len,
                            (const char *)status->current_limit->name.data,
                            status->current_limit->requests_per_unit, status->current_limit->unit);
        len += snprintf(text + len, sizeof text - (size_t)len, " %u", status->limit_remaining);
        if (status->duration_until_reset)
            len += snprintf(text + len, sizeof text - (size_t)len, " %" PRId64 ".%03ds",
                            status->duration_until_reset->seconds,
                            status->duration_until_reset->nanos / 1000000);
    }
    envoy__service__ratelimit__v3__rate_limit_response__free_unpacked(got, NULL);
    return text;
}

#define ONE(...) ((const struct said[]){ { __VA_ARGS__ } }), 1
#define MANY(...)                                                                                  \
    ((const struct said[]){ __VA_ARGS__ }), COUNT(((const struct said[]){ __VA_ARGS__ }))
#define IS(text, ...) SAME_TEXT(#__VA_ARGS__, sl_text(answered(__VA_ARGS__, 0)), text)

OVER_H2(statuses_say_what_the_decision_does, rules)
{
    model.now_us = INT64_C(1000000000) + 1500000; /* 40 s into a minute, and a half */
    IS("OK: OK two 2/2 1 18.500s", ONE("user=u"));
    IS("OK: OK two 2/2 0 18.500s", ONE("user=u"));
    IS("OVER: OVER two 2/2 0 18.500s", ONE("user=u"));
    IS("OK: OK two 2/2 1 18.500s", ONE("user=v"));
    IS("OK: OK week 5/7 4 603798.500s", ONE("week=w"));
    IS("OK: OK odd 5/0 4 78.500s", ONE("odd=o"));
    IS("OK: OK 0", ONE("nothing=x"));
    IS("OK: OK 4294967295", ONE("user=root"));
    IS("OK: OK 0", ONE("nothing=x user=u"));
}

OVER_H2(shadows_pass, rules)
{
    assert_non_null(strstr(answered(ONE("dim=a"), 0), "OK: OK"));
    assert_non_null(strstr(answered(ONE("dim=a"), 0), "OK: OK"));
}

OVER_H2(costs_are_the_descriptors_or_the_calls, rules)
{
    model.now_us = INT64_C(960000000);
    SAME_TEXT("the call's", sl_text(answered(ONE("week=a"), 2)), "OK: OK week 5/7 3 603840.000s");
}

OVER_H2(several_are_charged_together_or_not_at_all, rules)
{
    model.now_us = INT64_C(960000000);
    IS("OK: OK two 2/2 1 60.000s OK two 2/2 1 60.000s", MANY({ "user=u" }, { "user=v" }));
    IS("OK: OK two 2/2 0 60.000s", ONE("user=u"));
    IS("OVER: OVER two 2/2 0 60.000s OK two 2/2 1 60.000s", MANY({ "user=u" }, { "user=v" }));
    IS("OK: OK two 2/2 0 60.000s", ONE("user=v")); /* which had not been charged */
}

OVER_H2(an_explicit_zero_only_looks, rules)
{
    model.now_us = INT64_C(960000000);
    for (int i = 0; i < 3; i++)
        IS("OK: OK two 2/2 2 0.000s", ONE("user=u", .has_cost = true));
    IS("OK: OK two 2/2 0 60.000s", ONE("user=u", .has_cost = true, .cost = 2));
    IS("OVER: OVER two 2/2 0 60.000s", ONE("user=u", .has_cost = true));
    IS("OVER: OVER two 2/2 2 0.000s", ONE("user=w", .has_cost = true, .cost = UINT32_MAX));
    IS("3 A descriptor's `hits_addend` is above 4294967295; ask for less at once.",
       ONE("user=w", .has_cost = true, .cost = UINT32_MAX + UINT64_C(1)));
}

OVER_H2(a_limit_of_its_own_takes_the_place_of_rules, rules)
{
    model.now_us = INT64_C(960000000);
    IS("OK: OK  1/3 0 2640.000s", ONE("user=u", .has_limit = true, .limit = 1, .unit = 3));
    IS("OVER: OVER  1/3 0 2640.000s", ONE("user=u", .has_limit = true, .limit = 1, .unit = 3));
    IS("OK: OK  1/1 0 1.000s", ONE("user=u", .has_limit = true, .limit = 1, .unit = 1));
    IS("OVER: OVER  0/1 0 0.000s", ONE("user=x", .has_limit = true, .limit = 0, .unit = 1));
    IS("OK: OK two 2/2 1 60.000s", ONE("user=u")); /* the rules have counted nothing so far */
    IS("OK: OK  4294967295/6 4294967294 31535040.000s",
       ONE("a=b", .has_limit = true, .limit = UINT32_MAX, .unit = 6));
}

OVER_H2(what_cannot_be_asked_is_told, rules)
{
    static struct said many[DESCRIPTORS_MAX];
    for (size_t i = 0; i < DESCRIPTORS_MAX; i++)
        many[i].entries = "user=u";
    const struct {
        const char *domain;
        struct said said[2];
        size_t count;
        const char *why;
    } rows[] = {
        { "", { { "user=u" } }, 1, "`domain` is empty" },
        { "d", { { "user=u" } }, 0, "no descriptors" },
        { "d", { { "" } }, 1, "no entries" },
        { "d", { { "user=u" }, { "" } }, 2, "no entries" },
        { "d", { { "user=u" }, { "=x" } }, 2, "empty key" },
        { "d", { { "user=u", .has_limit = true, .limit = 1 } }, 1, "no `unit`" },
        { "d", { { "user=u", .has_limit = true, .limit = 1, .unit = 8 } }, 1, "no `unit`" },
        { "d", { { "user=u", .has_limit = true, .limit = 1, .unit = -1 } }, 1, "no `unit`" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct h2_heard *heard = ask_in(rows[i].domain, rows[i].said, rows[i].count, 0);
        SAME(rows[i].why, heard->status, SL_GRPC_INVALID_ARGUMENT);
        if (!strstr(heard->why, rows[i].why))
            fail_msg("\"%s\" does not say \"%s\"", heard->why, rows[i].why);
        SAME(rows[i].why, stage.workers[0].round.request_count, 0);
    }
    assert_non_null(strstr(ask_in("d", many, DESCRIPTORS_MAX, 0)->why, "more than 64"));
    SAME("nothing was decided", model.decide_calls, 0);
    SAME("the most", ask_in("d", many, DESCRIPTORS_MAX - 1, 0)->status, 0);
}

OVER_H2(a_failing_store_is_for_envoy_to_judge, rules)
{
    model.status = SLUICE_STORE_DOWN;
    assert_non_null(strstr(answered(ONE("user=u"), 0), "14 The store of the counts"));
    IS("OK: OK 0", ONE("soft=s"));
    assert_non_null(strstr(answered(MANY({ "soft=s" }, { "user=u" }), 0), "14 "));
    model.status = SLUICE_OK;
}

/* The value of a header of the answer; a null `at`: it is not there. */
static void copy_header(const response_message *got, const char *name, char *out, size_t size)
{
    *out = 0;
    for (size_t i = 0; i < got->n_response_headers_to_add; i++) {
        const Envoy__Config__Core__V3__HeaderValue *header = got->response_headers_to_add[i];
        if (sl_text_is((struct sluice_text){ (const char *)header->key.data, header->key.len },
                       name))
            snprintf(out, size, "%.*s", (int)header->value.len, (const char *)header->value.data);
    }
}

OVER_H2(headers_are_of_the_decision_that_matters_most, rules)
{
    model.now_us = INT64_C(960000000);
    static const struct said both[] = { { "user=u" }, { "week=w" } };
    static const struct {
        const char *limit, *retry, *type;
    } rows[] = {
        { "2", "", "" },
        { "2", "", "" },
        { "2", "60", "application/json" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text message = h2_message(ask_in("d", both, 2, 0));
        response_message *got = envoy__service__ratelimit__v3__rate_limit_response__unpack(
            NULL, message.len, (const uint8_t *)message.at);
        char value[128];
        copy_header(got, "X-RateLimit-Limit", value, sizeof value);
        SAME_TEXT("limit", sl_text(value), rows[i].limit);
        copy_header(got, "Retry-After", value, sizeof value);
        SAME_TEXT("retry", sl_text(value), rows[i].retry);
        copy_header(got, "content-type", value, sizeof value);
        SAME_TEXT("type", sl_text(value), rows[i].type);
        copy_header(got, "RateLimit-Policy", value, sizeof value);
        SAME_TEXT("policy", sl_text(value), "\"two\";q=2;w=60");
        SAME("body", got->raw_body.len > 0, i == 2);
        SAME("request headers", got->n_request_headers_to_add, 0);
        envoy__service__ratelimit__v3__rate_limit_response__free_unpacked(got, NULL);
    }
}
