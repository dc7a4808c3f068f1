/* The store's sockets and timers on a worker's loop: see store_io.h. */
#include "server/store_io.h"

#include <stdlib.h>

enum { TEND_EVERY_MS = 100, END_US = 1000000 };

/* A socket that is watched: one, or one for each node of a cluster. */
struct sl_line_poll {
    uv_poll_t handle; /* first */
    struct sl_store_io *store_io;
    int fd;
    struct sl_line_poll *next;
};

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct sl_line_poll *poll = (struct sl_line_poll *)handle;
    (void)status, (void)events; /* reading tells what it is */
    if (poll->store_io)
        sl_channel_on_ready(poll->store_io->channel, poll->fd);
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Where the socket's handle is linked, or where a new one is to be linked. */
static struct sl_line_poll **place_of(struct sl_store_io *store_io, int fd)
{
    struct sl_line_poll **place = &store_io->polls;
    while (*place && (*place)->fd != fd)
        place = &(*place)->next;
    return place;
}

/* A handle is for one socket: the next socket gets a new one. */
static void drop_poll(struct sl_line_poll **place)
{
    struct sl_line_poll *poll = *place;
    *place = poll->next;
    poll->store_io = NULL;
    uv_close((uv_handle_t *)&poll->handle, on_poll_closed);
}

static void watch_socket(void *about, int fd, bool reads, bool writes)
{
    struct sl_store_io *store_io = about;
    struct sl_line_poll **place = place_of(store_io, fd), *poll = *place;
    if (!reads && !writes) {
        if (poll)
            drop_poll(place);
        return;
    }
    if (!poll) {
        poll = calloc(1, sizeof *poll);
        if (!poll || uv_poll_init_socket(store_io->loop, &poll->handle, fd) != 0) {
            free(poll);
            return; /* unheard, the link is given up at its deadline */
        }
        poll->store_io = store_io;
        poll->fd = fd;
        *place = poll;
    }
    int events = (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0);
    if (uv_poll_start(&poll->handle, events, on_poll) != 0)
        drop_poll(place); /* as above; the next call for this socket gets a new handle */
}

static void on_timer(uv_timer_t *timer)
{
    struct sl_store_io *store_io = timer->data;
    sl_channel_on_time(store_io->channel);
}

/* The loop's time is cut off to milliseconds. Waking early does no harm: the channel looks at its
 * deadlines again. */
static void wake_at(void *about, int64_t at_us)
{
    struct sl_store_io *store_io = about;
    int64_t wait_us = at_us - sl_link_now_us();
    uv_timer_start(&store_io->timer, on_timer, wait_us > 0 ? (uint64_t)wait_us / 1000 + 1 : 0, 0);
}

static void on_tend(uv_timer_t *timer)
{
    struct sl_store_io *store_io = timer->data;
    sl_channel_tend(store_io->channel);
    sl_channel_flush(store_io->channel);
}

static void on_lease_timer(uv_timer_t *timer)
{
    struct sl_store_io *store_io = timer->data;
    sl_channel_tend_leases(store_io->channel);
}

bool sl_line_open(struct sl_store_io *store_io, uv_loop_t *loop, struct sl_store *store,
                  unsigned ways)
{
    *store_io = (struct sl_store_io){ .loop = loop };
    if (!store->ops->channel)
        return true;
    if (uv_timer_init(loop, &store_io->timer) != 0 || uv_timer_init(loop, &store_io->tend) != 0 ||
        uv_timer_init(loop, &store_io->lend) != 0)
        return false;
    store_io->timer.data = store_io->tend.data = store_io->lend.data = store_io;
    struct sl_link_host host = { store_io, watch_socket, wake_at,
                                 .is_patient = ways & SL_LINE_PATIENT };
    store_io->channel = store->ops->channel(store, &host);
    if (!store_io->channel)
        return false;
    sl_channel_open(store_io->channel);
    if (!host.is_patient)
        uv_timer_start(&store_io->lend, on_lease_timer, SL_LEASE_CLIENT_EVERY_US / 1000,
                       SL_LEASE_CLIENT_EVERY_US / 1000);
    if (ways & SL_LINE_TENDS)
        uv_timer_start(&store_io->tend, on_tend, TEND_EVERY_MS, TEND_EVERY_MS);
    return true;
}

/* The timer of leases goes on, so that the loop keeps turning. */
bool sl_line_is_quiet(struct sl_store_io *store_io)
{
    if (!store_io->channel)
        return true;
    int64_t now_us = sl_link_now_us();
    if (store_io->until_us == 0) {
        store_io->until_us = now_us + END_US;
        uv_timer_stop(&store_io->tend);
    }
    return now_us >= store_io->until_us || !sl_channel_settles(store_io->channel, true);
}

void sl_line_close(struct sl_store_io *store_io)
{
    struct sl_channel *channel = store_io->channel;
    if (!channel)
        return;
    store_io->channel = NULL;
    sl_channel_free(channel);
    while (store_io->polls)
        drop_poll(&store_io->polls);
    uv_close((uv_handle_t *)&store_io->timer, NULL);
    uv_close((uv_handle_t *)&store_io->tend, NULL);
    uv_close((uv_handle_t *)&store_io->lend, NULL);
}
