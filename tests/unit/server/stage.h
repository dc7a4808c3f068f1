/* A worker without a thread, and visitors without a socket: what they say goes
 * straight into a connection's bytes, and what it would be sent is kept.
 *
 *   visitor_says → conn->in → the front → the round → conn->out → visitor->got
 *
 * A turn is what server/worker.c and server/conn.c make of one, without the loop
 * and without the kernel. Time stands still unless a test moves it. A connection on
 * a socket pair, served by the loop, is `struct caller` at the end.
 *
 * No test library is needed: a fuzz target stands on it too. */
#ifndef TEST_SERVER_STAGE_H
#define TEST_SERVER_STAGE_H

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "server/auth/auth_throttle.h"
#include "server/edition/files.h"
#include "server/front.h"
#include "server/worker.h"

enum { STAGE_WORKERS_MAX = 3, GOT_MAX_BYTES = 64 << 20 };

struct stage {
    struct sl_server server; /* first: a worker's server is its stage */
    struct sl_worker workers[STAGE_WORKERS_MAX];
    /* Does the main thread's work (control_on_stage.h): runs the jobs that wait. Returns false
     * if there was nothing to do. NULL: jobs stay where they are. */
    bool (*work)(struct stage *stage);
    void *about; /* for `work` */
};

/* ---- the stage ---- */

static inline struct sl_ruleset *stage_rules(const char *yaml)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_ruleset_parse("rules.yaml", sl_text(yaml), &report);
    if (!rules)
        sl_report_print(&report, stderr);
    sl_report_release(&report);
    SL_CHECK(rules != NULL);
    return rules;
}

/* What these rules name besides: tokens, keys of tokens. */
static inline struct sl_files *stage_files(const char *yaml)
{
    struct sluice_error error = { 0 };
    struct sl_files_config config = { .hasher = sl_sha256_new() };
    struct sl_files *files = sl_files_load(stage_rules(yaml), &config, &error);
    if (!files)
        fprintf(stderr, "%s\n", error.text);
    SL_CHECK(files != NULL);
    sl_sha256_free(config.hasher);
    return files;
}

/* Without users. `ring` is taken over. */
static inline struct sl_edition *stage_edition_of(const char *yaml, struct sl_keyring *ring,
                                                  struct sl_store *store, size_t worker_count)
{
    struct sl_edition *edition = sl_edition_new(&(struct sl_edition_parts){
        .rules = stage_rules(yaml),
        .files = stage_files(yaml),
        .keyring = ring,
        .store = store,
        .worker_count = worker_count,
    });
    SL_CHECK(edition != NULL);
    return edition;
}

/* Without tenants. */
static inline struct sl_edition *stage_edition(const char *yaml, struct sl_store *store,
                                               size_t worker_count)
{
    return stage_edition_of(yaml, sl_keyring_new(NULL, 0), store, worker_count);
}

/* What a worker does when it is woken; the test serves the connections that are ready. */
static inline void stage_wakes(struct sl_worker *worker)
{
    worker->wake.async_cb(&worker->wake);
    for (struct sl_conn *conn = worker->ready; conn; conn = conn->ready_next)
        conn->is_ready = false;
    worker->ready = NULL;
    worker->ready_end = &worker->ready;
    uv_idle_stop(&worker->busy);
}

/* It is in force in every worker. */
static inline void stage_go_over(struct stage *stage, struct sl_edition *edition)
{
    struct sl_server *server = &stage->server;
    struct sl_edition *old = server->edition;
    server->edition = edition;
    for (size_t i = 0; i < server->worker_count; i++) {
        sl_edition_drop(atomic_exchange(&server->workers[i].next, sl_edition_keep(edition)));
        stage_wakes(&server->workers[i]);
    }
    sl_edition_drop(old);
}

/* A worker has left a job for the main thread. */
static inline void stage_come(uv_async_t *come)
{
    struct stage *stage = come->data;
    if (stage->work)
        stage->work(stage);
}

/* Listeners, if there are any, are in stage->server already. */
static inline void stage_open_workers(struct stage *stage, const char *yaml, struct sl_store *store,
                                      size_t worker_count)
{
    struct sl_server *server = &stage->server;
    struct sluice_error error = { 0 };
    server->workers = stage->workers;
    server->worker_count = worker_count;
    server->store = store;
    server->started_us = INT64_C(1700000000000000);
    pthread_mutex_init(&server->counts_lock, NULL);
    sl_jobs_init(&server->jobs);
    server->edition = stage_edition(yaml, store, worker_count);
    server->auth_throttle_rules =
        sl_auth_throttle_rules(&server->edition->rules->settings.identity);
    for (size_t i = 0; i < worker_count; i++) {
        struct sl_worker *worker = &stage->workers[i];
        SL_CHECK(sl_worker_init(worker, server, i, &error));
        strcpy(worker->date, "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n");
    }
    SL_CHECK(uv_async_init(&stage->workers[0].loop, &server->come, stage_come) == 0);
    server->come.data = stage;
}

static inline void stage_open(struct stage *stage, const char *yaml, struct sl_store *store)
{
    memset(stage, 0, sizeof *stage);
    stage_open_workers(stage, yaml, store, 1);
}

static inline void stage_close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static inline void stage_close(struct stage *stage)
{
    for (size_t i = 0; i < stage->server.worker_count; i++) {
        struct sl_worker *worker = &stage->workers[i];
        while (worker->all)
            sl_conn_close(worker->all); /* of a test that has failed */
        uv_walk(&worker->loop, stage_close_handle, NULL);
        uv_run(&worker->loop, UV_RUN_DEFAULT);
        SL_CHECK(uv_loop_alive(&worker->loop) == 0);
        sl_worker_release(worker);
    }
    for (size_t i = 0; i < stage->server.listening_count; i++)
        sl_listening_close(&stage->server.listenings[i]);
    sl_edition_drop(stage->server.edition);
    sl_ruleset_free(stage->server.auth_throttle_rules);
    sl_jobs_release(&stage->server.jobs);
    pthread_mutex_destroy(&stage->server.counts_lock);
}

/* ---- a visitor ---- */

struct visitor {
    struct sl_conn *conn;
    struct sl_buffer got; /* all that was sent so far */
};

/* Comes from 192.0.2.1, which is no trusted proxy. */
static inline struct visitor visitor_enter_by(struct stage *stage, const struct sl_front *front)
{
    struct sl_conn *conn = calloc(1, sizeof *conn + front->state_bytes);
    SL_CHECK(conn != NULL);
    conn->worker = &stage->workers[0];
    conn->front = front;
    conn->fd = -1;
    conn->held_from = SIZE_MAX;
    conn->out = sl_buffer(SL_CONN_OUT_MAX_BYTES);
    struct sl_address peer;
    SL_CHECK(sl_address_parse(SL_TEXT("192.0.2.1"), &peer));
    sl_conn_set_peer(conn, &peer);
    sl_conn_set_timer(conn, SL_TIMER_OPENING);
    return (struct visitor){ conn, sl_buffer(GOT_MAX_BYTES) };
}

static inline struct visitor visitor_enter(struct stage *stage)
{
    return visitor_enter_by(stage, &sl_front_http);
}

/* As from now, from this address; NULL: through a Unix socket. */
static inline void visitor_comes_from(struct visitor *visitor, const char *address)
{
    struct sl_address peer = { 0 };
    SL_CHECK(!address || sl_address_parse(sl_text(address), &peer));
    sl_conn_set_peer(visitor->conn, &peer);
    visitor->conn->is_local = !address;
}

static inline void visitor_drop_out(struct sl_conn *conn)
{
    sl_block_give(&conn->worker->blocks, conn->out.at, conn->out.room);
    conn->out = sl_buffer(SL_CONN_OUT_MAX_BYTES);
    conn->sent = 0;
}

static inline void visitor_free_hold(uv_handle_t *handle)
{
    free(handle);
}

static inline void visitor_leave(struct visitor *visitor)
{
    struct sl_conn *conn = visitor->conn;
    sl_conn_set_timer(conn, SL_TIMER_NONE);
    if (conn->hold)
        uv_close((uv_handle_t *)conn->hold, visitor_free_hold);
    if (conn->job)
        conn->job->conn = NULL;
    if (conn->front->close)
        conn->front->close(conn);
    sl_conn_drop_in(conn);
    visitor_drop_out(conn);
    free(conn);
    sl_buffer_release(&visitor->got);
}

/* As many of the bytes as there is room for, which is how a socket is read. */
static inline size_t visitor_put(struct visitor *visitor, struct sluice_text bytes)
{
    struct sl_conn *conn = visitor->conn;
    if (!conn->in) {
        conn->in = sl_block_take(&conn->worker->blocks);
        SL_CHECK(conn->in != NULL);
        conn->in_room = SL_BLOCK_BYTES;
    }
    if (conn->in_end == conn->in_room && conn->in_start > 0) {
        memmove(conn->in, conn->in + conn->in_start, conn->in_end - conn->in_start);
        conn->in_end -= conn->in_start;
        conn->in_start = 0;
    }
    size_t room = conn->in_room - conn->in_end;
    size_t count = bytes.len < room ? bytes.len : room;
    if (count)
        memcpy(conn->in + conn->in_end, bytes.at, count);
    conn->in_end += count;
    return count;
}

/* Its messages into the round; the last ones are not answered yet. */
static inline void visitor_read(struct visitor *visitor)
{
    struct sl_conn *conn = visitor->conn;
    struct sl_round *round = &conn->worker->round;
    while (conn->front->read(conn, round) == SL_FRONT_FULL)
        sl_round_finish(round);
    conn->has_backlog = sl_front_waits(conn) && !sl_conn_is_open(conn);
}

/* What may be sent is sent, all of it. */
static inline void visitor_settle(struct visitor *visitor)
{
    struct sl_conn *conn = visitor->conn;
    struct sl_buffer *out = &conn->out;
    size_t end = conn->held_from < out->len ? conn->held_from : out->len;
    SL_CHECK(!out->failed && conn->sent <= end);
    if (end > conn->sent)
        sl_buffer_add(&visitor->got,
                      (struct sluice_text){ out->at + conn->sent, end - conn->sent });
    SL_CHECK(!visitor->got.failed);
    conn->sent = end;
    if (conn->sent == out->len)
        visitor_drop_out(conn);
    if (conn->in_start == conn->in_end)
        sl_conn_drop_in(conn);
}

/* Turns until nothing more can happen without the visitor. */
static inline void visitor_turn(struct visitor *visitor)
{
    struct sl_conn *conn = visitor->conn;
    struct stage *stage = (struct stage *)conn->worker->server;
    bool is_answered;
    do {
        visitor_read(visitor);
        sl_round_finish(&conn->worker->round);
        visitor_settle(visitor);
        is_answered = conn->job && stage->work && stage->work(stage);
        if (is_answered)
            stage_wakes(conn->worker);
    } while (is_answered || (conn->has_backlog && sl_conn_is_open(conn)));
}

/* All of it, in as few turns as there is room for. What a finished connection, or
 * one whose answer is held, has no room for is lost. */
static inline void visitor_says(struct visitor *visitor, struct sluice_text bytes)
{
    size_t count;
    do {
        count = visitor_put(visitor, bytes);
        bytes.at += count;
        bytes.len -= count;
        visitor_turn(visitor);
    } while (bytes.len && (count || sl_conn_is_open(visitor->conn)) && !visitor->conn->is_finished);
}

/* Before the loop runs with it there: it has no socket that could be closed. */
static inline void visitor_forgets_time(struct visitor *visitor)
{
    sl_conn_set_timer(visitor->conn, SL_TIMER_NONE);
}

/* The time of the answer that is held has come. */
static inline void visitor_hold_ends(struct visitor *visitor)
{
    struct sl_conn *conn = visitor->conn;
    uv_timer_t *hold = conn->hold;
    SL_CHECK(hold && conn->held_from != SIZE_MAX);
    conn->is_ready = true; /* so that it does not go to the worker's list */
    hold->timer_cb(hold);
    conn->is_ready = false;
    uv_idle_stop(&conn->worker->busy);
    SL_CHECK(!conn->hold && conn->held_from == SIZE_MAX);
    visitor_turn(visitor);
}

/* ---- a caller: on a socket pair, served by the loop ---- */

struct caller {
    struct sl_worker *worker;
    struct sl_conn *conn; /* may be gone at any turn: see caller_is_here */
    int fd;               /* the caller's end; does not block */
};

static inline struct caller caller_enter(struct sl_worker *worker, struct sl_arrival arrival)
{
    int pair[2];
    SL_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    arrival.fd = pair[0];
    arrival.front = arrival.front ? arrival.front : &sl_front_http;
    atomic_fetch_add(&worker->open, 1);
    atomic_fetch_add(&worker->server->open, 1);
    uv_update_time(&worker->loop); /* as it is in a callback of the loop */
    SL_CHECK(sl_conn_open(worker, &arrival));
    return (struct caller){ worker, worker->all, pair[1] };
}

static inline bool caller_is_here(const struct caller *caller)
{
    for (const struct sl_conn *conn = caller->worker->all; conn; conn = conn->all_next)
        if (conn == caller->conn)
            return true;
    return false;
}

/* What the loop can do at once. */
static inline void stage_turn(struct sl_worker *worker)
{
    for (int i = 0; i < 4; i++)
        uv_run(&worker->loop, UV_RUN_NOWAIT);
}

/* What has come, terminated; a part of it is in the kernel while `conn` is slow. */
static inline size_t caller_reads(const struct caller *caller, char *at, size_t room)
{
    size_t len = 0;
    ssize_t count;
    while (len + 1 < room && (count = recv(caller->fd, at + len, room - len - 1, 0)) > 0)
        len += (size_t)count;
    at[len] = 0;
    return len;
}

/* Says it; the loop has not turned yet. */
static inline void caller_puts(const struct caller *caller, const char *bytes)
{
    SL_CHECK(send(caller->fd, bytes, strlen(bytes), MSG_NOSIGNAL) == (ssize_t)strlen(bytes));
}

static inline void caller_says(const struct caller *caller, const char *bytes)
{
    caller_puts(caller, bytes);
    stage_turn(caller->worker);
}

static inline void caller_leaves(struct caller *caller)
{
    close(caller->fd);
    stage_turn(caller->worker);
    if (caller_is_here(caller)) {
        sl_conn_close(caller->conn);
        stage_turn(caller->worker);
    }
}

#endif
