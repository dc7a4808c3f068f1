/* Connections on socket pairs, served by a worker's loop, which the test turns. */
#include <errno.h>

#include "unit/server/deaf_loop.h"
#include "unit/server/on_stage.h"

TESTS_ALONE;

static const char rules[] =
    "max_wait: 10s\nidentity: { trusted_proxies: [192.0.2.0/24] }\n"
    "rules: [{ name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 5,\n"
    "          refill_rate: 1 },\n"
    "        { name: one, resource: /one, per: ip, limit: 1/h }]\n";

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define QUEUE                                                                                      \
    "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 44\r\n\r\n"                             \
    "{\"resource\":\"/queue\",\"wait\":true,\"user\":\"u\"}"

static char got[4 << 20];

static struct sl_worker *worker(void)
{
    return &stage.workers[0];
}

static struct caller enter(void)
{
    struct sl_arrival arrival = { .is_local = false };
    visitor_forgets_time(&visitor);
    assert_true(sl_address_parse(SL_TEXT("192.0.2.9"), &arrival.peer));
    return caller_enter(worker(), arrival);
}

/* What has come since the last time. */
static const char *heard(struct caller *caller)
{
    caller_reads(caller, got, sizeof got);
    return got;
}

/* The end, and not a reset. */
static bool hears_the_end(struct caller *caller)
{
    char byte;
    return recv(caller->fd, &byte, 1, 0) == 0;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        count++;
    return count;
}

/* ---- bytes ---- */

ON_STAGE(what_is_said_is_answered_and_memory_goes_back, rules)
{
    struct caller caller = enter();
    caller_says(&caller, "GET /healthz HT");
    assert_string_equal(heard(&caller), "");
    assert_non_null(caller.conn->in);
    caller_says(&caller, "TP/1.1\r\nHost: a\r\n\r\n" GET("/readyz"));
    assert_int_equal(count_of(heard(&caller), "HTTP/1.1 200 OK\r\n"), 2);
    assert_null(caller.conn->in); /* ten thousand idle ones have none */
    assert_null(caller.conn->out.at);
    assert_int_equal(worker()->blocks.free_count, 2);
    caller_leaves(&caller);
    assert_int_equal(atomic_load(&worker()->open), 0);
    assert_int_equal(atomic_load(&stage.server.open), 0);
}

ON_STAGE(callers_that_ask_at_the_same_time_share_a_round, rules)
{
    struct caller callers[5];
    for (size_t i = 0; i < COUNT(callers); i++) {
        callers[i] = enter();
        caller_puts(&callers[i], GET("/v1/authorize/one"));
    }
    stage_turn(worker());
    assert_int_equal(model.decide_calls, 1);
    assert_int_equal(model.largest_batch, 5);
    size_t allowed = 0;
    for (size_t i = 0; i < COUNT(callers); i++) {
        allowed += count_of(heard(&callers[i]), "200 OK");
        caller_leaves(&callers[i]);
    }
    assert_int_equal(allowed, 1);
}

ON_STAGE(a_client_that_does_not_read_waits_and_nothing_is_lost, rules)
{
    struct caller caller = enter();
    for (int i = 0; i < 40; i++)
        caller_says(&caller, GET("/openapi.json"));
    assert_int_equal(caller.conn->timer, SL_TIMER_WRITE);
    assert_true(caller.conn->out.len - caller.conn->sent >= SL_CONN_OUT_HIGH_BYTES);
    assert_int_equal(caller.conn->events, UV_WRITABLE); /* its bytes stay in the kernel */
    size_t answers_heard = 0;
    for (int i = 0; i < 100; i++) {
        answers_heard += count_of(heard(&caller), "HTTP/1.1 200 OK\r\n");
        stage_turn(worker());
    }
    assert_int_equal(answers_heard, 40);
    assert_int_equal(caller.conn->timer, SL_TIMER_IDLE);
    assert_int_equal(caller.conn->events, UV_READABLE);
    caller_leaves(&caller);
}

/* Memory for all: as if many others did not read either. */
ON_STAGE(a_client_that_does_not_read_is_closed_if_too_many_do_not, rules)
{
    struct caller caller = enter(), other = enter();
    worker()->unread_bytes += (size_t)64 << 20;
    caller_says(&other, GET("/healthz"));
    for (int i = 0; i < 40 && caller_is_here(&caller); i++) {
        (void)!send(caller.fd, GET("/openapi.json"), strlen(GET("/openapi.json")), MSG_NOSIGNAL);
        stage_turn(worker());
    }
    assert_false(caller_is_here(&caller));
    assert_true(caller_is_here(&other));
    assert_int_equal(worker()->unread_bytes, (size_t)64 << 20);
    worker()->unread_bytes = 0;
    caller_leaves(&caller);
    caller_leaves(&other);
}

/* ---- ends ---- */

ON_STAGE(a_last_message_is_answered_and_the_connection_closed, rules)
{
    struct caller caller = enter();
    caller_says(&caller, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_int_equal(count_of(heard(&caller), "200 OK"), 1);
    assert_true(hears_the_end(&caller));
    assert_false(caller_is_here(&caller));
    caller_leaves(&caller);
}

ON_STAGE(a_client_that_shuts_its_side_is_answered_first, rules)
{
    struct caller caller = enter();
    caller_puts(&caller, GET("/healthz") "GET /hea");
    shutdown(caller.fd, SHUT_WR);
    stage_turn(worker());
    assert_int_equal(count_of(heard(&caller), "200 OK"), 1);
    assert_true(hears_the_end(&caller));
    assert_false(caller_is_here(&caller));
    caller_leaves(&caller);
}

ON_STAGE(a_client_that_shuts_its_side_with_requests_unread_is_answered_whole, rules)
{
    struct caller caller = enter();
    for (int i = 0; i < 20; i++)
        caller_puts(&caller, GET("/openapi.json"));
    shutdown(caller.fd, SHUT_WR);
    size_t answers_heard = 0;
    for (int i = 0; i < 100; i++) {
        stage_turn(worker());
        answers_heard += count_of(heard(&caller), "HTTP/1.1 200 OK\r\n");
    }
    assert_int_equal(answers_heard, 20);
    assert_false(caller_is_here(&caller));
    caller_leaves(&caller);
}

ON_STAGE(after_our_last_word_the_rest_is_read_for_nothing, rules)
{
    struct caller caller = enter();
    caller_says(&caller, "nonsense\r\n\r\n");
    assert_true(caller_is_here(&caller));
    assert_true(caller.conn->is_linger_on);
    assert_int_equal(caller.conn->timer, SL_TIMER_LINGER);
    caller_says(&caller, GET("/healthz"));
    assert_int_equal(count_of(heard(&caller), "HTTP/1.1 "), 1);
    assert_non_null(strstr(got, "400 Bad Request"));
    assert_true(hears_the_end(&caller));
    assert_null(caller.conn->in);
    assert_true(caller_is_here(&caller));
    caller_leaves(&caller);
    assert_false(caller_is_here(&caller));
}

ON_STAGE(no_client_is_read_without_end_for_nothing, rules)
{
    struct caller caller = enter();
    size_t sent = 0;
    memset(got, 'x', sizeof got);
    caller_says(&caller, "nonsense\r\n\r\n");
    while (caller_is_here(&caller) && sent < (size_t)16 << 20) {
        ssize_t count = send(caller.fd, got, 65536, MSG_NOSIGNAL);
        sent += count > 0 ? (size_t)count : 0;
        stage_turn(worker());
    }
    assert_false(caller_is_here(&caller));
    assert_true(sent > (size_t)4 << 20 && sent < (size_t)5 << 20);
    caller_leaves(&caller);
}

ON_STAGE(a_connection_that_breaks_is_forgotten, rules)
{
    struct caller caller = enter();
    caller_says(&caller, GET("/openapi.json") "GET");
    close(caller.fd); /* with bytes unread: that is a reset */
    stage_turn(worker());
    assert_false(caller_is_here(&caller));
    assert_int_equal(atomic_load(&worker()->open), 0);
    caller.fd = -1;
    assert_null(worker()->all);
}

/* The loop would turn and turn, and find no connection. */
ON_STAGE(a_connection_that_is_gone_does_not_keep_the_loop_busy, rules)
{
    struct caller caller = enter();
    sl_conn_close(caller.conn);
    sl_worker_ready_later(worker(), caller.conn);
    stage_turn(worker());
    assert_false(uv_is_active((uv_handle_t *)&worker()->busy));
    caller_leaves(&caller);
}

/* ---- answers that are held ---- */

ON_STAGE(nothing_of_a_held_answer_is_sent_before_its_time, rules)
{
    struct caller caller = enter();
    caller_says(&caller, QUEUE GET("/healthz") QUEUE GET("/readyz"));
    assert_int_equal(count_of(heard(&caller), "HTTP/1.1 200 OK\r\n"), 2);
    assert_null(strstr(got, "ready"));
    assert_int_equal(caller.conn->timer, SL_TIMER_NONE); /* the server waits */
    stage_turn(worker());
    assert_string_equal(heard(&caller), "");
    uv_timer_t *hold = caller.conn->hold;
    hold->timer_cb(hold);
    stage_turn(worker());
    assert_int_equal(count_of(heard(&caller), "HTTP/1.1 200 OK\r\n"), 2);
    assert_non_null(strstr(got, "ready"));
    assert_int_equal(caller.conn->timer, SL_TIMER_IDLE);
    caller_leaves(&caller);
}

ON_STAGE(a_client_that_leaves_while_its_answer_is_held_is_forgotten, rules)
{
    struct caller caller = enter();
    caller_says(&caller, QUEUE QUEUE);
    assert_non_null(caller.conn->hold);
    sl_conn_close(caller.conn);
    stage_turn(worker());
    assert_false(caller_is_here(&caller));
    caller_leaves(&caller);
}

/* ---- the PROXY header ---- */

static struct caller enter_by_proxy(const char *peer)
{
    struct sl_arrival arrival = { .proxy_protocol = true };
    visitor_forgets_time(&visitor);
    assert_true(sl_address_parse(sl_text(peer), &arrival.peer));
    return caller_enter(worker(), arrival);
}

ON_STAGE(a_trusted_proxys_header_names_the_client, rules)
{
    static const char header[] = "PROXY TCP4 198.51.100.3 192.0.2.2 1 2\r\n";
    for (size_t cut = 1; cut < sizeof header; cut += 7) {
        struct caller caller = enter_by_proxy("192.0.2.9");
        char first[64];
        snprintf(first, sizeof first, "%.*s", (int)cut, header);
        caller_says(&caller, first);
        SAME(first, caller.conn->is_opening, cut < sizeof header - 1);
        SAME(first, caller.conn->timer, SL_TIMER_OPENING);
        caller_says(&caller, header + cut);
        caller_says(&caller, GET("/healthz"));
        SAME(first, count_of(heard(&caller), "200 OK"), 1);
        SAME_TEXT(first, ((struct sluice_text){ caller.conn->peer_text, caller.conn->peer_len }),
                  "198.51.100.3");
        caller_leaves(&caller);
    }
    struct caller caller = enter_by_proxy("192.0.2.9");
    caller_says(&caller, "PROXY TCP4 198.51.100.3 192.0.2.2 1 2\r\n" GET("/healthz"));
    assert_int_equal(count_of(heard(&caller), "200 OK"), 1);
    caller_leaves(&caller);
}

ON_STAGE(a_connection_without_a_header_or_trust_is_closed, rules)
{
    static const struct {
        const char *peer, *says;
    } rows[] = {
        { "192.0.2.9", GET("/healthz") },
        { "192.0.2.9", "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n" GET("/healthz") },
        { "198.51.100.9", "PROXY TCP4 198.51.100.3 192.0.2.2 1 2\r\n" GET("/healthz") },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct caller caller = enter_by_proxy(rows[i].peer);
        caller_says(&caller, rows[i].says);
        SAME(rows[i].says, caller_is_here(&caller), false);
        SAME(rows[i].says, strlen(heard(&caller)), 0);
        caller_leaves(&caller);
    }
}

/* ---- a loop that cannot watch ---- */

ON_STAGE(a_connection_that_cannot_be_watched_is_not_opened, rules)
{
    int pair[2];
    char byte;
    struct sl_arrival arrival = { .front = &sl_front_http, .is_local = true };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    arrival.fd = pair[0];
    visitor_forgets_time(&visitor);
    deaf_calls = 1;
    assert_null(sl_conn_open(worker(), &arrival));
    stage_turn(worker());
    assert_null(worker()->all);
    assert_int_equal(recv(pair[1], &byte, 1, 0), 0); /* the end */
    close(pair[1]);
}

ON_STAGE(a_connection_that_cannot_be_watched_any_more_is_closed, rules)
{
    struct caller caller = enter();
    for (int i = 0; i < 100; i++) { /* more than the kernel takes: what is left waits for it */
        caller_puts(&caller, GET("/openapi.json"));
        deaf_calls = 1;
        stage_turn(worker());
        if (deaf_calls == 0)
            break;
    }
    assert_int_equal(deaf_calls, 0);
    assert_false(caller_is_here(&caller));
    assert_int_equal(atomic_load(&worker()->open), 0);
    close(caller.fd);
}
