/* The main thread: it opens everything, then waits for signals and for the files
 * to change, and reads them again. Workers answer meanwhile; reading ten thousand
 * rules holds nobody up.
 *
 *   SIGHUP, a file changed   → a new edition, or the old one stays
 *   SIGTERM, SIGINT          → drain; again: at once
 */
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/fit.h"
#include "server/notify.h"
#include "server/watch.h"
#include "server/worker.h"
#include "store/open.h"

enum { LOOK_EVERY_MS = 250 };

struct keeper {
    const struct sl_serve_config *config;
    struct sl_server server;
    uv_loop_t loop;
    uv_signal_t hangup, terminate, interrupt;
    uv_timer_t look;
    struct sl_watch watch;
    struct sl_edition *first; /* what cannot change is as it was in it */
    bool has_said_files;
    bool speaks_tls;
    bool is_loop_open;
};

/* ---- editions ---- */

static struct sl_ruleset *load_rules(struct keeper *keeper)
{
    struct sl_ruleset *rules = keeper->config->load(keeper->config->about);
    if (!rules)
        return NULL;
    if (keeper->config->http)
        rules->settings.http.address = keeper->config->http;
    keeper->has_said_files |= !sl_fit_files(&rules->settings, !keeper->has_said_files);
    if (sl_fit_is_serveable(&rules->settings))
        return rules;
    sl_ruleset_free(rules);
    return NULL;
}

/* The certificate as it is now; the old one's, where the rules name none any more. */
static bool load_tls(struct keeper *keeper, const struct sl_settings *settings, struct sl_tls **out)
{
    struct sluice_error error = { 0 };
    struct sl_edition *old = keeper->server.edition;
    *out = NULL;
    if (!keeper->speaks_tls)
        return true;
    if (!settings->tls.certificate && old) {
        *out = sl_tls_keep(old->tls);
        return true;
    }
    *out =
        sl_tls_new(settings->tls.certificate, settings->tls.key, settings->tls.client_ca, &error);
    if (*error.text)
        fprintf(stderr, "sluice: %s%s\n", *out ? "note: " : "", error.text);
    return *out;
}

static struct sl_edition *make_edition(struct keeper *keeper, struct sl_ruleset *rules)
{
    struct sl_tls *tls;
    if (!load_tls(keeper, &rules->settings, &tls)) {
        sl_ruleset_free(rules);
        return NULL;
    }
    struct sl_edition *edition =
        sl_edition_new(rules, tls, keeper->server.store, keeper->server.worker_count);
    if (!edition)
        fprintf(stderr, "sluice: out of memory\n");
    return edition;
}

static void watch_files(struct keeper *keeper, const struct sl_settings *settings)
{
    sl_watch_release(&keeper->watch);
    keeper->watch = (struct sl_watch){ 0 };
    sl_watch_add(&keeper->watch, keeper->config->rules_file);
    if (!settings || !keeper->speaks_tls)
        return;
    sl_watch_add(&keeper->watch, settings->tls.certificate);
    sl_watch_add(&keeper->watch, settings->tls.key);
    sl_watch_add(&keeper->watch, settings->tls.client_ca);
}

/* Workers go over when they next come round. */
static void publish(struct sl_server *server, struct sl_edition *edition)
{
    struct sl_edition *old = server->edition;
    server->edition = edition;
    for (size_t i = 0; i < server->worker_count; i++) {
        struct sl_worker *worker = &server->workers[i];
        sl_edition_drop(atomic_exchange(&worker->next, sl_edition_keep(edition)));
        sl_worker_wake(worker);
    }
    sl_edition_drop(old);
}

static bool reload_rules(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    sl_watch_accept(&keeper->watch);
    struct sl_ruleset *rules = load_rules(keeper);
    struct sl_edition *edition = rules ? make_edition(keeper, rules) : NULL;
    if (!edition)
        return false;
    const struct sl_settings *settings = &edition->rules->settings;
    const char *fixed = sl_fit_fixed_change(&keeper->first->rules->settings, settings);
    if (fixed)
        fprintf(stderr, "sluice: note: a change of `%s` needs a restart; the rest is in force\n",
                fixed);
    struct sl_watch seen = keeper->watch; /* the same files, unless the rules name others now */
    keeper->watch = (struct sl_watch){ 0 };
    watch_files(keeper, settings);
    for (size_t i = 0; i < keeper->watch.count && i < seen.count; i++)
        if (strcmp(keeper->watch.files[i].path, seen.files[i].path) == 0)
            keeper->watch.files[i].accepted = seen.files[i].accepted;
    sl_watch_release(&seen);
    publish(server, edition);
    return true;
}

static void reload(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    sl_notify_reloading();
    if (reload_rules(keeper)) {
        atomic_fetch_add(&server->reloads, 1);
        fprintf(stderr, "sluice: reloaded: %zu rules in force\n",
                server->edition->rules->rule_count);
    } else {
        atomic_fetch_add(&server->failed_reloads, 1);
        fprintf(stderr, "sluice: not reloaded; the rules in force stay\n");
    }
    sl_notify("READY=1");
}

/* ---- signals and time ---- */

static void on_hangup(uv_signal_t *signal, int number)
{
    (void)number;
    reload(signal->data);
}

static void on_look(uv_timer_t *timer)
{
    struct keeper *keeper = timer->data;
    if (sl_watch_changed(&keeper->watch))
        reload(keeper);
}

static void on_stop(uv_signal_t *signal, int number)
{
    struct keeper *keeper = signal->data;
    (void)number;
    if (atomic_exchange(&keeper->server.is_draining, true))
        _exit(1); /* told twice */
    sl_notify("STOPPING=1");
    for (size_t i = 0; i < keeper->server.worker_count; i++)
        sl_worker_wake(&keeper->server.workers[i]);
}

static void on_ended(uv_async_t *ended)
{
    struct keeper *keeper = ended->data;
    if (atomic_load(&keeper->server.running) == 0)
        uv_stop(&keeper->loop);
}

static bool open_loop(struct keeper *keeper)
{
    uv_loop_t *loop = &keeper->loop;
    if (uv_loop_init(loop) != 0)
        return false;
    keeper->is_loop_open = true;
    keeper->hangup.data = keeper->terminate.data = keeper->interrupt.data = keeper;
    keeper->look.data = keeper->server.ended.data = keeper;
    return uv_async_init(loop, &keeper->server.ended, on_ended) == 0 &&
           uv_signal_init(loop, &keeper->hangup) == 0 &&
           uv_signal_init(loop, &keeper->terminate) == 0 &&
           uv_signal_init(loop, &keeper->interrupt) == 0 &&
           uv_timer_init(loop, &keeper->look) == 0 &&
           uv_signal_start(&keeper->hangup, on_hangup, SIGHUP) == 0 &&
           uv_signal_start(&keeper->terminate, on_stop, SIGTERM) == 0 &&
           uv_signal_start(&keeper->interrupt, on_stop, SIGINT) == 0 &&
           uv_timer_start(&keeper->look, on_look, LOOK_EVERY_MS, LOOK_EVERY_MS) == 0;
}

static void close_handle(uv_handle_t *handle, void *about)
{
    (void)about;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_loop(struct keeper *keeper)
{
    if (!keeper->is_loop_open)
        return;
    uv_walk(&keeper->loop, close_handle, NULL);
    uv_run(&keeper->loop, UV_RUN_DEFAULT);
    uv_loop_close(&keeper->loop);
}

/* ---- opening ---- */

static bool open_listener(struct sl_server *server, const struct sl_listener *listener,
                          const char *scheme)
{
    struct sluice_error error = { 0 };
    if (!listener->address)
        return true;
    struct sl_listening *listening = &server->listenings[server->listening_count];
    *listening = (struct sl_listening){
        .front = &sl_front_http,
        .scheme = scheme,
        .wants_tls = strcmp(scheme, "https") == 0,
        .proxy_protocol = listener->proxy_protocol,
    };
    if (!sl_listening_open(listening, listener->address, server->worker_count, &error)) {
        fprintf(stderr, "sluice: %s\n", error.text);
        return false;
    }
    server->listening_count++;
    return true;
}

static bool open_store(struct sl_server *server, const struct sl_ruleset *rules)
{
    struct sluice_error error = { 0 };
    sl_store_open(&rules->settings.store, sl_ruleset_keeps_rings(rules), &server->store, &error);
    if (!server->store || *error.text)
        fprintf(stderr, "sluice: %s%s\n", server->store ? "note: " : "", error.text);
    return server->store;
}

static bool start_workers(struct sl_server *server)
{
    struct sluice_error error = { 0 };
    server->workers =
        aligned_alloc(_Alignof(struct sl_worker), server->worker_count * sizeof *server->workers);
    if (!server->workers) {
        fprintf(stderr, "sluice: out of memory\n");
        return false;
    }
    memset(server->workers, 0, server->worker_count * sizeof *server->workers);
    for (size_t i = 0; i < server->worker_count; i++) {
        if (!sl_worker_init(&server->workers[i], server, i, &error)) {
            fprintf(stderr, "sluice: %s\n", error.text);
            return false;
        }
    }
    for (size_t i = 0; i < server->worker_count; i++) {
        if (!sl_worker_start(&server->workers[i])) {
            fprintf(stderr, "sluice: cannot start a thread: %s\n", strerror(errno));
            return false;
        }
    }
    return true;
}

static bool open_all(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    watch_files(keeper, NULL);
    struct sl_ruleset *rules = load_rules(keeper);
    if (!rules)
        return false;
    struct sl_settings *settings = &rules->settings;
    keeper->speaks_tls = settings->https.address;
    server->worker_count = settings->workers ? settings->workers : uv_available_parallelism();
    if (!open_store(server, rules)) {
        sl_ruleset_free(rules);
        return false;
    }
    server->edition = make_edition(keeper, rules);
    if (!server->edition)
        return false;
    keeper->first = sl_edition_keep(server->edition);
    watch_files(keeper, settings);
    return open_listener(server, &settings->http, "http") &&
           open_listener(server, &settings->https, "https") && open_loop(keeper) &&
           start_workers(server);
}

/* ---- telling ---- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void tell(const struct keeper *keeper)
{
    const struct sl_server *server = &keeper->server;
    const struct sl_ruleset *rules = server->edition->rules;
    const char *file = rules->settings.store.path;
    printf("sluice " SLUICE_VERSION ": %s, %zu rule%s; counts in %s; %zu worker%s\n",
           keeper->config->rules_name, rules->rule_count, plural(rules->rule_count),
           file ? file : "memory", server->worker_count, plural(server->worker_count));
    for (size_t i = 0; i < server->listening_count; i++)
        printf("listening on %s\n", server->listenings[i].address);
    struct sl_buffer line = sl_buffer(8192);
    if (sl_try_print(rules, server->listenings[0].address, &line))
        printf("try it:\n  %.*s\n", (int)line.len, line.at);
    sl_buffer_release(&line);
    fflush(stdout);
}

/* ---- the whole ---- */

/* When the workers have ended, or have not begun. */
static void close_all(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    for (size_t i = 0; server->workers && i < server->worker_count; i++)
        sl_worker_join(&server->workers[i]);
    close_loop(keeper);
    for (size_t i = 0; server->workers && i < server->worker_count; i++)
        sl_worker_release(&server->workers[i]);
    for (size_t i = 0; i < server->listening_count; i++)
        sl_listening_close(&server->listenings[i]);
    sl_edition_drop(server->edition);
    sl_edition_drop(keeper->first);
    sl_store_close(server->store);
    sl_watch_release(&keeper->watch);
    free(server->workers);
}

int sl_serve(const struct sl_serve_config *config)
{
    struct keeper keeper = { .config = config };
    pthread_mutex_init(&keeper.server.counts_lock, NULL);
    keeper.server.started_us = sl_walltime_us();
    signal(SIGPIPE, SIG_IGN);
    if (!open_all(&keeper)) {
        if (keeper.server.workers && keeper.server.workers[0].is_started)
            exit(2); /* threads run already: let the system clear up */
        close_all(&keeper);
        return 2;
    }
    tell(&keeper);
    sl_notify("READY=1");
    uv_run(&keeper.loop, UV_RUN_DEFAULT);
    close_all(&keeper);
    return 0;
}
