/* A worker: a thread with a loop, the connections that are its own, and their
 * rounds. Workers share the store and little else. */
#ifndef SL_SERVER_WORKER_H
#define SL_SERVER_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "auth/token/verifier.h"
#include "server/conn.h"
#include "server/edition/edition.h"
#include "server/figures/process.h"
#include "server/figures/replication_figures.h"
#include "server/figures/table_watch.h"
#include "server/job.h"
#include "server/listener.h"
#include "server/pool/h2_memory.h"
#include "server/round.h"
#include "server/store_io.h"
#include "server/traffic.h"
#include "telemetry/audit/audit.h"

enum { SL_LISTENINGS_MAX = 4, SL_INBOX_MAX = 256, SL_REFUSING_MAX = 64 };

struct sl_h2_stream;
struct sl_rule_stats;
struct sl_store_watch;
struct sl_server;

/* Connections with the same timer, the earliest first. */
struct sl_timers {
    struct sl_conn *first, *last;
};

struct sl_worker {
    struct sl_server *server;
    size_t number;
    pthread_t thread;
    bool is_loop_open;
    bool is_started;

    uv_loop_t loop;
    uv_check_t check;
    uv_idle_t busy; /* active while connections are ready: the poll does not wait */
    uv_async_t wake;
    uv_timer_t timer;
    uv_timer_t resume; /* accepting again, after file descriptors had run out */
    uint64_t paused_ms;
    uv_poll_t accepts[SL_LISTENINGS_MAX];
    uint64_t timer_due_ms; /* when `timer` goes off; UINT64_MAX: not at all */

    struct sl_store_io store_io; /* to the store */
    struct sl_round round;
    struct sl_flight *spare_flight; /* for the next flight; or NULL */
    struct sl_blocks blocks;
    struct sl_h2_memory h2_memory;
    size_t large_bytes;                 /* of messages longer than a block, and */
    size_t unread_bytes;                /* of answers */
    size_t stream_bytes;                /* of gRPC's streams: h2_room.c; */
    struct sl_h2_stream *spare_streams; /* for the next ones */
    uint32_t spare_count;
    struct sl_conn *ready;
    struct sl_conn **ready_end;
    struct sl_conn *all;
    struct sl_timers timers[SL_TIMER_COUNT];
    char date[40]; /* "Date: …\r\n" */
    uint64_t date_ms;

    struct sl_jobs answers; /* to jobs of ours */
    struct sl_sha256 *hasher;
    struct sl_verifier *verifier;
    const struct sl_keyset *keyset;   /* that the verifier uses */
    struct sl_limiter *auth_throttle; /* counts wrong credentials; see auth_throttle.c */
    struct sl_edition *edition;
    _Atomic(struct sl_edition *) next; /* to go over to; NULL: none */

    _Atomic uint32_t open; /* connections, also those in the inbox */
    _Atomic uint64_t accepted;
    _Atomic uint64_t refused;
    uint32_t refusing; /* connections that are told now that there are too many */
    struct sl_traffic traffic;

    pthread_mutex_t inbox_lock;
    struct sl_arrival inbox[SL_INBOX_MAX]; /* from workers that have more connections */
    size_t inbox_count;
    bool is_draining; /* written under inbox_lock */
};

/* What all workers share. */
struct sl_server {
    struct sl_worker *workers;
    size_t worker_count;
    struct sl_listening listenings[SL_LISTENINGS_MAX];
    size_t listening_count;
    struct sl_store *store;
    struct sl_audit *audit;                 /* all threads may read their counts */
    struct sl_edition *edition;             /* the newest */
    struct sl_ruleset *auth_throttle_rules; /* for wrong credentials */
    int64_t started_us;
    const struct sl_store_watch *store_watch; /* the main thread's */
    struct sl_rule_stats
        *record; /* rule stats of the workers' observers; NULL: statistics are off */

    _Atomic bool is_draining;
    _Atomic uint32_t running; /* workers; */
    uv_async_t ended;         /* one of them has */
    _Atomic uint32_t open;    /* connections of all workers */
    struct sl_jobs jobs;      /* for the main thread, */
    uv_async_t come;          /* which is told that there are some */
    _Atomic uint64_t reloads, failed_reloads;
    _Atomic uint64_t resp_clients; /* that have a number so far */
    struct sl_table_watch table_watch;
    struct sl_process process;
    struct sl_replication_figures spread;
    pthread_mutex_t counts_lock; /* held to read other workers' counts, and to change editions */
};

/* Does not start the thread. Returns false if it cannot: see error->text. */
bool sl_worker_init(struct sl_worker *worker, struct sl_server *server, size_t number,
                    struct sluice_error *error);
bool sl_worker_start(struct sl_worker *worker); /* false: errno says why */

/* Called by other threads: the worker looks at `next`, its inbox and whether to drain. */
void sl_worker_wake(struct sl_worker *worker);

/* Waits for the thread to end, after draining. */
void sl_worker_join(struct sl_worker *worker);
void sl_worker_release(struct sl_worker *worker);

/* Closes every handle of a loop that does not run, and the loop. */
void sl_loop_close(uv_loop_t *loop);

/* ---- for its connections ---- */

/* The connection has new bytes: it is served when the loop has polled all sockets. */
void sl_worker_ready(struct sl_worker *worker, struct sl_conn *conn);

/* The same from anywhere but a poll's callback: keeps the loop from sleeping before. */
void sl_worker_ready_later(struct sl_worker *worker, struct sl_conn *conn);

/* The timeout of that kind. */
int64_t sl_worker_timeout_ms(const struct sl_worker *worker, enum sl_timer timer);

/* Lets `timer` go off by then. */
void sl_worker_arm(struct sl_worker *worker, uint64_t due_ms);

/* Counts one connection less. */
void sl_worker_forget(struct sl_worker *worker);

static inline const struct sl_settings *sl_worker_settings(const struct sl_worker *worker)
{
    return &worker->edition->rules->settings;
}

#endif
