/* Calls that wait for the store, where there is no memory to wait in. */
#include "server/flight.h"

#include "unit/base/no_memory.h"
#include "unit/server/on_stage.h"

TESTS_ALONE;

static const char rules[] =
    "rules:\n"
    "- { name: open, resource: /open, per: user, limit: 5/m, on_store_failure: allow }\n"
    "- { name: shut, resource: /shut, per: user, limit: 5/m, on_store_failure: deny }\n";

#define POST(path, len, body)                                                                      \
    "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " #len "\r\n\r\n" body
#define OPEN    "{\"resource\":\"/open\",\"user\":\"u\"}"
#define SHUT    "{\"resource\":\"/shut\",\"user\":\"u\"}"
#define HEALTHY "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"

/* Without memory only for as long as the worker reads and answers. */
static struct answer *answer_without_memory(const char *asked)
{
    struct sl_worker *worker = &stage.workers[0];
    char unused; /* a channel that is not to be used */
    visitor_put(&visitor, sl_text(asked));
    worker->store_io.channel = (struct sl_channel *)(void *)&unused;
    memory_is_gone = true;
    visitor_read(&visitor);
    sl_round_finish(&worker->round);
    memory_is_gone = false;
    worker->store_io.channel = NULL;
    visitor_settle(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    return &answers[0];
}

ON_STAGE(without_memory_to_wait_in_on_store_failure_decides, rules)
{
    static const struct {
        const char *asked;
        uint32_t status;
        const char *told;
    } rows[] = {
        { POST("/v1/check", 31, OPEN), 200, "\"allowed\": true" },
        { POST("/v1/check", 31, SHUT), 503, "\"allowed\": false" },
        { POST("/v1/reserve", 31, OPEN), 200, "\"reservation\": null" },
        { POST("/v1/reserve", 31, SHUT), 503, "\"allowed\": false" },
        { HEALTHY, 200, "ok" },
    };
    NEEDS_FAILING_MEMORY();
    /* As a server that has served: it has memory for a round and an answer. */
    visitor_says(&visitor, SL_TEXT(POST("/v1/check", 31, OPEN)));
    assert_non_null(sl_buffer_begin(&the_round()->scratch, 4096));
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer *answer = answer_without_memory(rows[i].asked);
        SAME(rows[i].asked, answer->status, rows[i].status);
        if (!body_has(answer, rows[i].told))
            fail_msg("%s: %.*s", rows[i].asked, (int)answer->body.len, answer->body.at);
    }
}

ON_STAGE(a_reservation_is_not_settled_without_memory_and_its_caller_is_told, rules)
{
    NEEDS_FAILING_MEMORY();
    visitor_says(&visitor, SL_TEXT(POST("/v1/reserve", 31, OPEN)));
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    char name[64] = { 0 }, asked[256];
    const char *at = memmem(answers[0].body.at, answers[0].body.len, "\": \"", 4);
    assert_non_null(at);
    snprintf(name, sizeof name, "%.33s", at + 4);
    snprintf(asked, sizeof asked,
             "POST /v1/cancel HTTP/1.1\r\nHost: a\r\nContent-Length: 52\r\n\r\n"
             "{\"reservation\": \"%s\"}",
             name);
    assert_int_equal(answer_without_memory(asked)->status, 503);
    visitor_says(&visitor, sl_text(asked)); /* it is still there */
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    assert_int_equal(answers[0].status, 200);
}
