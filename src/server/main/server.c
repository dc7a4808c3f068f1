/* The main thread: opens everything, then waits for signals and for changes of the files, and reads
 * them again. Workers answer meanwhile; reading ten thousand rules holds up no request.
 *
 *   SIGHUP, a file changed   → a new edition, or the old one stays
 *   SIGTERM, SIGINT          → drain; again: at once
 * */
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "rules/store_url.h"
#include "rules/tree/tree.h"
#include "server/auth/auth_throttle.h"
#include "server/control/control.h"
#include "server/control/startup_check.h"
#include "server/edition/file_watch.h"
#include "server/edition/files.h"
#include "server/figures/store_watch.h"
#include "server/main/collect.h"
#include "server/main/systemd.h"
#include "server/worker.h"
#include "store/open.h"
#include "telemetry/audit/audit.h"

enum { LOOK_EVERY_MS = 250 };

struct keeper {
    const struct sl_serve_config *config;
    struct sl_server server;
    uv_loop_t loop;
    uv_signal_t hangup, terminate, interrupt;
    uv_timer_t look;
    struct sl_watch watch;
    struct sl_control control;
    struct sl_audit audit;
    struct sl_rule_stats record;
    struct sl_store_watch store_watch;
    struct sl_edition *first; /* settings that need a restart are as they were in it */
    bool has_said_files;
    bool speaks_tls;
    bool is_loop_open;
};

/* ---- editions ---- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Returns the file's own rules: its other settings (listeners, store, keys) are read from here.
 * Returns NULL after logging the reason, or with it in *report. */
static struct sl_ruleset *load_alone(struct keeper *keeper, struct sl_buffer *text,
                                     struct sl_report *report)
{
    const struct sl_serve_config *config = keeper->config;
    if (!config->read(config->about, text, report))
        return NULL;
    struct sl_ruleset *rules =
        sl_ruleset_parse(config->rules_path, (struct sluice_text){ text->at, text->len }, report);
    if (!rules)
        return NULL;
    sl_startup_listen(&rules->settings, config);
    keeper->has_said_files |= !sl_startup_files(&rules->settings, !keeper->has_said_files);
    if (sl_startup_is_serveable(&rules->settings))
        return rules;
    sl_report_error(report, SL_MARK_LAST,
                    "there is nothing to serve: every listener of `listen` is off");
    sl_ruleset_free(rules);
    return NULL;
}

/* Loads the files that the settings name. Takes ownership of the rules. Returns NULL with the
 * reasons in *report. */
static struct sl_files *load_files(struct keeper *keeper, struct sl_ruleset *alone,
                                   struct sl_report *report)
{
    struct sluice_error error = { 0 };
    const struct sl_edition *old = keeper->server.edition;
    struct sl_files *files =
        sl_files_load(alone,
                      &(struct sl_files_config){ .speaks_tls = keeper->speaks_tls,
                                                 .old = old ? old->files : NULL,
                                                 .hasher = keeper->control.hasher },
                      &error);
    if (!files)
        sl_report_error(report, SL_MARK_LAST, "%s", error.text);
    return files;
}

/* Returns an edition of this text, the registry, and the files that it names. Returns NULL with the
 * reasons in *report. */
static struct sl_edition *make_edition(struct keeper *keeper, struct sl_ruleset *alone,
                                       struct sluice_text text, struct sl_report *report)
{
    struct sl_files *files = load_files(keeper, alone, report);
    if (!files)
        return NULL;
    struct sl_ruleset *rules = sl_control_compose(&keeper->control, text, report);
    if (!rules) {
        sl_files_drop(files);
        return NULL;
    }
    struct sl_edition *edition = sl_control_edition(&keeper->control, rules, files);
    if (!edition)
        sl_report_error(report, SL_MARK_LAST, "the edition could not be made");
    return edition;
}

/* Watches the files of these rules (NULL: not known yet), from before they are read. Files that are
 * watched already keep what is known of them. */
static void watch_files(struct keeper *keeper, const struct sl_settings *settings)
{
    struct sl_watch old = keeper->watch;
    struct sl_watch *watch = &keeper->watch;
    *watch = (struct sl_watch){ 0 };
    sl_watch_add(watch, keeper->config->rules_file);
    if (settings)
        sl_files_watch(settings, keeper->speaks_tls, watch);
    for (size_t i = 0; i < watch->count; i++)
        for (size_t j = 0; j < old.count; j++)
            if (strcmp(watch->files[i].path, old.files[j].path) == 0)
                watch->files[i].accepted = old.files[j].accepted;
    sl_watch_release(&old);
}

/* Logs a change that needs a restart. */
static void log_fixed_change(const struct keeper *keeper, const struct sl_ruleset *rules)
{
    const struct sl_ruleset *first = keeper->first->rules;
    const char *fixed = sl_startup_fixed_change(&first->settings, &rules->settings);
    if (fixed)
        fprintf(stderr, "sluice: note: a change of `%s` needs a restart; the rest is in force\n",
                fixed);
    if (sl_ruleset_keeps_rings(rules) && !sl_ruleset_keeps_rings(first))
        fprintf(stderr, "sluice: note: the store was opened for rules without a sliding window "
                        "log, and has little room for one, or none; a restart may give it more\n");
}

/* Writes the reload's event to the audit log. */
static void audit_reload(struct keeper *keeper, const struct sl_edition *old,
                         struct sluice_text old_text)
{
    struct sl_control *control = &keeper->control;
    struct sl_arena arena = { 0 };
    struct sluice_text text = { control->text.at, control->text.len };
    bool is_same = sl_text_equal(old_text, text);
    sl_audit_note_reload(
        control, &(struct sl_audit_note_rules){
                     .old = old->rules,
                     .new = keeper->server.edition->rules,
                     .before = is_same ? NULL : sl_audit_note_text(control, old_text, &arena),
                     .after = is_same ? NULL : sl_audit_note_text(control, text, &arena),
                 });
    sl_arena_release(&arena);
}

/* Keeps the text once its rules are in force. */
static bool adopt_text(struct keeper *keeper, struct sl_ruleset *alone, struct sl_buffer *text,
                       struct sl_report *report)
{
    struct sl_edition *edition =
        make_edition(keeper, alone, (struct sluice_text){ text->at, text->len }, report);
    if (!edition)
        return false;
    struct sl_edition *old = keeper->first ? sl_edition_keep(keeper->server.edition) : NULL;
    struct sl_buffer old_text = keeper->control.text;
    keeper->control.text = *text;
    *text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    if (old)
        log_fixed_change(keeper, edition->rules);
    sl_control_publish(&keeper->control, edition);
    if (old)
        audit_reload(keeper, old, (struct sluice_text){ old_text.at, old_text.len });
    sl_edition_drop(old);
    sl_buffer_release(&old_text);
    return true;
}

static bool reload_rules(struct keeper *keeper, struct sl_report *report)
{
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    sl_watch_accept(&keeper->watch);
    struct sl_ruleset *alone = load_alone(keeper, &text, report);
    if (alone)
        watch_files(keeper, &alone->settings);
    bool good = alone && adopt_text(keeper, alone, &text, report);
    sl_buffer_release(&text);
    return good;
}

/* Reloads; the problems are added to the caller's report. */
static bool reload_into(void *about, struct sl_report *report)
{
    struct keeper *keeper = about;
    struct sl_server *server = &keeper->server;
    sl_notify_reloading();
    bool good = reload_rules(keeper, report);
    if (good) {
        atomic_fetch_add(&server->reloads, 1);
        size_t count = server->edition->rules->rule_count;
        fprintf(stderr, "sluice: reloaded: %zu rule%s in force\n", count, plural(count));
    } else {
        atomic_fetch_add(&server->failed_reloads, 1);
        sl_report_print(report, stderr);
        fprintf(stderr, "sluice: not reloaded; the rules in force stay\n");
    }
    sl_notify("READY=1");
    return good;
}

static void reload(struct keeper *keeper)
{
    struct sl_report report = { .file = keeper->config->rules_path };
    reload_into(keeper, &report);
    sl_report_release(&report);
}

/* ---- signals and time ---- */

static void on_hangup(uv_signal_t *signal, int number)
{
    struct keeper *keeper = signal->data;
    (void)number;
    /* The handler stays while the server drains: without one the signal would kill it. */
    if (atomic_load(&keeper->server.is_draining))
        return;
    sl_audit_reopen(&keeper->audit);
    reload(keeper);
}

static void on_look(uv_timer_t *timer)
{
    struct keeper *keeper = timer->data;
    if (sl_watch_changed(&keeper->watch))
        reload(keeper);
    sl_control_look(&keeper->control);
    sl_store_look(&keeper->store_watch, keeper->server.store, &keeper->audit);
    sl_collect_rule_stats(&keeper->record, &keeper->server, &keeper->audit);
    sl_table_look(&keeper->server.table_watch);
    sl_process_look(&keeper->server.process);
}

static void on_jobs(uv_async_t *jobs)
{
    struct keeper *keeper = jobs->data;
    struct sl_job *next;
    for (struct sl_job *job = sl_jobs_take(&keeper->server.jobs); job; job = next) {
        next = job->next;
        sl_control_run(&keeper->control, job);
    }
}

/* Removes the files of Unix sockets: new clients cannot connect any more. */
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
        _exit(1); /* the second signal */
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
    keeper->look.data = keeper->server.ended.data = keeper->server.come.data = keeper;
    return uv_async_init(loop, &keeper->server.ended, on_ended) == 0 &&
           uv_async_init(loop, &keeper->server.come, on_jobs) == 0 &&
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
                          const struct sl_front *front, bool wants_tls)
{
    struct sluice_error error = { 0 };
    if (!listener->address)
        return true;
    struct sl_listening *listening = &server->listenings[server->listening_count];
    *listening = (struct sl_listening){
        .front = front,
        .wants_tls = wants_tls,
        .proxy_protocol = listener->proxy_protocol,
    };
    if (!sl_listening_open(listening, listener->address, server->worker_count, &error)) {
        fprintf(stderr, "sluice: %s\n", error.text);
        return false;
    }
    server->listening_count++;
    return true;
}

/* Opens the listeners of the settings: HTTP first, which is printed at the start. */
static bool open_listeners(struct sl_server *server, const struct sl_settings *settings)
{
    return open_listener(server, &settings->http, &sl_front_http, false) &&
           open_listener(server, &settings->https, &sl_front_http, true) &&
           open_listener(server, &settings->grpc, &sl_front_grpc, settings->grpc.tls) &&
           open_listener(server, &settings->resp, &sl_front_resp, settings->resp.tls);
}

static bool open_store(struct keeper *keeper, const struct sl_ruleset *rules)
{
    struct sl_server *server = &keeper->server;
    struct sluice_error error = { 0 };
    sl_store_open(&rules->settings.store, rules, &server->store, &error);
    if (!server->store || *error.text)
        fprintf(stderr, "sluice: %s%s\n", server->store ? "note: " : "", error.text);
    /* A note of a store that is asked over connections says that it does not answer yet. */
    keeper->store_watch.is_down = keeper->store_watch.was_open =
        server->store && server->store->ops->health && *error.text;
    if (server->store)
        sl_table_watch_open(&server->table_watch, server->store);
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

static bool open_audit(struct keeper *keeper, const struct sl_settings *settings)
{
    struct sluice_error error = { 0 };
    bool good = sl_audit_open(&keeper->audit, settings->audit, &error);
    if (!good)
        fprintf(stderr, "sluice: %s\n", error.text);
    return good;
}

static bool open_record(struct keeper *keeper)
{
    keeper->server.record = &keeper->record;
    bool good = sl_rule_stats_init(&keeper->record, keeper->server.worker_count);
    if (!good)
        fprintf(stderr, "sluice: out of memory\n");
    return good;
}

/* Opens what the settings of the file decide until a restart. */
static bool open_parts(struct keeper *keeper, const struct sl_ruleset *alone)
{
    struct sl_server *server = &keeper->server;
    const struct sl_settings *settings = &alone->settings;
    keeper->speaks_tls = settings->https.address || settings->grpc.tls || settings->resp.tls;
    server->worker_count = settings->workers ? settings->workers : uv_available_parallelism();
    server->store_watch = &keeper->store_watch;
    keeper->store_watch.name = sl_store_url_name(&settings->store);
    return open_audit(keeper, settings) && open_record(keeper) && open_store(keeper, alone) &&
           sl_control_open(&keeper->control, settings);
}

static bool open_rules(struct keeper *keeper, struct sl_report *report)
{
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    watch_files(keeper, NULL);
    struct sl_ruleset *alone = load_alone(keeper, &text, report);
    if (alone && !open_parts(keeper, alone)) {
        sl_ruleset_free(alone);
        alone = NULL;
    }
    if (alone)
        watch_files(keeper, &alone->settings);
    bool good = alone && adopt_text(keeper, alone, &text, report);
    sl_buffer_release(&text);
    return good;
}

static bool open_all(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    struct sl_report report = { .file = keeper->config->rules_path };
    bool good = open_rules(keeper, &report);
    if (!good)
        sl_report_print(&report, stderr);
    sl_report_release(&report);
    if (!good)
        return false;
    keeper->first = sl_edition_keep(server->edition);
    const struct sl_settings *settings = &server->edition->rules->settings;
    server->auth_throttle_rules = sl_auth_throttle_rules(&settings->identity);
    /* The loop first: libuv aborts if its very first loop runs out of file descriptors half way. */
    return open_loop(keeper) && sl_control_replication_follow(&keeper->control, &keeper->loop) &&
           open_listeners(server, settings) && start_workers(server);
}

/* ---- printing the start ---- */

static void print_start(const struct keeper *keeper)
{
    const struct sl_server *server = &keeper->server;
    const struct sl_ruleset *rules = server->edition->rules;
    printf("sluice " SLUICE_VERSION ": %s, %zu rule%s; counts in %s; %zu worker%s\n",
           keeper->config->rules_name, rules->rule_count, plural(rules->rule_count),
           sl_store_url_name(&rules->settings.store), server->worker_count,
           plural(server->worker_count));
    if (rules->rule_count == 0)
        fprintf(stderr, "sluice: note: there are no rules, so every request passes\n");
    for (size_t i = 0; i < server->listening_count; i++)
        printf("listening on %s\n", server->listenings[i].address);
    const char *first = server->listenings[0].address;
    bool has_http = server->listenings[0].front == &sl_front_http;
    if (has_http && strncmp(first, "http", 4) == 0)
        printf("dashboard at %s/\n", first);
    struct sl_buffer line = sl_buffer(8192);
    if (has_http && sl_try_print(rules, first, &line))
        printf("try it:\n  %.*s\n", (int)line.len, line.at);
    sl_buffer_release(&line);
    fflush(stdout);
}

/* ---- serving ---- */

/* Called after the workers have ended, or before they begin. */
static void close_all(struct keeper *keeper)
{
    struct sl_server *server = &keeper->server;
    for (size_t i = 0; server->workers && i < server->worker_count; i++)
        sl_worker_join(&server->workers[i]);
    if (server->workers)
        sl_rule_stats_end(&keeper->record, server, &keeper->audit);
    sl_control_replication_leave(&keeper->control);
    if (keeper->is_loop_open)
        sl_loop_close(&keeper->loop);
    for (size_t i = 0; server->workers && i < server->worker_count; i++)
        sl_worker_release(&server->workers[i]);
    for (size_t i = 0; i < server->listening_count; i++)
        sl_listening_close(&server->listenings[i]);
    sl_jobs_release(&server->jobs);
    sl_edition_drop(server->edition);
    sl_edition_drop(keeper->first);
    sl_control_close(&keeper->control);
    sl_ruleset_free(server->auth_throttle_rules);
    sl_store_close(server->store);
    if (server->record)
        sl_rule_stats_release(&keeper->record);
    sl_audit_close(&keeper->audit);
    sl_watch_release(&keeper->watch);
    free(server->workers);
}

int sl_serve(const struct sl_serve_config *config)
{
    struct keeper keeper = { .config = config };
    struct sl_control *control = &keeper.control;
    *control = (struct sl_control){ .server = &keeper.server, .config = config };
    control->hasher = sl_sha256_new();
    control->reload = reload_into;
    control->about = &keeper;
    keeper.server.audit = &keeper.audit;
    sl_jobs_init(&keeper.server.jobs);
    pthread_mutex_init(&keeper.server.counts_lock, NULL);
    keeper.server.started_us = sl_walltime_us();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* writing a file that has reached its limit is an ordinary error */
    if (!control->hasher || !open_all(&keeper)) {
        if (keeper.server.workers && keeper.server.workers[0].is_started) {
            remove_files(&keeper.server);
            _exit(2); /* threads are running: the kernel releases everything */
        }
        close_all(&keeper);
        return 2;
    }
    print_start(&keeper);
    sl_process_look(&keeper.server.process);
    sl_notify("READY=1");
    uv_run(&keeper.loop, UV_RUN_DEFAULT);
    close_all(&keeper);
    return 0;
}
