/* What a worker counts of its traffic, each thing in its place. */
#include "server/traffic.h"

#include "unit/server/on_stage.h"

static const char rules[] = "identity: { trusted_proxies: [192.0.2.0/24] }\n"
                            "rules: [{ name: one, resource: /one, per: ip, limit: 1/h }]\n";

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static char got[1 << 20];

static struct sl_worker *worker(void)
{
    return &stage.workers[0];
}

static struct sl_traffic *traffic(void)
{
    return &worker()->traffic;
}

static struct caller enter(struct sl_arrival arrival, const char *from)
{
    visitor_forgets_time(&visitor);
    assert_true(sl_address_parse(sl_text(from), &arrival.peer));
    return caller_enter(worker(), arrival);
}

static struct caller enter_plainly(void)
{
    return enter((struct sl_arrival){ .is_local = false }, "192.0.2.9");
}

#define ASSERT_COUNT(field, wanted) SAME(#field, sl_count_read(&traffic()->field), wanted)

ON_STAGE(bytes_are_counted_as_they_come_and_go, rules)
{
    struct caller caller = enter_plainly();
    caller_says(&caller, "GET /healthz HT");
    ASSERT_COUNT(received_bytes, 15);
    ASSERT_COUNT(sent_bytes, 0);
    caller_says(&caller, "TP/1.1\r\nHost: a\r\n\r\n" GET("/healthz"));
    size_t heard = caller_reads(&caller, got, sizeof got);
    ASSERT_COUNT(received_bytes, 2 * strlen(GET("/healthz")));
    ASSERT_COUNT(sent_bytes, heard);
    assert_true(heard > 100);
    caller_says(&caller, "nonsense\r\n\r\n");
    heard += caller_reads(&caller, got, sizeof got);
    caller_says(&caller, "more, for nothing"); /* it lingers */
    ASSERT_COUNT(received_bytes, 2 * strlen(GET("/healthz")) + 12 + 17);
    ASSERT_COUNT(sent_bytes, heard);
    caller_leaves(&caller);
}

/* What does not fit into the kernel's buffers is counted when it goes. */
ON_STAGE(bytes_that_wait_are_not_sent_yet, rules)
{
    struct caller caller = enter_plainly();
    for (int i = 0; i < 60; i++)
        caller_puts(&caller, GET("/openapi.json"));
    stage_turn(worker());
    uint64_t sent = sl_count_read(&traffic()->sent_bytes);
    assert_true(caller.conn->out.len > caller.conn->sent);
    size_t heard = 0, count;
    while ((count = caller_reads(&caller, got, sizeof got)) > 0) {
        heard += count;
        stage_turn(worker());
    }
    assert_true(heard > sent);
    ASSERT_COUNT(sent_bytes, heard);
    caller_leaves(&caller);
}

ON_STAGE(answers_are_counted_by_their_class, rules)
{
    says(GET("/healthz") GET("/v1/authorize/one") GET("/v1/authorize/one") GET("/none"));
    assert_string_equal(statuses(), "200 200 429 404");
    ASSERT_COUNT(answers[2], 2);
    ASSERT_COUNT(answers[4], 2);
    worker()->is_draining = true;
    says(GET("/readyz"));
    assert_string_equal(statuses(), "503");
    ASSERT_COUNT(answers[5], 1);
    worker()->is_draining = false;
    ASSERT_COUNT(answers[0], 0);
    ASSERT_COUNT(answers[1], 0);
    ASSERT_COUNT(answers[3], 0);
    ASSERT_COUNT(malformed, 0);
}

ON_STAGE(what_is_no_message_is_counted, rules)
{
    static const char *const rows[] = {
        "nonsense\r\n\r\n",
        "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
        "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n",
        "POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i], says(rows[i]), 1);
        SAME(rows[i], sl_count_read(&traffic()->malformed), i + 1);
        start_over();
    }
    says("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n{"); /* HTTP it is */
    ASSERT_COUNT(malformed, COUNT(rows));
}

ON_STAGE(refused_requests_are_counted_by_their_status, rules)
{
    says("GET /v1/rules HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n");
    assert_string_equal(statuses(), "401");
    ASSERT_COUNT(refused[SL_REFUSED_401], 1);
    says(GET("/v1/rules")); /* not from this machine */
    assert_string_equal(statuses(), "403");
    ASSERT_COUNT(refused[SL_REFUSED_403], 1);
    says(GET("/v1/authorize/one") GET("/v1/authorize/one"));
    assert_string_equal(statuses(), "200 429"); /* which is a decision */
    ASSERT_COUNT(refused[SL_REFUSED_429], 0);
    ASSERT_COUNT(refused[SL_REFUSED_401], 1);
}

ON_STAGE(a_proxy_header_that_is_none_is_counted_and_so_is_a_stranger_s, rules)
{
    static const struct {
        const char *from, *said;
        uint64_t count; /* then */
    } rows[] = {
        { "192.0.2.9", "PROXY TCP4 198.51.100.3 192.0.2.2 1 2\r\n" GET("/healthz"), 0 },
        { "192.0.2.9", "", 0 }, /* a health check that only connects */
        { "192.0.2.9", GET("/healthz"), 1 },
        { "198.51.100.9", "PROXY TCP4 198.51.100.3 192.0.2.2 1 2\r\n" GET("/healthz"), 2 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct caller caller = enter((struct sl_arrival){ .proxy_protocol = true }, rows[i].from);
        if (*rows[i].said)
            caller_says(&caller, rows[i].said);
        caller_leaves(&caller);
        SAME(rows[i].said, sl_count_read(&traffic()->bad_proxy_headers), rows[i].count);
    }
}

ON_STAGE(timeouts_are_counted_by_what_was_waited_for, rules)
{
    static const struct {
        const char *said;
        enum sl_timer timer;
    } rows[] = {
        { "", SL_TIMER_OPENING },
        { "GET / HT", SL_TIMER_HEAD },
        { "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{", SL_TIMER_BODY },
        { GET("/healthz"), SL_TIMER_IDLE },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct caller caller = enter_plainly();
        if (*rows[i].said)
            caller_says(&caller, rows[i].said);
        SAME(rows[i].said, caller.conn->timer, rows[i].timer);
        SAME(rows[i].said, sl_count_read(&traffic()->late[rows[i].timer]), 0);
        sl_conn_late(caller.conn);
        SAME(rows[i].said, sl_count_read(&traffic()->late[rows[i].timer]), 1);
        stage_turn(worker());
        caller_leaves(&caller);
    }
}

/* A thread that reads a worker's counts, or writes another's, does not slow it down. */
TEST(counts_lie_on_cache_lines_of_their_own)
{
    enum { LINE = 64 };
    assert_int_equal(offsetof(struct sl_worker, traffic) % LINE, 0);
    assert_int_equal(sizeof(struct sl_traffic) % LINE, 0);
    assert_int_equal(offsetof(struct sl_traffic, malformed), LINE);
    assert_int_equal(_Alignof(struct sl_worker) % LINE, 0);
}
