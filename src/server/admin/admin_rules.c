/* /v1/rules and /v1/tenants/T/rules: rules as they are in force, and changes to them.
 *
 * A change is written in a transaction, everything is composed out of what the database would hold,
 * and it is committed only if all rules are valid together. So "valid" has one meaning, that of the
 * rules file. */
#include "limiter/identity.h"
#include "rules/condition.h"
#include "server/control/admin_json.h"

static const char *const no_parameters[] = { NULL };

/* ---- finding ---- */

/* Returns the name that the ruleset uses. */
static const char *full_name(struct sl_job *job, const char *tenant, const char *name)
{
    return tenant ? sl_arena_print(&job->arena, "%s/%s", tenant, name) : name;
}

/* Is it a rule for all tenants that can match requests of this tenant only? */
static bool is_about_tenant(const struct sl_rule *rule, const char *tenant)
{
    for (size_t i = 0; i < rule->when_count; i++)
        if (rule->when[i].attribute.attribute == SL_ATTR_TENANT)
            return rule->when[i].value_count == 1 && sl_text_is(rule->when[i].values[0], tenant);
    return false;
}

/* A tenant sees its own rules only. */
static bool is_visible(const struct sl_job *job, const struct sl_rule *rule)
{
    if (!job->tenant)
        return true;
    return rule->tenant ? sl_rule_is_of(rule, job->tenant) : is_about_tenant(rule, job->tenant);
}

/* ---- printing ---- */

static struct sl_origin origin_of(const struct sl_rule *rule)
{
    return (struct sl_origin){ rule->revision, rule->replaces_files, rule->json };
}

static const char *etag_of(struct sl_job *job, const struct sl_rule *rule)
{
    return sl_origin_etag(job, origin_of(rule));
}

static const char *short_name(const struct sl_rule *rule)
{
    return rule->tenant ? rule->name + strlen(rule->tenant) + 1 : rule->name;
}

/* Prints its members, without the closing brace. */
static void print_members(struct sl_job *job, const struct sl_rule *rule)
{
    struct sl_buffer *out = &job->out;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "name", short_name(rule));
    sl_print_text(out, "tenant", rule->tenant);
    sl_print_origin(job, origin_of(rule));
    sl_print_raw(out, "rule", rule->json);
}

static void print_rule(struct sl_job *job, const struct sl_rule *rule)
{
    print_members(job, rule);
    sl_buffer_add(&job->out, SL_TEXT("}"));
}

/* Returns the revision of the last change; for a tenant, of the rules that it sees. */
static uint64_t revision_of(struct sl_control *control, const struct sl_job *job)
{
    const struct sl_ruleset *rules = sl_control_rules(control);
    uint64_t last = 0;
    if (!job->tenant)
        return sl_control_revision(control);
    for (size_t i = 0; i < rules->rule_count; i++)
        if (is_visible(job, &rules->rules[i]) && rules->rules[i].revision > last)
            last = rules->rules[i].revision;
    return control->replication ? SL_CHANGE_VERSION(last) : last;
}

static void print_list(struct sl_control *control, struct sl_job *job, const char *tenant)
{
    const struct sl_ruleset *rules = sl_control_rules(control);
    struct sl_buffer *out = &job->out;
    bool is_first = true;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_i64(out, "revision", (int64_t)revision_of(control, job));
    sl_print_name(out, "rules");
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sl_rule *rule = &rules->rules[i];
        bool is_asked = !tenant || sl_rule_is_of(rule, tenant);
        if (!is_asked || !is_visible(job, rule))
            continue;
        if (!is_first)
            sl_buffer_add(out, SL_TEXT(", "));
        is_first = false;
        print_rule(job, rule);
    }
    sl_buffer_add(out, SL_TEXT("]"));
    if (!job->tenant && !tenant)
        sl_print_texts(out, "hidden", rules->hidden, rules->hidden_count);
    sl_buffer_add(out, SL_TEXT("}"));
}

/* ---- warnings ---- */

static bool was_given_before(const struct sl_report *report, const char *text)
{
    for (size_t i = 0; i < sl_report_kept(report); i++)
        if (strcmp(report->problems[i].text, text) == 0)
            return true;
    return false;
}

/* Prints the warnings of the linter that it did not give for the old rules. */
static void print_warnings(struct sl_buffer *out, const struct sl_ruleset *old,
                           const struct sl_ruleset *new)
{
    struct sl_report before = { .file = "" }, after = { .file = "" };
    bool is_first = true;
    sl_ruleset_lint(old, &before);
    sl_ruleset_lint(new, &after);
    sl_print_name(out, "warnings");
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < sl_report_kept(&after); i++) {
        if (was_given_before(&before, after.problems[i].text))
            continue;
        sl_buffer_add(out, is_first ? SL_TEXT("") : SL_TEXT(", "));
        is_first = false;
        sl_json_print_string(out, sl_text(after.problems[i].text));
    }
    sl_buffer_add(out, SL_TEXT("]"));
    sl_report_release(&before);
    sl_report_release(&after);
}

static bool have_same_per(const struct sl_rule *a, const struct sl_rule *b)
{
    bool are_same = a->per_count == b->per_count;
    for (size_t i = 0; are_same && i < a->per_count; i++)
        are_same = sl_text_equal(a->per[i].name, b->per[i].name);
    return are_same;
}

/* Do counts carry over? Only where the keys stay the same. */
static const char *what_counts_do(const struct sl_rule *old, const struct sl_rule *new)
{
    if (!old)
        return "new";
    bool are_same = sl_rule_seeds(old, 0).limit == sl_rule_seeds(new, 0).limit;
    return are_same && have_same_per(old, new) ? "kept" : "afresh";
}

/* ---- changing ---- */

/* A tenant may use the algorithms of its tier. */
static bool check_algorithm(struct sl_control *control, struct sl_job *job,
                            const struct sl_ruleset *rules, const struct sl_rule *rule)
{
    const struct sl_tenant *tenant = sl_control_tenant(control, job, rule->tenant);
    ptrdiff_t tier = tenant && tenant->tier ? sl_ruleset_tier(rules, sl_text(tenant->tier)) : -1;
    uint32_t allowed = tier >= 0 ? rules->tiers[tier].algorithms : 0, which = 0;
    while (sl_algos[which] != rule->algo)
        which++;
    if (!allowed || allowed & 1u << which)
        return true;
    return sl_job_refuse(job, 422,
                         "tenants of tier `%s` cannot choose `%s` for a rule of their own",
                         tenant->tier, rule->algo->name);
}

enum { OWN_RULE_MAX_BYTES = 16384, OWN_RULE_LIST_MAX = 64 };

/* Rules of tenants cost memory and time of the whole server, so they are small. They name no
 * tiers: the operator must be able to remove those. */
static bool check_own_rule(struct sl_job *job, const json_t *json)
{
    if (job->body.len > OWN_RULE_MAX_BYTES)
        return sl_job_refuse(job, 413, "a tenant's rule has at most %d bytes", OWN_RULE_MAX_BYTES);
    if (json_object_get(json, "tiers"))
        return sl_job_refuse(job, 422, "a tenant's rule has no `tiers`: it is of one alone");
    return true;
}

static bool check_lists(struct sl_job *job, const struct sl_rule *rule)
{
    size_t values = rule->except_count + rule->replaces_count;
    for (size_t i = 0; i < rule->when_count; i++)
        values += sl_condition_size(&rule->when[i]);
    return values - 1 <= OWN_RULE_LIST_MAX || /* the tenant that Sluice adds does not count */
           sl_job_refuse(
               job, 422,
               "a tenant's rule has at most %d entries in `except`, `when` and `replaces`",
               OWN_RULE_LIST_MAX);
}

static bool check_tenant(struct sl_control *control, struct sl_job *job, const char *tenant,
                         bool is_new)
{
    if (!sl_control_tenant(control, job, tenant))
        return sl_job_refuse_tenant(job, tenant);
    if (is_new && sl_ruleset_count_of(sl_control_rules(control), tenant) >= SL_TENANT_RULES_MAX)
        return sl_job_refuse(job, 409, "a tenant has at most %d rules of its own",
                             SL_TENANT_RULES_MAX);
    return true;
}

/* Prints the answer to a PUT that is about to be committed. */
static void print_put(struct sl_control *control, struct sl_job *job, const struct sl_rule *old,
                      const struct sl_ruleset *rules, const struct sl_rule *new)
{
    struct sl_buffer *out = &job->out;
    job->status = old || job->dry_run ? 200 : 201;
    job->would = old ? "replace" : "create";
    job->etag = job->dry_run ? NULL : etag_of(job, new);
    print_members(job, new);
    sl_print_text(out, "counts", what_counts_do(old, new));
    if (job->tenant) /* warnings name rules, which may be other tenants' */
        sl_print_raw(out, "warnings", "[]");
    else
        print_warnings(out, sl_control_rules(control), rules);
    sl_print_dry_run(job);
    sl_buffer_add(out, SL_TEXT("}"));
}

/* Describes the change for the audit log; `old` or `new` may be NULL. */
static void note_change(struct sl_job *job, const char *full, const struct sl_rule *old,
                        const struct sl_rule *new)
{
    const char *slash = strchr(full, '/');
    struct sluice_text tenant = { full, slash ? (size_t)(slash - full) : 0 };
    sl_job_note(
        job, &(struct sl_audit_note){ .subject = "rule",
                                      .name = full,
                                      .tenant = slash ? sl_arena_copy(&job->arena, tenant) : NULL,
                                      .before = old ? old->json : NULL,
                                      .after = new ? new->json : NULL });
}

static bool put_in_change(struct sl_control *control, struct sl_job *job, const char *tenant,
                          const char *name)
{
    struct sluice_error error = { 0 };
    const char *full = full_name(job, tenant, name);
    const struct sl_rule *old = sl_ruleset_rule(sl_control_rules(control), full);
    if (!sl_job_check_match(job, old ? etag_of(job, old) : NULL) ||
        (tenant && !check_tenant(control, job, tenant, !old)))
        return sl_change_drop(control);
    if (!sl_registry_put_rule(control->registry, tenant, name, job->body.at, &error))
        return sl_change_fail(control, job, &error);
    struct sl_ruleset *rules = sl_change_compose(control, job, 422);
    if (!rules)
        return false;
    const struct sl_rule *new = sl_ruleset_rule(rules, full);
    if (tenant && (!check_lists(job, new) || !check_algorithm(control, job, rules, new))) {
        sl_ruleset_free(rules);
        return sl_change_drop(control);
    }
    print_put(control, job, old, rules, new);
    note_change(job, full, old, new);
    return sl_change_end(control, job, rules);
}

static void put_rule(struct sl_control *control, struct sl_job *job, const char *tenant,
                     const char *name)
{
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (!sl_rule_name_is_good(sl_text(name))) {
        sl_job_refuse(job, 422, "a rule's name has 1 to 64 letters, digits, `.`, `_` or `-`");
        return;
    }
    json_t *json = sl_job_json(job); /* it must be JSON at all */
    if (!json)
        return;
    bool good = !tenant || check_own_rule(job, json);
    json_decref(json);
    if (good && sl_change_begin(control, job))
        put_in_change(control, job, tenant, name);
}

/* Deletes a rule: its row goes, or a row hides the file's rule. */
static bool delete_or_hide(struct sl_control *control, struct sl_job *job,
                           const struct sl_rule *old, const char *tenant, const char *name)
{
    struct sluice_error error = { 0 };
    bool found = true;
    bool hides = !job->undo && (!old->revision || old->replaces_files);
    job->would = job->undo ? "undo" : hides ? "hide" : "delete";
    bool good = hides ? sl_registry_put_rule(control->registry, tenant, name, NULL, &error)
                      : sl_registry_drop_rule(control->registry, tenant, name, &found, &error);
    if (!good)
        return sl_change_fail(control, job, &error);
    if (found)
        return true;
    sl_job_refuse(job, 404, "the API has changed nothing about a rule `%s`", name);
    return sl_change_drop(control);
}

static bool delete_in_change(struct sl_control *control, struct sl_job *job, const char *tenant,
                             const char *name)
{
    const char *full = full_name(job, tenant, name);
    const struct sl_rule *old = sl_ruleset_rule(sl_control_rules(control), full);
    if (tenant && !sl_control_tenant(control, job, tenant)) {
        sl_job_refuse_tenant(job, tenant);
        return sl_change_drop(control);
    }
    if (!old && !job->undo) {
        sl_job_refuse(job, 404, "there is no rule `%s`", name);
        return sl_change_drop(control);
    }
    if (!sl_job_check_match(job, old ? etag_of(job, old) : NULL))
        return sl_change_drop(control);
    if (!delete_or_hide(control, job, old, tenant, name))
        return false;
    struct sl_ruleset *rules = sl_change_compose(control, job, 422);
    if (!rules)
        return false;
    const struct sl_rule *now = sl_ruleset_rule(rules, full);
    sl_buffer_add(&job->out, SL_TEXT("{"));
    sl_print_text(&job->out, "name", name);
    sl_print_bool(&job->out, "deleted", true);
    sl_print_bool(&job->out, "hidden", strcmp(job->would, "hide") == 0);
    sl_print_name(&job->out, "now");
    if (now)
        print_rule(job, now);
    else
        sl_buffer_add(&job->out, SL_TEXT("null"));
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    note_change(job, full, old, now);
    return sl_change_end(control, job, rules);
}

static void delete_rule(struct sl_control *control, struct sl_job *job, const char *tenant,
                        const char *name)
{
    static const char *const parameters[] = { "undo", NULL };
    if (sl_job_check_query(job, parameters) && sl_change_begin(control, job))
        delete_in_change(control, job, tenant, name);
}

static void get_rule(struct sl_control *control, struct sl_job *job, const char *tenant,
                     const char *name)
{
    const struct sl_rule *rule =
        sl_ruleset_rule(sl_control_rules(control), full_name(job, tenant, name));
    if (!sl_job_check_query(job, no_parameters))
        return;
    /* A tenant also sees rules for all tenants that are about it, under their own names. */
    if (!rule && job->tenant)
        rule = sl_ruleset_rule(sl_control_rules(control), name);
    if (!rule || !is_visible(job, rule)) {
        sl_job_refuse(job, 404, "there is no rule `%s`", name);
        return;
    }
    job->etag = etag_of(job, rule);
    print_rule(job, rule);
}

static void run_rule(struct sl_control *control, struct sl_job *job, const char *tenant,
                     const char *name)
{
    if (sl_job_is(job, "PUT"))
        put_rule(control, job, tenant, name);
    else if (sl_job_is(job, "DELETE"))
        delete_rule(control, job, tenant, name);
    else
        get_rule(control, job, tenant, name);
}

/* ---- routes ---- */

void sl_run_rules(struct sl_control *control, struct sl_job *job)
{
    if (sl_job_check_query(job, no_parameters))
        print_list(control, job, NULL);
}

void sl_run_rule(struct sl_control *control, struct sl_job *job)
{
    run_rule(control, job, job->tenant, job->parts[0].at);
}

/* Checks the tenant of the path; another tenant's does not exist for the caller. */
static bool check_path(struct sl_control *control, struct sl_job *job)
{
    const char *tenant = job->parts[0].at;
    bool is_own = !job->tenant || strcmp(job->tenant, tenant) == 0;
    /* Another instance may have just made it: then the transaction finds it. */
    bool is_early = control->replication && !sl_job_is(job, "GET");
    if (is_own && (is_early || sl_control_tenant(control, job, tenant)))
        return true;
    return sl_job_refuse_tenant(job, tenant);
}

void sl_run_tenant_rules(struct sl_control *control, struct sl_job *job)
{
    if (sl_job_check_query(job, no_parameters) && check_path(control, job))
        print_list(control, job, job->parts[0].at);
}

void sl_run_tenant_rule(struct sl_control *control, struct sl_job *job)
{
    if (check_path(control, job))
        run_rule(control, job, job->parts[0].at, job->parts[1].at);
}
