/* A Redis Cluster whose nodes are the test: three sockets on the loopback, all in one thread, and
 * time passes when the test says so. Node n has the n-th third of the slots. */
#ifndef TEST_STORE_FAKE_CLUSTER_H
#define TEST_STORE_FAKE_CLUSTER_H

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "store/redis/cluster/cluster.h"
#include "store/redis/cluster/route.h"
#include "unit/store/fake_redis.h"

enum { NODES = 3, WATCHED_MAX = 16 };

static struct fake_node {
    int listener, peer;
    int port;
} fakes[NODES];

static struct pollfd sockets[WATCHED_MAX];
static size_t socket_count;

/* Called when a socket is ready and when time passes: by a route, or by its owner. */
static void (*tell_ready)(int fd), (*tell_time)(void);

static inline void watch_one(void *about, int fd, bool reads, bool writes)
{
    size_t i = 0;
    (void)about;
    while (i < socket_count && sockets[i].fd != fd)
        i++;
    if (!reads && !writes) {
        if (i < socket_count)
            sockets[i] = sockets[--socket_count];
        return;
    }
    assert_true(i < WATCHED_MAX);
    socket_count += i == socket_count;
    sockets[i] = (struct pollfd){ fd, (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0 };
}

static inline void hang_up_at(size_t number)
{
    if (fakes[number].peer >= 0)
        close(fakes[number].peer);
    fakes[number].peer = -1;
}

static inline void accept_all(void)
{
    for (size_t i = 0; i < NODES; i++) {
        int fd;
        while (fakes[i].listener >= 0 &&
               (fd = accept4(fakes[i].listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
            int on = 1; /* what it says comes at once, also where nothing is said to it */
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            hang_up_at(i);
            fakes[i].peer = fd;
        }
    }
}

/* What is ready and what is due, until there is nothing more of either. */
static inline void turn_all(void)
{
    for (int turns = 0; turns < 200; turns++) {
        accept_all();
        bool is_ready = poll(sockets, socket_count, 0) > 0, is_due = clock_us >= wake_us;
        for (size_t i = socket_count; is_ready && i-- > 0;)
            if (i < socket_count && sockets[i].revents) {
                sockets[i].revents = 0;
                tell_ready(sockets[i].fd);
            }
        if (is_due) {
            wake_us = INT64_MAX;
            tell_time();
        }
        if (!is_ready && !is_due)
            return;
    }
    fail_msg("it never comes to rest");
}

static inline void pass_all_us(int64_t us)
{
    int64_t until_us = clock_us + us;
    for (int turns = 0; wake_us < until_us; turns++) {
        assert_true(turns < 10000);
        clock_us = wake_us > clock_us ? wake_us : clock_us;
        turn_all();
    }
    clock_us = until_us;
    turn_all();
}

/* ---- a node's side ---- */

static inline const char *heard_at(size_t number)
{
    static char bytes[1 << 18], text[1 << 18];
    size_t len = 0, printed = 0;
    ssize_t got = -1;
    turn_all();
    while (fakes[number].peer >= 0 &&
           (got = read(fakes[number].peer, bytes + len, sizeof bytes - 1 - len)) > 0)
        len += (size_t)got;
    bytes[len] = text[0] = 0;
    for (const char *at = bytes; at < bytes + len; at = end_of_command(at)) {
        if (printed)
            printed += (size_t)snprintf(text + printed, sizeof text - printed, " | ");
        printed += print_command(at, text + printed, sizeof text - printed);
    }
    return len == 0 && (fakes[number].peer < 0 || got == 0) ? "(closed)" : text;
}

__attribute__((format(printf, 2, 3))) static inline void say_at(size_t number, const char *format,
                                                                ...)
{
    char text[8192];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_int_equal(send(fakes[number].peer, text, (size_t)len, MSG_NOSIGNAL), len);
    turn_all();
}

static inline void say_packed_at(size_t number, const int64_t *values, size_t count)
{
    peer = fakes[number].peer;
    char text[4096];
    int len = snprintf(text, sizeof text, "$%zu\r\n", count * 8);
    for (size_t i = 0; i < count * 8; i++)
        text[len++] = (char)((uint64_t)values[i / 8] >> (i % 8 * 8));
    memcpy(text + len, "\r\n", 2);
    assert_int_equal(send(peer, text, (size_t)len + 2, MSG_NOSIGNAL), len + 2);
    peer = -1;
    turn_all();
}

/* CLUSTER SLOTS: node n has the n-th third, or owners[n] has. */
static inline void say_map_at(size_t number, const size_t *owners)
{
    char text[2048];
    int len = snprintf(text, sizeof text, "*%d\r\n", NODES);
    for (size_t i = 0; i < NODES; i++) {
        size_t owner = owners ? owners[i] : i;
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "*4\r\n:%zu\r\n:%zu\r\n"
                        "*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$2\r\nid\r\n*0\r\n"
                        "*4\r\n$9\r\n127.0.0.1\r\n:1\r\n$2\r\nid\r\n*2\r\n$2\r\nhi\r\n$2\r\nho\r\n",
                        SL_SLOT_COUNT * i / NODES, SL_SLOT_COUNT * (i + 1) / NODES - 1,
                        fakes[owner].port);
    }
    say_at(number, "%s", text);
}

static inline size_t node_of(uint32_t slot)
{
    size_t number = 0;
    while (slot > SL_SLOT_COUNT * (number + 1) / NODES - 1)
        number++;
    return number;
}

/* A slot of the node. */
static inline uint32_t slot_on(size_t number)
{
    return (uint32_t)(SL_SLOT_COUNT * number / NODES + 7);
}

/* ---- around a test ---- */

static inline void listen_at(size_t number)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)fakes[number].port); /* 0, or as before */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    fakes[number].listener = fd;
    fakes[number].port = ntohs(address.sin_port);
}

static inline void stop_at(size_t number)
{
    hang_up_at(number);
    close(fakes[number].listener);
    fakes[number].listener = -1;
}

/* The URL names the first two. */
static inline void open_cluster(void)
{
    char hosts[64];
    struct sluice_error error = { 0 };
    clock_us = START_US;
    wake_us = INT64_MAX;
    socket_count = 0;
    words = sl_buffer(1 << 20);
    for (size_t i = 0; i < NODES; i++) {
        fakes[i] = (struct fake_node){ .peer = -1 };
        listen_at(i);
    }
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d", fakes[0].port, fakes[1].port);
    memset(&shared, 0, sizeof shared);
    shared.deadline_us = DEADLINE_US;
    pthread_mutex_init(&shared.why_lock, NULL);
    struct sl_store_url url = { .hosts = hosts };
    shared.target = sl_target_open(&url, &(struct sl_tls_client){ 0 }, &error);
    assert_non_null(shared.target);
    shared.cluster = sl_cluster_new(shared.target, hosts);
    assert_non_null(shared.cluster);
}

static inline void close_cluster(void)
{
    sl_cluster_free(shared.cluster);
    sl_target_close(shared.target);
    sl_scripts_release(&shared.scripts);
    pthread_mutex_destroy(&shared.why_lock);
    for (size_t i = 0; i < NODES; i++)
        if (fakes[i].listener >= 0)
            stop_at(i);
    sl_buffer_release(&words);
}

/* From the first word to the last probe. The first node has been asked to open. */
static inline void greet_all(void)
{
    size_t first = strcmp(heard_at(0), "PROBE") == 0 ? 0 : 1;
    if (first)
        assert_string_equal(heard_at(first), "PROBE");
    say_at(first, CLOCK_FMT, redis_us());
    assert_string_equal(heard_at(first), "CLUSTER SLOTS");
    say_map_at(first, NULL);
    for (size_t i = 0; i < NODES; i++) {
        if (i == first)
            continue;
        assert_string_equal(heard_at(i), "PROBE");
        say_at(i, CLOCK_FMT, redis_us());
    }
}

#endif
