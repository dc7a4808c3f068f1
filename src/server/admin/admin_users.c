/* /v1/users/ID: a user's record, counts of the last days, and the trust score made of them. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/hash.h"
#include "limiter/users/user_limit.h"
#include "registry/users/limits_json.h"
#include "registry/users/load_users.h"
#include "rules/tree/node_json.h"
#include "rules/tree/tree_json.h"
#include "server/control/admin_json.h"

#define DAY_US INT64_C(86400000000)

/* ---- the user of a call ---- */

bool sl_user_check_id(struct sl_job *job, const char *what, const char *text)
{
    if (text && *text && strlen(text) <= SL_USER_ID_MAX)
        return true;
    return sl_job_refuse(job, 422, "`%s` has 1 to %d bytes", what, SL_USER_ID_MAX);
}

bool sl_user_take_tenant(struct sl_job *job, const char *given, const char **out)
{
    *out = given ? given : job->tenant ? job->tenant : "";
    if (job->tenant && strcmp(*out, job->tenant) != 0)
        return sl_job_refuse(job, 403, "this key is another tenant's");
    return strlen(*out) <= SL_USER_ID_MAX ||
           sl_job_refuse(job, 422, "`tenant` has at most %d bytes", SL_USER_ID_MAX);
}

struct who {
    const char *tenant;
    const char *id; /* as it is kept */
};

static bool read_path(struct sl_control *control, struct sl_job *job, struct who *out)
{
    static const char *const parameters[] = { "tenant", NULL };
    if (!sl_job_check_query(job, parameters) || !sl_user_check_id(job, "ID", job->parts[0].at) ||
        !sl_user_take_tenant(job, sl_job_query(job, "tenant"), &out->tenant))
        return false;
    out->id = sl_users_id(control->users, job->parts[0], &job->arena);
    return out->id || sl_job_refuse(job, 503, "out of memory");
}

/* ---- printing ---- */

static void print_trust(struct sl_buffer *out, const struct sl_trust_weights *weights,
                        const struct sl_user *user, int64_t now_us)
{
    struct sl_trust_parts parts;
    struct sl_trust_facts facts = sl_user_facts(NULL, user, now_us);
    int32_t score = sl_trust_score(weights, &facts);
    int64_t age_us = facts.account_age_us > 0 ? facts.account_age_us : 0;
    sl_trust_explain(weights, &facts, &parts);
    sl_print_name(out, "trust");
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_billionths(out, "score", (int64_t)score * (SL_TRUST_ONE / 1000));
    sl_print_name(out, "age");
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_i64(out, "days", age_us / DAY_US);
    sl_print_billionths(out, "value", parts.age);
    sl_buffer_add(out, SL_TEXT("}, \"email\": {"));
    sl_print_bool(out, "verified", facts.email_verified);
    sl_print_billionths(out, "value", parts.email);
    sl_buffer_add(out, SL_TEXT("}, \"success\": {"));
    sl_print_i64(out, "calls", (int64_t)facts.calls);
    sl_print_i64(out, "successes", (int64_t)facts.successes);
    sl_print_billionths(out, "value", parts.success);
    sl_buffer_add(out, SL_TEXT("}, \"violations\": {"));
    sl_print_i64(out, "count", (int64_t)facts.violations);
    sl_print_billionths(out, "value", -parts.violations);
    sl_buffer_add(out, SL_TEXT("}}"));
}

/* With replication, revisions differ between instances: the tag is then made of the record's
 * content. */
static const char *etag_of(struct sl_control *control, struct sl_job *job,
                           const struct sl_user_record *record)
{
    if (!control->replication)
        return sl_job_etag(job, 'u', record->revision);
    const char *text =
        sl_arena_print(&job->arena, "%d %" PRId64 " %d %d %s\n%s", record->has_created_at,
                       record->has_created_at ? record->created_at_us : 0,
                       record->has_email_verified, record->email_verified,
                       record->tier ? record->tier : "", record->limits ? record->limits : "");
    return sl_job_etag(job, 'u', sl_hash64(sl_text(text), 0));
}

/* Prints the record as it is or would be; counts come from the user table. */
static void print_user(struct sl_control *control, struct sl_job *job,
                       const struct sl_user_record *record, bool is_known)
{
    struct sl_buffer *out = &job->out;
    struct sl_user user = { 0 };
    int64_t now_us = sl_walltime_us();
    is_known |= sl_users_find_kept(control->users, record->tenant, record->id, now_us, &user);
    user.has_created_at = record->has_created_at;
    user.created_at_us = record->created_at_us;
    user.has_email_verified = record->has_email_verified;
    user.email_verified = record->email_verified;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "user", record->id);
    sl_print_text(out, "tenant", *record->tenant ? record->tenant : NULL);
    sl_print_bool(out, "known", is_known);
    if (record->has_created_at)
        sl_print_moment(out, "created_at", record->created_at_us);
    else
        sl_print_raw(out, "created_at", "null");
    sl_print_raw(out, "email_verified",
                 !record->has_email_verified ? "null"
                 : record->email_verified    ? "true"
                                             : "false");
    sl_print_text(out, "tier", record->tier);
    sl_print_raw(out, "limits", record->limits ? record->limits : "{}");
    sl_print_text(out, "etag",
                  record->revision && !job->dry_run ? etag_of(control, job, record) : NULL);
    print_trust(out, &sl_control_rules(control)->settings.trust, &user, now_us);
    sl_print_dry_run(job);
    sl_buffer_add(out, SL_TEXT("}"));
}

static void get_user(struct sl_control *control, struct sl_job *job, const struct who *who)
{
    struct sluice_error error = { 0 };
    struct sl_user_record record;
    bool found;
    if (!sl_registry_user(control->registry, who->tenant, who->id, &job->arena, &record, &found,
                          &error)) {
        sl_job_refuse(job, 503, "%s", error.text);
        return;
    }
    if (!found)
        record = (struct sl_user_record){ .tenant = who->tenant, .id = who->id };
    job->etag = found ? etag_of(control, job, &record) : NULL;
    print_user(control, job, &record, found);
}

/* ---- changing ---- */

static bool read_facts(struct sl_job *job, const json_t *object, struct sl_user_record *record)
{
    const json_t *verified = json_object_get(object, "email_verified");
    if (json_object_get(object, "created_at") &&
        !sl_json_moment(job, object, "created_at", &record->has_created_at, &record->created_at_us))
        return false;
    if (!verified)
        return true;
    if (!json_is_boolean(verified) && !json_is_null(verified))
        return sl_job_refuse(job, 422, "`email_verified` is true or false");
    record->has_email_verified = json_is_boolean(verified);
    record->email_verified = json_is_true(verified);
    return true;
}

static bool read_tier(struct sl_control *control, struct sl_job *job, const json_t *object,
                      struct sl_user_record *record)
{
    if (!json_object_get(object, "tier"))
        return true;
    if (!sl_json_text(job, object, "tier", &record->tier))
        return false;
    if (record->tier && strlen(record->tier) > SL_USER_TIER_MAX)
        return sl_job_refuse(job, 422, "`tier` has at most %d bytes", SL_USER_TIER_MAX);
    if (record->tier && sl_ruleset_tier(sl_control_rules(control), sl_text(record->tier)) < 0)
        return sl_job_refuse(job, 422, "there is no tier `%s`", record->tier);
    return true;
}

static bool check_limit(struct sl_control *control, struct sl_job *job,
                        const struct sl_user_limit *own)
{
    struct sl_numbers numbers;
    const struct sl_rule *rule = sl_ruleset_rule(sl_control_rules(control), own->rule);
    if (rule) {
        const char *wrong = sl_rule_user_numbers(rule, own, &numbers);
        return !wrong || sl_job_refuse(job, 422, "rule `%s`: %s", own->rule, wrong);
    }
    return sl_job_refuse(job, 422, "there is no rule `%s`", own->rule);
}

/* Returns the text of `limits` in the body: numbers are kept as they were written. */
static const char *limits_text(struct sl_job *job)
{
    struct sl_report report = { .file = "body" };
    const struct sl_node *root = sl_tree_json_parse(&job->arena, job->body, &report);
    const struct sl_node *limits = root ? sl_node_get(root, "limits") : NULL;
    const char *text = NULL;
    if (!limits || report.errors)
        sl_job_refuse_report(job, 422, &report);
    else if (limits->kind != SL_NODE_MAP)
        sl_job_refuse(job, 422, "`limits` is an object, as in {\"api\": {\"capacity\": 500}}");
    else
        text = sl_node_json(&job->arena, limits, NULL);
    sl_report_release(&report);
    return text;
}

static bool read_limits(struct sl_control *control, struct sl_job *job, const json_t *object,
                        struct sl_user_record *record)
{
    const json_t *limits = json_object_get(object, "limits");
    struct sl_user_limit own[SL_USER_LIMITS_MAX];
    struct sl_buffer text = sl_buffer(1 << 16);
    struct sluice_error error = { 0 };
    size_t count;
    if (!limits)
        return true;
    record->limits = NULL;
    if (json_is_null(limits))
        return true;
    const char *written = limits_text(job);
    if (!written)
        return false;
    if (!sl_limits_read(sl_text(written), own, &count, &error))
        return sl_job_refuse(job, 422, "%s", error.text);
    for (size_t i = 0; i < count; i++)
        if (!check_limit(control, job, &own[i]))
            return false;
    if (count) {
        sl_limits_print(&text, own, count);
        record->limits = sl_arena_copy(&job->arena, (struct sluice_text){ text.at, text.len });
    }
    sl_buffer_release(&text);
    return true;
}

static bool read_members(struct sl_control *control, struct sl_job *job, const json_t *object,
                         struct sl_user_record *record)
{
    if (job->tenant && (json_object_get(object, "tier") || json_object_get(object, "limits")))
        return sl_job_refuse(job, 403, "`tier` and `limits` take the admin's token");
    return read_facts(job, object, record) && read_tier(control, job, object, record) &&
           read_limits(control, job, object, record);
}

static bool are_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns tier and limits for the audit log, or NULL if it has neither. */
static const char *audit_json(struct sl_job *job, const struct sl_user_record *record)
{
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    if (!record->tier && !record->limits)
        return NULL;
    sl_buffer_add(&out, SL_TEXT("{"));
    sl_print_text(&out, "tier", record->tier);
    sl_print_raw(&out, "limits", record->limits ? record->limits : "{}");
    sl_buffer_add(&out, SL_TEXT("}"));
    const char *copy = sl_arena_copy(&job->arena, (struct sluice_text){ out.at, out.len });
    sl_buffer_release(&out);
    return copy;
}

/* Describes the change for the audit log: what the operator gives or takes away. Other facts change
 * with every sign-up. */
static void note_change(struct sl_job *job, const struct who *who, const struct sl_user_record *old,
                        const struct sl_user_record *new)
{
    if (!are_same(old->tier, new->tier) || !are_same(old->limits, new->limits))
        sl_job_note(job, &(struct sl_audit_note){ .subject = "user",
                                                  .name = who->id,
                                                  .tenant = *who->tenant ? who->tenant : NULL,
                                                  .before = audit_json(job, old),
                                                  .after = audit_json(job, new) });
}

/* Runs in the transaction: members that are not given keep their values. */
static bool put_in_change(struct sl_control *control, struct sl_job *job, const struct who *who,
                          const json_t *object)
{
    struct sluice_error error = { 0 };
    struct sl_user_record record;
    bool found;
    if (!sl_registry_user(control->registry, who->tenant, who->id, &job->arena, &record, &found,
                          &error))
        return sl_change_fail(control, job, &error);
    if (!found)
        record = (struct sl_user_record){ .tenant = who->tenant, .id = who->id };
    struct sl_user_record old = record;
    if (!sl_job_check_match(job, found ? etag_of(control, job, &record) : NULL) ||
        !read_members(control, job, object, &record))
        return sl_change_drop(control);
    if (!sl_registry_put_user(control->registry, &record, &error) ||
        !sl_registry_user(control->registry, who->tenant, who->id, &job->arena, &record,
                          &(bool){ false }, &error))
        return sl_change_fail(control, job, &error);
    job->status = found || job->dry_run ? 200 : 201;
    job->would = found ? "replace" : "create";
    note_change(job, who, &old, &record);
    if (!sl_change_end(control, job, NULL))
        return false;
    if (!job->dry_run)
        sl_users_put(control->users, &record);
    job->etag = job->dry_run ? NULL : etag_of(control, job, &record);
    print_user(control, job, &record, true);
    return true;
}

static void put_user(struct sl_control *control, struct sl_job *job, const struct who *who)
{
    static const char *const members[] = { "created_at", "email_verified", "tier", "limits", NULL };
    json_t *object = sl_job_object(job, members);
    if (!object)
        return;
    if (sl_change_begin_user(control, job, who->tenant, who->id))
        put_in_change(control, job, who, object);
    json_decref(object);
}

/* Without adaptive rules, violations are in memory alone. */
static bool has_violations(struct sl_control *control, const struct who *who)
{
    struct sl_user user;
    return sl_users_find_kept(control->users, who->tenant, who->id, sl_walltime_us(), &user) &&
           user.violations > 0;
}

/* Forgets violations in memory; the registry has nothing to delete. */
static void forget_violations(struct sl_control *control, struct sl_job *job, const struct who *who)
{
    sl_change_drop(control);
    if (!job->dry_run)
        sl_users_drop(control->users, who->tenant, who->id);
}

static void delete_user(struct sl_control *control, struct sl_job *job, const struct who *who)
{
    struct sluice_error error = { 0 };
    struct sl_user_record record;
    bool found, is_recorded;
    sl_control_flush(control); /* or a user denied just now is not in the registry yet */
    if (!sl_change_begin_user(control, job, who->tenant, who->id))
        return;
    if (!sl_registry_user(control->registry, who->tenant, who->id, &job->arena, &record,
                          &is_recorded, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    if (!sl_job_check_match(job, is_recorded ? etag_of(control, job, &record) : NULL)) {
        sl_change_drop(control);
        return;
    }
    if (!sl_registry_drop_user(control->registry, who->tenant, who->id, &found, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    if (!found && !has_violations(control, who)) {
        sl_job_refuse(job, 404, "nothing is known of that user");
        sl_change_drop(control);
        return;
    }
    sl_buffer_add(&job->out, SL_TEXT("{"));
    job->would = "delete";
    sl_print_text(&job->out, "user", who->id);
    sl_print_text(&job->out, "tenant", *who->tenant ? who->tenant : NULL);
    sl_print_bool(&job->out, "deleted", true);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    if (is_recorded)
        note_change(job, who, &record, &(struct sl_user_record){ 0 });
    if (!found)
        forget_violations(control, job, who);
    else if (sl_change_end(control, job, NULL) && !job->dry_run)
        sl_users_drop(control->users, who->tenant, who->id);
}

void sl_run_user(struct sl_control *control, struct sl_job *job)
{
    struct who who;
    if (!read_path(control, job, &who))
        return;
    if (sl_job_is(job, "PUT"))
        put_user(control, job, &who);
    else if (sl_job_is(job, "DELETE"))
        delete_user(control, job, &who);
    else
        get_user(control, job, &who);
}
