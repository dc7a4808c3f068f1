/* What is said in pieces is answered like what is said at once. */
#include "unit/server/on_stage.h"

static const char rules[] = "rules: [{ name: all, per: global, limit: 1000000/h },\n"
                            "        { name: few, resource: /few, per: user, limit: 1/h }]\n";

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define HEAD(path) "HEAD " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* All kinds of messages, and one that ends it. */
static const char conversation[] =
    GET("/healthz") "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n{\"user\": "
                    "\"u1\", \"plan\": "
                    "\"gold\"}" HEAD(
                        "/openapi.json") "POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                                         "chunked\r\n\r\n"
                                         "5\r\n{\"use\r\n8;x=y\r\nr\": \"u1\"\r\n1\r\n}\r\n0\r\nA: "
                                         "trailer\r\n\r\n"
                                         "\r\nGET /v1/authorize/few?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"
                                         "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "44\r\n\r\n"
                                         "[{\"user\": \"u2\"}, {\"user\": \"u1\", \"cost\": 2}]\n"
                                         "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "17\r\n\r\n{\"explain\": true}"
                                         "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "1\r\n\r\n{"
                                         "DELETE /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "3\r\n\r\nabc"
                                         "POST /v1/reserve HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "13\r\n\r\n{\"user\": \"u\"}"
                                         "POST /v1/commit HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "63\r\n\r\n"
                                         "{\"reservation\": \"0000000000000001-0d003f0283b253c9\", "
                                         "\"cost\": 3}\n" GET("/a\x01") GET("/healthz");

static const char *const conversation_heads = "--H----------";

static char *whole;
static size_t whole_len;

static void take_the_answers_as_a_whole(void)
{
    start_over();
    visitor_says(&visitor, sl_text(conversation));
    whole_len = visitor.got.len;
    whole = malloc(whole_len);
    memcpy(whole, visitor.got.at, whole_len);
    read_answers_of(&visitor, conversation_heads);
    assert_string_equal(statuses(), "200 200 200 200 200 200 200 400 405 200 200 400");
    assert_true(visitor.conn->is_finished);
}

static void same_as_the_whole(size_t split)
{
    if (visitor.got.len != whole_len || memcmp(visitor.got.at, whole, whole_len) != 0)
        fail_msg("split at %zu: other answers: %.*s", split, (int)visitor.got.len, visitor.got.at);
}

ON_STAGE(the_answers_are_the_same_at_every_split, rules)
{
    size_t len = sizeof conversation - 1;
    take_the_answers_as_a_whole();
    for (size_t at = 1; at < len; at++) {
        start_over();
        visitor_says(&visitor, (struct sluice_text){ conversation, at });
        visitor_says(&visitor, (struct sluice_text){ conversation + at, len - at });
        same_as_the_whole(at);
    }
    free(whole);
}

ON_STAGE(the_answers_are_the_same_in_pieces_of_any_length, rules)
{
    size_t len = sizeof conversation - 1;
    take_the_answers_as_a_whole();
    for (size_t step = 1; step < 64; step++) {
        start_over();
        for (size_t at = 0; at < len; at += step) {
            size_t count = len - at < step ? len - at : step;
            visitor_says(&visitor, (struct sluice_text){ conversation + at, count });
        }
        same_as_the_whole(step);
    }
    free(whole);
}
