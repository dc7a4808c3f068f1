/* The audit log: denials, changes and store events, one JSON object a line, to where `audit` says.
 *
 *   main thread                                      the audit thread
 *   event → line → the recent ones (/v1/audit)
 *              └→ queue of 1 MiB, or dropped    →    file, standard output, syslog
 *
 * A slow disk or a pipe without a reader holds up the audit thread alone. Events of changes are
 * few and must not be lost: they are chained by their hashes (chain.h), and in a file they
 * are written before the main thread goes on (head.h).
 *
 * Only the main thread uses it, except for sl_audit_counts. */
#ifndef SL_TELEMETRY_AUDIT_AUDIT_H
#define SL_TELEMETRY_AUDIT_AUDIT_H

#include "base/buffer.h"
#include "base/sha256.h"
#include "telemetry/audit/head.h"

enum sl_audit_severity { SL_AUDIT_INFO, SL_AUDIT_WARNING, SL_AUDIT_ERROR, SL_AUDIT_SEVERITY_COUNT };

/* The sort of an event: denials may come in floods, changes are chained, and a line about the
 * store has no tenant, identifier and so on. */
enum sl_audit_sort { SL_AUDIT_DENIAL, SL_AUDIT_CHANGE, SL_AUDIT_STORE };

#define SL_AUDIT_EVENTS(ROW)                                                                       \
    ROW(SL_AUDIT_EXCEEDED, "rate_limit_exceeded", WARNING, DENIAL)                                 \
    ROW(SL_AUDIT_WINDOW_EXCEEDED, "sliding_window_limit_exceeded", WARNING, DENIAL)                \
    ROW(SL_AUDIT_BURST_WARNING, "burst_detected_warning", WARNING, DENIAL)                         \
    ROW(SL_AUDIT_BURST_BLOCKED, "burst_detected_blocked", ERROR, DENIAL)                           \
    ROW(SL_AUDIT_CONFIG_UPDATED, "rate_limit_config_updated", INFO, CHANGE)                        \
    ROW(SL_AUDIT_WHITELIST_ADDED, "rate_limit_whitelist_added", INFO, CHANGE)                      \
    ROW(SL_AUDIT_WHITELIST_REMOVED, "rate_limit_whitelist_removed", INFO, CHANGE)                  \
    ROW(SL_AUDIT_RESET, "rate_limit_reset", INFO, CHANGE)                                          \
    ROW(SL_AUDIT_STORE_UNAVAILABLE, "store_unavailable", ERROR, STORE)                             \
    ROW(SL_AUDIT_STORE_RECOVERED, "store_recovered", INFO, STORE)

enum sl_audit_kind {
#define CONSTANT(constant, name, severity, sort) constant,
    SL_AUDIT_EVENTS(CONSTANT)
#undef CONSTANT
        SL_AUDIT_KIND_COUNT
};

struct sl_audit_row {
    const char *name;
    enum sl_audit_severity severity;
    enum sl_audit_sort sort;
};

extern const struct sl_audit_row sl_audit_rows[SL_AUDIT_KIND_COUNT];
const char *sl_audit_severity_name(enum sl_audit_severity severity);

/* A member that only some events have. */
struct sl_audit_figure {
    const char *name;
    enum { SL_FIGURE_NUMBER, SL_FIGURE_TEXT, SL_FIGURE_BOOL, SL_FIGURE_JSON } type;
    int64_t number;          /* or 0 and 1 for a bool */
    struct sluice_text text; /* null `at`: null. JSON is printed as it is: valid, on one line */
};

enum { SL_AUDIT_FIGURES_MAX = 12 };

struct sl_audit_event {
    enum sl_audit_kind kind;
    struct sluice_text tenant, identifier, limit_type, resource, rule; /* null `at`: null */
    const struct sl_audit_figure *figures;
    size_t figure_count; /* at most SL_AUDIT_FIGURES_MAX */
};

struct sl_audit_counts {
    uint64_t written; /* lines */
    uint64_t dropped; /* without room in the queue, or time at the end */
    uint64_t failed;  /* lines that could not be written */
};

struct sl_audit {
    enum { SL_AUDIT_OFF, SL_AUDIT_FILE, SL_AUDIT_STREAM, SL_AUDIT_SYSLOG } to;
    struct sl_audit_queue *queue;   /* NULL: off */
    struct sl_audit_recent *recent; /* NULL: no memory */
    struct sl_sha256 *hasher;
    struct sl_chain chain; /* of the lines of changes */
    bool has_said_loose;   /* a line that could not be chained was reported */
    struct sl_buffer line; /* the line that is being printed */
};

/* `where` is the text of the setting. Returns false with error->text; the log is off then, and
 * must still be closed. */
bool sl_audit_open(struct sl_audit *audit, const char *where, struct sluice_error *error);

/* Opens the file anew, after a log rotation has moved it away: lines written before this call are
 * in the old file, all others in the new. */
void sl_audit_reopen(struct sl_audit *audit);

/* Writes an event. Texts may hold any bytes; one that is far too long is cut. */
void sl_audit_write(struct sl_audit *audit, const struct sl_audit_event *event, int64_t at_us);

/* For any thread, between opening and closing. */
void sl_audit_counts(const struct sl_audit *audit, struct sl_audit_counts *out);

/* Writes the queued lines, and gives up after two seconds. May be called twice. */
void sl_audit_close(struct sl_audit *audit);

#endif
