/* What was changed, and by whom, as events of the audit log.
 *
 * Who runs a job that changes something says in its note what that is; sl_change_end writes it
 * down once it is on disk and in force. A dry run and what was refused leave nothing. */
#ifndef SL_SERVER_CONTROL_AUDIT_NOTE_H
#define SL_SERVER_CONTROL_AUDIT_NOTE_H

#include "server/job.h"

struct sl_control;
struct sl_ruleset;

/* "admin", "local", "tenant:NAME"; in the job's memory. */
const char *sl_job_actor(struct sl_job *job);

/* Keeps a copy with the job. What it points to, exemptions aside, may go then. */
void sl_job_note(struct sl_job *job, const struct sl_audit_note *note);

/* The job's, if it has one. */
void sl_audit_note_change(struct sl_control *control, struct sl_job *job);

/* Counts that were forgotten: of whom, and in which rules (a JSON array, not empty). The name of
 * the job's note is that of the one rule that was asked for, or NULL. */
void sl_audit_note_reset(struct sl_control *control, struct sl_job *job,
                         const struct sluice_request *request, struct sluice_text rules);

/* Rules that were read anew, by `office->actor`. */
struct sl_audit_note_rules {
    const struct sl_ruleset *old, *new;
    const char *before, *after; /* of the rules file, if that is other: JSON; else NULL */
    bool is_certain;            /* that something was changed, if none of what is compared */
};

/* Nothing, if they are what they were and the file is too. */
void sl_audit_note_reload(struct sl_control *control, const struct sl_audit_note_rules *rules);

/* {"sha256": "…"} of a rules file's text, in the office's memory for as long as `arena`. */
struct sl_arena;
const char *sl_audit_note_text(struct sl_control *control, struct sluice_text text,
                               struct sl_arena *arena);

#endif
