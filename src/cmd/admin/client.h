/* One call to a running server, over HTTP by libcurl.
 *
 * Redirects are not followed and proxies of the environment are not used: a token goes to
 * the server that was named, or nowhere. In plain it goes only to this machine, unless
 * the caller says that the network may be trusted. */
#ifndef SL_CMD_ADMIN_CLIENT_H
#define SL_CMD_ADMIN_CLIENT_H

#include "base/buffer.h"

/* A zeroed struct asks http://127.0.0.1:8080. */
struct sl_client {
    const char *server;     /* NULL: $SLUICE_SERVER, else http://127.0.0.1:8080 */
    const char *token_file; /* see credentials.h */
    const char *ca_file;    /* PEM: whose certificates are believed; NULL: the system's */
    int64_t timeout_us;     /* for the whole call; 0: SL_CLIENT_TIMEOUT_US */
    bool plain;             /* a token may go unencrypted over a network */
};

#define SL_CLIENT_TIMEOUT_US INT64_C(30000000)

struct sl_question {
    const char *method;
    struct sluice_text path; /* with its query; escaped */
    struct sluice_text body; /* .at NULL: none */
    const char *if_match;    /* an entity tag or "*"; quotes may be left out; NULL */
    bool if_none;            /* only if there is nothing of that name yet */
};

/* Where it asks, as it was given. */
const char *sl_client_server(const struct sl_client *client);

enum { SL_ANSWER_MAX_BYTES = 64 * 1024 * 1024 };

struct sl_http_response {
    int status;
    bool is_problem;    /* its content type says so */
    bool was_anonymous; /* asked without token or key */
    struct sl_buffer body;
};

/* Asks, and waits for the whole answer, whatever its status (a redirect is none). False:
 * error->text says why there is none, and whether it may have been done all the same. */
bool sl_client_ask(const struct sl_client *client, const struct sl_question *question,
                   struct sl_http_response *out, struct sluice_error *error);
void sl_answer_release(struct sl_http_response *answer);

#endif
