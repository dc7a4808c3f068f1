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

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

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

/* Watches the files of these rules (NULL: not known yet), from before they are read.
 * What was known of those that were watched already still is. */
static void watch_files(struct keeper *keeper, const struct sl_settings *settings)
{
    struct sl_watch old = keeper->watch;
    struct sl_watch *watch = &keeper->watch;
    *watch = (struct sl_watch){ 0 };
    sl_watch_add(watch, keeper->config->rules_file);
    if (settings && keeper->speaks_tls) {
        sl_watch_add(watch, settings->tls.certificate);
        sl_watch_add(watch, settings->tls.key);
        sl_watch_add(watch, settings->tls.client_ca);
    }
    for (size_t i = 0; i < watch->count; i++)
        for (size_t j = 0; j < old.count; j++)
            if (strcmp(watch->files[i].path, old.files[j].path) == 0)
                watch->files[i].accepted = old.files[j].accepted;
    sl_watch_release(&old);
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

/* What a reload cannot change. */
static void note_fixed(const struct keeper *keeper, const struct sl_ruleset *rules)
{
    const struct sl_ruleset *first = keeper->first->rules;
    const char *fixed = sl_fit_fixed_change(&first->settings, &rules->settings);
    if (fixed)
        fprintf(stderr, "sluice: note: a change of `%s` needs a restart; the rest is in force\n",
                fixed);
    if (sl_ruleset_keeps_rings(rules) && !sl_ruleset_keeps_rings(first))
        fprintf(stderr, "sluice: note: the store was opened for rules without a sliding window "
                        "log, and has little room for one, or none; a restart may give it more\n");
}

static bool reload_rules(struct keeper *keeper)
{
    sl_watch_accept(&keeper->watch);
    struct sl_ruleset *rules = load_rules(keeper);
    if (!rules)
        return false;
    watch_files(keeper, &rules->settings);
    struct sl_edition *edition = make_edition(keeper, rules);
    if (!edition)
        return false;
    note_fixed(keeper, edition->rules);
    publish(&keeper->server, edition);
    return true;
}

static void reload(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    sl_notify_reloading();
    if (reload_rules(keeper)) {
        atomic_fetch_add(&server->reloads, 1);
        size_t count = server->edition->rules->rule_count;
        fprintf(stderr, "sluice: reloaded: %zu rule%s in force\n", count, plural(count));
    } else {
        atomic_fetch_add(&server->failed_reloads, 1);
        fprintf(stderr, "sluice: not reloaded; the rules in force stay\n");
    }
    sl_notify("READY=1");
}

/* ---- signals and time ---- */

static void on_hangup(uv_signal_t *signal, int number)
{
    struct keeper *keeper = signal->data;
    (void)number;
    /* Its handler stays while it ends: without one the signal would kill. */
    if (!atomic_load(&keeper->server.is_draining))
        reload(keeper);
}

static void on_look(uv_timer_t *timer)
{
    struct keeper *keeper = timer->data;
    if (sl_watch_changed(&keeper->watch))
        reload(keeper);
}

/* Unix sockets': nobody finds the way here any more. */
static void remove_files(struct sl_server *server)
{
    for (size_t i = 0; i < server->listening_count; i++)
        sl_listening_remove(&server->listenings[i]);
}

static void on_stop(uv_signal_t *signal, int number)
{
    struct keeper *keeper = signal->data;
    (void)number;
    if (atomic_exchange(&keeper->server.is_draining, true))
        _exit(1); /* told twice */
    sl_notify("STOPPING=1");
    uv_timer_stop(&keeper->look);
    remove_files(&keeper->server);
    for (size_t i = 0; i < keeper->server.worker_count; i++)
        sl_worker_wake(&keeper->server.workers[i]);
}

static void on_ended(uv_async_t *ended)
{
    struct keeper *keeper = ended->data;
    if (atomic_load(&keeper->server.running) == 0)
        uv_stop(&keeper->loop);
}

static bool init_loop(struct keeper *keeper)
{
    uv_loop_t *loop = &keeper->loop;
    keeper->is_loop_open = uv_loop_init(loop) == 0;
    if (!keeper->is_loop_open)
        return false;
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

static bool open_loop(struct keeper *keeper)
{
    bool good = init_loop(keeper);
    if (!good)
        fprintf(stderr, "sluice: cannot start: out of memory or file descriptors\n");
    return good;
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
    watch_files(keeper, settings);
    server->edition = make_edition(keeper, rules);
    if (!server->edition)
        return false;
    keeper->first = sl_edition_keep(server->edition);
    /* The loop first: libuv aborts where its very first loop runs out of files half way. */
    return open_loop(keeper) && open_listener(server, &settings->http, "http") &&
           open_listener(server, &settings->https, "https") && start_workers(server);
}

/* ---- telling ---- */

static void tell(const struct keeper *keeper)
{
    const struct sl_server *server = &keeper->server;
    const struct sl_ruleset *rules = server->edition->rules;
    const char *file = rules->settings.store.path;
    printf("sluice " SLUICE_VERSION ": %s, %zu rule%s; counts in %s; %zu worker%s\n",
           keeper->config->rules_name, rules->rule_count, plural(rules->rule_count),
           file ? file : "memory", server->worker_count, plural(server->worker_count));
    if (rules->rule_count == 0)
        fprintf(stderr, "sluice: note: there are no rules, so every request passes\n");
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
    if (keeper->is_loop_open)
        sl_loop_close(&keeper->loop);
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
        if (keeper.server.workers && keeper.server.workers[0].is_started) {
            remove_files(&keeper.server);
            _exit(2); /* threads run already: the system clears up */
        }
        close_all(&keeper);
        return 2;
    }
    tell(&keeper);
    sl_notify("READY=1");
    uv_run(&keeper.loop, UV_RUN_DEFAULT);
    close_all(&keeper);
    return 0;
}
