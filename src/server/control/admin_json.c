/* Reads and prints the JSON bodies of the admin API (see admin_json.h). */
#include "server/control/admin_json.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/text/time.h"
#include "wire/json/decision.h"

/* ---- reading ---- */

json_t *sl_job_json(struct sl_job *job)
{
    json_error_t error;
    if (!job->body.at) {
        sl_job_refuse(job, 400, "there is no body; send JSON");
        return NULL;
    }
    json_t *value =
        json_loadb(job->body.at, job->body.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!value) {
        enum json_error_code code = json_error_code(&error);
        bool is_json = code == json_error_duplicate_key || code == json_error_numeric_overflow;
        sl_job_refuse(job, is_json ? 422 : 400, "line %d, column %d: %s", error.line, error.column,
                      error.text);
    }
    return value;
}

bool sl_json_check_members(struct sl_job *job, const json_t *object, const char *const *members)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t i = 0;
        while (members[i] && strcmp(members[i], name) != 0)
            i++;
        if (!members[i])
            return sl_job_refuse(job, 422, "there is no member `%s` here", name);
    }
    return true;
}

json_t *sl_job_object(struct sl_job *job, const char *const *members)
{
    json_t *object = sl_job_json(job);
    if (!object)
        return NULL;
    if (!json_is_object(object))
        sl_job_refuse(job, 422, "send an object, as in {\"%s\": …}", members[0]);
    else if (sl_json_check_members(job, object, members))
        return object;
    json_decref(object);
    return NULL;
}

bool sl_json_text(struct sl_job *job, const json_t *object, const char *name, const char **out)
{
    const json_t *value = json_object_get(object, name);
    *out = NULL;
    if (!value || json_is_null(value))
        return true;
    struct sluice_text text = { json_string_value(value), json_string_length(value) };
    if (!json_is_string(value) || text.len == 0 || !sl_is_printable(text))
        return sl_job_refuse(job, 422, "`%s` is a text, not empty, without control characters",
                             name);
    *out = sl_arena_copy(&job->arena, text);
    return true;
}

bool sl_json_moment(struct sl_job *job, const json_t *object, const char *name, bool *has,
                    int64_t *out_us)
{
    const json_t *value = json_object_get(object, name);
    bool good = true;
    *has = value && !json_is_null(value);
    if (!*has)
        return true;
    /* Up to the year 9999. */
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= INT64_C(253402300799))
        *out_us = json_integer_value(value) * 1000000;
    else if (json_is_real(value) && json_real_value(value) >= 0 &&
             json_real_value(value) < 253402300800.0)
        *out_us = (int64_t)(json_real_value(value) * 1e6 + 0.5);
    else
        good = json_is_string(value) &&
               sl_time_parse(
                   (struct sluice_text){ json_string_value(value), json_string_length(value) },
                   out_us);
    if (good)
        return true;
    return sl_job_refuse(
        job, 422, "`%s` is seconds since 1970, or a time such as \"2026-12-01T00:00:00Z\"", name);
}

/* ---- printing ---- */

void sl_print_name(struct sl_buffer *out, const char *name)
{
    char last = out->len ? out->at[out->len - 1] : '{';
    if (last != '{')
        sl_buffer_add(out, SL_TEXT(", "));
    sl_buffer_add(out, SL_TEXT("\""));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT("\": "));
}

void sl_print_raw(struct sl_buffer *out, const char *name, const char *json)
{
    sl_print_name(out, name);
    sl_buffer_add(out, sl_text(json));
}

void sl_print_text(struct sl_buffer *out, const char *name, const char *value)
{
    sl_print_name(out, name);
    if (value)
        sl_json_print_string(out, sl_text(value));
    else
        sl_buffer_add(out, SL_TEXT("null"));
}

void sl_print_texts(struct sl_buffer *out, const char *name, const char *const *texts, size_t count)
{
    sl_print_name(out, name);
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < count; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", ") : SL_TEXT(""));
        sl_json_print_string(out, sl_text(texts[i]));
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

void sl_print_bool(struct sl_buffer *out, const char *name, bool value)
{
    sl_print_raw(out, name, value ? "true" : "false");
}

void sl_print_i64(struct sl_buffer *out, const char *name, int64_t value)
{
    sl_print_name(out, name);
    sl_buffer_add_i64(out, value);
}

/* Prints parts / 10^places, without trailing zeros. */
static void print_parts(struct sl_buffer *out, int64_t parts, int places)
{
    char text[48];
    int64_t one = 1;
    for (int i = 0; i < places; i++)
        one *= 10;
    uint64_t size = parts < 0 ? 0 - (uint64_t)parts : (uint64_t)parts;
    int len = snprintf(text, sizeof text, "%s%" PRIu64 ".%0*" PRIu64, parts < 0 ? "-" : "",
                       size / (uint64_t)one, places, size % (uint64_t)one);
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    sl_buffer_add(out, (struct sluice_text){ text, (size_t)len });
}

void sl_print_moment(struct sl_buffer *out, const char *name, int64_t us)
{
    sl_print_name(out, name);
    print_parts(out, us, 6);
}

void sl_print_billionths(struct sl_buffer *out, const char *name, int64_t billionths)
{
    sl_print_name(out, name);
    print_parts(out, billionths, 9);
}

void sl_print_per(struct sl_buffer *out, const struct sl_rule *rule)
{
    sl_print_name(out, "per");
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < rule->per_count; i++) {
        if (i)
            sl_buffer_add(out, SL_TEXT(", "));
        sl_json_print_string(out, rule->per[i].name);
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

void sl_print_dry_run(struct sl_job *job)
{
    if (!job->dry_run)
        return;
    sl_print_bool(&job->out, "dry_run", true);
    if (job->would)
        sl_print_text(&job->out, "would", job->would);
}

const char *sl_job_etag(struct sl_job *job, char kind, uint64_t number)
{
    return sl_arena_print(&job->arena, "\"%c%" PRIx64 "\"", kind, number);
}

const char *sl_origin_etag(struct sl_job *job, struct sl_origin origin)
{
    if (origin.revision)
        return sl_job_etag(job, 'r', origin.revision);
    return sl_job_etag(job, 'f', sl_hash64(sl_text(origin.json), 0));
}

void sl_print_origin(struct sl_job *job, struct sl_origin origin)
{
    sl_print_text(&job->out, "source", origin.revision ? "api" : "file");
    sl_print_text(&job->out, "replaces", origin.replaces_files ? "file" : NULL);
    sl_print_text(&job->out, "etag", job->dry_run ? NULL : sl_origin_etag(job, origin));
}
