/* Audit events of changes, resets and reloads (see audit_note.h). */
#include "server/control/audit_note.h"

#include "base/clock.h"
#include "base/text/textmap.h"
#include "base/text/time.h"
#include "limiter/identity.h"
#include "server/control/admin_json.h"

/* A reload is one event, with at most this many bytes of changes; `changes_total` is exact. */
enum { CHANGES_MAX_BYTES = 32 << 10 };

#define TEXT(name_, text_)                                                                         \
    (struct sl_audit_figure)                                                                       \
    {                                                                                              \
        .name = name_, .type = SL_FIGURE_TEXT, .text = text_                                       \
    }
#define JSON(name_, text_)                                                                         \
    (struct sl_audit_figure)                                                                       \
    {                                                                                              \
        .name = name_, .type = SL_FIGURE_JSON, .text = text_                                       \
    }

static void write_event(struct sl_control *control, const struct sl_audit_event *event)
{
    sl_audit_write(control->server->audit, event, sl_walltime_us());
}

/* ---- by jobs ---- */

static const char *copy_to_job(struct sl_job *job, const char *text)
{
    return text ? sl_arena_copy(&job->arena, sl_text(text)) : NULL;
}

void sl_job_note(struct sl_job *job, const struct sl_audit_note *note)
{
    job->note = (struct sl_audit_note){
        .subject = note->subject,
        .name = copy_to_job(job, note->name),
        .tenant = copy_to_job(job, note->tenant),
        .before = copy_to_job(job, note->before),
        .after = copy_to_job(job, note->after),
        .exempt = note->exempt,
    };
}

const char *sl_job_actor(struct sl_job *job)
{
    if (job->tenant)
        return sl_arena_print(&job->arena, "tenant:%s", job->tenant);
    return job->is_local ? "local" : "admin";
}

static const char *digest_of(struct sl_control *control, struct sl_arena *arena,
                             struct sluice_text text)
{
    struct sl_digest digest;
    char hex[SL_DIGEST_HEX + 1];
    sl_sha256_of(control->hasher, text, &digest);
    sl_digest_print(&digest, hex);
    return sl_arena_copy(arena, sl_text(hex));
}

static bool hides_names(const struct sl_control *control)
{
    return sl_control_rules(control)->settings.hash_identifiers;
}

/* ---- exemptions ---- */

/* Names of users are digests already where they must be. */
static const char *name_for_exempt(struct sl_control *control, struct sl_job *job,
                                   const struct sl_exemption *exempt)
{
    return exempt->kind == SL_EXEMPT_IP && hides_names(control)
               ? digest_of(control, &job->arena, sl_text(exempt->value))
               : exempt->value;
}

static struct sluice_text print_moment(struct sl_job *job, int64_t us)
{
    struct sl_buffer text = sl_buffer(64);
    if (!us)
        return (struct sluice_text){ 0 };
    sl_time_print(&text, us);
    const char *copy = sl_arena_copy(&job->arena, (struct sluice_text){ text.at, text.len });
    sl_buffer_release(&text);
    return sl_text(copy);
}

/* Splits an exemption's value: the tenant before the slash, the name after it. */
static void split_exempt_value(struct sl_audit_event *event, enum sl_exempt_kind kind,
                               const char *value)
{
    const char *slash = strchr(value, '/');
    if (kind == SL_EXEMPT_API_KEY)
        return;
    event->identifier = sl_text(value);
    if (kind == SL_EXEMPT_IP || !slash)
        return;
    event->tenant = (struct sluice_text){ value, (size_t)(slash - value) };
    event->identifier = sl_text(slash + 1);
}

static void write_exempt_event(struct sl_control *control, struct sl_job *job)
{
    const struct sl_exemption *exempt = job->note.exempt;
    const char *value = name_for_exempt(control, job, exempt);
    bool is_removed = strcmp(job->would, "delete") == 0;
    struct sl_audit_figure figures[] = {
        TEXT("actor", sl_text(sl_job_actor(job))),
        TEXT("change", sl_text(job->would)),
        TEXT("kind", sl_text(sl_exempt_kind_name(exempt->kind))),
        TEXT("value", sl_text(value)),
        TEXT("until", print_moment(job, exempt->until_us)),
        TEXT("reason", sl_text(exempt->reason)),
    };
    struct sl_audit_event event = {
        .kind = is_removed ? SL_AUDIT_WHITELIST_REMOVED : SL_AUDIT_WHITELIST_ADDED,
        .figures = figures,
        .figure_count = sizeof figures / sizeof *figures,
    };
    split_exempt_value(&event, exempt->kind, value);
    write_event(control, &event);
}

/* ---- other changes ---- */

void sl_audit_note_change(struct sl_control *control, struct sl_job *job)
{
    const struct sl_audit_note *note = &job->note;
    if (note->exempt) {
        write_exempt_event(control, job);
        return;
    }
    if (!note->subject)
        return;
    bool is_rule = strcmp(note->subject, "rule") == 0;
    bool is_user = strcmp(note->subject, "user") == 0;
    struct sl_audit_figure figures[] = {
        TEXT("actor", sl_text(sl_job_actor(job))), TEXT("change", sl_text(job->would)),
        TEXT("subject", sl_text(note->subject)),   TEXT("name", sl_text(note->name)),
        JSON("before", sl_text(note->before)),     JSON("after", sl_text(note->after)),
    };
    write_event(control, &(struct sl_audit_event){
                             .kind = SL_AUDIT_CONFIG_UPDATED,
                             .tenant = sl_text(note->tenant),
                             .identifier = sl_text(is_user ? note->name : NULL),
                             .rule = sl_text(is_rule ? note->name : NULL),
                             .figures = figures,
                             .figure_count = sizeof figures / sizeof *figures,
                         });
}

/* ---- resets ---- */

/* Returns one of the request's names as it is counted, or its digest under `hash_identifiers`. */
static struct sluice_text name_for_reset(struct sl_control *control, struct sl_job *job,
                                         const struct sl_caller_keys *caller,
                                         enum sl_attribute attribute)
{
    struct sluice_text value =
        sl_caller_keys_value(caller, &(struct sl_part){ .attribute = attribute });
    if (sl_text_missing(value))
        return (struct sluice_text){ 0 };
    if (!hides_names(control)) /* a NUL byte in it stays */
        return (struct sluice_text){ sl_arena_copy(&job->arena, value), value.len };
    if (attribute == SL_ATTR_USER)
        return sl_text(sl_users_id(control->users, value, &job->arena));
    return sl_text(digest_of(control, &job->arena, value));
}

void sl_audit_note_reset(struct sl_control *control, struct sl_job *job,
                         const struct sluice_request *request, struct sluice_text rules)
{
    struct sl_caller_keys caller = { 0 };
    if (!sl_caller_keys_init(&caller, sl_control_rules(control), request))
        return;
    struct sluice_text user = name_for_reset(control, job, &caller, SL_ATTR_USER);
    struct sluice_text client = name_for_reset(control, job, &caller, SL_ATTR_CLIENT);
    struct sluice_text ip = name_for_reset(control, job, &caller, SL_ATTR_IP);
    bool is_one = (user.at != NULL) + (client.at != NULL) + (ip.at != NULL) == 1;
    struct sl_audit_figure figures[] = {
        TEXT("actor", sl_text(sl_job_actor(job))),
        JSON("rules", rules),
        TEXT("user", user),
        TEXT("client", client),
        TEXT("ip", ip),
    };
    struct sluice_text all = caller.request.resource;
    write_event(control, &(struct sl_audit_event){
                             .kind = SL_AUDIT_RESET,
                             .tenant = sl_text_missing(request->tenant) ? (struct sluice_text){ 0 }
                                                                        : request->tenant,
                             .identifier = !is_one   ? (struct sluice_text){ 0 }
                                           : user.at ? user
                                           : ip.at   ? ip
                                                     : client,
                             .resource = sl_text_missing(all) || hides_names(control)
                                             ? (struct sluice_text){ 0 }
                                             : all,
                             .rule = sl_text(job->note.name),
                             .figures = figures,
                             .figure_count = sizeof figures / sizeof *figures,
                         });
    sl_caller_keys_release(&caller);
}

/* ---- reloads ---- */

/* The difference of two rulesets: what has changed under the same name, and what only one of them
 * has. */
struct diff {
    struct sl_arena arena;
    struct sl_buffer out; /* the array of changes, not closed yet */
    size_t count;
};

/* A rule or a tier. */
struct named_json {
    struct sluice_text name;
    const char *json;
};

static void add_change(struct diff *diff, const char *subject, const struct named_json *before,
                       const struct named_json *after)
{
    struct sl_buffer *out = &diff->out;
    const char *change = !before ? "create" : !after ? "delete" : "replace";
    size_t len = out->len;
    diff->count++;
    if (out->failed)
        return;
    sl_buffer_add(out, len > 1 ? SL_TEXT(", {\"subject\": \"") : SL_TEXT("{\"subject\": \""));
    sl_buffer_add(out, sl_text(subject));
    sl_buffer_add(out, SL_TEXT("\", \"name\": "));
    sl_json_print_string(out, after ? after->name : before->name);
    sl_print_text(out, "change", change);
    sl_print_raw(out, "before", before ? before->json : "null");
    sl_print_raw(out, "after", after ? after->json : "null");
    sl_buffer_add(out, SL_TEXT("}"));
    if (out->failed)
        out->len = len; /* this change and later ones are only counted */
}

static void add_changes(struct diff *diff, const char *subject, const struct named_json *old,
                        const struct named_json *new)
{
    struct sl_textmap places = { 0 };
    size_t old_count = 0;
    for (; old[old_count].name.at; old_count++)
        sl_textmap_add(&diff->arena, &places, 0, old[old_count].name, (uint32_t)old_count + 1);
    bool *is_there = sl_arena_take(&diff->arena, (old_count + 1) * sizeof *is_there);
    for (; new->name.at; new ++) {
        uint32_t place = sl_textmap_get(&places, 0, new->name);
        is_there[place] = true;
        if (!place || strcmp(old[place - 1].json, new->json) != 0)
            add_change(diff, subject, place ? &old[place - 1] : NULL, new);
    }
    for (size_t i = 0; i < old_count; i++)
        if (!is_there[i + 1])
            add_change(diff, subject, &old[i], NULL);
}

static const struct named_json *list_rules(struct diff *diff, const struct sl_ruleset *rules)
{
    struct named_json *all = sl_arena_take(&diff->arena, (rules->rule_count + 1) * sizeof *all);
    for (size_t i = 0; i < rules->rule_count; i++)
        all[i] = (struct named_json){ sl_text(rules->rules[i].name), rules->rules[i].json };
    return all;
}

static const struct named_json *list_tiers(struct diff *diff, const struct sl_ruleset *rules)
{
    struct named_json *all = sl_arena_take(&diff->arena, (rules->tier_count + 1) * sizeof *all);
    for (size_t i = 0; i < rules->tier_count; i++)
        all[i] = (struct named_json){ rules->tiers[i].name, rules->tiers[i].json };
    return all;
}

const char *sl_audit_note_text(struct sl_control *control, struct sluice_text text,
                               struct sl_arena *arena)
{
    return sl_arena_print(arena, "{\"sha256\": \"%s\"}", digest_of(control, arena, text));
}

static void write_reload(struct sl_control *control, const struct sl_audit_note_rules *rules,
                         const struct diff *diff)
{
    struct sl_audit_figure figures[] = {
        TEXT("actor", sl_text(control->actor ? control->actor : "file")),
        TEXT("change", SL_TEXT("reload")),
        TEXT("subject", SL_TEXT("rules")),
        TEXT("name", ((struct sluice_text){ 0 })),
        JSON("before", sl_text(rules->before)),
        JSON("after", sl_text(rules->after)),
        JSON("changes", ((struct sluice_text){ diff->out.at, diff->out.len })),
        { .name = "changes_total", .number = (int64_t)diff->count },
    };
    write_event(control, &(struct sl_audit_event){
                             .kind = SL_AUDIT_CONFIG_UPDATED,
                             .figures = figures,
                             .figure_count = sizeof figures / sizeof *figures,
                         });
}

void sl_audit_note_reload(struct sl_control *control, const struct sl_audit_note_rules *rules)
{
    struct diff diff = { .out = sl_buffer(CHANGES_MAX_BYTES) };
    sl_buffer_add(&diff.out, SL_TEXT("["));
    add_changes(&diff, "tier", list_tiers(&diff, rules->old), list_tiers(&diff, rules->new));
    add_changes(&diff, "rule", list_rules(&diff, rules->old), list_rules(&diff, rules->new));
    diff.out.failed = false;
    diff.out.most = CHANGES_MAX_BYTES + 1;
    sl_buffer_add(&diff.out, SL_TEXT("]"));
    if (!diff.out.failed && (diff.count || rules->before || rules->is_certain))
        write_reload(control, rules, &diff);
    sl_buffer_release(&diff.out);
    sl_arena_release(&diff.arena);
}
