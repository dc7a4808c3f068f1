/* The stream of one connection. Three things in it are not obvious:
 *
 * Ghosts. A question whose deadline has passed keeps its place in the row of answers, without
 * anybody behind it. It must not charge either: a Redis that was stopped runs what has piled up
 * when it goes on. So every call carries its deadline in Redis' own time, and a script that is
 * run later does nothing.
 *
 * Redis' time. Every answer says what time it was there, which was between our sending and our
 * receiving. So the difference of the clocks is in an interval; those of many answers are cut
 * with one another, and where nothing is left somebody has set a clock, and it starts anew. The
 * lower end is used: a call may be refused a little early, never run late.
 *
 * Nothing is asked again after a cut: it may have been charged. After NOSCRIPT, or when a
 * script was late by a clock that we knew wrong, it cannot have been. */
#include "store/redis_link.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/redis_socket.h"

enum {
    ROW_MAX = 8192, /* questions that wait, ghosts included */
    OUT_MAX_BYTES = 4 << 20,
    OUT_KEPT_BYTES = 64 << 10,
    READ_BYTES = 64 << 10,
    TRIPS_AT = 5, /* late ones in a row */
    CONNECT_US = 1000000,
    SILENT_US = 2000000, /* then a connection is given up */
    BACKOFF_MIN_US = 10000,
    BACKOFF_MAX_US = 1000000,
    STABLE_US = 1000000, /* lost sooner after it was made, a connection is no better than none */
};

/* All that has to hold for a decision, without one: the clock can be read, scripts run and may
 * write. Deleting what is not there is not refused for want of memory. */
#define PROBE_SCRIPT                                                                               \
    "redis.call('DEL', KEYS[1]) local time = redis.call('TIME') "                                  \
    "return { time[1] * 1000000 + time[2], 1 }"

/* What is expected next. */
enum what { GREETING, PROBE, LOAD, CALL };

struct place {
    struct sl_query *query; /* NULL: nobody waits for it */
    enum what what;
};

enum phase { DOWN, CONNECTING, GREETED, UP };

struct sl_link {
    struct sl_link_shared *shared;
    struct sl_link_host host;
    enum phase phase;
    enum sl_breaker breaker;
    struct sl_socket socket;
    struct sl_reader *reader;
    struct sl_buffer out;
    size_t sent;

    struct place *row; /* a ring of ROW_MAX */
    size_t row_at, row_len;
    struct sl_query *waiting, **waiting_end; /* for the connection */
    size_t waiting_count;
    const struct sl_script *loading; /* sent, not yet answered */
    size_t loads;

    bool knows_time;
    int64_t ahead_low_us, ahead_high_us; /* Redis' clock minus ours */

    uint32_t late_row; /* calls that were late, one after another */
    uint32_t attempts; /* to connect, since it last was good */
    bool is_probing;
    int64_t probed_us, made_us, heard_us;
    int64_t try_us; /* connecting, or probing, again */
    int64_t connect_due_us;
    int64_t wake_us; /* what the host knows */
    bool reads, writes, write_for_read;
};

int64_t sl_link_now_us(void)
{
    return sl_monotonic_ns() / 1000;
}

static void lose(struct sl_link *link, const char *why);
static void connect_now(struct sl_link *link);

/* ---- telling the host ---- */

static void watch(struct sl_link *link)
{
    bool connects = link->phase == CONNECTING && link->socket.is_connecting;
    bool reads = link->phase != DOWN && !connects;
    bool writes = connects || (reads && (link->write_for_read || link->out.len > link->sent));
    if (reads == link->reads && writes == link->writes)
        return;
    link->reads = reads;
    link->writes = writes;
    link->host.watch(link->host.about, link->socket.fd, reads, writes);
}

static void unwatch(struct sl_link *link)
{
    if (link->reads || link->writes)
        link->host.watch(link->host.about, -1, false, false);
    link->reads = link->writes = false;
}

/* At the latest then. Earlier does no harm: sl_link_on_time looks at everything. */
static void wake_by(struct sl_link *link, int64_t at_us)
{
    if (at_us >= link->wake_us)
        return;
    link->wake_us = at_us;
    link->host.wake_at(link->host.about, at_us);
}

static void set_breaker(struct sl_link *link, enum sl_breaker breaker)
{
    if (breaker == link->breaker)
        return;
    atomic_fetch_sub(&link->shared->breakers[link->breaker], 1);
    atomic_fetch_add(&link->shared->breakers[breaker], 1);
    if (link->breaker == SL_BREAKER_CLOSED)
        atomic_fetch_add(&link->shared->trips, 1);
    link->breaker = breaker;
}

static void remember_why(struct sl_link *link, const char *why)
{
    struct sl_link_shared *shared = link->shared;
    pthread_mutex_lock(&shared->why_lock);
    snprintf(shared->why, sizeof shared->why, "%s: %s", sl_target_name(shared->target), why);
    pthread_mutex_unlock(&shared->why_lock);
}

/* ---- questions ---- */

static void end(struct sl_link *link, struct sl_query *query, enum sl_call_end how, int status,
                const struct sl_reply *reply)
{
    atomic_fetch_add_explicit(&link->shared->ends[how], 1, memory_order_relaxed);
    query->done(query, status, reply);
}

static bool has_room(const struct sl_link *link)
{
    return link->row_len + 2 + link->waiting_count < ROW_MAX &&
           link->out.len - link->sent < OUT_MAX_BYTES / 2;
}

static void push(struct sl_link *link, enum what what, struct sl_query *query)
{
    SL_CHECK(link->row_len < ROW_MAX);
    link->row[(link->row_at + link->row_len++) % ROW_MAX] = (struct place){ query, what };
}

static void add_bulk(struct sl_buffer *out, struct sluice_text text)
{
    sl_buffer_add(out, SL_TEXT("$"));
    sl_buffer_add_i64(out, (int64_t)text.len);
    sl_buffer_add(out, SL_TEXT("\r\n"));
    sl_buffer_add(out, text);
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

static void add_count(struct sl_buffer *out, size_t words)
{
    sl_buffer_add(out, SL_TEXT("*"));
    sl_buffer_add_i64(out, (int64_t)words);
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

/* In Redis' time. */
static void fill_deadline(const struct sl_link *link, char *digits, int64_t due_us)
{
    char text[SL_DEADLINE_DIGITS + 8];
    int64_t deadline_us = link->knows_time ? due_us + link->ahead_low_us : 0;
    snprintf(text, sizeof text, "%0*" PRId64, SL_DEADLINE_DIGITS, sl_max_i64(deadline_us, 0));
    memcpy(digits, text, SL_DEADLINE_DIGITS);
}

static void send_call(struct sl_link *link, struct sl_query *query, int64_t now_us)
{
    struct sl_buffer *out = &link->out;
    query->sent_us = now_us;
    add_count(out, 2 + query->words);
    sl_buffer_add(out, SL_TEXT("$7\r\nEVALSHA\r\n"));
    add_bulk(out, (struct sluice_text){ query->script->sha1_hex, 40 });
    sl_buffer_add(out, (struct sluice_text){ query->bytes->at + query->start, query->len });
    if (query->deadline_at && !out->failed)
        fill_deadline(link, out->at + out->len - query->len + query->deadline_at, query->due_us);
    push(link, CALL, query);
    wake_by(link, query->due_us);
}

static void send_script(struct sl_link *link, const struct sl_script *script)
{
    if (link->loading == script)
        return; /* it is on its way */
    add_count(&link->out, 3);
    sl_buffer_add(&link->out, SL_TEXT("$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n"));
    add_bulk(&link->out, script->text);
    push(link, LOAD, NULL);
    link->loading = script;
    link->loads++;
}

static void wait_for_connection(struct sl_link *link, struct sl_query *query)
{
    query->next = NULL;
    *link->waiting_end = query;
    link->waiting_end = &query->next;
    link->waiting_count++;
    wake_by(link, query->due_us);
}

static void forget_waiting(struct sl_link *link)
{
    link->waiting = NULL;
    link->waiting_end = &link->waiting;
    link->waiting_count = 0;
}

static void send_waiting(struct sl_link *link)
{
    struct sl_query *query = link->waiting, *next;
    int64_t now_us = sl_link_now_us();
    forget_waiting(link);
    for (; query; query = next) {
        next = query->next;
        send_call(link, query, now_us);
    }
}

void sl_link_ask(struct sl_link *link, struct sl_query *query)
{
    int64_t now_us = sl_link_now_us();
    query->due_us = now_us + link->shared->deadline_us;
    query->is_again = false;
    bool is_on_its_way = link->phase == CONNECTING || link->phase == GREETED;
    if (link->breaker != SL_BREAKER_CLOSED && !(link->host.is_patient && is_on_its_way)) {
        end(link, query, SL_CALL_REFUSED, SLUICE_STORE_DOWN, NULL);
        return;
    }
    if (!has_room(link)) {
        end(link, query, SL_CALL_FULL, SLUICE_STORE_DOWN, NULL);
        return;
    }
    if (link->phase == UP) {
        send_call(link, query, now_us);
        return;
    }
    wait_for_connection(link, query);
    if (link->phase == DOWN)
        connect_now(link);
}

/* ---- connecting ---- */

/* Halved at random: those who lost the same Redis do not come back together. */
static int64_t backoff_us(const struct sl_link *link)
{
    uint32_t doublings = link->attempts < 8 ? link->attempts : 8;
    int64_t most_us = sl_min_i64((int64_t)BACKOFF_MIN_US << doublings, BACKOFF_MAX_US);
    return most_us / 2 + (int64_t)(sl_random64() % (uint64_t)(most_us / 2 + 1));
}

static void greet(struct sl_link *link)
{
    const struct sl_target *target = link->shared->target;
    const char *user = sl_target_user(target), *password = sl_target_password(target);
    char number[16];
    if (password) {
        add_count(&link->out, user ? 3 : 2);
        add_bulk(&link->out, SL_TEXT("AUTH"));
        if (user)
            add_bulk(&link->out, sl_text(user));
        add_bulk(&link->out, sl_text(password));
        push(link, GREETING, NULL);
    }
    if (sl_target_database(target)) {
        snprintf(number, sizeof number, "%" PRIu32, sl_target_database(target));
        add_count(&link->out, 2);
        add_bulk(&link->out, SL_TEXT("SELECT"));
        add_bulk(&link->out, sl_text(number));
        push(link, GREETING, NULL);
    }
}

static void send_probe(struct sl_link *link)
{
    add_count(&link->out, 4);
    add_bulk(&link->out, SL_TEXT("EVAL"));
    add_bulk(&link->out, SL_TEXT(PROBE_SCRIPT));
    add_bulk(&link->out, SL_TEXT("1"));
    add_bulk(&link->out, SL_TEXT("rl:~probe"));
    push(link, PROBE, NULL);
    link->is_probing = true;
    link->probed_us = sl_link_now_us();
}

/* The socket is connected. */
static void begin_greeting(struct sl_link *link)
{
    link->phase = GREETED;
    greet(link);
    send_probe(link);
}

static void connect_now(struct sl_link *link)
{
    struct sluice_error error = { 0 };
    int64_t now_us = sl_link_now_us();
    SL_CHECK(link->phase == DOWN);
    link->connect_due_us = now_us + sl_max_i64(CONNECT_US, link->shared->deadline_us);
    link->reader = sl_reader_new();
    if (!link->reader || !sl_socket_open(&link->socket, link->shared->target, link->attempts,
                                         &error)) {
        lose(link, link->reader ? error.text : "out of memory");
        return;
    }
    link->phase = CONNECTING;
    wake_by(link, link->connect_due_us);
    if (!link->socket.is_connecting)
        begin_greeting(link);
    sl_link_flush(link);
}

void sl_link_open(struct sl_link *link)
{
    if (link->phase == DOWN && link->breaker == SL_BREAKER_CLOSED)
        connect_now(link);
}

bool sl_link_is_up(const struct sl_link *link)
{
    return link->phase == UP && link->breaker == SL_BREAKER_CLOSED;
}

/* Everybody who waits is told. They may ask again, which is refused, or waits in its place. */
static void fail_all(struct sl_link *link)
{
    struct sl_query *query = link->waiting, *next;
    forget_waiting(link);
    for (; query; query = next) {
        next = query->next;
        end(link, query, SL_CALL_LOST, SLUICE_STORE_DOWN, NULL);
    }
    for (size_t left = link->row_len; left > 0; left--) {
        struct place place = link->row[link->row_at];
        link->row_at = (link->row_at + 1) % ROW_MAX;
        link->row_len--;
        if (place.query)
            end(link, place.query, SL_CALL_LOST, SLUICE_STORE_DOWN, NULL);
    }
}

static void shut(struct sl_link *link)
{
    unwatch(link);
    sl_socket_close(&link->socket);
    sl_reader_free(link->reader);
    sl_buffer_release(&link->out);
    link->reader = NULL;
    link->out = sl_buffer(OUT_MAX_BYTES);
    link->sent = 0;
    link->phase = DOWN;
    link->is_probing = link->write_for_read = false;
    link->loading = NULL;
    link->loads = 0;
    link->late_row = 0;
    link->knows_time = false;
}

/* A connection that was good for a while is made again at once, and who asks meanwhile waits:
 * Redis closes idle ones. Else there is a while to wait. */
static void lose(struct sl_link *link, const char *why)
{
    int64_t now_us = sl_link_now_us();
    bool was_good = link->phase == UP && link->breaker == SL_BREAKER_CLOSED &&
                    now_us - link->made_us >= STABLE_US;
    remember_why(link, why);
    shut(link);
    if (was_good) {
        link->try_us = now_us;
    } else {
        atomic_fetch_add(&link->shared->failed_connects, 1);
        set_breaker(link, SL_BREAKER_OPEN);
        sl_target_refresh(link->shared->target);
        link->try_us = now_us + backoff_us(link);
        link->attempts++;
    }
    wake_by(link, link->try_us);
    fail_all(link);
}

/* ---- answers ---- */

static void learn_time(struct sl_link *link, int64_t redis_us, int64_t sent_us, int64_t now_us)
{
    int64_t low_us = redis_us - now_us, high_us = redis_us - sent_us;
    if (link->knows_time && low_us <= link->ahead_high_us && high_us >= link->ahead_low_us) {
        low_us = sl_max_i64(low_us, link->ahead_low_us);
        high_us = sl_min_i64(high_us, link->ahead_high_us);
    }
    link->knows_time = true;
    link->ahead_low_us = low_us;
    link->ahead_high_us = high_us;
}

static void trip(struct sl_link *link, const char *why)
{
    remember_why(link, why);
    set_breaker(link, SL_BREAKER_OPEN);
    link->try_us = sl_link_now_us() + backoff_us(link);
    link->attempts++;
    wake_by(link, link->try_us);
}

/* What to do about an error. False: the connection is gone. */
static bool take_cure(struct sl_link *link, const struct sl_redis_meaning *meaning,
                      const struct sl_reply *reply)
{
    char why[200];
    struct sluice_text sentence = sl_reply_text(reply, 0);
    atomic_fetch_add(&link->shared->errors[meaning->error], 1);
    snprintf(why, sizeof why, "%.*s", (int)sl_min_i64((int64_t)sentence.len, 190), sentence.at);
    const char *words = meaning->words ? meaning->words : why;
    if (meaning->cure == SL_CURE_LEAVE) {
        lose(link, words);
        return false;
    }
    if (meaning->cure == SL_CURE_WAIT)
        trip(link, words);
    else if (meaning->cure == SL_CURE_NONE)
        remember_why(link, words);
    return true;
}

static void become_good(struct sl_link *link, int64_t now_us)
{
    if (link->phase == GREETED) {
        atomic_fetch_add(&link->shared->connects, 1);
        link->made_us = now_us;
    }
    link->phase = UP;
    link->attempts = 0;
    link->late_row = 0;
    set_breaker(link, SL_BREAKER_CLOSED);
    send_waiting(link);
}

/* In time is by the deadline of a decision; the first of a connection may take longer. One that
 * was late is followed by the next: Redis is awake again, or slow. */
static bool take_probe(struct sl_link *link, const struct sl_reply *reply, int64_t now_us)
{
    bool is_first = link->phase == GREETED;
    link->is_probing = false;
    if (reply->is_error) {
        const struct sl_redis_meaning *meaning = sl_redis_meaning(sl_reply_text(reply, 0));
        if (!take_cure(link, meaning, reply))
            return false;
        if (meaning->cure != SL_CURE_WAIT)
            trip(link, "it refuses our probe");
        link->phase = UP;
        return true;
    }
    if (reply->value_count < 1) {
        lose(link, "it does not answer as Redis does");
        return false;
    }
    learn_time(link, reply->values[0], link->probed_us, now_us);
    if (is_first || now_us - link->probed_us <= link->shared->deadline_us) {
        become_good(link, now_us);
    } else {
        set_breaker(link, SL_BREAKER_OPEN);
        link->try_us = now_us;
        wake_by(link, now_us);
    }
    return true;
}

static bool take_greeting(struct sl_link *link, const struct sl_reply *reply)
{
    if (!reply->is_error)
        return true;
    char why[200];
    struct sluice_text sentence = sl_reply_text(reply, 0);
    const struct sl_redis_meaning *meaning = sl_redis_meaning(sentence);
    atomic_fetch_add(&link->shared->errors[meaning->error], 1);
    snprintf(why, sizeof why, "%.*s", (int)sl_min_i64((int64_t)sentence.len, 190), sentence.at);
    lose(link, meaning->words ? meaning->words : why);
    return false;
}

static bool may_ask_again(const struct sl_query *query, int64_t now_us)
{
    return !query->is_again && now_us < query->due_us;
}

static void ask_again(struct sl_link *link, struct sl_query *query, int64_t now_us)
{
    query->is_again = true;
    send_call(link, query, now_us);
}

/* False: the connection is gone. */
static bool take_error(struct sl_link *link, struct sl_query *query, const struct sl_reply *reply,
                       int64_t now_us)
{
    const struct sl_redis_meaning *meaning = sl_redis_meaning(sl_reply_text(reply, 0));
    if (meaning->cure == SL_CURE_LOAD && query && may_ask_again(query, now_us)) {
        atomic_fetch_add(&link->shared->errors[meaning->error], 1);
        send_script(link, query->script);
        ask_again(link, query, now_us);
        return true;
    }
    if (query)
        end(link, query, SL_CALL_ERROR, meaning->status, NULL);
    return take_cure(link, meaning, reply);
}

static bool take_answer(struct sl_link *link, struct sl_query *query, const struct sl_reply *reply,
                        int64_t now_us)
{
    if (reply->is_error)
        return take_error(link, query, reply, now_us);
    if (!query)
        return true;
    if (reply->value_count > 0)
        learn_time(link, reply->values[0], query->sent_us, now_us);
    bool was_late = reply->value_count == 2 && reply->values[1] == -1;
    if (was_late && may_ask_again(query, now_us)) {
        ask_again(link, query, now_us);
        return true;
    }
    link->late_row = 0;
    if (was_late)
        end(link, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
    else
        end(link, query, SL_CALL_OK, SLUICE_OK, reply);
    return true;
}

/* The next in the row. False: the connection is gone. */
static bool take_reply(struct sl_link *link, const struct sl_reply *reply, int64_t now_us)
{
    if (link->row_len == 0) {
        lose(link, "it answers what nobody asked");
        return false;
    }
    struct place place = link->row[link->row_at];
    link->row_at = (link->row_at + 1) % ROW_MAX;
    link->row_len--;
    switch (place.what) {
    case GREETING:
        return take_greeting(link, reply);
    case PROBE:
        return take_probe(link, reply, now_us);
    case LOAD:
        if (--link->loads == 0)
            link->loading = NULL;
        return true;
    default:
        return take_answer(link, place.query, reply, now_us);
    }
}

static bool take_replies(struct sl_link *link)
{
    int64_t now_us = sl_link_now_us();
    const struct sl_reply *reply;
    link->heard_us = now_us;
    for (;;) {
        switch (sl_reader_next(link->reader, &reply)) {
        case SL_READ_MORE:
            return true;
        case SL_READ_WRONG:
            lose(link, "it does not speak Redis' protocol");
            return false;
        default:
            if (!take_reply(link, reply, now_us))
                return false;
        }
    }
}

/* ---- bytes ---- */

static const char *why_cut(const struct sl_link *link)
{
    const char *certificate = link->socket.tls ? sl_tls_why_broken(link->socket.tls) : NULL;
    return certificate ? certificate : "the connection was cut";
}

void sl_link_flush(struct sl_link *link)
{
    bool can_send = link->phase >= GREETED && !link->socket.is_connecting;
    if (link->out.failed) {
        lose(link, "out of memory");
        return;
    }
    while (can_send && link->sent < link->out.len) {
        ssize_t count = sl_socket_write(&link->socket, link->out.at + link->sent,
                                        link->out.len - link->sent);
        if (count == SL_IO_BROKEN) {
            lose(link, why_cut(link));
            return;
        }
        if (count < 0)
            break;
        link->sent += (size_t)count;
    }
    if (link->sent == link->out.len) {
        sl_buffer_clear(&link->out);
        link->sent = 0;
        if (link->out.room > OUT_KEPT_BYTES) {
            sl_buffer_release(&link->out);
            link->out = sl_buffer(OUT_MAX_BYTES);
        }
    }
    watch(link);
}

static void read_all(struct sl_link *link)
{
    char bytes[READ_BYTES];
    for (;;) {
        ssize_t count = sl_socket_read(&link->socket, bytes, sizeof bytes);
        link->write_for_read = count == SL_IO_WANT_WRITE;
        if (count == SL_IO_BROKEN || count == SL_IO_CLOSED) {
            lose(link, why_cut(link));
            return;
        }
        if (count < 0)
            return;
        if (!sl_reader_feed(link->reader, bytes, (size_t)count)) {
            lose(link, "out of memory");
            return;
        }
        if (!take_replies(link) || link->phase == DOWN)
            return;
        if (count < (ssize_t)sizeof bytes && !link->socket.tls)
            return; /* there is no more, most likely; if there is, poll says so */
    }
}

void sl_link_on_ready(struct sl_link *link)
{
    struct sluice_error error = { 0 };
    if (link->phase == DOWN)
        return;
    if (link->socket.is_connecting) {
        if (!sl_socket_finish(&link->socket, link->shared->target, &error)) {
            lose(link, error.text);
            return;
        }
        begin_greeting(link);
    } else {
        read_all(link);
    }
    if (link->phase != DOWN)
        sl_link_flush(link);
}

/* ---- time ---- */

/* The earliest of what still waits, or INT64_MAX. */
static int64_t end_late_ones(struct sl_link *link, int64_t now_us)
{
    int64_t next_us = INT64_MAX;
    for (size_t i = 0; i < link->row_len; i++) {
        struct place *place = &link->row[(link->row_at + i) % ROW_MAX];
        struct sl_query *query = place->query;
        if (!query)
            continue;
        if (query->due_us > now_us) {
            next_us = sl_min_i64(next_us, query->due_us);
            continue;
        }
        place->query = NULL; /* a ghost from now on */
        link->late_row++;
        end(link, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
    }
    struct sl_query *query = link->waiting, *after;
    forget_waiting(link);
    for (; query; query = after) {
        after = query->next;
        if (query->due_us > now_us) {
            wait_for_connection(link, query);
            next_us = sl_min_i64(next_us, query->due_us);
        } else {
            end(link, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
        }
    }
    return next_us;
}

static void probe_again(struct sl_link *link, int64_t now_us)
{
    if (link->is_probing) {
        if (now_us - link->probed_us > link->shared->deadline_us)
            set_breaker(link, SL_BREAKER_OPEN);
        if (now_us - sl_max_i64(link->heard_us, link->probed_us) > SILENT_US) {
            lose(link, "it does not answer any more");
            return;
        }
        link->try_us = sl_max_i64(link->heard_us, link->probed_us) + SILENT_US + 1;
        wake_by(link, link->breaker == SL_BREAKER_HALF_OPEN
                          ? link->probed_us + link->shared->deadline_us + 1
                          : link->try_us);
        return;
    }
    if (now_us < link->try_us) {
        wake_by(link, link->try_us);
        return;
    }
    set_breaker(link, SL_BREAKER_HALF_OPEN);
    if (has_room(link))
        send_probe(link);
    else
        lose(link, "it does not answer any more");
    if (link->phase == DOWN)
        return;
    wake_by(link, link->probed_us + link->shared->deadline_us + 1);
    sl_link_flush(link);
}

static void look_after(struct sl_link *link, int64_t now_us)
{
    if (link->phase == DOWN) {
        bool wants = link->breaker != SL_BREAKER_CLOSED || link->made_us > 0;
        if (wants && now_us >= link->try_us)
            connect_now(link);
        else if (wants)
            wake_by(link, link->try_us);
    } else if (link->phase != UP) {
        if (now_us >= link->connect_due_us)
            lose(link, "it does not answer");
        else
            wake_by(link, link->connect_due_us);
    } else if (link->breaker != SL_BREAKER_CLOSED) {
        probe_again(link, now_us);
    }
}

void sl_link_on_time(struct sl_link *link)
{
    int64_t now_us = sl_link_now_us();
    link->wake_us = INT64_MAX;
    int64_t next_us = end_late_ones(link, now_us);
    if (link->late_row >= TRIPS_AT && link->breaker == SL_BREAKER_CLOSED && link->phase == UP)
        trip(link, "it does not answer in time");
    look_after(link, now_us);
    wake_by(link, next_us);
}

/* ---- beginning and end ---- */

struct sl_link *sl_link_new(struct sl_link_shared *shared, const struct sl_link_host *host)
{
    struct sl_link *link = calloc(1, sizeof *link);
    struct place *row = calloc(ROW_MAX, sizeof *row);
    if (!link || !row) {
        free(link);
        free(row);
        return NULL;
    }
    link->shared = shared;
    link->host = *host;
    link->row = row;
    link->socket.fd = -1;
    link->out = sl_buffer(OUT_MAX_BYTES);
    link->wake_us = INT64_MAX;
    forget_waiting(link);
    atomic_fetch_add(&shared->breakers[SL_BREAKER_CLOSED], 1);
    return link;
}

void sl_link_free(struct sl_link *link)
{
    if (!link)
        return;
    shut(link);
    set_breaker(link, SL_BREAKER_OPEN); /* nobody is to connect again */
    fail_all(link);
    atomic_fetch_sub(&link->shared->breakers[link->breaker], 1);
    free(link->row);
    free(link);
}
