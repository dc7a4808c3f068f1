/* Audit events of changes: the change, and its actor.
 *
 * A job that changes something describes the change in its note; sl_change_end writes the event
 * after the commit, when the change is in force. Dry runs and refused changes write none. */
#ifndef SL_SERVER_CONTROL_AUDIT_NOTE_H
#define SL_SERVER_CONTROL_AUDIT_NOTE_H

#include "server/job.h"

struct sl_control;
struct sl_ruleset;

/* Returns "admin", "local" or "tenant:NAME", in the job's memory. */
const char *sl_job_actor(struct sl_job *job);

/* Copies the note into the job's memory, except for `exempt`, which must outlive the job. */
void sl_job_note(struct sl_job *job, const struct sl_audit_note *note);

/* Writes the event of the job's note, if it has one. */
void sl_audit_note_change(struct sl_control *control, struct sl_job *job);

/* Writes the event of a reset: the request whose counts were forgotten, and the rules (a JSON
 * array, not empty). The name of the job's note is the one rule of the call, or NULL. */
void sl_audit_note_reset(struct sl_control *control, struct sl_job *job,
                         const struct sluice_request *request, struct sluice_text rules);

/* A reload by `control->actor`. */
struct sl_audit_note_rules {
    const struct sl_ruleset *old, *new;
    const char *before, *after; /* JSON about the rules file if its text changed, else NULL */
    bool is_certain;            /* write the event even if nothing that is compared has changed */
};

/* Writes the event of a reload; none if neither rules nor file have changed. */
void sl_audit_note_reload(struct sl_control *control, const struct sl_audit_note_rules *rules);

/* Returns {"sha256": "…"} of a rules file's text, in `arena`. */
struct sl_arena;
const char *sl_audit_note_text(struct sl_control *control, struct sluice_text text,
                               struct sl_arena *arena);

#endif
