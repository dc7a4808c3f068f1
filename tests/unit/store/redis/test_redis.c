/* The store for callers that wait. Redis is a thread that answers one connection's probes; time is
 * real here, and bounded by the store's own deadlines. */
#include "store/redis/redis.h"

#include <fcntl.h>

#include "unit/store/fake_names.h"
#include "unit/store/fake_sentinel.h"

TESTS_ALONE;

static int listener, port;

static int listen_up(void **unused)
{
    (void)unused;
    listener = listen_somewhere(&port);
    int flags = fcntl(listener, F_GETFL);
    return fcntl(listener, F_SETFL, flags & ~O_NONBLOCK);
}

static int listen_down(void **unused)
{
    (void)unused;
    return close(listener);
}

static void *answer_probe(void *unused)
{
    static const char answer[] = "*2\r\n:1700000000000000\r\n:1\r\n";
    char bytes[4096];
    int peer = accept(listener, NULL, NULL);
    ssize_t got = recv(peer, bytes, sizeof bytes, 0); /* its words come together */
    if (got > 0 && memmem(bytes, (size_t)got, "EVAL", 4))
        got = send(peer, answer, sizeof answer - 1, MSG_NOSIGNAL);
    while (got > 0)
        got = recv(peer, bytes, sizeof bytes, 0);
    close(peer);
    return unused;
}

/* A command opens its store, asks once and ends: a second attempt later on is too late for it. */
TEST_WITH(a_store_that_is_opened_is_connected_to_any_address_of_its_name, listen_up, listen_down)
{
    pthread_t thread;
    char hosts[64];
    struct sluice_error error = { 0 };
    struct sl_store_health health = { 0 };
    struct sl_store_url url = { .kind = SL_STORE_REDIS, .hosts = hosts };
    struct sl_redis_config config = { .url = &url };
    set_addresses("127.0.0.2 127.0.0.1");
    snprintf(hosts, sizeof hosts, "redis.test:%d", port);
    assert_int_equal(pthread_create(&thread, NULL, answer_probe, NULL), 0);
    struct sl_store *store = sl_redis_open(&config, &error);
    assert_non_null(store);
    store->ops->health(store, &health);
    assert_string_equal(error.text, "");
    assert_int_equal(health.connects, 1);
    assert_int_equal(health.failed_connects, 0);
    sl_store_close(store);
    pthread_join(thread, NULL);
}
