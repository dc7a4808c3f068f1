/* An event as a line of JSON. */
#ifndef SL_TELEMETRY_AUDIT_LINE_H
#define SL_TELEMETRY_AUDIT_LINE_H

#include "telemetry/audit/audit.h"

/* Prints into the line, from its start, all but the closing brace and the newline: more may follow.
 * Shortens what would not fit `most_bytes`: texts to most_bytes / 256 bytes, JSON to its length and
 * digest. Returns false if there is no memory. */
bool sl_audit_print(struct sl_audit *audit, const struct sl_audit_event *event, int64_t at_us,
                    size_t most_bytes);

#endif
