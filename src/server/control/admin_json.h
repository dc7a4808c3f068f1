/* JSON bodies of the admin API, and what their answers share. */
#ifndef SL_SERVER_CONTROL_ADMIN_JSON_H
#define SL_SERVER_CONTROL_ADMIN_JSON_H

#include <jansson.h>

#include "server/control/control.h"
#include "server/http/route.h"
#include "wire/json/decision.h"

/* The job's body as an object with no other members than these (ended by NULL). NULL:
 * refused (400 malformed, 422 not such an object). To be released with json_decref. */
json_t *sl_job_object(struct sl_job *job, const char *const *members);

/* The same for any value. */
json_t *sl_job_json(struct sl_job *job);
bool sl_json_check_members(struct sl_job *job, const json_t *object, const char *const *members);

/* A member that is a string, not empty and without control characters; NULL in *out where it
 * is missing or null. False: refused. */
bool sl_json_text(struct sl_job *job, const json_t *object, const char *name, const char **out);

/* A moment: a number of seconds since 1970, or RFC 3339. *has false: missing or null. */
bool sl_json_moment(struct sl_job *job, const json_t *object, const char *name, bool *has,
                    int64_t *out_us);

/* ---- printing ---- */

/* `"name": ` and the value; a comma before it unless it is the first of its object. */
void sl_print_name(struct sl_buffer *out, const char *name);
void sl_print_text(struct sl_buffer *out, const char *name, const char *value); /* NULL: null */
void sl_print_texts(struct sl_buffer *out, const char *name, const char *const *texts,
                    size_t count);
void sl_print_bool(struct sl_buffer *out, const char *name, bool value);
void sl_print_i64(struct sl_buffer *out, const char *name, int64_t value);
/* Seconds with at most six decimals. */
void sl_print_moment(struct sl_buffer *out, const char *name, int64_t us);
/* Billionths as a decimal without zeros at its end. */
void sl_print_billionths(struct sl_buffer *out, const char *name, int64_t billionths);
/* Bytes that are JSON already. */
void sl_print_raw(struct sl_buffer *out, const char *name, const char *json);

/* "per": ["user"] */
void sl_print_per(struct sl_buffer *out, const struct sl_rule *rule);

/* Of a dry run: that it is one, and what would happen (job->would). Else nothing. */
void sl_print_dry_run(struct sl_job *job);

/* Where a rule or a tier comes from. */
struct sl_origin {
    uint64_t revision; /* 0: the file */
    bool replaces_files;
    const char *json;
};
const char *sl_origin_etag(struct sl_job *job, struct sl_origin origin);
void sl_print_origin(struct sl_job *job, struct sl_origin origin); /* source, replaces, etag (of a
                                                                       dry run: null) */

/* A user's id in the path or a body; refused unless it has a bearable length. admin_users.c */
bool sl_user_check_id(struct sl_job *job, const char *what, const char *text);

/* The tenant of a user: "" for none; a tenant's key means its own, and another is refused. */
bool sl_user_take_tenant(struct sl_job *job, const char *given, const char **out);

/* "r12", in quotes, in the job's memory. */
const char *sl_job_etag(struct sl_job *job, char kind, uint64_t number);

#endif
