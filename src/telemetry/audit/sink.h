/* Where the lines of the audit log go: used by its thread alone, which may wait. */
#ifndef SL_TELEMETRY_AUDIT_SINK_H
#define SL_TELEMETRY_AUDIT_SINK_H

#include <stdatomic.h>

#include "telemetry/audit/audit.h"

struct sl_audit_sink {
    bool is_syslog;
    bool is_file;  /* to be opened anew, and closed */
    bool is_plain; /* a regular file: a write does not wait for a reader */
    int fd;
    const char *path;
    bool has_failed; /* which was said */
    bool is_torn;    /* the last line ends in its middle */
};

/* False: error->text. */
bool sl_audit_sink_open(struct sl_audit_sink *sink, const char *where, struct sluice_error *error);
void sl_audit_sink_close(struct sl_audit_sink *sink);

/* The file anew. Where that fails the old one is better than none. */
void sl_audit_sink_reopen(struct sl_audit_sink *sink);

enum sl_sink_end { SL_SINK_WRITTEN, SL_SINK_FAILED, SL_SINK_GIVEN_UP };

/* A line with its newline. Waits for a reader until `give_up_us` by the time since the machine was
 * started (0: for ever), which another thread may set meanwhile. A failure is said once, and so is
 * its end. */
enum sl_sink_end sl_audit_sink_write(struct sl_audit_sink *sink, struct sluice_text line,
                                     enum sl_audit_severity severity,
                                     const _Atomic int64_t *give_up_us);

/* O_APPEND: several processes may write to it, a line at a time. -1: errno. */
int sl_audit_file_open(const char *path);

/* The whole text, whatever signals come. False: errno; *written bytes of it are there. */
bool sl_audit_file_write(int fd, struct sluice_text text, size_t *written);

/* Does the file end within a line? Who wrote it was killed, or its disk was full. */
bool sl_audit_file_is_torn(const char *path);

#endif
