/* /v1/tenants: tenants, their tiers and their keys. */
#include "base/clock.h"
#include "base/hash.h"
#include "server/control/admin_json.h"

enum { KEY_ID_DIGITS = 12, LABEL_MAX_BYTES = 128 };

static const char *const no_parameters[] = { NULL };

/* ---- printing ---- */

static void print_key_members(struct sl_buffer *out, struct sl_job *job,
                              const struct sl_tenant_key *key)
{
    char hex[SL_DIGEST_HEX + 1];
    sl_digest_print(&key->digest, hex);
    sl_print_text(out, "id", sl_arena_print(&job->arena, "%.*s", KEY_ID_DIGITS, hex));
    sl_print_text(out, "sha256", hex);
    sl_print_text(out, "label", key->label);
    sl_print_text(out, "tier", key->tier);
    sl_print_moment(out, "created_at", key->created_at_us);
}

static void print_keys(struct sl_buffer *out, struct sl_job *job, const struct sl_tenant *tenant)
{
    sl_print_name(out, "keys");
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < tenant->key_count; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", {") : SL_TEXT("{"));
        print_key_members(out, job, &tenant->keys[i]);
        sl_buffer_add(out, SL_TEXT("}"));
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

static void print_rule_names(struct sl_buffer *out, const struct sl_ruleset *rules,
                             const char *tenant)
{
    bool is_first = true;
    sl_print_name(out, "rules");
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sl_rule *rule = &rules->rules[i];
        if (!sl_rule_is_of(rule, tenant))
            continue;
        sl_buffer_add(out, is_first ? SL_TEXT("") : SL_TEXT(", "));
        sl_json_print_string(out, sl_text(rule->name + strlen(tenant) + 1));
        is_first = false;
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

static void print_tenant(struct sl_control *control, struct sl_job *job,
                         const struct sl_tenant *tenant)
{
    struct sl_buffer *out = &job->out;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "name", tenant->name);
    sl_print_text(out, "tier", tenant->tier);
    sl_print_text(out, "etag", job->dry_run ? NULL : sl_job_etag(job, 't', tenant->revision));
    print_keys(out, job, tenant);
    print_rule_names(out, sl_control_rules(control), tenant->name);
    sl_print_dry_run(job);
    sl_buffer_add(out, SL_TEXT("}"));
}

/* Returns its tier and its count of keys for the audit log, or NULL. */
static const char *audit_json(struct sl_job *job, const struct sl_tenant *tenant)
{
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    if (!tenant)
        return NULL;
    sl_buffer_add(&out, SL_TEXT("{"));
    sl_print_text(&out, "tier", tenant->tier);
    sl_print_i64(&out, "keys", (int64_t)tenant->key_count);
    sl_buffer_add(&out, SL_TEXT("}"));
    const char *copy = sl_arena_copy(&job->arena, (struct sluice_text){ out.at, out.len });
    sl_buffer_release(&out);
    return copy;
}

static void note_tenant(struct sl_job *job, const struct sl_tenant *old,
                        const struct sl_tenant *new)
{
    const char *name = old ? old->name : new->name;
    sl_job_note(job, &(struct sl_audit_note){ .subject = "tenant",
                                              .name = name,
                                              .tenant = name,
                                              .before = audit_json(job, old),
                                              .after = audit_json(job, new) });
}

/* Describes a key by its label, tier and the first digits of its digest; never the key itself. */
static void note_key(struct sl_job *job, const struct sl_tenant_key *key, bool is_there)
{
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    char hex[SL_DIGEST_HEX + 1];
    sl_digest_print(&key->digest, hex);
    hex[KEY_ID_DIGITS] = '\0';
    sl_buffer_add(&out, SL_TEXT("{"));
    sl_print_text(&out, "label", key->label);
    sl_print_text(&out, "tier", key->tier);
    sl_buffer_add(&out, SL_TEXT("}"));
    const char *json = sl_arena_copy(&job->arena, (struct sluice_text){ out.at, out.len });
    sl_buffer_release(&out);
    sl_job_note(job, &(struct sl_audit_note){ .subject = "key",
                                              .name = hex,
                                              .tenant = key->tenant,
                                              .before = is_there ? json : NULL,
                                              .after = is_there ? NULL : json });
}

/* ---- tenants ---- */

void sl_run_tenants(struct sl_control *control, struct sl_job *job)
{
    struct sluice_error error = { 0 };
    struct sl_buffer *out = &job->out;
    struct sl_tenant *tenants;
    size_t count;
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (!sl_registry_tenants(control->registry, &job->arena, &tenants, &count, &error)) {
        sl_job_refuse(job, 503, "%s", error.text);
        return;
    }
    sl_buffer_add(out, SL_TEXT("{\"tenants\": ["));
    for (size_t i = 0; i < count; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", {") : SL_TEXT("{"));
        sl_print_text(out, "name", tenants[i].name);
        sl_print_text(out, "tier", tenants[i].tier);
        sl_print_i64(out, "keys", (int64_t)tenants[i].key_count);
        sl_print_i64(out, "rules",
                     (int64_t)sl_ruleset_count_of(sl_control_rules(control), tenants[i].name));
        sl_print_text(out, "etag", sl_job_etag(job, 't', tenants[i].revision));
        sl_buffer_add(out, SL_TEXT("}"));
    }
    sl_buffer_add(out, SL_TEXT("]}"));
}

static void get_tenant(struct sl_control *control, struct sl_job *job, const char *name)
{
    bool is_own = !job->tenant || strcmp(job->tenant, name) == 0;
    const struct sl_tenant *tenant = is_own ? sl_control_tenant(control, job, name) : NULL;
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (!tenant) {
        sl_job_refuse_tenant(job, name);
        return;
    }
    job->etag = sl_job_etag(job, 't', tenant->revision);
    print_tenant(control, job, tenant);
}

static bool check_tier(struct sl_control *control, struct sl_job *job, const char *tier)
{
    if (!tier || sl_ruleset_tier(sl_control_rules(control), sl_text(tier)) >= 0)
        return true;
    return sl_job_refuse(job, 422, "there is no tier `%s`", tier);
}

static bool check_match(struct sl_job *job, const struct sl_tenant *tenant)
{
    return sl_job_check_match(job, tenant ? sl_job_etag(job, 't', tenant->revision) : NULL);
}

/* Commits: keys are part of an edition, so every change makes a new one. */
static bool commit_change(struct sl_control *control, struct sl_job *job)
{
    struct sl_ruleset *rules = sl_change_compose(control, job, 409);
    return rules && sl_change_end(control, job, rules);
}

static void put_tenant(struct sl_control *control, struct sl_job *job, const char *name)
{
    static const char *const members[] = { "tier", NULL };
    struct sluice_error error = { 0 };
    const char *tier;
    bool is_new;
    if (!sl_job_check_query(job, no_parameters))
        return;
    if (!sl_rule_name_is_good(sl_text(name))) {
        sl_job_refuse(job, 422, "a tenant's name has 1 to 64 letters, digits, `.`, `_` or `-`");
        return;
    }
    json_t *object = sl_job_object(job, members);
    bool good = object && sl_json_text(job, object, "tier", &tier);
    json_decref(object);
    if (!good || !sl_change_begin(control, job))
        return;
    const struct sl_tenant *old = sl_control_tenant(control, job, name);
    if (!check_match(job, old) || !check_tier(control, job, tier)) {
        sl_change_drop(control);
        return;
    }
    if (!sl_registry_put_tenant(control->registry, name, tier, &is_new, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    const struct sl_tenant *tenant = sl_control_tenant(control, job, name);
    if (!tenant) {
        sl_change_fail(control, job, &(struct sluice_error){ "it cannot be read back" });
        return;
    }
    job->status = is_new && !job->dry_run ? 201 : 200;
    job->would = is_new ? "create" : "replace";
    job->etag = job->dry_run ? NULL : sl_job_etag(job, 't', tenant->revision);
    print_tenant(control, job, tenant);
    note_tenant(job, old, tenant);
    commit_change(control, job);
}

static void delete_tenant(struct sl_control *control, struct sl_job *job, const char *name)
{
    struct sluice_error error = { 0 };
    bool found;
    if (!sl_job_check_query(job, no_parameters) || !sl_change_begin(control, job))
        return;
    const struct sl_tenant *old = sl_control_tenant(control, job, name);
    if (!check_match(job, old)) {
        sl_change_drop(control);
        return;
    }
    if (!sl_registry_drop_tenant(control->registry, name, &found, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    if (!found || !old) {
        sl_job_refuse_tenant(job, name);
        sl_change_drop(control);
        return;
    }
    sl_buffer_add(&job->out, SL_TEXT("{"));
    job->would = "delete";
    sl_print_text(&job->out, "name", name);
    sl_print_bool(&job->out, "deleted", true);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    note_tenant(job, old, NULL);
    commit_change(control, job);
}

void sl_run_tenant(struct sl_control *control, struct sl_job *job)
{
    const char *name = job->parts[0].at;
    if (sl_job_is(job, "PUT"))
        put_tenant(control, job, name);
    else if (sl_job_is(job, "DELETE"))
        delete_tenant(control, job, name);
    else
        get_tenant(control, job, name);
}

/* ---- keys ---- */

/* Returns a new key: 256 bits of the kernel's random numbers. */
static const char *make_key(struct sl_job *job)
{
    return sl_arena_print(&job->arena, "sk_%016llx%016llx%016llx%016llx",
                          (unsigned long long)sl_random64(), (unsigned long long)sl_random64(),
                          (unsigned long long)sl_random64(), (unsigned long long)sl_random64());
}

/* Reads the digest of the body, or makes a new key. Returns false if it refused the job. */
static bool read_key(struct sl_control *control, struct sl_job *job, const json_t *object,
                     struct sl_tenant_key *key, const char **plain)
{
    const char *digest;
    *plain = NULL;
    if (!sl_json_text(job, object, "label", &key->label) ||
        !sl_json_text(job, object, "tier", &key->tier) ||
        !sl_json_text(job, object, "sha256", &digest))
        return false;
    if (key->label && strlen(key->label) > LABEL_MAX_BYTES)
        return sl_job_refuse(job, 422, "`label` has at most %d bytes", LABEL_MAX_BYTES);
    if (digest)
        return sl_digest_parse(sl_text(digest), &key->digest) ||
               sl_job_refuse(job, 422, "`sha256` is the key's SHA-256, 64 hex digits");
    *plain = make_key(job);
    sl_sha256_of(control->hasher, sl_text(*plain), &key->digest);
    return true;
}

static void print_key(struct sl_job *job, const struct sl_tenant_key *key, const char *plain)
{
    struct sl_buffer *out = &job->out;
    job->status = job->dry_run ? 200 : 201;
    job->would = "create";
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "tenant", key->tenant);
    sl_print_text(out, "key", job->dry_run ? NULL : plain);
    print_key_members(out, job, key);
    sl_print_dry_run(job);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_run_tenant_keys(struct sl_control *control, struct sl_job *job)
{
    static const char *const members[] = { "label", "tier", "sha256", NULL };
    struct sluice_error error = { 0 };
    struct sl_tenant_key key = { .tenant = job->parts[0].at, .created_at_us = sl_walltime_us() };
    const char *plain;
    bool is_new;
    json_t *object = sl_job_check_query(job, no_parameters) ? sl_job_object(job, members) : NULL;
    bool good = object && read_key(control, job, object, &key, &plain);
    json_decref(object);
    if (!good || !sl_change_begin(control, job))
        return;
    const struct sl_tenant *tenant = sl_control_tenant(control, job, key.tenant);
    if (!tenant || tenant->key_count >= SL_TENANT_KEYS_MAX || !check_tier(control, job, key.tier)) {
        if (tenant && tenant->key_count >= SL_TENANT_KEYS_MAX)
            sl_job_refuse(job, 409, "a tenant has at most %d keys", SL_TENANT_KEYS_MAX);
        else if (!tenant)
            sl_job_refuse_tenant(job, key.tenant);
        sl_change_drop(control);
        return;
    }
    if (!sl_registry_put_key(control->registry, &key, &is_new, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    if (!is_new) {
        sl_job_refuse(job, 409, "that key is in use already");
        sl_change_drop(control);
        return;
    }
    print_key(job, &key, plain);
    note_key(job, &key, false);
    commit_change(control, job);
}

/* Finds a key by the first digits of its digest. Returns NULL if there is none, or several. */
static const struct sl_tenant_key *find_key(const struct sl_tenant *tenant, const char *id)
{
    const struct sl_tenant_key *found = NULL;
    for (size_t i = 0; tenant && i < tenant->key_count; i++) {
        char hex[SL_DIGEST_HEX + 1];
        sl_digest_print(&tenant->keys[i].digest, hex);
        if (strlen(id) < KEY_ID_DIGITS || strncmp(hex, id, strlen(id)) != 0)
            continue;
        if (found)
            return NULL;
        found = &tenant->keys[i];
    }
    return found;
}

void sl_run_tenant_key(struct sl_control *control, struct sl_job *job)
{
    const char *name = job->parts[0].at, *id = job->parts[1].at;
    struct sluice_error error = { 0 };
    bool found;
    if (!sl_job_check_query(job, no_parameters) || !sl_change_begin(control, job))
        return;
    const struct sl_tenant_key *key = find_key(sl_control_tenant(control, job, name), id);
    if (!key) {
        if (!job->is_problem)
            sl_job_refuse(job, 404, "tenant `%s` has no key `%s`", name, id);
        sl_change_drop(control);
        return;
    }
    if (!sl_registry_drop_key(control->registry, name, &key->digest, &found, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    sl_buffer_add(&job->out, SL_TEXT("{"));
    job->would = "delete";
    sl_print_text(&job->out, "id", id);
    sl_print_bool(&job->out, "deleted", true);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    note_key(job, key, true);
    commit_change(control, job);
}
