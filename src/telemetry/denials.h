/* Denials of about a second, folded: one audit event for each identifier and rule, with its count.
 * A flood of them becomes at most SL_DENIALS_MAX lines; one more line gives the number of the rest,
 * so that counts add up. */
#ifndef SL_TELEMETRY_DENIALS_H
#define SL_TELEMETRY_DENIALS_H

#include "limiter/observe/samples.h"
#include "telemetry/audit/audit.h"
#include "telemetry/rule_ids.h"

enum { SL_DENIALS_MAX = 1000, SL_DENIALS_TEXT_BYTES = 256 << 10 };

struct sl_denials;

/* Returns NULL if there is no memory. */
struct sl_denials *sl_denials_new(void);
void sl_denials_free(struct sl_denials *denials);

/* Copies the texts that it keeps. */
void sl_denials_add(struct sl_denials *denials, const struct sl_noted *noted);

/* Counts denials without their identifiers; the first of them was at about that time. */
void sl_denials_miss(struct sl_denials *denials, uint64_t count, int64_t at_us);

/* Writes all events, and begins anew. */
void sl_denials_flush(struct sl_denials *denials, const struct sl_rule_ids *ids,
                      struct sl_audit *audit);

#endif
