/* Opening the audit log, and writing an event: print, chain, queue. */
#include "telemetry/audit/audit.h"

#include <stdio.h>

#include "base/error.h"
#include "telemetry/audit/line.h"
#include "telemetry/audit/queue.h"
#include "telemetry/audit/recent.h"

/* Syslog servers cut longer lines; lines of changes may be longer than others. */
enum { LINE_MAX_BYTES = 16 << 10, CHANGE_MAX_BYTES = 60 << 10, SYSLOG_MAX_BYTES = 8000 };

const struct sl_audit_row sl_audit_rows[SL_AUDIT_KIND_COUNT] = {
#define CELLS(constant, name, severity, sort)                                                      \
    [constant] = { name, SL_AUDIT_##severity, SL_AUDIT_##sort },
    SL_AUDIT_EVENTS(CELLS)
#undef CELLS
};

const char *sl_audit_severity_name(enum sl_audit_severity severity)
{
    static const char *const names[SL_AUDIT_SEVERITY_COUNT] = {
        [SL_AUDIT_INFO] = "info",
        [SL_AUDIT_WARNING] = "warning",
        [SL_AUDIT_ERROR] = "error",
    };
    return names[severity];
}

/* ---- opening ---- */

static bool open_queue(struct sl_audit *audit, const char *where, struct sluice_error *error)
{
    struct sl_audit_sink sink;
    if (!sl_audit_sink_open(&sink, where, error))
        return false;
    if (!sl_chain_open(&audit->chain, sink.is_plain ? sink.path : NULL, audit->hasher, error)) {
        sl_audit_sink_close(&sink);
        return false;
    }
    audit->queue = sl_audit_queue_open(&sink, error);
    if (!audit->queue)
        return false;
    audit->to = sink.is_syslog ? SL_AUDIT_SYSLOG : sink.is_plain ? SL_AUDIT_FILE : SL_AUDIT_STREAM;
    return true;
}

bool sl_audit_open(struct sl_audit *audit, const char *where, struct sluice_error *error)
{
    *audit = (struct sl_audit){ .to = SL_AUDIT_OFF, .line = sl_buffer(CHANGE_MAX_BYTES) };
    audit->recent = sl_audit_recent_new();
    audit->hasher = sl_sha256_new();
    if (!audit->recent || !audit->hasher)
        return sl_error_say(error, "out of memory");
    return strcmp(where, "off") == 0 || open_queue(audit, where, error);
}

void sl_audit_reopen(struct sl_audit *audit)
{
    if (audit->queue)
        sl_audit_queue_reopen(audit->queue);
}

void sl_audit_close(struct sl_audit *audit)
{
    if (audit->queue)
        sl_audit_queue_close(audit->queue);
    sl_chain_close(&audit->chain);
    sl_audit_recent_free(audit->recent);
    sl_sha256_free(audit->hasher);
    sl_buffer_release(&audit->line);
    *audit = (struct sl_audit){ .to = SL_AUDIT_OFF };
}

/* ---- writing ---- */

static bool add_to_queue(struct sl_audit *audit, const struct sl_audit_row *row)
{
    return sl_audit_queue_add(audit->queue, (struct sluice_text){ audit->line.at, audit->line.len },
                              row->severity, row->sort == SL_AUDIT_CHANGE);
}

static void write_unchained(struct sl_audit *audit, const struct sl_audit_row *row)
{
    sl_buffer_add(&audit->line, SL_TEXT("}\n"));
    if (audit->queue && !audit->line.failed)
        add_to_queue(audit, row);
}

/* For output that is not a file: the chain begins with this process, and a dropped line was never
 * part of it. */
static void write_chained(struct sl_audit *audit, const struct sl_audit_row *row)
{
    struct sl_chain_head next;
    size_t len = audit->line.len;
    sl_chain_end_line(&audit->line, audit->hasher, &audit->chain.head, &next);
    if (audit->line.failed)
        return;
    if (add_to_queue(audit, row)) {
        audit->chain.head = next;
        return;
    }
    audit->line.len = len;
    sl_buffer_add(&audit->line, SL_TEXT("}\n"));
}

/* For a file. A line that cannot be chained is written without: better than none. */
static void write_to_file(struct sl_audit *audit, const struct sl_audit_row *row)
{
    struct sluice_error error = { 0 };
    bool good = sl_chain_append(&audit->chain, &audit->line, &error);
    if (!good && !audit->has_said_loose)
        fprintf(stderr, "sluice: %s; changes are written outside of the chain\n", error.text);
    audit->has_said_loose = !good;
    if (good) {
        sl_audit_queue_count(audit->queue, true);
        return;
    }
    sl_audit_queue_reopen(audit->queue); /* the file may end in half a line now */
    write_unchained(audit, row);
}

void sl_audit_write(struct sl_audit *audit, const struct sl_audit_event *event, int64_t at_us)
{
    const struct sl_audit_row *row = &sl_audit_rows[event->kind];
    struct sl_buffer *line = &audit->line;
    bool is_change = row->sort == SL_AUDIT_CHANGE;
    size_t most = audit->to == SL_AUDIT_SYSLOG ? SYSLOG_MAX_BYTES
                  : is_change                  ? CHANGE_MAX_BYTES
                                               : LINE_MAX_BYTES;
    if (!audit->hasher || !sl_audit_print(audit, event, at_us, most))
        return;
    line->most = most + SL_CHAIN_END_MAX_BYTES;
    if (!is_change || audit->to == SL_AUDIT_OFF)
        write_unchained(audit, row);
    else if (audit->to == SL_AUDIT_FILE)
        write_to_file(audit, row);
    else
        write_chained(audit, row);
    if (!line->failed)
        sl_audit_recent_add(audit->recent, event, at_us,
                            (struct sluice_text){ line->at, line->len - 1 });
}

void sl_audit_counts(const struct sl_audit *audit, struct sl_audit_counts *out)
{
    *out = (struct sl_audit_counts){ 0 };
    if (audit->queue)
        sl_audit_queue_counts(audit->queue, out);
}
