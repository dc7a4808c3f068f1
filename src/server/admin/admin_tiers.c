/* /v1/tiers: tiers as they are in force, and changes to them. As for rules, but a tier in use
 * cannot be deleted. */
#include "server/control/admin_json.h"

static const char *const no_parameters[] = { NULL };

static const struct sl_tier *find_tier(const struct sl_ruleset *rules, const char *name)
{
    ptrdiff_t number = sl_ruleset_tier(rules, sl_text(name));
    return number < 0 ? NULL : &rules->tiers[number];
}

static struct sl_origin origin_of(const struct sl_tier *tier)
{
    return (struct sl_origin){ tier->revision, tier->replaces_files, tier->json };
}

static const char *etag_of(struct sl_job *job, const struct sl_tier *tier)
{
    return sl_origin_etag(job, origin_of(tier));
}

/* Prints its members, without the closing brace. */
static void print_members(struct sl_job *job, const struct sl_tier *tier)
{
    struct sl_buffer *out = &job->out;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "name", sl_arena_copy(&job->arena, tier->name));
    sl_print_origin(job, origin_of(tier));
    sl_print_raw(out, "tier", tier->json);
}

static void print_tier(struct sl_job *job, const struct sl_tier *tier)
{
    print_members(job, tier);
    sl_buffer_add(&job->out, SL_TEXT("}"));
}

void sl_run_tiers(struct sl_control *control, struct sl_job *job)
{
    const struct sl_ruleset *rules = sl_control_rules(control);
    struct sl_buffer *out = &job->out;
    if (!sl_job_check_query(job, no_parameters))
        return;
    sl_buffer_add(out, SL_TEXT("{\"tiers\": ["));
    for (size_t i = 0; i < rules->tier_count; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", ") : SL_TEXT(""));
        print_tier(job, &rules->tiers[i]);
    }
    sl_buffer_add(out, SL_TEXT("]"));
    sl_print_texts(out, "hidden", rules->hidden_tiers, rules->hidden_tier_count);
    sl_buffer_add(out, SL_TEXT("}"));
}

/* ---- changing ---- */

/* Describes the change for the audit log; `old` or `new` may be NULL. */
static void note_change(struct sl_job *job, const char *name, const struct sl_tier *old,
                        const struct sl_tier *new)
{
    sl_job_note(job, &(struct sl_audit_note){ .subject = "tier",
                                              .name = name,
                                              .before = old ? old->json : NULL,
                                              .after = new ? new->json : NULL });
}

static bool put_in_change(struct sl_control *control, struct sl_job *job, const char *name)
{
    struct sluice_error error = { 0 };
    const struct sl_tier *old = find_tier(sl_control_rules(control), name);
    if (!sl_job_check_match(job, old ? etag_of(job, old) : NULL))
        return sl_change_drop(control);
    if (!sl_registry_put_tier(control->registry, name, job->body.at, &error))
        return sl_change_fail(control, job, &error);
    struct sl_ruleset *rules = sl_change_compose(control, job, 422);
    if (!rules)
        return false;
    const struct sl_tier *new = find_tier(rules, name);
    job->status = old || job->dry_run ? 200 : 201;
    job->would = old ? "replace" : "create";
    job->etag = job->dry_run ? NULL : etag_of(job, new);
    print_members(job, new);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    note_change(job, name, old, new);
    return sl_change_end(control, job, rules);
}

static void put_tier(struct sl_control *control, struct sl_job *job, const char *name)
{
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (strlen(name) > SL_USER_TIER_MAX) {
        sl_job_refuse(job, 422, "a tier's name has at most %d bytes", SL_USER_TIER_MAX);
        return;
    }
    json_t *json = sl_job_json(job);
    if (!json)
        return;
    json_decref(json);
    if (sl_change_begin(control, job))
        put_in_change(control, job, name);
}

/* Refuses to delete a tier in use: its users would silently get the limits of no tier. */
static bool check_unused(struct sl_control *control, struct sl_job *job, const char *name,
                         const struct sl_ruleset *rules)
{
    struct sluice_error error = { 0 };
    const char *user = NULL;
    if (find_tier(rules, name)) /* the file's tier takes its place */
        return true;
    if (!sl_registry_tier_user(control->registry, name, &job->arena, &user, &error))
        return sl_job_refuse(job, 503, "nothing was changed: %s", error.text);
    return !user || sl_job_refuse(job, 409, "%s is of tier `%s`; change that first", user, name);
}

static bool delete_in_change(struct sl_control *control, struct sl_job *job, const char *name)
{
    struct sluice_error error = { 0 };
    bool found = true;
    const struct sl_tier *old = find_tier(sl_control_rules(control), name);
    if (!old && !job->undo) {
        sl_job_refuse(job, 404, "there is no tier `%s`", name);
        return sl_change_drop(control);
    }
    if (!sl_job_check_match(job, old ? etag_of(job, old) : NULL))
        return sl_change_drop(control);
    bool hides = !job->undo && (!old->revision || old->replaces_files);
    job->would = job->undo ? "undo" : hides ? "hide" : "delete";
    bool good = hides ? sl_registry_put_tier(control->registry, name, NULL, &error)
                      : sl_registry_drop_tier(control->registry, name, &found, &error);
    if (!good)
        return sl_change_fail(control, job, &error);
    if (!found) {
        sl_job_refuse(job, 404, "the API has changed nothing about a tier `%s`", name);
        return sl_change_drop(control);
    }
    /* 409: rules that stay need the tier; the request itself is valid. */
    struct sl_ruleset *rules = sl_change_compose(control, job, 409);
    if (!rules)
        return false;
    if (!check_unused(control, job, name, rules)) {
        sl_ruleset_free(rules);
        return sl_change_drop(control);
    }
    const struct sl_tier *now = find_tier(rules, name);
    sl_buffer_add(&job->out, SL_TEXT("{"));
    sl_print_text(&job->out, "name", name);
    sl_print_bool(&job->out, "deleted", true);
    sl_print_bool(&job->out, "hidden", hides);
    sl_print_name(&job->out, "now");
    if (now)
        print_tier(job, now);
    else
        sl_buffer_add(&job->out, SL_TEXT("null"));
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    note_change(job, name, old, now);
    return sl_change_end(control, job, rules);
}

static void delete_tier(struct sl_control *control, struct sl_job *job, const char *name)
{
    static const char *const parameters[] = { "undo", NULL };
    if (sl_job_check_query(job, parameters) && sl_change_begin_all(control, job))
        delete_in_change(control, job, name);
}

static void get_tier(struct sl_control *control, struct sl_job *job, const char *name)
{
    const struct sl_tier *tier = find_tier(sl_control_rules(control), name);
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (!tier) {
        sl_job_refuse(job, 404, "there is no tier `%s`", name);
        return;
    }
    job->etag = etag_of(job, tier);
    print_tier(job, tier);
}

void sl_run_tier(struct sl_control *control, struct sl_job *job)
{
    const char *name = job->parts[0].at;
    if (sl_job_is(job, "PUT"))
        put_tier(control, job, name);
    else if (sl_job_is(job, "DELETE"))
        delete_tier(control, job, name);
    else
        get_tier(control, job, name);
}
