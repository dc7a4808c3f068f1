/* The calls, bytes and deadlines of one link. Three things are not obvious:
 *
 * Ghosts. A call whose deadline has passed keeps its place in the row of expected replies, but no
 * caller waits for it any more. It must not charge either: a Redis that was stopped runs what has
 * piled up when it goes on. So every call carries its deadline in Redis' own time, and a script
 * that is run later does nothing.
 *
 * Redis' time. Every reply has Redis' clock, which was read between our sending and our receiving.
 * So the difference of the clocks lies in an interval. The intervals of many replies are
 * intersected; if nothing is left, a clock was set, and the interval starts anew. The lower end is
 * used: a call may be refused a little early, but never runs late.
 *
 * Nothing is sent again after a cut, for it may have been charged. After NOSCRIPT, or when a script
 * was late only because we had the wrong clock, it cannot have been. */
#include "store/redis/link/link_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text/number.h"

enum {
    OUT_KEPT_BYTES = 64 << 10,
    READ_BYTES = 64 << 10,
    TRIPS_AT = 5,        /* late calls in a row open the breaker */
    SILENT_US = 2000000, /* after so long without a byte a connection is given up */
};

int64_t sl_link_now_us(void)
{
    return sl_monotonic_ns() / 1000;
}

/* ---- host callbacks ---- */

static void update_watch(struct sl_link *link)
{
    bool connects = link->phase == SL_LINK_CONNECTING && link->socket.is_connecting;
    bool reads = link->phase != SL_LINK_DOWN && !connects;
    bool writes = connects || (reads && (link->write_for_read || link->out.len > link->sent));
    if (reads == link->reads && writes == link->writes)
        return;
    link->reads = reads;
    link->writes = writes;
    link->host.watch(link->host.about, link->socket.fd, reads, writes);
}

void sl_link_unwatch(struct sl_link *link)
{
    if (link->reads || link->writes)
        link->host.watch(link->host.about, link->socket.fd, false, false);
    link->reads = link->writes = false;
}

void sl_link_wake_by(struct sl_link *link, int64_t at_us)
{
    if (at_us >= link->wake_us)
        return;
    link->wake_us = at_us;
    link->host.wake_at(link->host.about, at_us);
}

/* A blocking caller serves its link only while it waits: its breaker's state says nothing. */
static void count_breaker(struct sl_link *link, int change)
{
    if (!link->host.is_patient)
        atomic_fetch_add(&link->shared->breakers[link->breaker], (uint64_t)change);
}

void sl_link_set_breaker(struct sl_link *link, enum sl_breaker breaker)
{
    SL_CHECK(breaker < SL_BREAKER_COUNT);
    if (breaker == link->breaker)
        return;
    count_breaker(link, -1);
    if (link->breaker == SL_BREAKER_CLOSED && !link->host.is_patient)
        atomic_fetch_add(&link->shared->trips, 1);
    link->breaker = breaker;
    count_breaker(link, 1);
}

void sl_link_remember(struct sl_link *link, const char *why)
{
    struct sl_link_shared *shared = link->shared;
    pthread_mutex_lock(&shared->why_lock);
    snprintf(shared->why, sizeof shared->why, "%s: %s", sl_target_name(link->target), why);
    pthread_mutex_unlock(&shared->why_lock);
}

/* ---- calls ---- */

void sl_link_finish(struct sl_link_shared *shared, struct sl_redis_query *query,
                    enum sl_call_end how, int status, const struct sl_redis_reply *reply)
{
    SL_CHECK(how < SL_CALL_END_COUNT && query->done);
    SL_CHECK((status == SLUICE_OK) == (how == SL_CALL_OK) &&
             (how == SL_CALL_OK) == (reply != NULL));
    if (!query->is_quiet)
        atomic_fetch_add_explicit(&shared->ends[how], 1, memory_order_relaxed);
    query->done(query, status, reply);
}

void sl_link_end(struct sl_link *link, struct sl_redis_query *query, enum sl_call_end how,
                 int status, const struct sl_redis_reply *reply)
{
    sl_link_finish(link->shared, query, how, status, reply);
}

static bool has_room_for_call(const struct sl_link *link)
{
    size_t each = link->host.redirected ? 2 : 1; /* ASKING, and the call */
    size_t loads = SL_LOADING_MAX - link->loads; /* that NOSCRIPT may still lead to */
    return link->row_len + 1 + loads + each * (1 + link->waiting_count) < SL_ROW_MAX &&
           link->out.len - link->sent < SL_LINK_OUT_MAX_BYTES / 2;
}

void sl_link_push(struct sl_link *link, enum sl_expected what, struct sl_redis_query *query)
{
    SL_CHECK(link->row_len < SL_ROW_MAX);
    SL_CHECK((what == SL_EXPECT_CALL) == (query != NULL));
    link->row[(link->row_at + link->row_len++) % SL_ROW_MAX] =
        (struct sl_pending_answer){ query, what };
}

void sl_link_add_bulk(struct sl_buffer *out, struct sluice_text text)
{
    sl_buffer_add(out, SL_TEXT("$"));
    sl_buffer_add_i64(out, (int64_t)text.len);
    sl_buffer_add(out, SL_TEXT("\r\n"));
    sl_buffer_add(out, text);
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

void sl_link_add_count(struct sl_buffer *out, size_t words)
{
    sl_buffer_add(out, SL_TEXT("*"));
    sl_buffer_add_i64(out, (int64_t)words);
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

/* Writes the deadline in Redis' time. */
static void fill_deadline(const struct sl_link *link, char *digits, int64_t due_us)
{
    int64_t rest_us = sl_max_i64(due_us + link->ahead_low_us, 0);
    for (size_t i = SL_DEADLINE_DIGITS; i-- > 0; rest_us /= 10)
        digits[i] = (char)('0' + rest_us % 10);
}

void sl_link_send_call(struct sl_link *link, struct sl_redis_query *query, int64_t now_us)
{
    struct sl_buffer *out = &link->out;
    SL_CHECK(link->phase == SL_LINK_UP);
    SL_CHECK(query->words > 0 && query->start + query->len <= query->bytes->len);
    SL_CHECK(!query->deadline_at || query->deadline_at + SL_DEADLINE_DIGITS <= query->len);
    query->sent_us = now_us;
    query->may_have_run = true;
    if (query->is_asking) {
        sl_buffer_add(out, SL_TEXT("*1\r\n$6\r\nASKING\r\n"));
        sl_link_push(link, SL_EXPECT_ASKING, NULL);
    }
    sl_link_add_count(out, (query->script ? 2 : 0) + query->words);
    if (query->script) {
        sl_buffer_add(out, SL_TEXT("$7\r\nEVALSHA\r\n"));
        sl_link_add_bulk(out, (struct sluice_text){ query->script->sha1_hex, 40 });
    }
    sl_buffer_add(out, (struct sluice_text){ query->bytes->at + query->start, query->len });
    if (query->deadline_at && link->knows_time && !out->failed)
        fill_deadline(link, out->at + out->len - query->len + query->deadline_at, query->due_us);
    sl_link_push(link, SL_EXPECT_CALL, query);
    sl_link_wake_by(link, query->due_us);
}

static void queue_until_connected(struct sl_link *link, struct sl_redis_query *query)
{
    query->next = NULL;
    *link->waiting_end = query;
    link->waiting_end = &query->next;
    link->waiting_count++;
    sl_link_wake_by(link, query->due_us);
}

void sl_link_forget_waiting(struct sl_link *link)
{
    link->waiting = NULL;
    link->waiting_end = &link->waiting;
    link->waiting_count = 0;
}

void sl_link_send_waiting(struct sl_link *link)
{
    struct sl_redis_query *query = link->waiting, *next;
    int64_t now_us = sl_link_now_us();
    sl_link_forget_waiting(link);
    for (; query; query = next) {
        next = query->next;
        sl_link_send_call(link, query, now_us);
    }
}

/* The old master may still answer, cut off from its replicas; what it counts is lost. */
static void leave_old_master(struct sl_link *link)
{
    if (link->phase != SL_LINK_DOWN && sl_link_is_of_old(link))
        sl_link_lose(link, "Sentinel names another master");
}

void sl_link_ask(struct sl_link *link, struct sl_redis_query *query)
{
    query->due_us = sl_redis_query_due_us(query, link->shared);
    sl_link_pass(link, query);
}

void sl_link_pass(struct sl_link *link, struct sl_redis_query *query)
{
    int64_t now_us = sl_link_now_us();
    query->is_again = query->may_have_run = false;
    leave_old_master(link);
    bool is_on_its_way = link->phase == SL_LINK_CONNECTING || link->phase == SL_LINK_GREETED;
    if (link->breaker != SL_BREAKER_CLOSED && !(link->host.is_patient && is_on_its_way)) {
        sl_link_end(link, query, SL_CALL_REFUSED, SLUICE_STORE_DOWN, NULL);
        return;
    }
    if (!has_room_for_call(link)) {
        sl_link_end(link, query, SL_CALL_FULL, SLUICE_STORE_DOWN, NULL);
        return;
    }
    if (link->phase == SL_LINK_UP) {
        sl_link_send_call(link, query, now_us);
        return;
    }
    queue_until_connected(link, query);
    if (link->phase == SL_LINK_DOWN)
        sl_link_connect(link);
}

/* ---- bytes ---- */

static const char *reason_of_cut(const struct sl_link *link)
{
    const char *certificate = link->socket.tls ? sl_tls_why_broken(link->socket.tls) : NULL;
    if (certificate)
        return certificate;
    return link->socket.tls && link->phase != SL_LINK_UP
               ? "the connection was cut while it was made; does Redis want a certificate of ours "
                 "(`store_tls`)?"
               : "the connection was cut";
}

/* Frees the room of what was sent, also if there is always more to send. */
static void forget_sent(struct sl_link *link)
{
    SL_CHECK(link->sent <= link->out.len);
    size_t rest = link->out.len - link->sent;
    if (rest > 0 && link->sent >= rest) {
        memmove(link->out.at, link->out.at + link->sent, rest);
        link->out.len = rest;
        link->sent = 0;
    }
    if (rest > 0)
        return;
    sl_buffer_clear(&link->out);
    link->sent = 0;
    if (link->out.room > OUT_KEPT_BYTES) {
        sl_buffer_release(&link->out);
        link->out = sl_buffer(SL_LINK_OUT_MAX_BYTES);
    }
}

void sl_link_flush(struct sl_link *link)
{
    bool can_send = link->phase >= SL_LINK_GREETED && !link->socket.is_connecting;
    if (link->out.failed) {
        sl_link_lose(link, "out of memory");
        return;
    }
    while (can_send && link->sent < link->out.len) {
        ssize_t count =
            sl_socket_write(&link->socket, link->out.at + link->sent, link->out.len - link->sent);
        if (count == SL_IO_BROKEN) {
            sl_link_lose(link, reason_of_cut(link));
            return;
        }
        if (count < 0)
            break;
        link->sent += (size_t)count;
    }
    forget_sent(link);
    update_watch(link);
}

static void read_replies(struct sl_link *link)
{
    char bytes[READ_BYTES];
    for (;;) {
        ssize_t count = sl_socket_read(&link->socket, bytes, sizeof bytes);
        link->write_for_read = count == SL_IO_WANT_WRITE;
        if (count == SL_IO_BROKEN || count == SL_IO_CLOSED) {
            sl_link_lose(link, reason_of_cut(link));
            return;
        }
        if (count < 0)
            return;
        SL_CHECK((size_t)count <= sizeof bytes);
        if (!sl_reply_reader_feed(link->reader, bytes, (size_t)count)) {
            sl_link_lose(link, "out of memory");
            return;
        }
        if (!sl_link_take_replies(link) || link->phase == SL_LINK_DOWN)
            return;
        if (count < (ssize_t)sizeof bytes && !link->socket.tls)
            return; /* most likely all is read; if not, poll reports it again */
    }
}

void sl_link_on_ready(struct sl_link *link)
{
    struct sluice_error error = { 0 };
    if (link->phase == SL_LINK_DOWN)
        return;
    if (link->socket.is_connecting) {
        if (!sl_socket_finish(&link->socket, link->target, &error)) {
            sl_link_try_next_address(link, error.text);
            return;
        }
        sl_link_greet(link);
    } else {
        read_replies(link);
    }
    if (link->phase != SL_LINK_DOWN)
        sl_link_flush(link);
}

/* ---- time ---- */

/* Returns the earliest deadline that is left, or INT64_MAX. */
static int64_t end_late_calls(struct sl_link *link, int64_t now_us)
{
    int64_t next_us = INT64_MAX;
    for (size_t i = 0; i < link->row_len; i++) {
        struct sl_pending_answer *place = &link->row[(link->row_at + i) % SL_ROW_MAX];
        struct sl_redis_query *query = place->query;
        if (!query)
            continue;
        if (query->due_us > now_us) {
            next_us = sl_min_i64(next_us, query->due_us);
            continue;
        }
        place->query = NULL; /* a ghost: its reply is ignored */
        if (link->late_row++ == 0)
            sl_link_remember(link, "it does not answer in time (`store_deadline`)");
        sl_link_end(link, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
    }
    struct sl_redis_query *query = link->waiting, *after;
    sl_link_forget_waiting(link);
    for (; query; query = after) {
        after = query->next;
        if (query->due_us > now_us) {
            queue_until_connected(link, query);
            next_us = sl_min_i64(next_us, query->due_us);
        } else {
            sl_link_end(link, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
        }
    }
    return next_us;
}

static void check_probe(struct sl_link *link, int64_t now_us)
{
    if (link->is_probing) {
        if (now_us - link->probed_us > link->shared->deadline_us)
            sl_link_set_breaker(link, SL_BREAKER_OPEN);
        if (now_us - sl_max_i64(link->heard_us, link->probed_us) > SILENT_US) {
            sl_link_lose(link, "it does not answer any more");
            return;
        }
        link->try_us = sl_max_i64(link->heard_us, link->probed_us) + SILENT_US + 1;
        sl_link_wake_by(link, link->breaker == SL_BREAKER_HALF_OPEN
                                  ? link->probed_us + link->shared->deadline_us + 1
                                  : link->try_us);
        return;
    }
    if (now_us < link->try_us) {
        sl_link_wake_by(link, link->try_us);
        return;
    }
    sl_link_set_breaker(link, SL_BREAKER_HALF_OPEN);
    if (has_room_for_call(link))
        sl_link_send_probe(link);
    else
        sl_link_lose(link, "it does not answer any more");
    if (link->phase == SL_LINK_DOWN)
        return;
    sl_link_wake_by(link, link->probed_us + link->shared->deadline_us + 1);
    sl_link_flush(link);
}

static void check_connection(struct sl_link *link, int64_t now_us)
{
    leave_old_master(link);
    if (link->phase == SL_LINK_DOWN) {
        bool wants = link->breaker != SL_BREAKER_CLOSED || link->made_us > 0;
        if (wants && (now_us >= link->try_us || sl_link_is_of_old(link)))
            sl_link_connect(link);
        else if (wants)
            sl_link_wait_to_try(link, now_us);
    } else if (link->socket.is_connecting) {
        if (now_us >= link->address_due_us)
            sl_link_try_next_address(link, "it does not answer");
        else
            sl_link_wake_by(link, link->address_due_us);
    } else if (link->phase != SL_LINK_UP) {
        if (now_us >= link->connect_due_us)
            sl_link_lose(link, "it does not answer");
        else
            sl_link_wake_by(link, link->connect_due_us);
    } else if (link->breaker != SL_BREAKER_CLOSED) {
        check_probe(link, now_us);
    }
}

void sl_link_on_time(struct sl_link *link)
{
    int64_t now_us = sl_link_now_us();
    link->wake_us = INT64_MAX;
    int64_t next_us = end_late_calls(link, now_us);
    if (link->late_row >= TRIPS_AT && link->breaker == SL_BREAKER_CLOSED &&
        link->phase == SL_LINK_UP)
        sl_link_trip(link, "it does not answer in time (`store_deadline`)");
    check_connection(link, now_us);
    sl_link_wake_by(link, next_us);
}

/* ---- new and free ---- */

struct sl_link *sl_link_new(struct sl_link_shared *shared, const struct sl_link_host *host)
{
    return sl_link_new_to(shared, shared->target, host);
}

struct sl_link *sl_link_new_to(struct sl_link_shared *shared, struct sl_target *target,
                               const struct sl_link_host *host)
{
    SL_CHECK(shared && shared->deadline_us > 0 && target);
    SL_CHECK(host->watch && host->wake_at && !host->redirected == !host->failed);
    struct sl_link *link = calloc(1, sizeof *link);
    struct sl_pending_answer *row = calloc(SL_ROW_MAX, sizeof *row);
    if (!link || !row) {
        free(link);
        free(row);
        return NULL;
    }
    link->shared = shared;
    link->target = target;
    link->host = *host;
    sl_link_probe_with(link, "rl:~probe");
    link->row = row;
    link->socket.fd = -1;
    link->out = sl_buffer(SL_LINK_OUT_MAX_BYTES);
    link->wake_us = INT64_MAX;
    sl_link_forget_waiting(link);
    count_breaker(link, 1);
    return link;
}

void sl_link_free(struct sl_link *link)
{
    if (!link)
        return;
    sl_link_shut(link);
    sl_link_set_breaker(link, SL_BREAKER_OPEN); /* calls from within fail_all must not connect */
    sl_link_fail_all(link);
    SL_CHECK(link->row_len == 0 && link->waiting_count == 0);
    count_breaker(link, -1);
    free(link->row);
    free(link);
}

void sl_link_abandon(struct sl_link *link)
{
    link->socket.is_anothers = true;
    sl_link_free(link);
}
