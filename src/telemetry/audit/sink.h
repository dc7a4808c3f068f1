/* The output of the audit log: file, pipe, standard output or syslog. Only the audit thread uses
 * it, which may wait. */
#ifndef SL_TELEMETRY_AUDIT_SINK_H
#define SL_TELEMETRY_AUDIT_SINK_H

#include <stdatomic.h>

#include "telemetry/audit/audit.h"

struct sl_audit_sink {
    bool is_syslog;
    bool is_file;  /* that can be opened anew, and must be closed */
    bool is_plain; /* a regular file: a write does not wait for a reader */
    int fd;
    const char *path;
    bool has_failed; /* and the failure was reported */
    bool is_torn;    /* the last line was not written whole */
};

/* Returns false with error->text. */
bool sl_audit_sink_open(struct sl_audit_sink *sink, const char *where, struct sluice_error *error);
void sl_audit_sink_close(struct sl_audit_sink *sink);

/* Opens the file anew. If that fails, goes on with the old one: better than none. */
void sl_audit_sink_reopen(struct sl_audit_sink *sink);

enum sl_sink_end { SL_SINK_WRITTEN, SL_SINK_FAILED, SL_SINK_GIVEN_UP };

/* Writes a line with its newline. Waits for a reader until `give_up_us` on the monotonic clock (0:
 * for ever), which another thread may set meanwhile. Reports a failure once, and its end once. */
enum sl_sink_end sl_audit_sink_write(struct sl_audit_sink *sink, struct sluice_text line,
                                     enum sl_audit_severity severity,
                                     const _Atomic int64_t *give_up_us);

/* With O_APPEND: several processes may write to it, a line at a time. Returns -1 with errno. */
int sl_audit_file_open(const char *path);

/* Writes the whole text, whatever signals come. Returns false with errno; *written bytes of it are
 * in the file. */
bool sl_audit_file_write(int fd, struct sluice_text text, size_t *written);

/* Returns true if the file ends within a line: its writer was killed, or its disk was full. */
bool sl_audit_file_is_torn(const char *path);

#endif
