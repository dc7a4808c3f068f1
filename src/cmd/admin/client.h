/* One call to a running server, over HTTP with libcurl.
 *
 * It follows no redirects and uses no proxies of the environment: a token goes to the
 * named server or nowhere. Unencrypted it goes only to this machine, unless the caller
 * says that the network can be trusted. */
#ifndef SL_CMD_ADMIN_CLIENT_H
#define SL_CMD_ADMIN_CLIENT_H

#include "base/buffer.h"

/* A zeroed struct calls http://127.0.0.1:8080. */
struct sl_client {
    const char *server;     /* NULL: $SLUICE_SERVER, else http://127.0.0.1:8080 */
    const char *token_file; /* see credentials.h */
    const char *ca_file;    /* PEM: the trusted CAs; NULL: the system's */
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

/* Returns the server's address as given. */
const char *sl_client_server(const struct sl_client *client);

enum { SL_ANSWER_MAX_BYTES = 64 * 1024 * 1024 };

struct sl_http_response {
    int status;
    bool is_problem;    /* its content type says so */
    bool was_anonymous; /* sent without token or key */
    struct sl_buffer body;
};

/* Sends the request and waits for the whole answer, of any status but a redirect. Returns
 * false if there is none; error->text says why, and whether the change may have been made. */
bool sl_client_ask(const struct sl_client *client, const struct sl_question *question,
                   struct sl_http_response *out, struct sluice_error *error);
void sl_answer_release(struct sl_http_response *answer);

#endif
