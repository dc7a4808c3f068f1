/* One change of the admin API: written in a transaction, composed into a ruleset, committed, then
 * put in force.
 *
 * In this order, so that a change that is acknowledged is on disk and in force, and a refused one
 * is neither. */
#include <stdio.h>

#include "base/error.h"
#include "registry/replication/replica.h"
#include "server/control/control.h"
#include "wire/json/decision.h"

/* Puts the real registry back. The transaction has ended. */
static void end_trial(struct sl_control *control)
{
    if (!control->untouched)
        return;
    sl_registry_close(control->registry);
    control->registry = control->untouched;
    control->untouched = NULL;
}

static void roll_back(struct sl_control *control)
{
    sl_registry_rollback(control->registry);
    end_trial(control);
}

/* A database that cannot be opened is not an absent one. */
static bool is_readable(struct sl_registry *registry, struct sluice_error *error)
{
    struct sl_arena scratch = { 0 };
    struct sl_tenant *tenants;
    size_t count;
    bool good = sl_registry_tenants(registry, &scratch, &tenants, &count, error);
    sl_arena_release(&scratch);
    return good;
}

/* Neither a dry run nor a change that is refused makes a database: where there is none yet, a
 * change is tried on one in memory first. Where rules are replicated, Redis decides. */
static bool begin_trial(struct sl_control *control, const struct sl_job *job,
                        struct sluice_error *error)
{
    /* A database that can no longer be read has revision 0 too. */
    bool had_one = control->rules_revision || control->users_revision;
    bool is_trial =
        job->dry_run || (control->database && !control->replication && !job->is_rehearsed);
    if (!is_trial || had_one || sl_registry_revision(control->registry) != 0)
        return true;
    if (!is_readable(control->registry, error))
        return false;
    struct sl_registry *trial = sl_registry_open(NULL, false, error);
    if (!trial)
        return false;
    control->untouched = control->registry;
    control->registry = trial;
    return true;
}

bool sl_change_fail(struct sl_control *control, struct sl_job *job,
                    const struct sluice_error *error)
{
    roll_back(control);
    return sl_job_refuse(job, 503, "nothing was changed: %s", error->text);
}

bool sl_change_drop(struct sl_control *control)
{
    roll_back(control);
    return false;
}

/* Refuses conditional changes while the registry's rules cannot be in force here: entity tags would
 * be those of older rules. */
static bool can_compare(struct sl_control *control, const struct sl_job *job,
                        struct sluice_error *error)
{
    bool is_conditional = job->if_match.at || job->if_none_match.at;
    if (!is_conditional || control->untouched ||
        sl_registry_rules_revision(control->registry) == control->rules_revision)
        return true;
    return sl_error_say(error, "what was changed elsewhere does not go together with this "
                               "instance's rules file, so that no tag can be compared here");
}

/* `is_users`: the change is about a user's record, whose tag is made of the record alone. */
static bool begin_change(struct sl_control *control, struct sl_job *job, bool is_users)
{
    struct sluice_error error = { 0 };
    bool is_ready = !control->replication || sl_replication_ready(control, job->dry_run, &error);
    if (!is_ready || !begin_trial(control, job, &error) ||
        !sl_registry_begin(control->registry, SL_CARE_POWER_CUT, &error)) {
        end_trial(control);
        return sl_job_refuse(job, 503, "nothing was changed: %s", error.text);
    }
    /* From here on no other process can change the registry: put in force what it holds, or tags
     * would be compared with those of older rules. */
    if (!control->untouched)
        sl_control_take_over_rules(control);
    if (!is_users && !can_compare(control, job, &error))
        return sl_change_fail(control, job, &error);
    if (!control->replication && !control->untouched && !job->dry_run &&
        !sl_replica_leave(control->registry, &error))
        return sl_change_fail(control, job, &error);
    control->begun_revision = sl_registry_rules_revision(control->registry);
    if (control->replication && !control->untouched && !sl_replication_start(control, &error))
        return sl_change_fail(control, job, &error);
    return true;
}

bool sl_change_begin(struct sl_control *control, struct sl_job *job)
{
    if (control->replication)
        control->replication->has_row = control->replication->wants_users = false;
    return begin_change(control, job, false);
}

bool sl_change_begin_user(struct sl_control *control, struct sl_job *job, const char *tenant,
                          const char *id)
{
    if (control->replication) {
        control->replication->row = (struct sl_row_name){ SL_ROW_USER, tenant, id };
        control->replication->has_row = true;
        control->replication->wants_users = false;
    }
    return begin_change(control, job, true);
}

bool sl_change_begin_all(struct sl_control *control, struct sl_job *job)
{
    if (control->replication) {
        control->replication->has_row = false;
        control->replication->wants_users = true;
    }
    return begin_change(control, job, false);
}

/* Are all problems about this tenant's own rules? */
static bool is_about_tenant(const struct sl_report *report, const char *tenant)
{
    char start[128];
    int len = snprintf(start, sizeof start, "rule `%s/", tenant);
    for (size_t i = 0; i < sl_report_kept(report); i++) {
        const char *subject = report->problems[i].subject;
        if (!subject || strncmp(subject, start, (size_t)len) != 0)
            return false;
    }
    return true;
}

void sl_job_refuse_report(struct sl_job *job, uint32_t status, struct sl_report *report)
{
    struct sl_buffer *out = &job->out;
    size_t count = sl_report_kept(report);
    if (job->tenant && !is_about_tenant(report, job->tenant)) {
        sl_job_refuse(job, status, "it does not go together with other rules");
        return;
    }
    sl_job_refuse(job, status, "%s",
                  status == 409 ? "rules that stay need it; see `errors`"
                  : count == 1  ? report->problems[0].text
                                : "there are several problems; see `errors`");
    out->len--; /* the closing brace */
    sl_buffer_add(out, SL_TEXT(", \"errors\": ["));
    for (size_t i = 0; i < count; i++) {
        const struct sl_problem *problem = &report->problems[i];
        sl_buffer_add(out, i ? SL_TEXT(", {\"subject\": ") : SL_TEXT("{\"subject\": "));
        sl_json_print_string(out, sl_text(problem->subject ? problem->subject : report->file));
        sl_buffer_add(out, SL_TEXT(", \"line\": "));
        sl_buffer_add_i64(out, problem->mark.line);
        sl_buffer_add(out, SL_TEXT(", \"column\": "));
        sl_buffer_add_i64(out, problem->mark.column);
        sl_buffer_add(out, SL_TEXT(", \"detail\": "));
        sl_json_print_string(out, sl_text(problem->text));
        sl_buffer_add(out, SL_TEXT("}"));
    }
    sl_buffer_add(out, SL_TEXT("]}"));
}

const struct sl_tenant *sl_control_tenant(struct sl_control *control, struct sl_job *job,
                                          const char *name)
{
    struct sluice_error error = { 0 };
    struct sl_tenant *tenants;
    size_t count;
    if (!sl_registry_tenants(control->registry, &job->arena, &tenants, &count, &error)) {
        sl_job_refuse(job, 503, "%s", error.text);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(tenants[i].name, name) == 0)
            return &tenants[i];
    return NULL;
}

bool sl_job_refuse_tenant(struct sl_job *job, const char *name)
{
    return job->is_problem ? false : sl_job_refuse(job, 404, "there is no tenant `%s`", name);
}

struct sl_ruleset *sl_change_compose(struct sl_control *control, struct sl_job *job,
                                     uint32_t status)
{
    struct sl_report report = { .file = control->config->rules_path };
    struct sl_ruleset *rules = sl_control_compose(
        control, (struct sluice_text){ control->text.at, control->text.len }, &report);
    if (!rules) {
        roll_back(control);
        sl_job_refuse_report(job, status, &report);
    }
    sl_report_release(&report);
    return rules;
}

/* With replication, Redis takes the change first. Returns false if the transaction is over. */
static bool write_to_redis(struct sl_control *control, struct sl_job *job)
{
    static const uint32_t refusals[] = {
        [SL_REPLICATION_REFUSED] = 503, [SL_REPLICATION_LARGE] = 413, [SL_REPLICATION_FULL] = 409
    };
    struct sluice_error error = { 0 };
    enum sl_replication_end end =
        control->replication ? sl_replication_write(control, &error) : SL_REPLICATION_WON;
    if (end == SL_REPLICATION_WON)
        return true;
    roll_back(control);
    job->is_overtaken = end == SL_REPLICATION_CONFLICT;
    if (end == SL_REPLICATION_UNKNOWN)
        sl_job_refuse(job, 503, "%s", error.text);
    else if (end != SL_REPLICATION_CONFLICT)
        sl_job_refuse(job, refusals[end], "nothing was changed: %s", error.text);
    return false;
}

bool sl_change_end(struct sl_control *control, struct sl_job *job, struct sl_ruleset *rules)
{
    struct sluice_error error = { 0 };
    struct sl_edition *edition = NULL;
    if (job->dry_run || control->untouched) {
        roll_back(control);
        sl_ruleset_free(rules);
        job->is_rehearsed = job->is_overtaken = !job->dry_run;
        return job->dry_run;
    }
    if (rules) {
        /* Made before the commit: what is committed can then be put in force. */
        edition =
            sl_control_edition(control, rules, sl_files_keep(control->server->edition->files));
        if (!edition) {
            roll_back(control);
            return sl_job_refuse(job, 503, "nothing was changed: out of memory");
        }
    }
    /* Read inside the transaction, where the revision is ours: a change without a new ruleset must
     * not look like one of another process. */
    uint64_t revision = sl_registry_rules_revision(control->registry);
    if (!write_to_redis(control, job)) {
        sl_edition_drop(edition);
        return false;
    }
    if (!sl_registry_commit(control->registry, &error)) {
        sl_edition_drop(edition);
        return sl_job_refuse(job, 503, "%s: %s",
                             control->replication ? SL_ELSEWHERE_ALONE : "nothing was changed",
                             error.text);
    }
    if (edition)
        sl_control_publish(control, edition);
    else if (control->rules_revision == control->begun_revision)
        control->rules_revision = revision;
    sl_answer_cache_forget(control->server->store->answers);
    sl_audit_note_change(control, job);
    return true;
}
