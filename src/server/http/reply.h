/* Answers over HTTP/1.1, appended to a connection's bytes. */
#ifndef SL_SERVER_HTTP_REPLY_H
#define SL_SERVER_HTTP_REPLY_H

#include "server/round.h"

struct sl_answer_parts {
    uint32_t status;
    const char *type;                       /* of the body; NULL: there is none */
    struct sluice_text body;                /* not in the connection's own buffer, */
    bool has_scratch;                       /* or it is the round's scratch, instead of `body` */
    const struct sluice_decision *decision; /* its fields are told; NULL: none */
    const char *allow;                      /* or NULL, */
    const char *authenticate;               /* and so are these */
    const char *etag;
    const char *more;       /* lines that are ready, with CRLF each */
    uint32_t retry_after_s; /* of a problem; 0: not said */
};

/* Appends the answer; if the scratch has failed, a problem (500) in its place, which needs no
 * scratch. Unless the call is keep_alive, the connection is finished. */
void sl_reply_print(struct sl_round *round, struct sl_call *call,
                    const struct sl_answer_parts *parts);

/* Appends a problem: call->status and call->detail. */
sl_reply sl_reply_problem;

/* Appends the line that asks for the body. */
sl_reply sl_reply_continue;

#endif
