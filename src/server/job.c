/* Queues of jobs; reading a job's request, and answering it: see job.h. */
#include "server/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text/utf8.h"
#include "wire/http/status.h"

/* ---- queues ---- */

void sl_jobs_init(struct sl_jobs *jobs)
{
    pthread_mutex_init(&jobs->lock, NULL);
    jobs->first = NULL;
    jobs->end = &jobs->first;
    jobs->count = 0;
}

/* All tenants together have a part of the queue, and each tenant a part of that: an admin who
 * revokes a key must get through. */
static bool has_share(const struct sl_jobs *jobs, const struct sl_job *job)
{
    size_t tenants = 0, own = 0;
    for (const struct sl_job *other = jobs->first; job->tenant && other; other = other->next) {
        tenants += other->tenant != NULL;
        own += other->tenant && strcmp(other->tenant, job->tenant) == 0;
    }
    return tenants < SL_JOBS_TENANTS_MAX && own < SL_JOBS_TENANT_MAX;
}

bool sl_jobs_add(struct sl_jobs *jobs, struct sl_job *job, size_t most)
{
    pthread_mutex_lock(&jobs->lock);
    bool fits = jobs->count < most && (most == SIZE_MAX || has_share(jobs, job));
    if (fits) {
        job->next = NULL;
        *jobs->end = job;
        jobs->end = &job->next;
        jobs->count++;
    }
    pthread_mutex_unlock(&jobs->lock);
    return fits;
}

struct sl_job *sl_jobs_take(struct sl_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    struct sl_job *first = jobs->first;
    jobs->first = NULL;
    jobs->end = &jobs->first;
    jobs->count = 0;
    pthread_mutex_unlock(&jobs->lock);
    return first;
}

void sl_jobs_release(struct sl_jobs *jobs)
{
    struct sl_job *next;
    for (struct sl_job *job = sl_jobs_take(jobs); job; job = next) {
        next = job->next;
        sl_job_free(job);
    }
    pthread_mutex_destroy(&jobs->lock);
}

void sl_job_free(struct sl_job *job)
{
    sl_buffer_release(&job->out);
    sl_arena_release(&job->arena);
    free(job);
}

/* ---- reading a request ---- */

bool sl_job_is(const struct sl_job *job, const char *method)
{
    return sl_text_is(job->method, method);
}

/* Takes one `name=value` off the query. */
static bool take_pair(struct sluice_text *query, struct sluice_text *name,
                      struct sluice_text *value)
{
    if (query->len == 0)
        return false;
    const char *end = memchr(query->at, '&', query->len);
    size_t len = end ? (size_t)(end - query->at) : query->len;
    *name = (struct sluice_text){ query->at, len };
    query->at += len + (end != NULL);
    query->len -= len + (end != NULL);
    const char *equals = memchr(name->at, '=', name->len);
    *value = (struct sluice_text){ 0 };
    if (equals) {
        *value = (struct sluice_text){ equals + 1, len - (size_t)(equals + 1 - name->at) };
        name->len = (size_t)(equals - name->at);
    }
    return true;
}

/* Decodes a text that is_encoded has checked. */
static const char *percent_decode(struct sl_arena *arena, struct sluice_text text)
{
    char *out = sl_arena_copy(arena, text);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++, len++) {
        bool is_coded = text.at[i] == '%';
        out[len] = text.at[i];
        if (is_coded) {
            out[len] = (char)(sl_hex_digit(text.at[i + 1]) << 4 | sl_hex_digit(text.at[i + 2]));
            i += 2;
        }
    }
    out[len] = '\0';
    return out;
}

static bool is_encoded(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '%' && (text.len - i < 3 || sl_hex_digit(text.at[i + 1]) < 0 ||
                                  sl_hex_digit(text.at[i + 2]) < 0))
            return false;
    return true;
}

bool sl_is_printable(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f)
            return false;
    return sl_utf8_is_text(text);
}

const char *sl_percent_read(struct sl_arena *arena, struct sluice_text text)
{
    if (!is_encoded(text))
        return NULL;
    const char *decoded = percent_decode(arena, text);
    size_t coded = 0;
    for (size_t i = 0; i < text.len; i++)
        coded += text.at[i] == '%';
    /* By its counted length, not up to a NUL: a %00 is found. */
    struct sluice_text whole = { decoded, text.len - 2 * coded };
    return sl_is_printable(whole) ? decoded : NULL;
}

const char *sl_job_query(struct sl_job *job, const char *wanted)
{
    struct sluice_text query = job->query, name, value;
    while (take_pair(&query, &name, &value))
        if (sl_text_is(name, wanted))
            return sl_percent_read(&job->arena, value);
    return NULL;
}

static bool is_among(struct sluice_text name, const char *const *names)
{
    for (; *names; names++)
        if (sl_text_is(name, *names))
            return true;
    return false;
}

static bool is_true_or_false(const char *text)
{
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

bool sl_job_check_query(struct sl_job *job, const char *const *names)
{
    struct sluice_text query = job->query, name, value;
    const char *seen[8];
    size_t count = 0;
    while (take_pair(&query, &name, &value)) {
        bool is_dry_run = !sl_job_is(job, "GET") && sl_text_is(name, "dry_run");
        const char *known = sl_arena_copy(&job->arena, name);
        if (!is_dry_run && !is_among(name, names))
            return sl_job_refuse(job, 422, "there is no parameter `%s` here", known);
        if (!sl_percent_read(&job->arena, value))
            return sl_job_refuse(job, 422,
                                 "`%s` is no text: UTF-8 without control characters, "
                                 "percent-encoded",
                                 known);
        for (size_t i = 0; i < count; i++)
            if (strcmp(seen[i], known) == 0)
                return sl_job_refuse(job, 422, "`%s` is there twice", known);
        seen[count++] = known; /* bounded: few names are known */
    }
    const char *dry_run = sl_job_query(job, "dry_run"), *undo = sl_job_query(job, "undo");
    if (dry_run && !is_true_or_false(dry_run))
        return sl_job_refuse(job, 422, "`dry_run` is `true` or `false`");
    if (undo && !is_true_or_false(undo))
        return sl_job_refuse(job, 422, "`undo` is `true` or `false`");
    job->dry_run = dry_run && strcmp(dry_run, "true") == 0;
    job->undo = undo && strcmp(undo, "true") == 0;
    return true;
}

/* ---- conditions ---- */

bool sl_tag_is_listed(struct sluice_text list, const char *etag, bool weakly)
{
    size_t len = strlen(etag);
    for (size_t i = 0; i + len <= list.len; i++) {
        bool starts = i == 0 || list.at[i - 1] == ' ' || list.at[i - 1] == ',' ||
                      list.at[i - 1] == '\t' || (weakly && list.at[i - 1] == '/');
        if (starts && memcmp(list.at + i, etag, len) == 0)
            return true;
    }
    return false;
}

bool sl_job_check_match(struct sl_job *job, const char *etag)
{
    struct sluice_text match = job->if_match, none = job->if_none_match;
    if (match.at && !etag)
        return sl_job_refuse(job, 412, "there is nothing of that name (`If-Match`)");
    if (match.at && !sl_text_is(match, "*") && !sl_tag_is_listed(match, etag, false))
        return sl_job_refuse(job, 412,
                             "it was changed meanwhile (`If-Match`): it is %s now; look at it "
                             "again, then change it",
                             etag);
    if (none.at && etag && (sl_text_is(none, "*") || sl_tag_is_listed(none, etag, true)))
        return sl_job_refuse(job, 412, "it is there already (`If-None-Match`), as %s", etag);
    return true;
}

/* ---- answering ---- */

bool sl_job_refuse(struct sl_job *job, uint32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *detail = sl_arena_vprint(&job->arena, format, arguments);
    va_end(arguments);
    if (status == 503 && job->tenant) /* the reason names the operator's files: not for a tenant */
        detail = sl_arena_copy(&job->arena, SL_TEXT("that cannot be done just now; try again"));
    job->status = status;
    job->is_problem = true;
    job->etag = NULL;
    sl_buffer_clear(&job->out);
    if (*detail >= 'a' && *detail <= 'z')
        *detail = (char)(*detail - 'a' + 'A');
    size_t len = strlen(detail);
    bool ends = len && strchr(".!?", detail[len - 1]);
    sl_problem_print(&job->out, status, ends ? detail : sl_arena_print(&job->arena, "%s.", detail));
    return false;
}
