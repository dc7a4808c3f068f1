/* Accepting connections, and spreading them over the workers.
 *
 * The kernel spreads connections over the workers' sockets by chance, and a gateway has few
 * connections that last for days: two of four may well end up with one worker. So a worker that has
 * more connections than the least busy one hands the next over before its first byte. */
#include "server/acceptor.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum {
    ACCEPTS_MAX = 64, /* in one go: open connections want to be served too */
    PAUSE_MS = 100,
    SAID_EVERY_MS = 10000,
};

/* A server that is full says so, but not over TLS and only to a few clients at a time: handshakes
 * and long farewells would take more from the connections that are served than they are worth. */
static void refuse_connection(struct sl_worker *worker, const struct sl_arrival *arrival)
{
    struct sl_conn *conn = NULL;
    sl_count_add(&worker->refused, 1);
    if (!arrival->wants_tls && worker->refusing < SL_REFUSING_MAX)
        conn = sl_conn_open(worker, arrival);
    else
        close(arrival->fd);
    if (!conn)
        return;
    worker->refusing++;
    conn->is_refused = true;
    conn->front->refuse(conn);
    sl_conn_finish(conn, true);
    sl_conn_settle(conn);
}

/* Connections of protocols that may be silent for hours (SL_TIMER_REST) stay only while there is
 * room for others. Closes one of this worker's that has been silent for longer than SL_TIMER_IDLE;
 * returns false if there is none. */
static bool close_one_at_rest(struct sl_worker *worker)
{
    struct sl_conn *conn = worker->timers[SL_TIMER_REST].first;
    uint64_t rest_ms = (uint64_t)sl_worker_timeout_ms(worker, SL_TIMER_REST);
    uint64_t idle_ms = (uint64_t)sl_worker_timeout_ms(worker, SL_TIMER_IDLE);
    while (conn && conn->is_ready) /* it has just sent something */
        conn = conn->timer_next;
    if (!conn || uv_now(&worker->loop) < conn->due_ms - rest_ms + idle_ms)
        return false;
    sl_conn_close(conn);
    return true;
}

static struct sl_worker *least_busy(struct sl_worker *self)
{
    struct sl_server *server = self->server;
    struct sl_worker *best = self;
    uint32_t least = atomic_load_explicit(&self->open, memory_order_relaxed);
    for (size_t i = 0; i < server->worker_count; i++) {
        struct sl_worker *other = &server->workers[i];
        uint32_t open = atomic_load_explicit(&other->open, memory_order_relaxed);
        if (open < least) {
            best = other;
            least = open;
        }
    }
    return best;
}

static bool hand_over(struct sl_worker *to, const struct sl_arrival *arrival)
{
    pthread_mutex_lock(&to->inbox_lock);
    bool has_room = to->inbox_count < SL_INBOX_MAX && !to->is_draining;
    if (has_room)
        to->inbox[to->inbox_count++] = *arrival;
    pthread_mutex_unlock(&to->inbox_lock);
    if (has_room)
        sl_worker_wake(to);
    return has_room;
}

static void admit_or_refuse(struct sl_worker *worker, const struct sl_arrival *arrival)
{
    struct sl_server *server = worker->server;
    uint32_t open = atomic_fetch_add(&server->open, 1);
    if (open >= sl_worker_settings(worker)->max_connections && !close_one_at_rest(worker)) {
        atomic_fetch_sub(&server->open, 1);
        refuse_connection(worker, arrival);
        return;
    }
    sl_count_add(&worker->accepted, 1);
    struct sl_worker *to = worker->is_draining ? worker : least_busy(worker);
    atomic_fetch_add(&to->open, 1);
    if (to != worker && hand_over(to, arrival))
        return;
    if (to != worker) {
        atomic_fetch_sub(&to->open, 1);
        atomic_fetch_add(&worker->open, 1);
    }
    if (!sl_conn_open(worker, arrival))
        sl_worker_forget(worker);
}

static void on_resume(uv_timer_t *timer);

/* Starts all listeners again in a moment, and logs why: now and then, not each time. */
static void resume_later(struct sl_worker *worker, const char *why, const char *advice)
{
    uint64_t now_ms = uv_now(&worker->loop);
    uv_timer_start(&worker->resume, on_resume, PAUSE_MS, 0);
    if (worker->paused_ms == 0 || now_ms - worker->paused_ms > SAID_EVERY_MS) {
        worker->paused_ms = now_ms;
        fprintf(stderr, "sluice: cannot accept connections: %s; %s\n", why, advice);
    }
}

/* New connections wait in the kernel, instead of waking the worker for nothing all the time. */
static void pause_accepting(struct sl_worker *worker, int why)
{
    for (size_t i = 0; i < worker->server->listening_count; i++)
        uv_poll_stop(&worker->accepts[i]);
    resume_later(worker, strerror(why),
                 "raise the limit (`ulimit -n`, LimitNOFILE=) or lower `max_connections`");
}

static void accept_some(struct sl_worker *worker, const struct sl_listening *listening, size_t most)
{
    struct sl_arrival arrival;
    int why = 0;
    while (most-- > 0 && sl_listening_accept(listening, worker->number, &arrival, &why))
        admit_or_refuse(worker, &arrival);
    if (why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS)
        pause_accepting(worker, why);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
    struct sl_worker *worker = poll->data;
    size_t number = (size_t)(poll - worker->accepts);
    (void)events;
    if (status == 0)
        accept_some(worker, &worker->server->listenings[number], ACCEPTS_MAX);
    else /* the loop polls this socket no longer */
        resume_later(worker, uv_strerror(status), "trying again");
}

static void on_resume(uv_timer_t *timer)
{
    struct sl_worker *worker = timer->data;
    int first_bad = 0;
    for (size_t i = 0; !worker->is_draining && i < worker->server->listening_count; i++) {
        int status = uv_poll_start(&worker->accepts[i], UV_READABLE, on_accept);
        first_bad = first_bad ? first_bad : status;
    }
    if (first_bad != 0)
        resume_later(worker, uv_strerror(first_bad), "trying again");
}

void sl_acceptor_admit(struct sl_worker *worker)
{
    struct sl_arrival arrivals[SL_INBOX_MAX];
    pthread_mutex_lock(&worker->inbox_lock);
    size_t count = worker->inbox_count;
    memcpy(arrivals, worker->inbox, count * sizeof *arrivals);
    worker->inbox_count = 0;
    pthread_mutex_unlock(&worker->inbox_lock);
    for (size_t i = 0; i < count; i++)
        if (!sl_conn_open(worker, &arrivals[i]))
            sl_worker_forget(worker);
}

bool sl_acceptor_open(struct sl_worker *worker)
{
    for (size_t i = 0; i < worker->server->listening_count; i++) {
        int fd = worker->server->listenings[i].fds[worker->number];
        worker->accepts[i].data = worker;
        if (uv_poll_init_socket(&worker->loop, &worker->accepts[i], fd) != 0 ||
            uv_poll_start(&worker->accepts[i], UV_READABLE, on_accept) != 0)
            return false;
    }
    return true;
}

/* Connections that the kernel has accepted already are served; then the listeners are closed. */
void sl_acceptor_close(struct sl_worker *worker)
{
    struct sl_server *server = worker->server;
    for (size_t i = 0; i < server->listening_count; i++)
        accept_some(worker, &server->listenings[i], SL_BACKLOG);
    pthread_mutex_lock(&worker->inbox_lock);
    worker->is_draining = true;
    pthread_mutex_unlock(&worker->inbox_lock);
    sl_acceptor_admit(worker);
    for (size_t i = 0; i < server->listening_count; i++) {
        uv_close((uv_handle_t *)&worker->accepts[i], NULL);
        close(server->listenings[i].fds[worker->number]);
        server->listenings[i].fds[worker->number] = -1;
    }
}
