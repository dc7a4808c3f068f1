/* Writing audit lines to a file, pipe, standard output or syslog. */
#include "telemetry/audit/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

/* A pipe that polls as writable has room for so many bytes (PIPE_BUF). */
enum { PIPE_ROOM_BYTES = 4096, LOOK_EVERY_MS = 100 };

/* ---- files ---- */

int sl_audit_file_open(const char *path)
{
    /* Without O_NONBLOCK a named pipe would need a reader before the server starts. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
    if (fd >= 0)
        fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

bool sl_audit_file_write(int fd, struct sluice_text text, size_t *written)
{
    *written = 0;
    while (*written < text.len) {
        ssize_t more = write(fd, text.at + *written, text.len - *written);
        if (more < 0 && errno != EINTR)
            return false;
        *written += more > 0 ? (size_t)more : 0;
    }
    return true;
}

bool sl_audit_file_is_torn(const char *path)
{
    char last = '\n';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    off_t size = lseek(fd, 0, SEEK_END);
    bool is_torn = size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
    close(fd);
    return is_torn;
}

static bool is_plain(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* ---- opening ---- */

bool sl_audit_sink_open(struct sl_audit_sink *sink, const char *where, struct sluice_error *error)
{
    *sink = (struct sl_audit_sink){ .fd = STDOUT_FILENO };
    sink->is_syslog = strcmp(where, "syslog") == 0;
    sink->is_file = strncmp(where, "file:", 5) == 0;
    if (sink->is_syslog)
        openlog("sluice", LOG_PID, LOG_DAEMON);
    if (!sink->is_file)
        return true;
    sink->path = strdup(where + 5);
    if (!sink->path)
        return sl_error_say(error, "out of memory");
    sink->fd = sl_audit_file_open(sink->path);
    if (sink->fd < 0) {
        sl_error_say(error, "the audit file `%s` cannot be opened: %s", sink->path,
                     strerror(errno));
        free((char *)(uintptr_t)sink->path);
        return false;
    }
    sink->is_plain = is_plain(sink->fd);
    sink->is_torn = sink->is_plain && sl_audit_file_is_torn(sink->path);
    return true;
}

void sl_audit_sink_close(struct sl_audit_sink *sink)
{
    if (!sink->is_file)
        return;
    close(sink->fd);
    free((char *)(uintptr_t)sink->path);
}

void sl_audit_sink_reopen(struct sl_audit_sink *sink)
{
    if (!sink->is_file)
        return;
    int fd = sl_audit_file_open(sink->path);
    if (fd < 0) {
        fprintf(stderr,
                "sluice: the audit file `%s` cannot be opened anew: %s; writing on to the old "
                "one\n",
                sink->path, strerror(errno));
        return;
    }
    close(sink->fd);
    sink->fd = fd;
    sink->is_torn = sink->is_plain && sl_audit_file_is_torn(sink->path);
}

/* ---- writing ---- */

static void write_syslog(struct sluice_text line, enum sl_audit_severity severity)
{
    static const int priorities[] = {
        [SL_AUDIT_INFO] = LOG_INFO,
        [SL_AUDIT_WARNING] = LOG_WARNING,
        [SL_AUDIT_ERROR] = LOG_ERR,
    };
    syslog(priorities[severity], "%.*s", (int)line.len - 1, line.at);
}

/* Waits for room in a pipe. Returns false if `give_up_us` has come. */
static bool wait_for_room(int fd, const _Atomic int64_t *give_up_us)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };
    for (;;) {
        int64_t until_us = atomic_load(give_up_us);
        bool is_over = until_us && sl_boottime_us() >= until_us;
        if (poll(&room, 1, is_over ? 0 : LOOK_EVERY_MS) > 0)
            return true; /* or an error, which `write` will report */
        if (is_over)
            return false;
    }
}

/* Writes in pieces that a pipe takes at once: a longer one would wait within `write`, where the
 * thread could not notice that it must end. */
static enum sl_sink_end write_stream(int fd, struct sluice_text line,
                                     const _Atomic int64_t *give_up_us, size_t *written)
{
    *written = 0;
    while (*written < line.len) {
        size_t piece = line.len - *written, some;
        if (piece > PIPE_ROOM_BYTES)
            piece = PIPE_ROOM_BYTES;
        if (!wait_for_room(fd, give_up_us))
            return SL_SINK_GIVEN_UP;
        bool good =
            sl_audit_file_write(fd, (struct sluice_text){ line.at + *written, piece }, &some);
        *written += some;
        if (!good && errno != EAGAIN)
            return SL_SINK_FAILED;
    }
    return SL_SINK_WRITTEN;
}

static enum sl_sink_end write_fd(struct sl_audit_sink *sink, struct sluice_text line,
                                 const _Atomic int64_t *give_up_us)
{
    size_t written;
    if (!sink->is_plain) {
        enum sl_sink_end end = write_stream(sink->fd, line, give_up_us, &written);
        sink->is_torn |= end != SL_SINK_WRITTEN && written > 0;
        return end;
    }
    bool good = sl_audit_file_write(sink->fd, line, &written);
    sink->is_torn |= !good && written > 0;
    return good ? SL_SINK_WRITTEN : SL_SINK_FAILED;
}

/* Ends half a line, which a full disk has left, before the next: it spoils no other. */
static enum sl_sink_end write_line(struct sl_audit_sink *sink, struct sluice_text line,
                                   const _Atomic int64_t *give_up_us)
{
    if (sink->is_torn) {
        enum sl_sink_end end = write_fd(sink, SL_TEXT("\n"), give_up_us);
        if (end != SL_SINK_WRITTEN)
            return end;
        sink->is_torn = false;
    }
    return write_fd(sink, line, give_up_us);
}

enum sl_sink_end sl_audit_sink_write(struct sl_audit_sink *sink, struct sluice_text line,
                                     enum sl_audit_severity severity,
                                     const _Atomic int64_t *give_up_us)
{
    if (sink->is_syslog) {
        write_syslog(line, severity);
        return SL_SINK_WRITTEN;
    }
    enum sl_sink_end end = write_line(sink, line, give_up_us);
    if (end == SL_SINK_FAILED && !sink->has_failed)
        fprintf(stderr, "sluice: the audit log cannot be written: %s\n", strerror(errno));
    if (end == SL_SINK_WRITTEN && sink->has_failed)
        fprintf(stderr, "sluice: the audit log is written again\n");
    if (end != SL_SINK_GIVEN_UP)
        sink->has_failed = end == SL_SINK_FAILED;
    return end;
}
