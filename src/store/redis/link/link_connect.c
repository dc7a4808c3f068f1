/* How a link's connection is made, lost and made again. */
#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/text/number.h"
#include "store/redis/link/link_internal.h"

enum {
    CONNECT_US = 1000000,
    BACKOFF_MIN_US = 10000,
    BACKOFF_MAX_US = 1000000,
    BACKOFF_PATIENT_US = 500000, /* the longest pause where callers block */
    NEWS_US = 100000,            /* how often a link without a master looks for another */
    STABLE_US = 1000000,         /* a connection that is lost sooner counts as a failed one */
};

/* A probe checks all that a decision needs: the clock can be read, scripts run and may write.
 * Redis does not refuse a deletion for want of memory. */
#define PROBE_SCRIPT                                                                               \
    "if KEYS[1] then redis.call('DEL', KEYS[1]) end local time = redis.call('TIME') "              \
    "return { time[1] * 1000000 + time[2], 1 }"

/* Halved at random, so that links that lost the same Redis do not all come back at once. */
static int64_t backoff_us(const struct sl_link *link)
{
    uint32_t doublings = link->attempts < 8 ? link->attempts : 8;
    int64_t longest_us = link->host.is_patient ? BACKOFF_PATIENT_US : BACKOFF_MAX_US;
    int64_t most_us = sl_min_i64((int64_t)BACKOFF_MIN_US << doublings, longest_us);
    return most_us / 2 + (int64_t)(sl_random64() % (uint64_t)(most_us / 2 + 1));
}

static void write_login(struct sl_link *link)
{
    const struct sl_target *target = link->target;
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
    if (sl_target_has_sentinels(target)) { /* what they say may be out of date */
        sl_link_add_count(&link->out, 1);
        sl_link_add_bulk(&link->out, SL_TEXT("ROLE"));
        sl_link_push(link, SL_EXPECT_ROLE, NULL);
    }
}

void sl_link_probe_with(struct sl_link *link, const char *key)
{
    SL_CHECK(strlen(key) < sizeof link->probe_key);
    snprintf(link->probe_key, sizeof link->probe_key, "%s", key);
}

void sl_link_send_probe(struct sl_link *link)
{
    bool has_key = *link->probe_key;
    SL_CHECK(link->phase >= SL_LINK_GREETED && !link->is_probing);
    sl_link_add_count(&link->out, has_key ? 4 : 3);
    sl_link_add_bulk(&link->out, SL_TEXT("EVAL"));
    sl_link_add_bulk(&link->out, SL_TEXT(PROBE_SCRIPT));
    sl_link_add_bulk(&link->out, has_key ? SL_TEXT("1") : SL_TEXT("0"));
    if (has_key)
        sl_link_add_bulk(&link->out, sl_text(link->probe_key));
    sl_link_push(link, SL_EXPECT_PROBE, NULL);
    link->is_probing = true;
    link->probed_us = sl_link_now_us();
}

void sl_link_greet(struct sl_link *link)
{
    SL_CHECK(link->phase == SL_LINK_CONNECTING && !link->socket.is_connecting);
    link->phase = SL_LINK_GREETED;
    write_login(link);
    sl_link_send_probe(link);
    SL_CHECK(link->is_probing && link->row_len > 0);
}

/* Keeps the first address's reason: getaddrinfo sorts addresses that this machine cannot reach at
 * all to the end. */
static void keep_first_reason(struct sl_link *link, const char *why)
{
    if (!*link->why_not)
        snprintf(link->why_not, sizeof link->why_not, "%.*s", (int)sizeof link->why_not - 1, why);
}

/* Opens a socket to one address after another until one does not refuse at once. Each address has
 * its share of the time that is left, so that a silent one does not use up that of the others.
 * Returns false if all have refused. */
static bool open_next_socket(struct sl_link *link)
{
    while (link->addresses_left > 0) {
        struct sluice_error error = { 0 };
        int64_t now_us = sl_link_now_us();
        int64_t rest_us = sl_max_i64(link->connect_due_us - now_us, 0);
        link->address++;
        link->address_due_us = now_us + rest_us / link->addresses_left--;
        if (sl_socket_open(&link->socket, link->target, link->address, &error))
            return true;
        keep_first_reason(link, error.text);
    }
    return false;
}

static void connect_to_next_address(struct sl_link *link)
{
    SL_CHECK(link->socket.fd < 0 && link->reader);
    if (!open_next_socket(link)) {
        sl_link_lose(link, link->why_not);
        return;
    }
    link->phase = SL_LINK_CONNECTING;
    sl_link_wake_by(link, link->socket.is_connecting ? link->address_due_us : link->connect_due_us);
    if (!link->socket.is_connecting)
        sl_link_greet(link);
    sl_link_flush(link);
}

void sl_link_try_next_address(struct sl_link *link, const char *why)
{
    SL_CHECK(link->phase == SL_LINK_CONNECTING);
    keep_first_reason(link, why);
    sl_link_unwatch(link);
    sl_socket_close(&link->socket);
    connect_to_next_address(link);
}

/* Begins with the address that answered last. After a failure it begins with the next one, for the
 * server that accepted at the first may be no Redis. */
void sl_link_connect(struct sl_link *link)
{
    SL_CHECK(link->phase == SL_LINK_DOWN && link->row_len == 0);
    SL_CHECK(link->socket.fd < 0 && !link->reader);
    link->connect_due_us = sl_link_now_us() + sl_max_i64(CONNECT_US, link->shared->deadline_us);
    link->reader = sl_reply_reader_new();
    if (!link->reader) {
        sl_link_lose(link, "out of memory");
        return;
    }
    link->reign = sl_target_reign(link->target); /* before its addresses: maybe too old */
    link->addresses_left = sl_target_address_count(link->target);
    if (link->addresses_left == 0)
        link->addresses_left = 1; /* the attempt says why there is none */
    link->address = sl_target_preferred(link->target) + link->attempts - 1; /* the one before */
    *link->why_not = 0;
    connect_to_next_address(link);
}

void sl_link_open(struct sl_link *link)
{
    if (link->phase == SL_LINK_DOWN && link->breaker == SL_BREAKER_CLOSED)
        sl_link_connect(link);
}

bool sl_link_is_of_old(const struct sl_link *link)
{
    return link->reign != sl_target_reign(link->target);
}

bool sl_link_is_up(const struct sl_link *link)
{
    return link->phase == SL_LINK_UP && link->breaker == SL_BREAKER_CLOSED;
}

bool sl_link_is_tripped(const struct sl_link *link)
{
    return link->breaker != SL_BREAKER_CLOSED;
}

bool sl_link_is_idle(const struct sl_link *link)
{
    for (size_t i = 0; i < link->row_len; i++)
        if (link->row[(link->row_at + i) % SL_ROW_MAX].query)
            return false;
    return link->waiting_count == 0;
}

void sl_link_fail_all(struct sl_link *link)
{
    struct sl_redis_query *query = link->waiting, *next;
    for (size_t i = 0; i < link->row_len; i++) {
        struct sl_redis_query *asked = link->row[(link->row_at + i) % SL_ROW_MAX].query;
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
    sl_reply_reader_free(link->reader);
    sl_buffer_release(&link->out);
    link->reader = NULL;
    link->out = sl_buffer(SL_LINK_OUT_MAX_BYTES);
    link->sent = 0;
    link->phase = SL_LINK_DOWN;
    link->is_probing = link->write_for_read = false;
    link->loads = 0;
    link->late_row = 0;
    link->knows_time = false;
}

void sl_link_wait_to_try(struct sl_link *link, int64_t now_us)
{
    bool may_hear = sl_target_has_sentinels(link->target);
    sl_link_wake_by(link, may_hear ? sl_min_i64(link->try_us, now_us + NEWS_US) : link->try_us);
}

/* A connection that was good for a second is made again at once, and calls wait for it meanwhile:
 * Redis closes idle connections. Otherwise the link pauses first. */
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
        if (!sl_link_is_of_old(link)) /* else the new master is known already */
            sl_target_refresh(link->target);
        link->try_us = now_us + backoff_us(link);
        link->attempts++;
    }
    sl_link_wait_to_try(link, now_us);
    if (link->host.failed)
        link->host.failed(link->host.about);
    sl_link_fail_all(link);
}

void sl_link_trip(struct sl_link *link, const char *why)
{
    sl_link_remember(link, why);
    sl_link_set_breaker(link, SL_BREAKER_OPEN);
    if (sl_target_has_sentinels(link->target)) /* another Sentinel may name another master */
        sl_target_refresh(link->target);
    link->try_us = sl_link_now_us() + backoff_us(link);
    link->attempts++;
    sl_link_wake_by(link, link->try_us);
    if (link->host.failed)
        link->host.failed(link->host.about);
}
