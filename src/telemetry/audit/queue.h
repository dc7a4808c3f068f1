/* Audit lines on their way to the sink, and the thread that writes them there.
 *
 * Two buffers: one is filled while the other is written, then they change places. Lines waiting in
 * both are bounded; a line that finds no room is dropped and counted. */
#ifndef SL_TELEMETRY_AUDIT_QUEUE_H
#define SL_TELEMETRY_AUDIT_QUEUE_H

#include "telemetry/audit/sink.h"

enum {
    SL_AUDIT_QUEUE_MAX_BYTES = 1 << 20,
    SL_AUDIT_QUEUE_KEPT_BYTES = 1 << 17, /* of these, reserved for chained lines */
};

struct sl_audit_queue;

/* Takes the sink over. Returns NULL with error->text, and the sink is closed then. */
struct sl_audit_queue *sl_audit_queue_open(const struct sl_audit_sink *sink,
                                           struct sluice_error *error);

/* Never waits. `is_kept_room`: the line may use the reserved room. Returns false if the line was
 * dropped, which is counted. */
bool sl_audit_queue_add(struct sl_audit_queue *queue, struct sluice_text line,
                        enum sl_audit_severity severity, bool is_kept_room);

/* Opens the sink anew between the lines added before and those added after. */
void sl_audit_queue_reopen(struct sl_audit_queue *queue);

/* Counts a line that the caller has written itself, or could not. */
void sl_audit_queue_count(struct sl_audit_queue *queue, bool is_written);

/* For any thread. */
void sl_audit_queue_counts(const struct sl_audit_queue *queue, struct sl_audit_counts *out);

/* Waits until all is written, at most two seconds for a sink that does not take it. */
void sl_audit_queue_close(struct sl_audit_queue *queue);

#endif
