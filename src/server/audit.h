/* What happened, for those who look into it later: a JSON object a line, to where `audit` says.
 *
 * Written by the main thread. So far there are two events, of the store: it does not answer, and
 * it is back. */
#ifndef SL_SERVER_AUDIT_H
#define SL_SERVER_AUDIT_H

#include "base/text.h"

struct sl_audit {
    enum { SL_AUDIT_OFF, SL_AUDIT_FD, SL_AUDIT_SYSLOG } to;
    int fd;
    bool is_file;    /* to be closed */
    bool has_failed; /* which was said */
    char path[4096];
};

struct sl_audit_event {
    const char *name;     /* "store_unavailable" */
    const char *severity; /* "info", "warning", "error" */
    const char *store;    /* where it is, */
    const char *reason;   /* and what is the matter; NULL: nothing */
};

/* `where` is the setting's text. False: error->text. */
bool sl_audit_open(struct sl_audit *audit, const char *where, struct sluice_error *error);

/* The file anew, after somebody has moved it away. */
void sl_audit_reopen(struct sl_audit *audit);
void sl_audit_write(struct sl_audit *audit, const struct sl_audit_event *event, int64_t at_us);
void sl_audit_close(struct sl_audit *audit);

#endif
