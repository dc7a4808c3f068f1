/* The control plane: composes rules, publishes editions, keeps users, runs jobs (see control.h).
 *
 * Composing always reads everything: the file's text and every row of the registry make one
 * ruleset, as at the start. Ten thousand rules take some 50 ms, changes are rare, and a second
 * way to the rules in force could end elsewhere. */
#include "server/control/control.h"

#include "telemetry/rule_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "registry/path.h"
#include "registry/users/load_users.h"
#include "server/control/startup_check.h"
#include "server/http/route.h"
#include "wire/json/decision.h"

enum { VIOLATIONS_AT_ONCE = 1024, TRIES_MAX = 24, PAUSE_MAX_US = 32000 };
#define SECOND_US     INT64_C(1000000)
#define SWEEP_US      (3600 * SECOND_US)
#define SWEEP_SOON_US SECOND_US
#define STEADY_US     (10 * SECOND_US)
#define KEPT_US       (7 * 86400 * SECOND_US) /* an exemption, after its end */

/* ---- opening ---- */

bool sl_control_open(struct sl_control *control, const struct sl_settings *settings)
{
    struct sluice_error error = { 0 };
    const char *replaces;
    control->database =
        sl_registry_path(settings, control->config->rules_file, &control->arena, &replaces);
    if (replaces)
        fprintf(stderr,
                "sluice: note: using the database `%s`, which an earlier version made; without it "
                "this rules file's would be `%s`\n",
                control->database, replaces);
    control->registry = sl_registry_open(control->database, false, &error);
    if (!control->registry) {
        fprintf(stderr, "sluice: %s\n", error.text);
        return false;
    }
    if (!sl_control_replication_open(control, settings))
        return false;
    control->users = sl_users_open(&(struct sl_users_config){
        .hash_identifiers = settings->hash_identifiers,
        .ids_are_digests = settings->identity.user_id_sha256_email_ip,
    });
    if (!control->users) {
        fprintf(stderr, "sluice: out of memory\n");
        return false;
    }
    if (!sl_control_refresh_users(control, &error)) {
        fprintf(stderr, "sluice: %s\n", error.text);
        return false;
    }
    return true;
}

void sl_control_close(struct sl_control *control)
{
    if (control->users && control->registry)
        sl_control_flush(control);
    if (control->users)
        sl_users_close(control->users);
    sl_control_replication_close(control);
    if (control->registry)
        sl_registry_close(control->registry);
    sl_sha256_free(control->hasher);
    sl_buffer_release(&control->text);
    sl_arena_release(&control->arena);
}

/* ---- rules ---- */

struct sl_ruleset *sl_control_compose(struct sl_control *control, struct sluice_text text,
                                      struct sl_report *report)
{
    struct sl_arena scratch = { 0 };
    struct sl_overlay overlay;
    struct sluice_error error = { 0 };
    struct sl_ruleset *rules = NULL;
    control->composed_revision = sl_registry_rules_revision(control->registry);
    if (sl_registry_overlay(control->registry, sl_walltime_us(), &scratch, &overlay, &error))
        rules = sl_ruleset_parse_over(control->config->rules_path, text, &overlay, report);
    else
        sl_report_error(report, (struct sl_mark){ 0 }, "%s", error.text);
    sl_arena_release(&scratch);
    if (rules) {
        sl_startup_listen(&rules->settings, control->config);
        sl_startup_files(&rules->settings, false);
    }
    return rules;
}

static struct sl_keyring *load_keyring(struct sl_control *control)
{
    struct sl_arena scratch = { 0 };
    struct sl_tenant *tenants;
    size_t count;
    struct sluice_error error = { 0 };
    struct sl_keyring *ring = NULL;
    if (sl_registry_tenants(control->registry, &scratch, &tenants, &count, &error))
        ring = sl_keyring_new(tenants, count);
    else
        fprintf(stderr, "sluice: %s\n", error.text);
    sl_arena_release(&scratch);
    return ring;
}

struct sl_edition *sl_control_edition(struct sl_control *control, struct sl_ruleset *rules,
                                      struct sl_files *files)
{
    const struct sl_server *server = control->server;
    struct sl_keyring *ring = load_keyring(control);
    if (!ring) {
        sl_ruleset_free(rules);
        sl_files_drop(files);
        return NULL;
    }
    struct sl_rule_stats *record = server->record;
    struct sl_edition *edition = sl_edition_new(&(struct sl_edition_parts){
        .rules = rules,
        .files = files,
        .keyring = ring,
        .store = server->store,
        .users = control->users,
        .worker_count = server->worker_count,
        .observers = record && sl_is_observed(&rules->settings) ? record->observers : NULL,
        .wants_numbers = record,
        .numbers = record ? sl_rule_stats_enrol(record, rules) : NULL,
    });
    if (!edition)
        fprintf(stderr, "sluice: out of memory\n");
    return edition;
}

/* Users are stored under these settings, so a change needs a restart (which was logged). */
static void keep_hash_settings(struct sl_settings *settings, const struct sl_settings *old)
{
    settings->hash_identifiers = old->hash_identifiers;
    if (old->hash_identifiers)
        settings->identity.user_id_sha256_email_ip = old->identity.user_id_sha256_email_ip;
}

/* Rule numbers are reused: leases learn their names, and drop the counts of the rule before. */
static void name_leases(const struct sl_server *server, const struct sl_edition *edition)
{
    struct sl_leases *leases = sl_answer_cache_leases(server->store->answers);
    for (size_t i = 0; leases && i < edition->rules->rule_count; i++)
        sl_leases_name(leases, edition->numbers ? edition->numbers[i] : (uint32_t)i,
                       sl_text(edition->rules->rules[i].name));
}

static bool has_adaptive_rule(const struct sl_ruleset *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++)
        if (rules->rules[i].adaptive)
            return true;
    return false;
}

/* Workers take the new edition when they wake. */
void sl_control_publish(struct sl_control *control, struct sl_edition *edition)
{
    struct sl_server *server = control->server;
    struct sl_edition *old = server->edition;
    if (old)
        keep_hash_settings(&edition->rules->settings, &old->rules->settings);
    server->edition = edition;
    if (server->record)
        sl_rule_stats_settle(server->record, edition->rules, edition->numbers);
    name_leases(server, edition);
    control->keeps_violations = has_adaptive_rule(edition->rules);
    control->rules_revision = control->composed_revision;
    atomic_store(&server->spread.is_refused, false);
    for (size_t i = 0; server->workers && i < server->worker_count; i++) {
        struct sl_worker *worker = &server->workers[i];
        sl_edition_drop(atomic_exchange(&worker->next, sl_edition_keep(edition)));
        sl_worker_wake(worker);
    }
    sl_answer_cache_turn_page(server->store->answers);
    sl_edition_drop(old);
}

static void publish_taken_over(struct sl_control *control, struct sl_edition *edition)
{
    struct sl_edition *old = sl_edition_keep(control->server->edition);
    sl_control_publish(control, edition);
    const char *actor = control->actor;
    control->actor = actor ? actor : "other process";
    sl_audit_note_reload(control, &(struct sl_audit_note_rules){ .old = old->rules,
                                                                 .new = edition->rules,
                                                                 .is_certain = true });
    control->actor = actor;
    sl_edition_drop(old);
}

/* Another process has changed the rules. Rules that cannot be used are logged once. */
void sl_control_take_over_rules(struct sl_control *control)
{
    uint64_t revision = sl_registry_rules_revision(control->registry);
    struct sl_report report = { .file = control->config->rules_path };
    if (revision == control->rules_revision || revision == control->refused_revision)
        return;
    struct sl_ruleset *rules = sl_control_compose(
        control, (struct sluice_text){ control->text.at, control->text.len }, &report);
    if (!rules)
        sl_report_print(&report, stderr);
    sl_report_release(&report);
    struct sl_edition *edition =
        rules ? sl_control_edition(control, rules, sl_files_keep(control->server->edition->files))
              : NULL;
    if (edition) {
        publish_taken_over(control, edition);
        return;
    }
    control->refused_revision = revision;
    atomic_store(&control->server->spread.is_refused, true);
    fprintf(stderr,
            "sluice: what the database holds now cannot be used; the rules in force stay\n");
}

/* Mostly users have changed; then the rules are not composed again. */
void sl_control_take_over(struct sl_control *control)
{
    struct sluice_error error = { 0 };
    sl_control_take_over_rules(control);
    bool was_stale = control->is_stale;
    control->is_stale = !sl_control_refresh_users(control, &error);
    if (control->is_stale && !was_stale)
        fprintf(stderr, "sluice: %s\n", error.text);
}

/* ---- users ---- */

bool sl_control_refresh_users(struct sl_control *control, struct sluice_error *error)
{
    sl_answer_cache_forget(
        control->server->store->answers); /* exemptions and limits may have changed */
    return sl_users_fill(control->users, control->registry, sl_walltime_us(),
                         &control->users_revision, error);
}

static bool write_violations(struct sl_control *control, const struct sl_violation *all,
                             size_t count, struct sluice_error *error)
{
    if (!sl_registry_begin(control->registry, SL_CARE_KILL, error))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!sl_registry_add_violation(control->registry, all[i].tenant, all[i].id, all[i].minute,
                                       error)) {
            sl_registry_rollback(control->registry);
            return false;
        }
    return sl_registry_commit(control->registry, error);
}

/* If no rule is adaptive, violations change no decision: they are not worth a database and stay in
 * memory. Returns false if there are none. */
static bool flush_violations(struct sl_control *control)
{
    struct sl_violation all[VIOLATIONS_AT_ONCE];
    struct sluice_error error = { 0 };
    size_t count = sl_users_take_violations(control->users, all, VIOLATIONS_AT_ONCE);
    if (count == 0)
        return false;
    bool good = !control->keeps_violations || write_violations(control, all, count, &error);
    if (!good && !control->has_said_unwritten)
        fprintf(stderr, "sluice: note: violations are counted in memory alone: %s\n", error.text);
    control->has_said_unwritten = !good;
    for (size_t i = 0; i < count; i++) {
        free(all[i].tenant);
        free(all[i].id);
    }
    return true;
}

/* Bounded by as many as can wait at a time, because decisions go on meanwhile. */
void sl_control_flush(struct sl_control *control)
{
    for (int i = 0; i < SL_VIOLATIONS_WAITING_MAX / VIOLATIONS_AT_ONCE && flush_violations(control);
         i++)
        ;
}

/* Deletes expired rows. Errors are not reported: the next sweep tries again. Returns true if there
 * may be more. */
static bool sweep_expired(struct sl_control *control, int64_t now_us)
{
    struct sluice_error error = { 0 };
    bool has_more = false;
    int64_t first_day = sl_day_of(now_us) - (SL_TRUST_DAYS - 1);
    sl_users_sweep(control->users, first_day);
    if (control->replication)
        has_more = sl_replication_sweep(control, KEPT_US);
    if (sl_registry_revision(control->registry) == 0 ||
        !sl_registry_begin(control->registry, SL_CARE_KILL, &error))
        return has_more;
    if ((control->replication ||
         sl_registry_sweep(control->registry, now_us - KEPT_US, &has_more, &error)) &&
        sl_registry_forget_days(control->registry, first_day, &error))
        return sl_registry_commit(control->registry, &error) && has_more;
    sl_registry_rollback(control->registry);
    return false;
}

/* Sweeps once an hour, and again soon if rows are left. Not after a jump of the wall clock: the
 * jump may be corrected, but deleted rows do not come back. */
static void sweep_if_due(struct sl_control *control)
{
    int64_t boot_us = sl_boottime_us(), wall_us = sl_walltime_us();
    int64_t drift_us = wall_us - boot_us - control->wall_ahead_us;
    bool is_steady = drift_us > -STEADY_US && drift_us < STEADY_US;
    control->wall_ahead_us = wall_us - boot_us;
    if (!is_steady)
        control->sweep_at_us = boot_us + SWEEP_US;
    if (boot_us < control->sweep_at_us)
        return;
    control->sweep_at_us = boot_us + (sweep_expired(control, wall_us) ? SWEEP_SOON_US : SWEEP_US);
}

void sl_control_look(struct sl_control *control)
{
    if (sl_registry_is_changed(control->registry) || control->is_stale)
        sl_control_take_over(control);
    sl_control_flush(control);
    sweep_if_due(control);
    sl_control_replication_look(control);
}

uint64_t sl_control_revision(struct sl_control *control)
{
    if (control->replication)
        return atomic_load(&control->server->spread.versions[SL_LOG_RULES]);
    return sl_registry_revision(control->registry);
}

/* ---- jobs ---- */

/* Resets the job to how it arrived. */
static void reset_job(struct sl_job *job)
{
    sl_buffer_clear(&job->out);
    job->status = 200;
    job->etag = job->would = NULL;
    job->note = (struct sl_audit_note){ 0 };
    job->is_problem = job->is_overtaken = false;
}

/* Waits a random time that grows with each try, so that instances which collided do not collide
 * again. */
static void pause_before(int try)
{
    uint64_t most_us = UINT64_C(1000) << (try < 5 ? try : 5);
    usleep((useconds_t)(sl_random64() % (most_us < PAUSE_MAX_US ? most_us : PAUSE_MAX_US)));
}

/* Runs the job again while other instances are faster: everything is read and checked anew. */
static void run_until_decided(struct sl_control *control, struct sl_job *job)
{
    job->route->run(control, job);
    for (int i = 1; i < TRIES_MAX && job->is_overtaken; i++) {
        if (!job->is_rehearsed)
            pause_before(i);
        reset_job(job);
        job->route->run(control, job);
    }
    if (job->is_overtaken)
        sl_job_refuse(job, 503,
                      "nothing was changed: other instances are changing it all the "
                      "time; try again");
}

void sl_control_run(struct sl_control *control, struct sl_job *job)
{
    struct sl_worker *worker = job->worker;
    const struct sl_route *route = job->route;
    bool is_conditional = (job->if_match.at || job->if_none_match.at) && !sl_job_is(job, "GET");
    job->status = 200;
    if (is_conditional && !route->has_tag)
        sl_job_refuse(job, 422, "there is no `ETag` here that `If-Match` could be compared with");
    else if (job->body.at && !(route->bodies && sl_methods_have(route->bodies, job->method)))
        sl_job_refuse(job, 422, "this call takes no body; leave it out");
    else
        run_until_decided(control, job);
    sl_jobs_add(&worker->answers, job, SIZE_MAX);
    sl_worker_wake(worker);
}
