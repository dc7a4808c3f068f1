/* The main thread's desk: what is kept on disk, and the edition made of it and of the
 * rules file. Only this thread touches it; workers send jobs.
 *
 *   rules file (its text as last accepted)  ┐
 *   registry (what the API changed)         ├→ ruleset → edition → workers
 *   key, token and certificate files        ┘
 */
#ifndef SL_SERVER_CONTROL_CONTROL_H
#define SL_SERVER_CONTROL_CONTROL_H

#include "registry/registry.h"
#include "registry/users/users.h"
#include "server/control/audit_note.h"
#include "server/control/control_replication.h"
#include "server/job.h"
#include "server/server.h"
#include "server/worker.h"

struct sl_control {
    struct sl_server *server;
    const struct sl_serve_config *config;
    struct sl_registry *registry;
    struct sl_registry *untouched; /* while a change is tried on one in memory; else NULL */
    struct sl_arena arena;
    const char *database; /* its path; NULL: in memory */
    struct sl_control_replication
        *spread; /* NULL: what is changed here is for this instance alone */
    struct sl_users *users;
    uint64_t people_revision;   /* what they hold is as of this, */
    uint64_t rules_revision;    /* and so are the rules in force; */
    uint64_t composed_revision; /* of what was composed last, */
    uint64_t begun_revision;    /* of the rules when a change began, */
    uint64_t refused_revision;  /* and of another process's that could not be */
    struct sl_sha256 *hasher;
    struct sl_buffer text; /* the rules file, as last accepted */
    bool keeps_violations; /* in the registry: some rule in force is adaptive */
    bool has_said_unwritten;
    bool is_stale;         /* people could not be read: to be tried again */
    int64_t sweep_at_us;   /* by the time since the machine was started, */
    int64_t wall_ahead_us; /* of which the wall clock is that much ahead */
    /* Reads the files again; false: the problems are in *report. */
    bool (*reload)(void *about, struct sl_report *report);
    void *about;
    const char *actor; /* who has them read again; NULL: whoever changed them */
};

/* Opens registry and people as these settings say. False: it has said why. */
bool sl_control_open(struct sl_control *control, const struct sl_settings *settings);
void sl_control_close(struct sl_control *control);

/* A ruleset of this text and what the registry holds now, within a transaction or
 * outside. NULL: *report says why. */
struct sl_ruleset *sl_control_compose(struct sl_control *control, struct sluice_text text,
                                      struct sl_report *report);

/* An edition of these rules and files (see edition.h), with the tenants' keys as the
 * registry has them; takes both over, also if it fails. NULL: it has said why. */
struct sl_edition *sl_control_edition(struct sl_control *control, struct sl_ruleset *rules,
                                      struct sl_files *files);
/* It is in force: workers go over when they next come round. */
void sl_control_publish(struct sl_control *control, struct sl_edition *edition);

static inline const struct sl_ruleset *sl_control_rules(const struct sl_control *control)
{
    return control->server->edition->rules;
}

/* The rules as another process has left them, if one has changed them; and people too. */
void sl_control_take_over_rules(struct sl_control *control);
void sl_control_take_over(struct sl_control *control);

/* Of the last change: to people, the same everywhere. */
uint64_t sl_control_revision(struct sl_control *control);

/* Four times a second: other processes' changes come in, violations go out, what is
 * over is deleted. */
void sl_control_look(struct sl_control *control);
void sl_control_flush(struct sl_control *control); /* violations */

/* Runs it; its answer is on the way back then. */
void sl_control_run(struct sl_control *control, struct sl_job *job);

/* ---- changes, for those who run jobs: change.c ---- */

/* A transaction, with everything as other processes and instances left it. False: refused (503). */
bool sl_change_begin(struct sl_control *control, struct sl_job *job);
/* The same for one that is about this user alone, */
bool sl_change_begin_user(struct sl_control *control, struct sl_job *job, const char *tenant,
                          const char *id);
/* and for one that depends on what users are. */
bool sl_change_begin_all(struct sl_control *control, struct sl_job *job);

/* What the rules would be. NULL: rolled back and refused with this status and every
 * problem. */
struct sl_ruleset *sl_change_compose(struct sl_control *control, struct sl_job *job,
                                     uint32_t status);

/* On disk and (unless `rules` is NULL) in force. Takes the rules over. A dry run: rolled
 * back. False: refused (503), nothing changed; or it is to be done again (job->is_overtaken). */
bool sl_change_end(struct sl_control *control, struct sl_job *job, struct sl_ruleset *rules);

/* Rolled back, and refused by sl_job_refuse already. Always false. */
bool sl_change_drop(struct sl_control *control);

/* The registry failed: 503, rolled back. Always false. */
bool sl_change_fail(struct sl_control *control, struct sl_job *job,
                    const struct sluice_error *error);

/* A problem with every problem of the report. */
void sl_job_refuse_report(struct sl_job *job, uint32_t status, struct sl_report *report);

/* Of the registry, in the job's memory. NULL: there is none, or it cannot be read, and that
 * is refused already; then whoever needs one says: */
bool sl_job_refuse_tenant(struct sl_job *job, const char *name); /* always false */
const struct sl_tenant *sl_control_tenant(struct sl_control *control, struct sl_job *job,
                                          const char *name);

enum { SL_TENANT_RULES_MAX = 100, SL_TENANT_KEYS_MAX = 100 };

/* People as the registry has them, after a change of users or exemptions. */
bool sl_control_refresh_users(struct sl_control *control, struct sluice_error *error);

#endif
