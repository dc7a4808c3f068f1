/* The store's sockets on a worker's loop. */
#include "server/store_io.h"

#include "store/redis/redis.h"
#include "unit/server/deaf_loop.h"
#include "unit/store/fake_redis.h"

TESTS_ALONE;

static struct sl_link_host host;
static uv_loop_t loop;
static struct sl_store_io store_io;

static struct sl_channel *new_channel(struct sl_store *store, const struct sl_link_host *of)
{
    (void)store;
    host = *of;
    return sl_channel_new(&shared, of);
}

TEST_WITH(a_socket_that_the_loop_cannot_watch_is_tried_again, start_redis, stop_redis)
{
    static const struct sl_store_ops ops = { .channel = new_channel };
    struct sl_store store = { .ops = &ops, .wants_names = true };
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    stop_listening();
    open_target(NULL, NULL, 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(sl_line_open(&store_io, &loop, &store, 0));
    assert_null(store_io.polls);
    deaf_calls = 1;
    host.watch(host.about, pair[0], true, false);
    assert_null(store_io.polls); /* no handle that nothing ever comes from */
    host.watch(host.about, pair[0], true, false);
    assert_non_null(store_io.polls);
    deaf_calls = 1;
    host.watch(host.about, pair[0], true, true);
    assert_null(store_io.polls);
    host.watch(host.about, pair[0], true, true);
    assert_non_null(store_io.polls);
    host.watch(host.about, pair[0], false, false);
    assert_null(store_io.polls);
    sl_line_close(&store_io);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    sl_scripts_release(&shared.scripts);
    close_target();
    close(pair[0]);
    close(pair[1]);
}
