/* /v1/outcomes: how calls ended, which is a part of their users' trust. */
#include "base/clock.h"
#include "registry/users/load_users.h"
#include "server/control/admin_json.h"

enum { OUTCOMES_MAX = 1000 };

static bool read_outcome(struct sl_control *control, struct sl_job *job, const json_t *object,
                         struct sl_user_day *out)
{
    static const char *const members[] = { "user", "tenant", "success", NULL };
    const char *user, *tenant;
    const json_t *success = json_object_get(object, "success");
    if (!json_is_object(object))
        return sl_job_refuse(job, 422,
                             "an outcome is an object, as in {\"user\": \"u1\", "
                             "\"success\": true}");
    if (!sl_json_check_members(job, object, members) || !sl_json_text(job, object, "user", &user) ||
        !sl_json_text(job, object, "tenant", &tenant) || !sl_user_check_id(job, "user", user) ||
        !sl_user_take_tenant(job, tenant, &tenant))
        return false;
    if (!json_is_boolean(success))
        return sl_job_refuse(job, 422, "`success` is true or false");
    *out = (struct sl_user_day){
        .tenant = tenant,
        .id = sl_users_id(control->users, sl_text(user), &job->arena),
        .day = sl_day_of(sl_walltime_us()),
        .calls = 1,
        .successes = json_is_true(success),
        .last_minute = -1,
    };
    return out->id || sl_job_refuse(job, 503, "out of memory");
}

/* Reads all outcomes, or refuses all. */
static struct sl_user_day *read_outcomes(struct sl_control *control, struct sl_job *job,
                                         const json_t *json, size_t *count)
{
    bool is_array = json_is_array(json);
    *count = is_array ? json_array_size(json) : 1;
    if (*count == 0 || *count > OUTCOMES_MAX) {
        sl_job_refuse(job, *count ? 413 : 422, "an array holds 1 to 1,000 outcomes");
        return NULL;
    }
    struct sl_user_day *days = sl_arena_take(&job->arena, *count * sizeof *days);
    for (size_t i = 0; i < *count; i++)
        if (!read_outcome(control, job, is_array ? json_array_get(json, i) : json, &days[i]))
            return NULL;
    return days;
}

/* The commit survives the end of this process, not a power cut: outcomes are many. */
static bool write_outcomes(struct sl_control *control, struct sl_job *job,
                           const struct sl_user_day *days, size_t count)
{
    struct sluice_error error = { 0 };
    if (!sl_registry_begin(control->registry, SL_CARE_KILL, &error))
        return sl_job_refuse(job, 503, "nothing was recorded: %s", error.text);
    for (size_t i = 0; i < count; i++)
        if (!sl_registry_add_outcomes(control->registry, &days[i], &error))
            return sl_change_fail(control, job, &error);
    if (!sl_registry_commit(control->registry, &error))
        return sl_job_refuse(job, 503, "nothing was recorded: %s", error.text);
    for (size_t i = 0; i < count; i++)
        sl_users_add_outcomes(control->users, &days[i]);
    return true;
}

void sl_run_outcomes(struct sl_control *control, struct sl_job *job)
{
    static const char *const parameters[] = { NULL };
    size_t count;
    json_t *json = sl_job_check_query(job, parameters) ? sl_job_json(job) : NULL;
    if (!json)
        return;
    const struct sl_user_day *days = read_outcomes(control, job, json, &count);
    json_decref(json);
    if (!days || (!job->dry_run && !write_outcomes(control, job, days, count)))
        return;
    sl_buffer_add(&job->out, SL_TEXT("{"));
    sl_print_i64(&job->out, "recorded", (int64_t)count);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
}
