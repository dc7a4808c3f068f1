/* A change: into a transaction, composed out of what that would leave, on disk, in force.
 * In this order, so that what is acknowledged is both, and what is refused is neither. */
#include <stdio.h>

#include "base/error.h"
#include "registry/replication/replica.h"
#include "server/control/control.h"
#include "wire/json/decision.h"

/* The transaction has ended, one way or the other. */
static void end_trial(struct sl_office *office)
{
    if (!office->untouched)
        return;
    sl_registry_close(office->registry);
    office->registry = office->untouched;
    office->untouched = NULL;
}

static void roll_back(struct sl_office *office)
{
    sl_registry_rollback(office->registry);
    end_trial(office);
}

/* A dry run makes no database: where there is none yet, it is tried on one in memory. */
static bool begin_trial(struct sl_office *office, const struct sl_job *job,
                        struct sluice_error *error)
{
    /* A revision of 0 is also that of a database that cannot be read any more. */
    bool had_one = office->rules_revision || office->people_revision;
    if (!job->dry_run || had_one || sl_registry_revision(office->registry) != 0)
        return true;
    struct sl_registry *trial = sl_registry_open(NULL, false, error);
    if (!trial)
        return false;
    office->untouched = office->registry;
    office->registry = trial;
    return true;
}

bool sl_change_fail(struct sl_office *office, struct sl_job *job, const struct sluice_error *error)
{
    roll_back(office);
    return sl_job_refuse(job, 503, "nothing was changed: %s", error->text);
}

bool sl_change_drop(struct sl_office *office)
{
    roll_back(office);
    return false;
}

/* Where what others have changed cannot be in force here, a tag of what is would be yesterday's. */
static bool can_compare(struct sl_office *office, const struct sl_job *job,
                        struct sluice_error *error)
{
    bool is_conditional = job->if_match.at || job->if_none_match.at;
    if (!is_conditional || office->untouched ||
        sl_registry_rules_revision(office->registry) == office->rules_revision)
        return true;
    return sl_error_say(error, "what was changed elsewhere does not go together with this "
                               "instance's rules file, so that no tag can be compared here");
}

/* `is_users`: about a user's record, whose tag is made of the record alone. */
static bool begin(struct sl_office *office, struct sl_job *job, bool is_users)
{
    struct sluice_error error = { 0 };
    bool is_ready = !office->spread || sl_spread_ready(office, job->dry_run, &error);
    if (!is_ready || !begin_trial(office, job, &error) ||
        !sl_registry_begin(office->registry, SL_CARE_POWER_CUT, &error)) {
        end_trial(office);
        return sl_job_refuse(job, 503, "nothing was changed: %s", error.text);
    }
    /* As of now nobody else can change it: what is in force must be what is there, or a
     * tag would be compared with that of yesterday. */
    if (!office->untouched)
        sl_office_take_over_rules(office);
    if (!is_users && !can_compare(office, job, &error))
        return sl_change_fail(office, job, &error);
    if (!office->spread && !office->untouched && !job->dry_run &&
        !sl_copy_leave(office->registry, &error))
        return sl_change_fail(office, job, &error);
    office->begun_revision = sl_registry_rules_revision(office->registry);
    if (office->spread && !office->untouched && !sl_spread_start(office, &error))
        return sl_change_fail(office, job, &error);
    return true;
}

bool sl_change_begin(struct sl_office *office, struct sl_job *job)
{
    if (office->spread)
        office->spread->has_row = office->spread->wants_users = false;
    return begin(office, job, false);
}

bool sl_change_begin_user(struct sl_office *office, struct sl_job *job, const char *tenant,
                          const char *id)
{
    if (office->spread) {
        office->spread->row = (struct sl_row_name){ SL_ROW_USER, tenant, id };
        office->spread->has_row = true;
        office->spread->wants_users = false;
    }
    return begin(office, job, true);
}

bool sl_change_begin_all(struct sl_office *office, struct sl_job *job)
{
    if (office->spread) {
        office->spread->has_row = false;
        office->spread->wants_users = true;
    }
    return begin(office, job, false);
}

/* Are all problems those of this tenant's own rules? */
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
    out->len--; /* the brace */
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

const struct sl_tenant *sl_office_tenant(struct sl_office *office, struct sl_job *job,
                                         const char *name)
{
    struct sluice_error error = { 0 };
    struct sl_tenant *tenants;
    size_t count;
    if (!sl_registry_tenants(office->registry, &job->arena, &tenants, &count, &error)) {
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

struct sl_ruleset *sl_change_compose(struct sl_office *office, struct sl_job *job, uint32_t status)
{
    struct sl_report report = { .file = office->config->rules_path };
    struct sl_ruleset *rules = sl_office_compose(
        office, (struct sluice_text){ office->text.at, office->text.len }, &report);
    if (!rules) {
        roll_back(office);
        sl_job_refuse_report(job, status, &report);
    }
    sl_report_release(&report);
    return rules;
}

/* Where rules spread, Redis has it first. False: the transaction is over. */
static bool spread(struct sl_office *office, struct sl_job *job)
{
    static const uint32_t refusals[] = {
        [SL_SPREAD_REFUSED] = 503, [SL_SPREAD_LARGE] = 413, [SL_SPREAD_FULL] = 409
    };
    struct sluice_error error = { 0 };
    enum sl_spread_end end = office->spread ? sl_spread_write(office, &error) : SL_SPREAD_WON;
    if (end == SL_SPREAD_WON)
        return true;
    roll_back(office);
    job->is_overtaken = end == SL_SPREAD_CONFLICT;
    if (end == SL_SPREAD_UNKNOWN)
        sl_job_refuse(job, 503, "%s", error.text);
    else if (end != SL_SPREAD_CONFLICT)
        sl_job_refuse(job, refusals[end], "nothing was changed: %s", error.text);
    return false;
}

bool sl_change_end(struct sl_office *office, struct sl_job *job, struct sl_ruleset *rules)
{
    struct sluice_error error = { 0 };
    struct sl_edition *edition = NULL;
    if (job->dry_run) {
        roll_back(office);
        sl_ruleset_free(rules);
        return true;
    }
    if (rules) {
        /* Made before the commit: what is on disk can then be in force too. */
        edition = sl_office_edition(office, rules, sl_files_keep(office->server->edition->files));
        if (!edition) {
            roll_back(office);
            return sl_job_refuse(job, 503, "nothing was changed: out of memory");
        }
    }
    /* Within the transaction, where it is ours: a change that the rules need not be composed for
     * must not look like another process's. */
    uint64_t revision = sl_registry_rules_revision(office->registry);
    if (!spread(office, job)) {
        sl_edition_drop(edition);
        return false;
    }
    if (!sl_registry_commit(office->registry, &error)) {
        sl_edition_drop(edition);
        return sl_job_refuse(job, 503, "%s: %s",
                             office->spread ? SL_ELSEWHERE_ALONE : "nothing was changed",
                             error.text);
    }
    if (edition)
        sl_office_publish(office, edition);
    else if (office->rules_revision == office->begun_revision)
        office->rules_revision = revision;
    sl_near_forget(office->server->store->near);
    sl_note_change(office, job);
    return true;
}
