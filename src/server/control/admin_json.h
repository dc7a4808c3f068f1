/* JSON bodies of the admin API, and members that its answers share. */
#ifndef SL_SERVER_CONTROL_ADMIN_JSON_H
#define SL_SERVER_CONTROL_ADMIN_JSON_H

#include <jansson.h>

#include "server/control/control.h"
#include "server/http/route.h"
#include "wire/json/decision.h"

/* Returns the job's body as an object that has no members but these (ended by NULL); the caller
 * releases it with json_decref. Returns NULL if it refused the job: 400 malformed, 422 not such an
 * object. */
json_t *sl_job_object(struct sl_job *job, const char *const *members);

/* The same for a body of any JSON type. */
json_t *sl_job_json(struct sl_job *job);
bool sl_json_check_members(struct sl_job *job, const json_t *object, const char *const *members);

/* Reads a string member: not empty, without control characters. *out is NULL if it is missing or
 * null. Returns false if it refused the job. */
bool sl_json_text(struct sl_job *job, const json_t *object, const char *name, const char **out);

/* Reads a moment: a number of seconds since 1970, or RFC 3339. *has is false if it is missing or
 * null. */
bool sl_json_moment(struct sl_job *job, const json_t *object, const char *name, bool *has,
                    int64_t *out_us);

/* ---- printing ---- */

/* Prints `"name": `, after a comma unless it is the first member of its object. */
void sl_print_name(struct sl_buffer *out, const char *name);
void sl_print_text(struct sl_buffer *out, const char *name,
                   const char *value); /* NULL prints null */
void sl_print_texts(struct sl_buffer *out, const char *name, const char *const *texts,
                    size_t count);
void sl_print_bool(struct sl_buffer *out, const char *name, bool value);
void sl_print_i64(struct sl_buffer *out, const char *name, int64_t value);
/* Seconds with at most six decimals. */
void sl_print_moment(struct sl_buffer *out, const char *name, int64_t us);
/* Prints billionths as a decimal without trailing zeros. */
void sl_print_billionths(struct sl_buffer *out, const char *name, int64_t billionths);
/* Prints bytes that are JSON already. */
void sl_print_raw(struct sl_buffer *out, const char *name, const char *json);

/* "per": ["user"] */
void sl_print_per(struct sl_buffer *out, const struct sl_rule *rule);

/* For a dry run, prints `dry_run` and what would happen (job->would). Otherwise prints nothing. */
void sl_print_dry_run(struct sl_job *job);

/* The origin of a rule or a tier. */
struct sl_origin {
    uint64_t revision; /* 0: the file */
    bool replaces_files;
    const char *json;
};
const char *sl_origin_etag(struct sl_job *job, struct sl_origin origin);
void sl_print_origin(struct sl_job *job, struct sl_origin origin); /* source, replaces, etag (of a
                                                                       dry run: null) */

/* Checks the length of a user's id, of the path or a body. Returns false if it refused the job.
 * Implemented in admin_users.c. */
bool sl_user_check_id(struct sl_job *job, const char *what, const char *text);

/* Sets *out to the tenant of a user, "" for none. With a tenant's key it is that tenant; another
 * one is refused. */
bool sl_user_take_tenant(struct sl_job *job, const char *given, const char **out);

/* Returns an entity tag such as "r12", with its quotes, in the job's memory. */
const char *sl_job_etag(struct sl_job *job, char kind, uint64_t number);

#endif
