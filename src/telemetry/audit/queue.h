/* Lines on their way to the sink, and the thread that takes them there.
 *
 * Two buffers: one is filled while the other is written, then they change places. What waits in
 * both is bounded; a line that finds no room is dropped and counted. */
#ifndef SL_TELEMETRY_AUDIT_QUEUE_H
#define SL_TELEMETRY_AUDIT_QUEUE_H

#include "telemetry/audit/sink.h"

enum {
    SL_AUDIT_QUEUE_MAX_BYTES = 1 << 20,
    SL_AUDIT_QUEUE_KEPT_BYTES = 1 << 17, /* of these, for lines that are chained */
};

struct sl_audit_queue;

/* Takes the sink over. NULL: error->text, and the sink is closed. */
struct sl_audit_queue *sl_audit_queue_open(const struct sl_audit_sink *sink,
                                           struct sluice_error *error);

/* Never waits. `is_kept_room`: it may take the room that is kept. False: dropped, and counted. */
bool sl_audit_queue_add(struct sl_audit_queue *queue, struct sluice_text line,
                        enum sl_audit_severity severity, bool is_kept_room);

/* The sink is opened anew between what was added before and what is added after. */
void sl_audit_queue_reopen(struct sl_audit_queue *queue);

/* A line that somebody else has written, or could not. */
void sl_audit_queue_count(struct sl_audit_queue *queue, bool is_written);

/* For any thread. */
void sl_audit_queue_counts(const struct sl_audit_queue *queue, struct sl_audit_counts *out);

/* Waits until all is written, at most two seconds for a sink that takes nothing. */
void sl_audit_queue_close(struct sl_audit_queue *queue);

#endif
