/* /v1/reset forgets counts, /v1/reload reads the files again. */
#include "auth/user_id.h"
#include "rules/index.h"
#include "server/admin/admin_identifier.h"

static const char *const no_parameters[] = { NULL };

/* ---- reset ---- */

struct sl_limiter *sl_control_limiter(const struct sl_control *control)
{
    const struct sl_edition *edition = control->server->edition;
    return edition->limiters[edition->limiter_count - 1];
}

/* Removes `rule` from the attributes, where the reader has put it. */
static const char *take_rule_member(struct sl_job *job, struct sl_json_room *room,
                                    struct sluice_request *request)
{
    for (size_t i = 0; i < request->other_count; i++) {
        struct sluice_text value = room->others[i].value;
        if (!sl_text_is(room->others[i].name, "rule"))
            continue;
        room->others[i] = room->others[--request->other_count];
        return value.at ? sl_arena_copy(&job->arena, value) : NULL;
    }
    return NULL;
}

static bool has_identifier(const struct sl_rule *rule, const struct sluice_request *request)
{
    for (size_t i = 0; i < rule->per_count; i++)
        if (rule->per[i].attribute != SL_ATTR_GLOBAL &&
            sl_text_missing(sl_attribute_of(request, &rule->per[i])))
            return false;
    return true;
}

/* Writes the event of the rules that the answer lists, if any. */
static void note_reset(struct sl_control *control, struct sl_job *job,
                       const struct sluice_request *request)
{
    struct sluice_text rules = { job->out.at, job->out.len };
    while (rules.len && *rules.at != '[')
        rules.at++, rules.len--;
    if (rules.len > 2 && !job->dry_run)
        sl_audit_note_reset(control, job, request, rules);
}

/* Forgets the identifier's counts in the rule of that name; refuses the job if that is impossible.
 * `skips`: go on if there is nothing to forget. */
static bool reset_rule(struct sl_control *control, struct sl_job *job,
                       const struct sluice_request *request, const char *name, bool skips)
{
    int status = SLUICE_INVALID;
    if (has_identifier(sl_ruleset_rule(sl_control_rules(control), name), request))
        status =
            job->dry_run ? SLUICE_OK : sl_limiter_reset(sl_control_limiter(control), request, name);
    if (status == SLUICE_OK) {
        if (job->out.at[job->out.len - 1] != '[')
            sl_buffer_add(&job->out, SL_TEXT(", "));
        sl_json_print_string(&job->out, sl_text(name));
        return true;
    }
    if (status == SLUICE_INVALID && skips)
        return true;
    if (status == SLUICE_INVALID)
        return sl_job_refuse(job, 422, "rule `%s` counts by something that is not given", name);
    sl_buffer_add(&job->out, SL_TEXT("]"));
    note_reset(control, job, request); /* rules that were reset stay reset */
    return sl_job_refuse(job, 503, "%s", sluice_status_text(status));
}

static bool is_callers(const struct sl_job *job, const struct sl_rule *rule)
{
    return !job->tenant || sl_rule_is_of(rule, job->tenant);
}

/* Resets all matching rules; for a tenant, its own. An exempt identifier may have counts from
 * before its exemption. */
static bool reset_all(struct sl_control *control, struct sl_job *job,
                      struct sluice_request *request)
{
    const struct sl_rule *const *matched;
    size_t count = 0, all = sl_limiter_match(sl_control_limiter(control), request, &matched);
    const char **names = sl_arena_take(&job->arena, (all + 1) * sizeof *names);
    for (size_t i = 0; i < all; i++)
        if (is_callers(job, matched[i]))
            names[count++] = matched[i]->name;
    for (size_t i = 0; i < count; i++)
        if (!reset_rule(control, job, request, names[i], true))
            return false;
    return true;
}

static bool check_tenant(struct sl_job *job, struct sluice_request *request)
{
    if (!job->tenant)
        return true;
    if (!sl_text_missing(request->tenant) && !sl_text_is(request->tenant, job->tenant))
        return sl_job_refuse(job, 403, "this key is another tenant's");
    request->tenant = sl_text(job->tenant);
    return true;
}

bool sl_job_read_identifier(struct sl_control *control, struct sl_job *job,
                            struct sl_identifier *out)
{
    if (!sl_job_check_query(job, no_parameters))
        return false;
    char *body = sl_arena_copy(&job->arena, job->body.at ? job->body : SL_TEXT(""));
    if (!sl_json_read_request(body, job->body.len, &out->room, &out->request))
        return sl_job_refuse(job, out->room.unfit ? 422 : 400, "%s", out->room.error);
    if (out->request.at_us != SLUICE_NOW)
        return sl_job_refuse(job, 422, "`at_us` is for `sluice replay`; leave it out");
    const char *rule = take_rule_member(job, &out->room, &out->request);
    if (!check_tenant(job, &out->request))
        return false;
    if (sl_control_rules(control)->settings.identity.user_id_sha256_email_ip)
        sl_user_id_apply(control->hasher, &out->request, out->user_id);
    out->rule =
        rule && job->tenant ? sl_arena_print(&job->arena, "%s/%s", job->tenant, rule) : rule;
    if (out->rule && !sl_ruleset_rule(sl_control_rules(control), out->rule))
        return sl_job_refuse(job, 404, "there is no rule `%s`", rule);
    return true;
}

void sl_run_reset(struct sl_control *control, struct sl_job *job)
{
    struct sl_identifier who;
    if (!sl_job_read_identifier(control, job, &who))
        return;
    job->note.name = who.rule;
    sl_buffer_add(&job->out, SL_TEXT("{\"reset\": ["));
    bool good = who.rule ? reset_rule(control, job, &who.request, who.rule, false)
                         : reset_all(control, job, &who.request);
    if (!good)
        return;
    sl_buffer_add(&job->out, SL_TEXT("]"));
    note_reset(control, job, &who.request);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
}

/* ---- reload ---- */

void sl_run_reload(struct sl_control *control, struct sl_job *job)
{
    struct sl_report report = { .file = control->config->rules_path };
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (job->dry_run) {
        sl_job_refuse(job, 422, "a reload cannot be tried; `sluice lint` looks at a file");
        return;
    }
    control->actor = sl_job_actor(job);
    bool good = control->reload(control->about, &report);
    control->actor = NULL;
    if (good) {
        sl_buffer_add(&job->out, SL_TEXT("{\"reloaded\": true"));
        sl_print_i64(&job->out, "rules", (int64_t)sl_control_rules(control)->rule_count);
        sl_buffer_add(&job->out, SL_TEXT("}"));
    } else {
        sl_job_refuse_report(job, 422, &report);
    }
    sl_report_release(&report);
}
