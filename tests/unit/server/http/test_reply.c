/* Answers, byte for byte and as a strict client reads them. */
#include "server/http/reply.h"
#include "wire/http/status.h"

#include <jansson.h>

#include "unit/server/on_stage.h"

static const char rules[] = "headers: [x-ratelimit, ratelimit, retry-after]\n"
                            "rules: [{ name: all, per: user, limit: 3/m }]\n";

#define DATE "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"

static struct sl_call call_of(bool keep_alive)
{
    return (struct sl_call){ .conn = visitor.conn, .keep_alive = keep_alive };
}

/* What was sent since the last time, terminated. */
static const char *got(void)
{
    static char text[65536];
    visitor_settle(&visitor);
    assert_true(visitor.got.len < sizeof text);
    memcpy(text, visitor.got.at, visitor.got.len);
    text[visitor.got.len] = 0;
    sl_buffer_clear(&visitor.got);
    return text;
}

static const char *printed(struct sl_call call, struct sl_answer_parts parts)
{
    sl_reply_print(the_round(), &call, &parts);
    return got();
}

static const char *problem(uint16_t status, const char *detail)
{
    struct sl_call call = call_of(true);
    call.status = status;
    call.detail = detail;
    sl_reply_problem(the_round(), &call);
    return got();
}

static struct answer only_answer(const char *text)
{
    struct sluice_text rest = sl_text(text);
    struct answer answer;
    assert_true(next_answer(&rest, false, &answer));
    assert_int_equal(rest.len, 0);
    return answer;
}

/* ---- the whole ---- */

ON_STAGE(an_answer_is_as_written_here, rules)
{
    struct sl_answer_parts parts = { .status = 200,
                                     .type = "application/json",
                                     .body = SL_TEXT("{\"a\": 1}") };
    assert_string_equal(printed(call_of(true), parts),
                        "HTTP/1.1 200 OK\r\n" DATE
                        "Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"a\": 1}");
    assert_false(visitor.conn->is_finished);
}

ON_STAGE(an_answer_without_a_body_says_so, rules)
{
    assert_string_equal(printed(call_of(true), (struct sl_answer_parts){ .status = 200 }),
                        "HTTP/1.1 200 OK\r\n" DATE "Content-Length: 0\r\n\r\n");
}

ON_STAGE(head_is_answered_with_the_length_and_no_body, rules)
{
    struct sl_call call = call_of(true);
    call.is_head = true;
    struct sl_answer_parts parts = { .status = 200,
                                     .type = "text/plain",
                                     .body = SL_TEXT("hello") };
    assert_string_equal(printed(call, parts),
                        "HTTP/1.1 200 OK\r\n" DATE
                        "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\n");
}

ON_STAGE(the_body_may_lie_in_scratch_memory_and_be_long, rules)
{
    struct sl_buffer *body = &the_round()->scratch;
    sl_buffer_clear(body);
    for (int i = 0; i < 5000; i++)
        sl_buffer_add(body, SL_TEXT("0123456789"));
    struct sl_answer_parts parts = { .status = 200,
                                     .type = "text/plain",
                                     .body = { body->at, body->len } };
    struct answer answer = only_answer(printed(call_of(true), parts));
    assert_int_equal(answer.body.len, 50000);
    assert_memory_equal(answer.body.at + 49990, "0123456789", 10);
}

/* ---- the connection ---- */

ON_STAGE(a_call_that_is_not_kept_alive_finishes_its_connection, rules)
{
    struct answer answer =
        only_answer(printed(call_of(false), (struct sl_answer_parts){ .status = 200 }));
    assert_true(answer.closes);
    assert_true(visitor.conn->is_finished);
    assert_false(visitor.conn->lingers);
}

ON_STAGE(http_1_0_is_told_that_its_connection_stays, rules)
{
    struct sl_call call = call_of(true);
    call.is_1_0 = true;
    assert_string_equal(printed(call, (struct sl_answer_parts){ .status = 200 }),
                        "HTTP/1.1 200 OK\r\n" DATE
                        "Connection: keep-alive\r\nContent-Length: 0\r\n\r\n");
    call.keep_alive = false;
    assert_string_equal(printed(call, (struct sl_answer_parts){ .status = 200 }),
                        "HTTP/1.1 200 OK\r\n" DATE
                        "Connection: close\r\nContent-Length: 0\r\n\r\n");
}

/* ---- statuses ---- */

ON_STAGE(every_status_of_ours_has_its_phrase, rules)
{
    static const struct {
        uint32_t status;
        const char *phrase;
    } rows[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 422, "Unprocessable Content" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char line[80];
        snprintf(line, sizeof line, "HTTP/1.1 %u %s\r\n" DATE, rows[i].status, rows[i].phrase);
        const char *text =
            printed(call_of(true), (struct sl_answer_parts){ .status = rows[i].status });
        SAME_TEXT(rows[i].phrase, ((struct sluice_text){ text, strlen(line) }), line);
        assert_string_equal(sl_status_phrase(rows[i].status), rows[i].phrase);
    }
}

/* `deny_status` may be any that says no. */
ON_STAGE(another_status_is_a_denial_in_words, rules)
{
    static const uint32_t statuses[] = { 402, 418, 451, 499, 511, 599 };
    for (size_t i = 0; i < COUNT(statuses); i++) {
        char line[80];
        snprintf(line, sizeof line, "HTTP/1.1 %u Denied\r\n" DATE, statuses[i]);
        const char *text =
            printed(call_of(true), (struct sl_answer_parts){ .status = statuses[i] });
        SAME_TEXT(line, ((struct sluice_text){ text, strlen(line) }), line);
        SAME(line, only_answer(text).status, statuses[i]);
    }
}

ON_STAGE(the_line_that_asks_for_a_body_is_no_answer, rules)
{
    struct sl_call call = call_of(false);
    sl_reply_continue(the_round(), &call);
    assert_string_equal(got(), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_false(visitor.conn->is_finished);
}

/* ---- fields ---- */

static struct sluice_decision denied(void)
{
    return (struct sluice_decision){
        .reason = SLUICE_REASON_LIMITED,
        .rule = "all",
        .limit = 3,
        .remaining = 0,
        .retry_after_us = 1500000,
        .reset_at_us = INT64_C(1700000060000000),
        .decided_at_us = INT64_C(1700000000000000),
        .window_us = 60000000,
    };
}

ON_STAGE(a_decision_is_told_in_the_fields_that_the_rules_choose, rules)
{
    struct sluice_decision decision = denied();
    struct answer answer = only_answer(
        printed(call_of(true), (struct sl_answer_parts){ .status = 429, .decision = &decision }));
    SAME_TEXT("all", field_of(&answer, "X-RateLimit-Limit"), "3");
    SAME_TEXT("all", field_of(&answer, "X-RateLimit-Remaining"), "0");
    SAME_TEXT("all", field_of(&answer, "X-RateLimit-Reset"), "1700000060");
    SAME_TEXT("all", field_of(&answer, "RateLimit-Policy"), "\"all\";q=3;w=60");
    SAME_TEXT("all", field_of(&answer, "RateLimit"), "\"all\";r=0;t=2");
    SAME_TEXT("all", field_of(&answer, "Retry-After"), "2");
    struct sl_settings quiet = *the_round()->settings;
    quiet.headers = SL_HEADER_RETRY_AFTER;
    the_round()->settings = &quiet;
    answer = only_answer(
        printed(call_of(true), (struct sl_answer_parts){ .status = 429, .decision = &decision }));
    SAME_TEXT("one", field_of(&answer, "Retry-After"), "2");
    assert_null(field_of(&answer, "RateLimit").at);
    assert_null(field_of(&answer, "X-RateLimit-Limit").at);
}

ON_STAGE(without_a_decision_there_are_no_such_fields, rules)
{
    struct answer answer =
        only_answer(printed(call_of(true), (struct sl_answer_parts){ .status = 429 }));
    assert_null(field_of(&answer, "RateLimit").at);
    assert_null(field_of(&answer, "Retry-After").at);
    assert_null(field_of(&answer, "Allow").at);
}

/* ---- problems ---- */

static void check_problem(uint16_t status, const char *detail, const char *told)
{
    struct answer answer = only_answer(problem(status, detail));
    json_error_t error;
    SAME(detail, answer.status, status);
    SAME_TEXT(detail, field_of(&answer, "Content-Type"), "application/problem+json");
    json_t *json = json_loadb(answer.body.at, answer.body.len, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("%s: %.*s", error.text, (int)answer.body.len, answer.body.at);
    assert_string_equal(json_string_value(json_object_get(json, "type")), "about:blank");
    assert_string_equal(json_string_value(json_object_get(json, "title")),
                        sl_status_phrase(status));
    assert_int_equal(json_integer_value(json_object_get(json, "status")), status);
    assert_string_equal(json_string_value(json_object_get(json, "detail")), told);
    assert_int_equal(json_object_size(json), 4);
    json_decref(json);
}

ON_STAGE(a_problem_is_json_whatever_its_detail_says, rules)
{
    static const char *const details[] = {
        "plain",
        "a \"quoted\" `name` and a \\ backslash",
        "a\ttab, a\nline, a \x01 control and \x1f another",
        "gr\xc3\xbc\xc3\x9f dich, \xf0\x9f\x9a\xb0",
        "</script>",
        "",
    };
    for (size_t i = 0; i < COUNT(details); i++)
        check_problem(422, details[i], details[i]);
    check_problem(499, "unusual", "unusual");
}

ON_STAGE(a_problem_without_words_ran_out_of_memory, rules)
{
    check_problem(500, NULL, "Out of memory; try again.");
}

ON_STAGE(a_problem_tells_the_methods_there_are, rules)
{
    struct sl_call call = call_of(true);
    call.status = 405;
    call.detail = "No.";
    call.allow = "GET, HEAD";
    sl_reply_problem(the_round(), &call);
    struct answer answer = only_answer(got());
    SAME_TEXT("405", field_of(&answer, "Allow"), "GET, HEAD");
    assert_false(answer.closes);
}

ON_STAGE(answers_follow_each_other_without_a_gap, rules)
{
    struct sl_call call = call_of(true);
    struct sl_round *round = the_round();
    for (int i = 0; i < 300; i++) { /* more than a block */
        call.status = (uint16_t)(400 + i % 5);
        call.detail = "Many of them, so that the buffer has to grow while it is being filled.";
        sl_reply_problem(round, &call);
    }
    visitor_settle(&visitor);
    struct sluice_text rest = { visitor.got.at, visitor.got.len };
    struct answer answer;
    for (int i = 0; i < 300; i++) {
        assert_true(next_answer(&rest, false, &answer));
        assert_int_equal(answer.status, 400 + i % 5);
    }
    assert_int_equal(rest.len, 0);
}
