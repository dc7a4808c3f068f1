#include "server/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "wire/json_decision.h"

enum { LINE_MAX_BYTES = 8192 };

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

bool sl_audit_open(struct sl_audit *audit, const char *where, struct sluice_error *error)
{
    *audit = (struct sl_audit){ .to = SL_AUDIT_OFF, .fd = -1 };
    if (strcmp(where, "stdout") == 0) {
        audit->to = SL_AUDIT_FD;
        audit->fd = STDOUT_FILENO;
    } else if (strcmp(where, "syslog") == 0) {
        audit->to = SL_AUDIT_SYSLOG;
        openlog("sluice", LOG_PID, LOG_DAEMON);
    } else if (strncmp(where, "file:", 5) == 0) {
        if (strlen(where + 5) >= sizeof audit->path)
            return sl_error_say(error, "the path of the audit file is too long");
        snprintf(audit->path, sizeof audit->path, "%s", where + 5);
        audit->fd = open_file(audit->path);
        if (audit->fd < 0)
            return sl_error_say(error, "the audit file `%s` cannot be opened: %s", audit->path,
                                strerror(errno));
        audit->to = SL_AUDIT_FD;
        audit->is_file = true;
    }
    return true;
}

void sl_audit_reopen(struct sl_audit *audit)
{
    int fd = audit->is_file ? open_file(audit->path) : -1;
    if (fd < 0)
        return; /* the old one is better than none */
    close(audit->fd);
    audit->fd = fd;
}

void sl_audit_close(struct sl_audit *audit)
{
    if (audit->is_file)
        close(audit->fd);
    *audit = (struct sl_audit){ .to = SL_AUDIT_OFF, .fd = -1 };
}

static void add_member(struct sl_buffer *out, const char *name, const char *value)
{
    if (!value)
        return;
    sl_buffer_add(out, SL_TEXT(", \""));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT("\": "));
    sl_json_print_string(out, sl_text(value));
}

/* "2026-11-16T12:00:00.123456Z" */
static void add_time(struct sl_buffer *out, int64_t at_us)
{
    char text[40], fraction[16];
    struct tm parts;
    gmtime_r(&(time_t){ at_us / 1000000 }, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(fraction, sizeof fraction, ".%06" PRId64 "Z", at_us % 1000000);
    sl_buffer_add(out, sl_text(text));
    sl_buffer_add(out, sl_text(fraction));
}

static void send_line(struct sl_audit *audit, const struct sl_buffer *line, const char *severity)
{
    if (audit->to == SL_AUDIT_SYSLOG) {
        syslog(strcmp(severity, "error") == 0 ? LOG_ERR : LOG_INFO, "%.*s", (int)line->len - 1,
               line->at);
        return;
    }
    if (write(audit->fd, line->at, line->len) == (ssize_t)line->len)
        return;
    if (!audit->has_failed)
        fprintf(stderr, "sluice: the audit log cannot be written: %s\n", strerror(errno));
    audit->has_failed = true;
}

void sl_audit_write(struct sl_audit *audit, const struct sl_audit_event *event, int64_t at_us)
{
    struct sl_buffer line = sl_buffer(LINE_MAX_BYTES);
    if (audit->to == SL_AUDIT_OFF)
        return;
    sl_buffer_add(&line, SL_TEXT("{\"at\": \""));
    add_time(&line, at_us);
    sl_buffer_add(&line, SL_TEXT("\""));
    add_member(&line, "event", event->name);
    add_member(&line, "severity", event->severity);
    add_member(&line, "store", event->store);
    add_member(&line, "reason", event->reason);
    sl_buffer_add(&line, SL_TEXT("}\n"));
    if (!line.failed)
        send_line(audit, &line, event->severity);
    sl_buffer_release(&line);
}
