/* /v1/exemptions: the whitelist. Exemptions of the file come first, and only the file can change
 * them. Users are exempt in the user table (users.h); all other kinds are in the ruleset's
 * whitelist, so those need a new edition. */
#include "base/clock.h"
#include "registry/users/load_users.h"
#include "server/control/admin_json.h"

enum { REASON_MAX_BYTES = 1024 };

/* ---- canonical values ---- */

static const char *print_network(struct sl_job *job, const struct sl_network *network)
{
    char text[SL_ADDRESS_PRINT_MAX];
    bool is_v4 = sl_address_is_v4(&network->base) && network->prefix >= 96;
    uint32_t bits = is_v4 ? network->prefix - 96 : network->prefix;
    sl_address_print(&network->base, text);
    if (network->prefix == 128)
        return sl_arena_copy(&job->arena, sl_text(text));
    return sl_arena_print(&job->arena, "%s/%u", text, bits);
}

static const char *canonical_ip(struct sl_job *job, const char *value)
{
    struct sl_network network;
    if (sl_network_parse(sl_text(value), &network))
        return print_network(job, &network);
    sl_job_refuse(job, 422,
                  "`value` is an address such as 192.0.2.1, or a network such as "
                  "10.0.0.0/8, with no bits set behind its prefix");
    return NULL;
}

static const char *canonical_key(struct sl_job *job, const char *value)
{
    struct sl_digest digest;
    char hex[SL_DIGEST_HEX + 1];
    if (!sl_digest_parse(sl_text(value), &digest)) {
        sl_job_refuse(job, 422,
                      "`value` is the key's SHA-256: the 64 hex digits that `printf %%s "
                      "KEY | sha256sum` prints, not the key itself");
        return NULL;
    }
    sl_digest_print(&digest, hex);
    return sl_arena_copy(&job->arena, sl_text(hex));
}

/* Returns tenant/name, the name as it is kept. */
static const char *canonical_name(struct sl_control *control, struct sl_job *job, const char *value,
                                  bool is_user)
{
    const char *slash = strchr(value, '/');
    const char *name = slash ? slash + 1 : value;
    if (slash == value || *name == '\0') {
        sl_job_refuse(job, 422,
                      "`value` is tenant/name, or the name alone where there is no "
                      "tenant");
        return NULL;
    }
    if (!is_user)
        return value;
    const char *id = sl_users_id(control->users, sl_text(name), &job->arena);
    if (!id) {
        sl_job_refuse(job, 503, "out of memory");
        return NULL;
    }
    return sl_arena_print(&job->arena, "%.*s%s", (int)(name - value), value, id);
}

static const char *canonical_value(struct sl_control *control, struct sl_job *job,
                                   enum sl_exempt_kind kind, const char *value)
{
    switch (kind) {
    case SL_EXEMPT_IP:
        return canonical_ip(job, value);
    case SL_EXEMPT_API_KEY:
        return canonical_key(job, value);
    default:
        return canonical_name(control, job, value, kind == SL_EXEMPT_USER);
    }
}

/* ---- listing ---- */

static void print_exemption(struct sl_buffer *out, const struct sl_exemption *exemption,
                            const char *source)
{
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "kind", sl_exempt_kind_name(exemption->kind));
    sl_print_text(out, "value", exemption->value);
    sl_print_text(out, "source", source);
    if (exemption->until_us)
        sl_print_moment(out, "until", exemption->until_us);
    else
        sl_print_raw(out, "until", "null");
    sl_print_text(out, "reason", exemption->reason);
}

static const char *name_to_print(struct sl_job *job, const struct sl_exempt_name *name)
{
    if (!name->tenant.at)
        return sl_arena_copy(&job->arena, name->name);
    return sl_arena_print(&job->arena, "%.*s/%.*s", (int)name->tenant.len, name->tenant.at,
                          (int)name->name.len, name->name.at);
}

/* Fills in the file's exemptions as if the API had made them. Returns how many. */
static size_t list_file_exemptions(struct sl_control *control, struct sl_job *job,
                                   struct sl_exemption **out)
{
    const struct sl_exempt *exempt = &sl_control_rules(control)->exempt;
    size_t count =
        exempt->ip_count + exempt->user_count + exempt->client_count + exempt->api_key_count;
    struct sl_exemption *all = sl_arena_take(&job->arena, (count + 1) * sizeof *all), *next = all;
    for (size_t i = 0; i < exempt->user_count; i++)
        *next++ =
            (struct sl_exemption){ SL_EXEMPT_USER, name_to_print(job, &exempt->users[i]), 0, NULL };
    for (size_t i = 0; i < exempt->client_count; i++)
        *next++ = (struct sl_exemption){ SL_EXEMPT_CLIENT, name_to_print(job, &exempt->clients[i]),
                                         0, NULL };
    for (size_t i = 0; i < exempt->ip_count; i++)
        *next++ =
            (struct sl_exemption){ SL_EXEMPT_IP, print_network(job, &exempt->ips[i]), 0, NULL };
    for (size_t i = 0; i < exempt->api_key_count; i++)
        *next++ = (struct sl_exemption){ SL_EXEMPT_API_KEY,
                                         sl_arena_copy(&job->arena, exempt->api_keys[i]), 0, NULL };
    *out = all;
    return count;
}

static void print_exemptions(struct sl_buffer *out, const struct sl_exemption *all, size_t count,
                             const char *source)
{
    for (size_t i = 0; i < count; i++) {
        if (out->at[out->len - 1] != '[')
            sl_buffer_add(out, SL_TEXT(", "));
        print_exemption(out, &all[i], source);
        sl_buffer_add(out, SL_TEXT("}"));
    }
}

static void list_exemptions(struct sl_control *control, struct sl_job *job)
{
    static const char *const parameters[] = { NULL };
    struct sluice_error error = { 0 };
    struct sl_exemption *files, *ours;
    size_t count;
    if (!sl_job_check_query(job, parameters))
        return;
    if (!sl_registry_exemptions(control->registry, sl_walltime_us(), &job->arena, &ours, &count,
                                &error)) {
        sl_job_refuse(job, 503, "%s", error.text);
        return;
    }
    size_t file_count = list_file_exemptions(control, job, &files);
    sl_buffer_add(&job->out, SL_TEXT("{\"exemptions\": ["));
    print_exemptions(&job->out, files, file_count, "file");
    print_exemptions(&job->out, ours, count, "api");
    sl_buffer_add(&job->out, SL_TEXT("]}"));
}

/* ---- changing ---- */

static bool read_kind(struct sl_job *job, const char *text, enum sl_exempt_kind *out)
{
    return (text && sl_exempt_kind_read(text, out)) ||
           sl_job_refuse(job, 422, "`kind` is `user`, `client`, `ip` or `api_key`");
}

static bool read_value(struct sl_control *control, struct sl_job *job, const char *kind,
                       const char *value, struct sl_exemption *out)
{
    if (!read_kind(job, kind, &out->kind))
        return false;
    if (!value || !*value)
        return sl_job_refuse(job, 422,
                             "`value` is missing: the user, client, address or key to exempt");
    out->value = canonical_value(control, job, out->kind, value);
    return out->value;
}

/* Puts the change in force: users in the user table, the others with a new edition. */
static bool commit_change(struct sl_control *control, struct sl_job *job, enum sl_exempt_kind kind)
{
    struct sluice_error error = { 0 };
    struct sl_ruleset *rules = NULL;
    if (kind != SL_EXEMPT_USER) {
        rules = sl_change_compose(control, job, 422);
        if (!rules)
            return false;
    }
    if (!sl_change_end(control, job, rules))
        return false;
    if (kind == SL_EXEMPT_USER && !job->dry_run &&
        !sl_users_fill_exempt(control->users, control->registry, sl_walltime_us(), &error))
        return sl_job_refuse(job, 503, "it is kept, but not in force before a restart: %s",
                             error.text);
    return true;
}

/* Returns false for an exemption that has ended, though its row may still be there. Sets *found if
 * it is there. */
static bool is_live(struct sl_control *control, struct sl_job *job,
                    const struct sl_exemption *exemption, struct sl_exemption *found)
{
    struct sluice_error error = { 0 };
    struct sl_exemption *all;
    size_t count;
    if (!sl_registry_exemptions(control->registry, sl_walltime_us(), &job->arena, &all, &count,
                                &error))
        return false;
    for (size_t i = 0; i < count; i++)
        if (all[i].kind == exemption->kind && strcmp(all[i].value, exemption->value) == 0) {
            *found = all[i];
            return true;
        }
    return false;
}

static void add_exemption(struct sl_control *control, struct sl_job *job)
{
    static const char *const members[] = { "kind", "value", "until", "reason", NULL };
    static const char *const parameters[] = { NULL };
    struct sl_exemption exemption = { 0 }, old;
    struct sluice_error error = { 0 };
    const char *kind, *value;
    bool has_until, is_new;
    json_t *object = sl_job_check_query(job, parameters) ? sl_job_object(job, members) : NULL;
    if (!object)
        return;
    bool good = sl_json_text(job, object, "kind", &kind) &&
                sl_json_text(job, object, "value", &value) &&
                sl_json_text(job, object, "reason", &exemption.reason) &&
                sl_json_moment(job, object, "until", &has_until, &exemption.until_us) &&
                read_value(control, job, kind, value, &exemption);
    json_decref(object);
    if (!good)
        return;
    if (exemption.reason && strlen(exemption.reason) > REASON_MAX_BYTES) {
        sl_job_refuse(job, 422, "`reason` has at most %d bytes: a sentence for people",
                      REASON_MAX_BYTES);
        return;
    }
    if (has_until && exemption.until_us <= sl_walltime_us()) {
        sl_job_refuse(job, 422, "`until` is over already");
        return;
    }
    if (!sl_change_begin(control, job))
        return;
    bool was_live = is_live(control, job, &exemption, &old);
    if (!sl_registry_put_exemption(control->registry, &exemption, &is_new, &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    job->status = !was_live && !job->dry_run ? 201 : 200;
    job->would = was_live ? "replace" : "create";
    print_exemption(&job->out, &exemption, "api");
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    sl_job_note(job, &(struct sl_audit_note){ .exempt = &exemption });
    commit_change(control, job, exemption.kind);
}

static bool is_of_file(struct sl_control *control, struct sl_job *job,
                       const struct sl_exemption *exemption)
{
    struct sl_exemption *all;
    size_t count = list_file_exemptions(control, job, &all);
    for (size_t i = 0; i < count; i++) {
        if (all[i].kind != exemption->kind)
            continue;
        const char *value = canonical_value(control, job, all[i].kind, all[i].value);
        if (value && strcmp(value, exemption->value) == 0)
            return true;
    }
    return false;
}

/* Reads which exemption to delete, of the query or a body. */
static bool read_target(struct sl_control *control, struct sl_job *job, struct sl_exemption *out)
{
    static const char *const members[] = { "kind", "value", NULL };
    const char *kind = sl_job_query(job, "kind"), *value = sl_job_query(job, "value");
    if (!sl_job_check_query(job, members))
        return false;
    if ((kind || value) && job->body.at)
        return sl_job_refuse(job, 422, "say which in the query or in a body, not in both");
    if (!job->body.at)
        return read_value(control, job, kind, value, out);
    json_t *object = sl_job_object(job, members);
    if (!object)
        return false;
    bool good = sl_json_text(job, object, "kind", &kind) &&
                sl_json_text(job, object, "value", &value) &&
                read_value(control, job, kind, value, out);
    json_decref(object);
    return good;
}

static void delete_exemption(struct sl_control *control, struct sl_job *job)
{
    struct sl_exemption exemption = { 0 }, old;
    struct sluice_error error = { 0 };
    bool found;
    if (!read_target(control, job, &exemption) || !sl_change_begin(control, job))
        return;
    bool was_live = is_live(control, job, &exemption, &old);
    if (!sl_registry_drop_exemption(control->registry, exemption.kind, exemption.value, &found,
                                    &error)) {
        sl_change_fail(control, job, &error);
        return;
    }
    if (!found || !was_live) {
        bool is_there = is_of_file(control, job, &exemption);
        sl_job_refuse(job, is_there ? 409 : 404,
                      is_there ? "that is the rules file's exemption; take it out there"
                               : "there is no such exemption");
        sl_change_drop(control);
        return;
    }
    sl_buffer_add(&job->out, SL_TEXT("{"));
    job->would = "delete";
    sl_print_text(&job->out, "kind", sl_exempt_kind_name(exemption.kind));
    sl_print_text(&job->out, "value", exemption.value);
    sl_print_bool(&job->out, "deleted", true);
    sl_print_dry_run(job);
    sl_buffer_add(&job->out, SL_TEXT("}"));
    sl_job_note(job, &(struct sl_audit_note){ .exempt = &old });
    commit_change(control, job, exemption.kind);
}

void sl_run_exemptions(struct sl_control *control, struct sl_job *job)
{
    if (sl_job_is(job, "POST"))
        add_exemption(control, job);
    else if (sl_job_is(job, "DELETE"))
        delete_exemption(control, job);
    else
        list_exemptions(control, job);
}
