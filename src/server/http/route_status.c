/* /healthz, /readyz, /metrics and /openapi.json. */
#include "server/http/assets.h"
#include "server/http/route.h"
#include "server/metrics/metrics.h"
#include "server/worker.h"

static void print_text(struct sl_round *round, struct sl_call *call, const char *type,
                       struct sluice_text body)
{
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = 200, .type = type, .body = body });
}

static void add_call(struct sl_message *message, sl_reply *reply)
{
    message->call->reply = reply;
    sl_round_add(message->round, message->call);
}

/* ---- health ---- */

static void reply_health(struct sl_round *round, struct sl_call *call)
{
    print_text(round, call, "application/json", SL_TEXT("{\"status\": \"ok\"}"));
}

void sl_call_health(struct sl_message *message)
{
    add_call(message, reply_health);
}

static void reply_ready(struct sl_round *round, struct sl_call *call)
{
    print_text(round, call, "application/json", SL_TEXT("{\"status\": \"ready\"}"));
}

void sl_call_ready(struct sl_message *message)
{
    if (message->round->worker->is_draining)
        sl_message_refuse(message, 503, "The server is shutting down; ask another one.");
    else
        add_call(message, reply_ready);
}

/* ---- metrics ---- */

/* Other workers' limiters are not freed while the lock is held. */
static bool gather_metrics(const struct sl_worker *self, struct sl_metrics *metrics)
{
    struct sl_server *server = self->server;
    pthread_mutex_lock(&server->counts_lock);
    bool good = sl_metrics_init(metrics, self->edition->rules);
    metrics->version = SLUICE_VERSION;
    if (good)
        sl_metrics_set_workers(metrics, server->worker_count);
    metrics->connections = atomic_load(&server->open);
    metrics->reloads = atomic_load(&server->reloads);
    metrics->failed_reloads = atomic_load(&server->failed_reloads);
    metrics->start_time_s = (uint64_t)server->started_us / 1000000;
    metrics->has_store = server->store->ops->health;
    if (metrics->has_store)
        server->store->ops->health(server->store, &metrics->store);
    metrics->leases = sl_answer_cache_leases(server->store->answers);
    metrics->denials_held = sl_answer_cache_held(server->store->answers);
    metrics->spread = server->spread.is_on ? &server->spread : NULL;
    if (server->audit)
        sl_audit_counts(server->audit, &metrics->audit);
    metrics->record = server->record;
    metrics->numbers = self->edition->numbers;
    metrics->is_watched = sl_is_observed(&self->edition->rules->settings);
    sl_process_read(&server->process, &metrics->process);
    metrics->has_table = sl_table_read(&server->table_watch, &metrics->table);
    for (size_t i = 0; good && i < server->worker_count; i++) {
        const struct sl_worker *worker = &server->workers[i];
        metrics->by_worker[i] = atomic_load(&worker->open);
        metrics->accepted += atomic_load(&worker->accepted);
        metrics->refused += atomic_load(&worker->refused);
        sl_metrics_add(metrics, worker->edition->limiters[i]);
        sl_metrics_add_traffic(metrics, &worker->traffic);
        sl_metrics_add_auth_throttle(metrics, worker->auth_throttle);
    }
    pthread_mutex_unlock(&server->counts_lock);
    return good;
}

static void reply_metrics(struct sl_round *round, struct sl_call *call)
{
    struct sl_metrics metrics;
    struct sl_buffer *body = &round->scratch;
    if (!gather_metrics(round->worker, &metrics)) {
        call->status = 500;
        sl_reply_problem(round, call);
        return;
    }
    sl_buffer_clear(body);
    sl_metrics_print(body, &metrics);
    sl_metrics_release(&metrics);
    sl_reply_print(
        round, call,
        &(struct sl_answer_parts){ .status = 200, .type = SL_METRICS_TYPE, .has_scratch = true });
}

void sl_call_metrics(struct sl_message *message)
{
    message->call->reply = reply_metrics;
    sl_round_add_now(message->round, message->call);
}

/* ---- openapi.json ---- */

static void reply_openapi(struct sl_round *round, struct sl_call *call)
{
    print_text(round, call, "application/json", sl_asset_openapi());
}

void sl_call_openapi(struct sl_message *message)
{
    message->call->reply = reply_openapi;
    sl_round_add_now(message->round, message->call);
}
