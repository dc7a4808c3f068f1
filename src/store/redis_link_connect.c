/* How a connection is made, lost and made again. */
#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/redis_link_own.h"

enum {
    CONNECT_US = 1000000,
    BACKOFF_MIN_US = 10000,
    BACKOFF_MAX_US = 1000000,
    STABLE_US = 1000000, /* lost sooner after it was made, a connection is no better than none */
};

/* All that has to hold for a decision, without one: the clock can be read, scripts run and may
 * write. Deleting what is not there is not refused for want of memory. */
#define PROBE_SCRIPT                                                                               \
    "redis.call('DEL', KEYS[1]) local time = redis.call('TIME') "                                  \
    "return { time[1] * 1000000 + time[2], 1 }"

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
        sl_link_add_count(&link->out, user ? 3 : 2);
        sl_link_add_bulk(&link->out, SL_TEXT("AUTH"));
        if (user)
            sl_link_add_bulk(&link->out, sl_text(user));
        sl_link_add_bulk(&link->out, sl_text(password));
        sl_link_push(link, SL_EXPECT_GREETING, NULL);
    }
    if (sl_target_database(target)) {
        snprintf(number, sizeof number, "%" PRIu32, sl_target_database(target));
        sl_link_add_count(&link->out, 2);
        sl_link_add_bulk(&link->out, SL_TEXT("SELECT"));
        sl_link_add_bulk(&link->out, sl_text(number));
        sl_link_push(link, SL_EXPECT_GREETING, NULL);
    }
}

void sl_link_send_probe(struct sl_link *link)
{
    sl_link_add_count(&link->out, 4);
    sl_link_add_bulk(&link->out, SL_TEXT("EVAL"));
    sl_link_add_bulk(&link->out, SL_TEXT(PROBE_SCRIPT));
    sl_link_add_bulk(&link->out, SL_TEXT("1"));
    sl_link_add_bulk(&link->out, SL_TEXT("rl:~probe"));
    sl_link_push(link, SL_EXPECT_PROBE, NULL);
    link->is_probing = true;
    link->probed_us = sl_link_now_us();
}

void sl_link_greet(struct sl_link *link)
{
    link->phase = SL_LINK_GREETED;
    greet(link);
    sl_link_send_probe(link);
}

void sl_link_connect(struct sl_link *link)
{
    struct sluice_error error = { 0 };
    int64_t now_us = sl_link_now_us();
    SL_CHECK(link->phase == SL_LINK_DOWN);
    link->connect_due_us = now_us + sl_max_i64(CONNECT_US, link->shared->deadline_us);
    link->reader = sl_reader_new();
    if (!link->reader ||
        !sl_socket_open(&link->socket, link->shared->target, link->attempts, &error)) {
        sl_link_lose(link, link->reader ? error.text : "out of memory");
        return;
    }
    link->phase = SL_LINK_CONNECTING;
    sl_link_wake_by(link, link->connect_due_us);
    if (!link->socket.is_connecting)
        sl_link_greet(link);
    sl_link_flush(link);
}

void sl_link_open(struct sl_link *link)
{
    if (link->phase == SL_LINK_DOWN && link->breaker == SL_BREAKER_CLOSED)
        sl_link_connect(link);
}

bool sl_link_is_up(const struct sl_link *link)
{
    return link->phase == SL_LINK_UP && link->breaker == SL_BREAKER_CLOSED;
}

void sl_link_fail_all(struct sl_link *link)
{
    struct sl_query *query = link->waiting, *next;
    for (size_t i = 0; i < link->row_len; i++) {
        struct sl_query *asked = link->row[(link->row_at + i) % SL_ROW_MAX].query;
        if (!asked)
            continue;
        asked->next = query;
        query = asked;
    }
    link->row_len = 0;
    sl_link_forget_waiting(link);
    for (; query; query = next) {
        next = query->next;
        sl_link_end(link, query, SL_CALL_LOST, SLUICE_STORE_DOWN, NULL);
    }
}

void sl_link_shut(struct sl_link *link)
{
    sl_link_unwatch(link);
    sl_socket_close(&link->socket);
    sl_reader_free(link->reader);
    sl_buffer_release(&link->out);
    link->reader = NULL;
    link->out = sl_buffer(SL_LINK_OUT_MAX_BYTES);
    link->sent = 0;
    link->phase = SL_LINK_DOWN;
    link->is_probing = link->write_for_read = false;
    link->loading = NULL;
    link->loads = 0;
    link->late_row = 0;
    link->knows_time = false;
}

/* A connection that was good for a while is made again at once, and who asks meanwhile waits:
 * Redis closes idle ones. Else there is a while to wait. */
void sl_link_lose(struct sl_link *link, const char *why)
{
    int64_t now_us = sl_link_now_us();
    bool was_good = link->phase == SL_LINK_UP && link->breaker == SL_BREAKER_CLOSED &&
                    now_us - link->made_us >= STABLE_US;
    sl_link_remember(link, why);
    sl_link_shut(link);
    if (was_good) {
        link->try_us = now_us;
    } else {
        atomic_fetch_add(&link->shared->failed_connects, 1);
        sl_link_set_breaker(link, SL_BREAKER_OPEN);
        sl_target_refresh(link->shared->target);
        link->try_us = now_us + backoff_us(link);
        link->attempts++;
    }
    sl_link_wake_by(link, link->try_us);
    sl_link_fail_all(link);
}

void sl_link_trip(struct sl_link *link, const char *why)
{
    sl_link_remember(link, why);
    sl_link_set_breaker(link, SL_BREAKER_OPEN);
    link->try_us = sl_link_now_us() + backoff_us(link);
    link->attempts++;
    sl_link_wake_by(link, link->try_us);
}
