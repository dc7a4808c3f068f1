/* The newest events, for /v1/audit: the last 1,000 denials, and beside them the last 200 others,
 * which no flood of denials pushes out. For the main thread alone. */
#ifndef SL_TELEMETRY_AUDIT_RECENT_H
#define SL_TELEMETRY_AUDIT_RECENT_H

#include "telemetry/audit/audit.h"

enum { SL_RECENT_DENIALS_MAX = 1000, SL_RECENT_OTHERS_MAX = 200 };

struct sl_audit_kept {
    uint64_t number; /* of all events, in order */
    int64_t at_us;
    enum sl_audit_kind kind;
    struct sluice_text tenant, identifier, rule; /* as given; null `at`: none */
    struct sluice_text line;                     /* without its newline */
};

struct sl_audit_recent;

struct sl_audit_recent *sl_audit_recent_new(void); /* NULL: no memory */
void sl_audit_recent_free(struct sl_audit_recent *recent);

/* Copies the event. The oldest make room. Without memory the event is left out. */
void sl_audit_recent_add(struct sl_audit_recent *recent, const struct sl_audit_event *event,
                         int64_t at_us, struct sluice_text line);

size_t sl_audit_recent_count(const struct sl_audit_recent *recent);

/* Newest first: returns the event before `number` (UINT64_MAX: the newest), or NULL at the end. */
const struct sl_audit_kept *sl_audit_recent_before(const struct sl_audit_recent *recent,
                                                   uint64_t number);

#endif
