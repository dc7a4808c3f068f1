/* The server: everything between `sluice serve` and its exit status. */
#ifndef SL_SERVER_SERVER_H
#define SL_SERVER_SERVER_H

#include "base/buffer.h"
#include "rules/ruleset.h"

struct sl_serve_config {
    /* Reads the text of the rules, now and at every reload. Returns false if it cannot: see
     * *report. */
    bool (*read)(void *about, struct sl_buffer *out, struct sl_report *report);
    void *about;

    const char *rules_name;  /* for people */
    const char *rules_path;  /* what problems are reported under, and paths are relative to */
    const char *rules_file;  /* watched for changes; NULL: there is none */
    const char *http;        /* instead of listen.http; or NULL, */
    const char *grpc, *resp; /* and so are these */
};

/* Serves until it is told to stop. Returns 0 then; 2 if it cannot start, after saying why. */
int sl_serve(const struct sl_serve_config *config);

/* Prints a command line that shows a denial by these rules within a few requests to `address`
 * ("http://127.0.0.1:8080", "unix:PATH"). Returns false if no rule is suitable. */
bool sl_try_print(const struct sl_ruleset *rules, const char *address, struct sl_buffer *out);

#endif
