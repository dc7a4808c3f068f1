#include "server/line.h"

#include <stdlib.h>

enum { TEND_EVERY_MS = 1000 };

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct sl_line *line = poll->data;
    (void)status, (void)events; /* whatever it is, reading will tell */
    if (line)
        sl_channel_on_ready(line->channel);
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

/* A handle is for one socket; the next one gets another. */
static void drop_poll(struct sl_line *line)
{
    if (!line->poll)
        return;
    line->poll->data = NULL;
    uv_close((uv_handle_t *)line->poll, on_poll_closed);
    line->poll = NULL;
}

static void watch(void *about, int fd, bool reads, bool writes)
{
    struct sl_line *line = about;
    if (fd < 0) {
        drop_poll(line);
        return;
    }
    if (!line->poll) {
        line->poll = malloc(sizeof *line->poll);
        if (!line->poll || uv_poll_init_socket(line->loop, line->poll, fd) != 0) {
            free(line->poll);
            line->poll = NULL;
            return; /* unheard, it is given up when its time is up */
        }
        line->poll->data = line;
    }
    uv_poll_start(line->poll, (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0), on_poll);
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

bool sl_line_open(struct sl_line *line, uv_loop_t *loop, struct sl_store *store, bool tends)
{
    *line = (struct sl_line){ .loop = loop };
    if (!store->ops->channel)
        return true;
    if (uv_timer_init(loop, &line->timer) != 0 || uv_timer_init(loop, &line->tend) != 0)
        return false;
    line->timer.data = line->tend.data = line;
    struct sl_link_host host = { line, watch, wake_at, .is_patient = false };
    line->channel = store->ops->channel(store, &host);
    if (!line->channel)
        return false;
    sl_channel_open(line->channel);
    if (tends)
        uv_timer_start(&line->tend, on_tend, TEND_EVERY_MS, TEND_EVERY_MS);
    return true;
}

void sl_line_close(struct sl_line *line)
{
    struct sl_channel *channel = line->channel;
    if (!channel)
        return;
    line->channel = NULL;
    sl_channel_free(channel);
    drop_poll(line);
    uv_close((uv_handle_t *)&line->timer, NULL);
    uv_close((uv_handle_t *)&line->tend, NULL);
}
