/* Jobs for the main thread: calls that read or change what is kept on disk go to the main thread,
 * one after the other, and their answers come back.
 *
 *   worker                          main thread
 *   message → job, conn parked  →   queue → its route's `run` → answer
 *   conn goes on                ←   inbox of the worker
 *
 * Meanwhile the connection is parked: nothing more is read off it, so that answers
 * stay in order. A job belongs to one side at a time; only its worker looks at `conn`,
 * which is NULL once that is gone. */
#ifndef SL_SERVER_JOB_H
#define SL_SERVER_JOB_H

#include <pthread.h>

#include "auth/access.h"
#include "base/arena.h"
#include "server/round.h"

enum { SL_JOB_PARTS_MAX = 2, SL_JOBS_MAX = 1024, SL_JOBS_TENANTS_MAX = 64, SL_JOBS_TENANT_MAX = 8 };

struct sl_exemption;
struct sl_control;
struct sl_route;

/* What a job changed, for the audit log: audit_note.h. */
struct sl_audit_note {
    const char *subject;               /* "rule", "tier", "tenant", "key", "user"; NULL: nothing */
    const char *name;                  /* the thing's own name; a rule's as the ruleset has it */
    const char *tenant;                /* the tenant that it belongs to; NULL: none */
    const char *before, *after;        /* JSON objects; NULL: there was none, there is none */
    const struct sl_exemption *exempt; /* instead of all of these: exemptions that were changed */
};

struct sl_job {
    struct sl_job *next;
    struct sl_worker *worker;
    struct sl_conn *conn;
    struct sl_call call; /* what the answer must know of the request */
    const struct sl_route *route;
    struct sl_arena arena; /* of all texts below; the main thread uses it too */

    enum sl_role role;
    const char *tenant; /* the caller's, if it is one; else NULL */
    struct sluice_text method;
    struct sluice_text parts[SL_JOB_PARTS_MAX]; /* of the path, where its pattern has stars */
    struct sluice_text query;                   /* as it was written */
    struct sluice_text if_match;                /* null `at`: not given */
    struct sluice_text if_none_match;
    struct sluice_text body;   /* null `at`: none */
    bool dry_run, undo;        /* what the query asks for */
    bool is_local;             /* the admin by the address it comes from, without a token */
    struct sl_audit_note note; /* of what is changed */
    const char *would;         /* be done: "create", "replace", "delete", "hide", "undo"; or NULL */

    uint32_t status;
    const char *etag; /* quoted; or NULL */
    struct sl_buffer out;
    bool is_problem;
    bool is_overtaken; /* another instance was faster: the job is run again */
    bool is_rehearsed; /* it would change something, so the database may be made */
};

/* A queue that several threads add to and one takes from, all at once. */
struct sl_jobs {
    pthread_mutex_t lock;
    struct sl_job *first, **end;
    size_t count;
};

void sl_jobs_init(struct sl_jobs *jobs);
/* Returns false if there are `most` already. Answers have no such bound (SIZE_MAX): a connection
 * waits for one at a time. */
bool sl_jobs_add(struct sl_jobs *jobs, struct sl_job *job, size_t most);
/* Takes all of them, oldest first. NULL: there are none. */
struct sl_job *sl_jobs_take(struct sl_jobs *jobs);
void sl_jobs_release(struct sl_jobs *jobs);

void sl_job_free(struct sl_job *job);

/* Writes these answers, which have come back to this worker, on its thread, and frees them.
 * route_admin.c */
void sl_jobs_answer(struct sl_worker *worker, struct sl_job *answers);

/* ---- for the functions that run a job ---- */

bool sl_job_is(const struct sl_job *job, const char *method);

/* Makes the answer a problem. Returns false, so that the caller can return that. */
__attribute__((format(printf, 3, 4))) bool sl_job_refuse(struct sl_job *job, uint32_t status,
                                                         const char *format, ...);

/* UTF-8 without control characters. */
bool sl_is_printable(struct sluice_text text);

/* Decodes %XX and terminates. Returns NULL if the result is no printable text. */
const char *sl_percent_read(struct sl_arena *arena, struct sluice_text text);

/* The value of a query parameter, decoded and terminated, or NULL. */
const char *sl_job_query(struct sl_job *job, const char *name);

/* Refuses (422) a query with other parameters than these (ended by NULL; `dry_run` is allowed
 * besides where the method changes something), with one that is there twice, or with text that is
 * not UTF-8. */
bool sl_job_check_query(struct sl_job *job, const char *const *names);

/* Is the tag in a list such as `"a", W/"b"`? A strong comparison never finds a weak tag. */
bool sl_tag_is_listed(struct sluice_text list, const char *etag, bool weakly);

/* Checks If-Match and If-None-Match against the tag of a thing (NULL: it is not there). Refuses
 * with 412. */
bool sl_job_check_match(struct sl_job *job, const char *etag);

#endif
