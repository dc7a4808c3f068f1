#include "server/store_io.h"

#include <stdlib.h>

enum { TEND_EVERY_MS = 100, END_US = 1000000 };

/* A socket that is watched: one, or one for each node of a cluster. */
struct sl_line_poll {
    uv_poll_t handle; /* first */
    struct sl_line *line;
    int fd;
    struct sl_line_poll *next;
};

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct sl_line_poll *poll = (struct sl_line_poll *)handle;
    (void)status, (void)events; /* whatever it is, reading will tell */
    if (poll->line)
        sl_channel_on_ready(poll->line->channel, poll->fd);
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Where the socket's handle hangs, or a new one would. */
static struct sl_line_poll **place_of(struct sl_line *line, int fd)
{
    struct sl_line_poll **place = &line->polls;
    while (*place && (*place)->fd != fd)
        place = &(*place)->next;
    return place;
}

/* A handle is for one socket; the next one gets another. */
static void drop_poll(struct sl_line_poll **place)
{
    struct sl_line_poll *poll = *place;
    *place = poll->next;
    poll->line = NULL;
    uv_close((uv_handle_t *)&poll->handle, on_poll_closed);
}

static void watch(void *about, int fd, bool reads, bool writes)
{
    struct sl_line *line = about;
    struct sl_line_poll **place = place_of(line, fd), *poll = *place;
    if (!reads && !writes) {
        if (poll)
            drop_poll(place);
        return;
    }
    if (!poll) {
        poll = calloc(1, sizeof *poll);
        if (!poll || uv_poll_init_socket(line->loop, &poll->handle, fd) != 0) {
            free(poll);
            return; /* unheard, it is given up when its time is up */
        }
        poll->line = line;
        poll->fd = fd;
        *place = poll;
    }
    uv_poll_start(&poll->handle, (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0), on_poll);
}

static void on_timer(uv_timer_t *timer)
{
    struct sl_line *line = timer->data;
    sl_channel_on_time(line->channel);
}

/* The loop's time is in milliseconds, cut off. Early does no harm: it is looked at again. */
static void wake_at(void *about, int64_t at_us)
{
    struct sl_line *line = about;
    int64_t wait_us = at_us - sl_link_now_us();
    uv_timer_start(&line->timer, on_timer, wait_us > 0 ? (uint64_t)wait_us / 1000 + 1 : 0, 0);
}

static void on_tend(uv_timer_t *timer)
{
    struct sl_line *line = timer->data;
    sl_channel_tend(line->channel);
    sl_channel_flush(line->channel);
}

static void on_lend(uv_timer_t *timer)
{
    struct sl_line *line = timer->data;
    sl_channel_tend_leases(line->channel);
}

bool sl_line_open(struct sl_line *line, uv_loop_t *loop, struct sl_store *store, unsigned ways)
{
    *line = (struct sl_line){ .loop = loop };
    if (!store->ops->channel)
        return true;
    if (uv_timer_init(loop, &line->timer) != 0 || uv_timer_init(loop, &line->tend) != 0 ||
        uv_timer_init(loop, &line->lend) != 0)
        return false;
    line->timer.data = line->tend.data = line->lend.data = line;
    struct sl_link_host host = { line, watch, wake_at, .is_patient = ways & SL_LINE_PATIENT };
    line->channel = store->ops->channel(store, &host);
    if (!line->channel)
        return false;
    sl_channel_open(line->channel);
    if (!host.is_patient)
        uv_timer_start(&line->lend, on_lend, SL_LEND_EVERY_US / 1000, SL_LEND_EVERY_US / 1000);
    if (ways & SL_LINE_TENDS)
        uv_timer_start(&line->tend, on_tend, TEND_EVERY_MS, TEND_EVERY_MS);
    return true;
}

/* The timer of leases goes on, so that the loop turns. */
bool sl_line_is_quiet(struct sl_line *line)
{
    if (!line->channel)
        return true;
    int64_t now_us = sl_link_now_us();
    if (line->until_us == 0) {
        line->until_us = now_us + END_US;
        uv_timer_stop(&line->tend);
    }
    return now_us >= line->until_us || !sl_channel_settles(line->channel, true);
}

void sl_line_close(struct sl_line *line)
{
    struct sl_channel *channel = line->channel;
    if (!channel)
        return;
    line->channel = NULL;
    sl_channel_free(channel);
    while (line->polls)
        drop_poll(&line->polls);
    uv_close((uv_handle_t *)&line->timer, NULL);
    uv_close((uv_handle_t *)&line->tend, NULL);
    uv_close((uv_handle_t *)&line->lend, NULL);
}
