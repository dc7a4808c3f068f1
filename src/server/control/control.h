/* The control plane, on the main thread: the registry on disk, and the edition made of it and the
 * rules file. Only this thread touches it; workers send jobs.
 *
 *   rules file (its text as last accepted)  ┐
 *   registry (what the API changed)         ├→ ruleset → edition → workers
 *   key, token and certificate files        ┘
 * */
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
    struct sl_registry *untouched; /* the real one while a change is tried in memory */
    struct sl_arena arena;
    const char *database;                       /* its path; NULL: in memory */
    struct sl_control_replication *replication; /* NULL: no replication */
    struct sl_users *users;
    uint64_t users_revision;    /* the registry's revision that `users` hold */
    uint64_t rules_revision;    /* of the rules in force */
    uint64_t composed_revision; /* of the rules composed last */
    uint64_t begun_revision;    /* of the rules when the current change began */
    uint64_t refused_revision;  /* of another process's rules that cannot be used here */
    struct sl_sha256 *hasher;
    struct sl_buffer text; /* the rules file, as last accepted */
    bool keeps_violations; /* in the registry: some rule in force is adaptive */
    bool has_said_unwritten;
    bool is_stale;         /* users could not be read: try again */
    int64_t sweep_at_us;   /* on the clock since boot */
    int64_t wall_ahead_us; /* the wall clock minus the clock since boot */
    /* Reads the files again. Returns false with the problems in *report. */
    bool (*reload)(void *about, struct sl_report *report);
    void *about;
    const char *actor; /* the actor of a reload; NULL: the file or another process */
};

/* Opens the registry and the users. Returns false after logging the reason. */
bool sl_control_open(struct sl_control *control, const struct sl_settings *settings);
void sl_control_close(struct sl_control *control);

/* Returns a ruleset of this text and what the registry holds now, inside a transaction or outside.
 * Returns NULL with the reasons in *report. */
struct sl_ruleset *sl_control_compose(struct sl_control *control, struct sluice_text text,
                                      struct sl_report *report);

/* Returns an edition (see edition.h) of these rules and files, with the tenants' keys of the
 * registry. Takes ownership of both, also when it fails. Returns NULL after logging the reason. */
struct sl_edition *sl_control_edition(struct sl_control *control, struct sl_ruleset *rules,
                                      struct sl_files *files);
/* Puts the edition in force; workers take it when they wake. */
void sl_control_publish(struct sl_control *control, struct sl_edition *edition);

static inline const struct sl_ruleset *sl_control_rules(const struct sl_control *control)
{
    return control->server->edition->rules;
}

/* Put in force what another process has changed: its rules, or rules and users. */
void sl_control_take_over_rules(struct sl_control *control);
void sl_control_take_over(struct sl_control *control);

/* Returns the number of the last change; with replication it is the same on every instance. */
uint64_t sl_control_revision(struct sl_control *control);

/* Called four times a second: takes over changes of other processes, writes violations, deletes
 * expired rows. */
void sl_control_look(struct sl_control *control);
void sl_control_flush(struct sl_control *control); /* writes violations */

/* Runs the job and queues its answer for the worker. */
void sl_control_run(struct sl_control *control, struct sl_job *job);

/* ---- changes, for code that runs jobs: change.c ---- */

/* Begins a transaction in which everything is as other processes and instances left it. Returns
 * false if it refused the job (503). */
bool sl_change_begin(struct sl_control *control, struct sl_job *job);
/* The same for a change of this user alone. */
bool sl_change_begin_user(struct sl_control *control, struct sl_job *job, const char *tenant,
                          const char *id);
/* The same for a change that depends on all users. */
bool sl_change_begin_all(struct sl_control *control, struct sl_job *job);

/* Returns the rules as the transaction would leave them. On problems it rolls back, refuses the job
 * with this status and every problem, and returns NULL. */
struct sl_ruleset *sl_change_compose(struct sl_control *control, struct sl_job *job,
                                     uint32_t status);

/* Commits and, unless `rules` is NULL, puts the rules in force. Takes ownership of the rules. A dry
 * run is rolled back. Returns false if nothing was changed: the job was refused (503) or is to be
 * run again (job->is_overtaken). */
bool sl_change_end(struct sl_control *control, struct sl_job *job, struct sl_ruleset *rules);

/* Rolls back a job that was refused by sl_job_refuse. Always returns false. */
bool sl_change_drop(struct sl_control *control);

/* Rolls back and refuses the job (503) because the registry failed. Always returns false. */
bool sl_change_fail(struct sl_control *control, struct sl_job *job,
                    const struct sluice_error *error);

/* Refuses the job with every problem of the report. */
void sl_job_refuse_report(struct sl_job *job, uint32_t status, struct sl_report *report);

/* sl_control_tenant returns a tenant of the registry, in the job's memory; NULL if there is none,
 * or if the registry cannot be read, which it has refused already. A caller that needs a tenant
 * then calls sl_job_refuse_tenant. */
bool sl_job_refuse_tenant(struct sl_job *job, const char *name); /* always returns false */
const struct sl_tenant *sl_control_tenant(struct sl_control *control, struct sl_job *job,
                                          const char *name);

enum { SL_TENANT_RULES_MAX = 100, SL_TENANT_KEYS_MAX = 100 };

/* Loads users again, after a change of users or exemptions. */
bool sl_control_refresh_users(struct sl_control *control, struct sluice_error *error);

#endif
