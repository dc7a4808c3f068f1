/* Denials of a second become events, one for each identifier and rule. */
#include "telemetry/denials.h"

#include <jansson.h>

#include "algo/algo.h"
#include "telemetry/audit/recent.h"
#include "unit/limiter/rules.h"

#define AT_US INT64_C(1700000000000000)

static struct sl_denials *denials;
static struct sl_audit audit;
static struct sl_rule_ids ids;

static const char rules_yaml[] =
    "rules: [{ name: counter, per: user, limit: 9/m },\n"
    "        { name: fixed, per: [ip, user], algorithm: fixed_window, limit: 5/m }]\n";

static int set_up(void **unused)
{
    (void)unused;
    struct sluice_error error;
    struct sl_ruleset *rules = rules_of(rules_yaml);
    uint32_t *numbers = sl_rule_ids_enrol(&ids, rules, 0);
    sl_rule_ids_settle(&ids, rules, numbers, 0);
    free(numbers);
    sl_ruleset_free(rules);
    denials = sl_denials_new();
    return denials && sl_audit_open(&audit, "off", &error) ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_denials_free(denials);
    sl_audit_close(&audit);
    sl_rule_ids_release(&ids);
    return 0;
}

#define WITH_DENIALS(name) TEST_WITH(name, set_up, tear_down)

/* User u, once denied by the rule `counter` at AT_US, unless it says otherwise. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define NOTED(...)                                                                                 \
    &(struct sl_noted)                                                                             \
    {                                                                                              \
        .has_identifier = true, .denied = 1, .first_us = AT_US, .capacity = 9,                     \
        .retry_after_us = 1, __VA_ARGS__                                                           \
    }

static void add_sample(uint64_t key, const struct sl_noted *noted)
{
    struct sl_noted copy = *noted;
    if (copy.has_identifier && !copy.identifier.at)
        copy.identifier = SL_TEXT("u");
    copy.key = sl_hash128((struct sluice_text){ (const char *)&key, sizeof key }, 1);
    sl_denials_add(denials, &copy);
}

static void flush(void)
{
    sl_denials_flush(denials, &ids, &audit);
}

/* The event that came `back` before the last one; the caller's. NULL: there is none. */
static json_t *event(size_t back)
{
    const struct sl_audit_kept *kept = sl_audit_recent_before(audit.recent, UINT64_MAX);
    for (; kept && back > 0; back--)
        kept = sl_audit_recent_before(audit.recent, kept->number);
    return kept ? json_loadb(kept->line.at, kept->line.len, 0, NULL) : NULL;
}

static int64_t number_in(const json_t *event, const char *name)
{
    const json_t *value = json_object_get(event, name);
    return json_is_integer(value) ? json_integer_value(value) : INT64_MIN;
}

static const char *text_in(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text ? text : "null";
}

/* Of all events there are. */
static int64_t denied_in_all(void)
{
    int64_t sum = 0;
    json_t *each;
    for (size_t i = 0; (each = event(i)); i++) {
        sum += number_in(each, "count");
        json_decref(each);
    }
    return sum;
}

WITH_DENIALS(a_denial_is_an_event_of_the_contract)
{
    add_sample(1, NOTED(.tenant = SL_TEXT("acme"), .resource = SL_TEXT("/x"),
                        .retry_after_us = 1500001, .denied = 3));
    flush();
    json_t *told = event(0);
    assert_string_equal(text_in(told, "event"), "sliding_window_limit_exceeded");
    assert_string_equal(text_in(told, "severity"), "warning");
    assert_string_equal(text_in(told, "at"), "2023-11-14T22:13:20.000000Z");
    assert_string_equal(text_in(told, "tenant"), "acme");
    assert_string_equal(text_in(told, "identifier"), "u");
    assert_string_equal(text_in(told, "limit_type"), "per_user");
    assert_string_equal(text_in(told, "resource"), "/x");
    assert_string_equal(text_in(told, "rule"), "counter");
    assert_int_equal(number_in(told, "estimated_count"), 9);
    assert_int_equal(number_in(told, "capacity"), 9);
    assert_int_equal(number_in(told, "retry_after"), 2); /* rounded up */
    assert_int_equal(number_in(told, "count"), 3);
    assert_null(json_object_get(told, "shadow"));
    json_decref(told);
    assert_null(event(1));
}

WITH_DENIALS(other_algorithms_exceed_a_limit_and_no_window)
{
    add_sample(1, NOTED(.rule = 1, .is_shadow = true, .retry_after_us = SL_NEVER));
    flush();
    json_t *told = event(0);
    assert_string_equal(text_in(told, "event"), "rate_limit_exceeded");
    assert_string_equal(text_in(told, "limit_type"), "per_ip_user");
    assert_string_equal(text_in(told, "tenant"), "null");
    assert_null(json_object_get(told, "estimated_count"));
    assert_int_equal(number_in(told, "retry_after"), -1);
    assert_true(json_is_true(json_object_get(told, "shadow")));
    json_decref(told);
}

/* From several workers, in any order: what the first was told, and how often in all. */
WITH_DENIALS(the_same_identifier_is_folded)
{
    add_sample(1, NOTED(.denied = 2, .first_us = AT_US + 100, .capacity = 20));
    add_sample(2, NOTED(.identifier = SL_TEXT("other")));
    add_sample(1, NOTED(.denied = 5, .capacity = 30, .remaining = 1, .retry_after_us = 7000000));
    add_sample(1, NOTED(.denied = 1, .first_us = AT_US + 300, .capacity = 5));
    flush();
    json_t *told = event(1);
    assert_string_equal(text_in(told, "identifier"), "u");
    assert_string_equal(text_in(told, "at"), "2023-11-14T22:13:20.000000Z");
    assert_int_equal(number_in(told, "count"), 8);
    assert_int_equal(number_in(told, "capacity"), 30);
    assert_int_equal(number_in(told, "estimated_count"), 29);
    assert_int_equal(number_in(told, "retry_after"), 7);
    json_decref(told);
    assert_null(event(2));
}

WITH_DENIALS(a_caller_that_was_not_denied_is_no_event)
{
    add_sample(1, NOTED(.denied = 0, .met = 50));
    flush();
    assert_null(event(0));
}

WITH_DENIALS(after_a_flush_it_begins_anew)
{
    for (int i = 0; i < 3; i++) {
        add_sample(1, NOTED(.denied = 4));
        flush();
        flush();
    }
    assert_int_equal(denied_in_all(), 12);
    assert_null(event(3));
}

WITH_DENIALS(bursts_are_events_of_their_own)
{
    add_sample(1, NOTED(.denied = 0, .warned = 1, .request_count = 51, .guard_us = AT_US + 1));
    flush();
    json_t *told = event(0);
    assert_string_equal(text_in(told, "event"), "burst_detected_warning");
    assert_int_equal(number_in(told, "request_count"), 51);
    assert_string_equal(text_in(told, "at"), "2023-11-14T22:13:20.000001Z");
    assert_null(json_object_get(told, "count"));
    json_decref(told);
    add_sample(1, NOTED(.denied = 6, .first_us = AT_US + 5));
    add_sample(1, NOTED(.denied = 0, .blocked = 1, .request_count = 60, .guard_us = AT_US + 9,
                        .first_us = 0));
    flush();
    told = event(0);
    assert_string_equal(text_in(told, "event"), "sliding_window_limit_exceeded");
    assert_string_equal(text_in(told, "at"), "2023-11-14T22:13:20.000005Z");
    assert_int_equal(number_in(told, "count"), 6);
    json_decref(told);
    told = event(1);
    assert_string_equal(text_in(told, "event"), "burst_detected_blocked");
    assert_string_equal(text_in(told, "severity"), "error");
    assert_int_equal(number_in(told, "request_count"), 60);
    json_decref(told);
}

WITH_DENIALS(denials_without_an_identifier_print_null)
{
    add_sample(1, NOTED(.has_identifier = false, .retry_after_us = SL_NEVER));
    flush();
    json_t *told = event(0);
    assert_string_equal(text_in(told, "identifier"), "null");
    assert_string_equal(text_in(told, "rule"), "counter");
    json_decref(told);
}

/* ---- bounds ---- */

static size_t events(void)
{
    return sl_audit_recent_count(audit.recent);
}

/* A thousand lines, and one that says how many more there were. The newest thousand are kept, so
 * one of them is gone again: its count was 1. */
WITH_DENIALS(a_flood_is_a_thousand_lines_and_one)
{
    for (uint64_t i = 0; i < SL_DENIALS_MAX; i++)
        add_sample(i, NOTED(.denied = 1));
    for (uint64_t i = 0; i < 3000; i++)
        add_sample(i,
                   NOTED(.denied = 10, .first_us = AT_US + 7)); /* a third of these are sampled */
    flush();
    assert_int_equal(events(), SL_RECENT_DENIALS_MAX);
    json_t *told = event(0);
    assert_string_equal(text_in(told, "event"), "rate_limit_exceeded");
    assert_string_equal(text_in(told, "identifier"), "null");
    assert_string_equal(text_in(told, "rule"), "null");
    assert_string_equal(text_in(told, "at"), "2023-11-14T22:13:20.000007Z");
    assert_int_equal(number_in(told, "count"), 20000);
    json_decref(told);
    assert_int_equal(denied_in_all(), 20000 + 999 * 11);
}

WITH_DENIALS(a_thousand_are_a_thousand_lines)
{
    for (uint64_t i = 0; i < SL_DENIALS_MAX; i++)
        add_sample(i, NOTED(.denied = 1));
    flush();
    assert_int_equal(denied_in_all(), SL_DENIALS_MAX);
}

WITH_DENIALS(what_limiters_missed_is_in_that_line_too)
{
    sl_denials_miss(denials, 0, AT_US - 5);
    sl_denials_miss(denials, 70, AT_US + 1);
    sl_denials_miss(denials, 7, AT_US + 2);
    flush();
    json_t *told = event(0);
    assert_int_equal(number_in(told, "count"), 77);
    assert_string_equal(text_in(told, "at"), "2023-11-14T22:13:20.000001Z");
    json_decref(told);
    flush();
    assert_null(event(1));
}

/* 256 KiB of names; the rest is counted. */
WITH_DENIALS(texts_are_bounded)
{
    enum { LEN = 512, MANY = 900 };
    char text[LEN];
    memset(text, 'x', sizeof text);
    for (uint64_t i = 0; i < MANY; i++)
        add_sample(i, NOTED(.identifier = { text, LEN }, .resource = { text, LEN }));
    memset(text, '?', sizeof text); /* they are copies */
    flush();
    assert_int_equal(events(), SL_DENIALS_TEXT_BYTES / (2 * LEN) + 1);
    assert_int_equal(denied_in_all(), MANY);
    json_t *told = event(1);
    assert_int_equal(strlen(text_in(told, "identifier")), LEN);
    assert_int_equal(text_in(told, "identifier")[0], 'x');
    json_decref(told);
    for (uint64_t i = 0; i < 10; i++)
        add_sample(i, NOTED(.denied = 1)); /* and there is room again */
    flush();
    assert_int_equal(denied_in_all(), MANY + 10);
    assert_int_equal(events(), SL_DENIALS_TEXT_BYTES / (2 * LEN) + 1 + 10);
}
