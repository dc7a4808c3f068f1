/* A worker's loop. Each turn:
 *
 *   poll     every socket that is ready is read into its connection
 *   check    all of that is parsed, decided as one round, and written, once for
 *            each connection
 *
 * Timeouts are found without looking at every connection: connections with the same timeout stand
 * in a list in the order in which they began to wait, and one timer goes off for the earliest of
 * the lists' first ones. */
#include "server/worker.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/thread.h"
#include "server/acceptor.h"
#include "server/flight.h"
#include "server/front.h"
#include "telemetry/rule_stats.h"

enum { DATE_EVERY_MS = 50, LINGER_MS = 2000, FLUSH_MS = 5000 };

static const struct sl_front *const fronts[] = { &sl_front_http, &sl_front_grpc, &sl_front_resp };

static const int64_t REST_MS = INT64_C(1) << 40; /* some decades */

/* ---- ready connections ---- */

void sl_worker_ready(struct sl_worker *worker, struct sl_conn *conn)
{
    if (conn->is_ready || conn->is_gone)
        return;
    conn->is_ready = true;
    conn->ready_next = NULL;
    *worker->ready_end = conn;
    worker->ready_end = &conn->ready_next;
}

static void on_busy(uv_idle_t *busy)
{
    (void)busy;
}

void sl_worker_ready_later(struct sl_worker *worker, struct sl_conn *conn)
{
    sl_worker_ready(worker, conn);
    if (worker->ready)
        uv_idle_start(&worker->busy, on_busy);
}

/* ---- the round ---- */

static void serve_connection(struct sl_worker *worker, struct sl_conn *conn)
{
    if (conn->is_gone || conn->is_opening || conn->is_linger_on)
        return;
    while (conn->front->read(conn, &worker->round) == SL_FRONT_FULL)
        sl_round_finish(&worker->round);
    conn->has_backlog = sl_front_waits(conn) && !sl_conn_is_open(conn);
}

/* Reads the wall clock only a few times a second, by the loop's own time. */
static void write_date(struct sl_worker *worker)
{
    uint64_t now_ms = uv_now(&worker->loop);
    if (*worker->date && now_ms - worker->date_ms < DATE_EVERY_MS)
        return;
    worker->date_ms = now_ms;
    int64_t now_s = sl_walltime_us() / 1000000;
    struct tm parts;
    gmtime_r(&(time_t){ now_s }, &parts);
    strftime(worker->date, sizeof worker->date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
}

/* Shorter timeouts of new rules hold for connections that wait already. Each list keeps its order.
 */
static void shorten_timers(struct sl_worker *worker)
{
    uint64_t now_ms = uv_now(&worker->loop);
    for (enum sl_timer kind = SL_TIMER_OPENING; kind < SL_TIMER_COUNT; kind++) {
        uint64_t most_ms = now_ms + (uint64_t)sl_worker_timeout_ms(worker, kind);
        struct sl_conn *conn = worker->timers[kind].first;
        for (; conn; conn = conn->timer_next)
            conn->due_ms = conn->due_ms < most_ms ? conn->due_ms : most_ms;
        conn = worker->timers[kind].first;
        if (conn && conn->due_ms < worker->timer_due_ms)
            sl_worker_arm(worker, conn->due_ms);
    }
}

/* Puts the newest edition in force. Its counts go on from the old one's. */
static void adopt_edition(struct sl_worker *worker, struct sl_edition *edition)
{
    struct sl_edition *old = worker->edition;
    pthread_mutex_lock(&worker->server->counts_lock);
    if (old)
        sl_limiter_inherit(edition->limiters[worker->number], old->limiters[worker->number]);
    worker->edition = edition;
    pthread_mutex_unlock(&worker->server->counts_lock);
    worker->round.limiter = edition->limiters[worker->number];
    worker->round.rules = edition->rules;
    worker->round.settings = &edition->rules->settings;
    if (edition->files->keyset != worker->keyset) {
        worker->keyset = edition->files->keyset;
        sl_verifier_use(worker->verifier, worker->keyset);
    }
    shorten_timers(worker);
    sl_edition_drop(old);
}

static void on_check(uv_check_t *check)
{
    struct sl_worker *worker = check->data;
    struct sl_conn *list = worker->ready, *next;
    if (!list)
        return;
    worker->ready = NULL;
    worker->ready_end = &worker->ready;
    uv_idle_stop(&worker->busy);
    write_date(worker);
    for (struct sl_conn *conn = list; conn; conn = conn->ready_next)
        serve_connection(worker, conn);
    sl_round_finish(&worker->round);
    for (struct sl_conn *conn = list; conn; conn = next) {
        next = conn->ready_next;
        conn->is_ready = false;
        sl_conn_settle(conn);
    }
}

/* ---- time ---- */

int64_t sl_worker_timeout_ms(const struct sl_worker *worker, enum sl_timer timer)
{
    const struct sl_settings *settings = sl_worker_settings(worker);
    switch (timer) {
    case SL_TIMER_OPENING:
    case SL_TIMER_HEAD:
        return settings->timeouts.head_us / 1000;
    case SL_TIMER_BODY:
        return settings->timeouts.body_us / 1000;
    case SL_TIMER_IDLE:
        return settings->timeouts.idle_us / 1000;
    case SL_TIMER_REST:
        return REST_MS;
    case SL_TIMER_WRITE:
        return settings->timeouts.write_us / 1000;
    case SL_TIMER_LINGER:
        return LINGER_MS;
    case SL_TIMER_DRAIN:
        return settings->timeouts.drain_us / 1000;
    case SL_TIMER_FLUSH:
        return FLUSH_MS;
    default:
        return 0;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct sl_worker *worker = timer->data;
    uint64_t now_ms = uv_now(&worker->loop), next_ms = UINT64_MAX;
    worker->timer_due_ms = UINT64_MAX;
    write_date(worker);
    for (int kind = 1; kind < SL_TIMER_COUNT; kind++) {
        struct sl_timers *timers = &worker->timers[kind];
        while (timers->first && timers->first->due_ms <= now_ms)
            sl_conn_late(timers->first);
        if (timers->first && timers->first->due_ms < next_ms)
            next_ms = timers->first->due_ms;
    }
    if (next_ms < worker->timer_due_ms)
        sl_worker_arm(worker, next_ms);
}

void sl_worker_arm(struct sl_worker *worker, uint64_t due_ms)
{
    uint64_t now_ms = uv_now(&worker->loop);
    worker->timer_due_ms = due_ms;
    uv_timer_start(&worker->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

/* ---- the end ---- */

void sl_worker_forget(struct sl_worker *worker)
{
    atomic_fetch_sub(&worker->open, 1);
    atomic_fetch_sub(&worker->server->open, 1);
}

/* Gives every client a moment for a last request; the answer says that the connection closes. */
static void drain_connections(struct sl_worker *worker)
{
    sl_acceptor_close(worker);
    for (struct sl_conn *conn = worker->all; conn; conn = conn->all_next) {
        if (conn->front->drain && !conn->is_opening) {
            conn->front->drain(conn);
            sl_worker_ready_later(worker, conn);
        }
        sl_conn_set_timer(conn, conn->timer); /* draining has a timeout of its own */
    }
}

static void on_wake(uv_async_t *wake)
{
    struct sl_worker *worker = wake->data;
    /* Answers are taken before the edition: a client that is told of a change, and sends a request
     * right after it, must be answered by the changed rules. */
    struct sl_job *answers = sl_jobs_take(&worker->answers);
    struct sl_edition *next = atomic_exchange(&worker->next, NULL);
    if (next)
        adopt_edition(worker, next);
    if (!worker->is_draining && atomic_load(&worker->server->is_draining))
        drain_connections(worker);
    if (worker->server->record)
        sl_observer_hand_over(worker->server->record->observers[worker->number]);
    sl_acceptor_admit(worker);
    sl_jobs_answer(worker, answers);
}

/* Closes the handles that keep the loop alive, once the last connection is closed. */
static void leave_if_empty(struct sl_worker *worker)
{
    if (!worker->is_draining || worker->all || worker->ready ||
        uv_is_closing((uv_handle_t *)&worker->wake) || !sl_line_is_quiet(&worker->store_io))
        return;
    sl_line_close(&worker->store_io);
    uv_close((uv_handle_t *)&worker->wake, NULL);
    uv_close((uv_handle_t *)&worker->timer, NULL);
    uv_close((uv_handle_t *)&worker->resume, NULL);
    uv_close((uv_handle_t *)&worker->check, NULL);
    uv_close((uv_handle_t *)&worker->busy, NULL);
}

static void *run_worker(void *about)
{
    struct sl_worker *worker = about;
    /* The loop ends when leave_if_empty has closed its last handle. */
    while (uv_run(&worker->loop, UV_RUN_ONCE))
        leave_if_empty(worker);
    atomic_fetch_sub(&worker->server->running, 1);
    uv_async_send(&worker->server->ended);
    return NULL;
}

/* ---- beginning ---- */

static bool init_loop(struct sl_worker *worker)
{
    worker->is_loop_open = uv_loop_init(&worker->loop) == 0;
    if (!worker->is_loop_open)
        return false;
    worker->check.data = worker->busy.data = worker->wake.data = worker;
    worker->timer.data = worker->resume.data = worker;
    return uv_check_init(&worker->loop, &worker->check) == 0 &&
           uv_idle_init(&worker->loop, &worker->busy) == 0 &&
           uv_timer_init(&worker->loop, &worker->timer) == 0 &&
           uv_timer_init(&worker->loop, &worker->resume) == 0 &&
           uv_async_init(&worker->loop, &worker->wake, on_wake) == 0 &&
           uv_check_start(&worker->check, on_check) == 0;
}

/* Wrong credentials are counted in this process where there is a table: it answers at once. */
static struct sl_store *throttle_store(const struct sl_server *server)
{
    return server->store->local ? server->store->local : server->store;
}

static bool init_callers(struct sl_worker *worker)
{
    const struct sl_server *server = worker->server;
    worker->hasher = sl_sha256_new();
    worker->verifier = worker->hasher ? sl_verifier_new(worker->hasher) : NULL;
    worker->auth_throttle =
        server->auth_throttle_rules
            ? sl_limiter_new(server->auth_throttle_rules, throttle_store(server))
            : NULL;
    return worker->verifier && worker->auth_throttle;
}

bool sl_worker_init(struct sl_worker *worker, struct sl_server *server, size_t number,
                    struct sluice_error *error)
{
    *worker = (struct sl_worker){ .server = server, .number = number };
    worker->ready_end = &worker->ready;
    worker->timer_due_ms = UINT64_MAX;
    pthread_mutex_init(&worker->inbox_lock, NULL);
    sl_jobs_init(&worker->answers);
    if (sl_round_init(&worker->round, worker) && init_callers(worker) && init_loop(worker) &&
        sl_line_open(&worker->store_io, &worker->loop, server->store,
                     number == 0 ? SL_LINE_TENDS : 0) &&
        sl_acceptor_open(worker)) {
        adopt_edition(worker, sl_edition_keep(server->edition));
        return true;
    }
    snprintf(error->text, sizeof error->text,
             "cannot start worker %zu: out of memory or file descriptors", number + 1);
    return false;
}

bool sl_worker_start(struct sl_worker *worker)
{
    atomic_fetch_add(&worker->server->running, 1);
    errno = sl_thread_start(&worker->thread, run_worker, worker);
    worker->is_started = errno == 0;
    return worker->is_started;
}

void sl_worker_wake(struct sl_worker *worker)
{
    uv_async_send(&worker->wake);
}

void sl_worker_join(struct sl_worker *worker)
{
    if (worker->is_started)
        pthread_join(worker->thread, NULL);
}

static void close_handle(uv_handle_t *handle, void *about)
{
    (void)about;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void sl_loop_close(uv_loop_t *loop)
{
    uv_walk(loop, close_handle, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
}

void sl_worker_release(struct sl_worker *worker)
{
    sl_line_close(&worker->store_io);
    if (worker->is_loop_open)
        sl_loop_close(&worker->loop);
    sl_flight_free(worker->spare_flight);
    sl_round_release(&worker->round);
    sl_blocks_release(&worker->blocks);
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
        if (fronts[i]->release)
            fronts[i]->release(worker);
    sl_h2_memory_release(&worker->h2_memory);
    sl_edition_drop(atomic_exchange(&worker->next, NULL));
    sl_edition_drop(worker->edition);
    sl_verifier_free(worker->verifier);
    sl_sha256_free(worker->hasher);
    sl_limiter_free(worker->auth_throttle);
    sl_jobs_release(&worker->answers);
    pthread_mutex_destroy(&worker->inbox_lock);
}
