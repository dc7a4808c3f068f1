/* Answers over HTTP/1.1, appended to a connection's bytes. */
#ifndef SL_SERVER_HTTP_REPLY_H
#define SL_SERVER_HTTP_REPLY_H

#include "server/round.h"

struct sl_answer_parts {
    uint32_t status;
    const char *type;                       /* of the body; NULL: no body */
    struct sluice_text body;                /* not in the connection's own buffer, */
    bool has_scratch;                       /* or it is the round's scratch, instead of `body` */
    const struct sluice_decision *decision; /* its limit fields are printed; NULL: none */
    const char *allow;                      /* a field's value; or NULL */
    const char *authenticate;               /* these too */
    const char *etag;
    const char *more;       /* whole lines of the head, with CRLF each */
    uint32_t retry_after_s; /* of a problem; 0: no Retry-After */
};

/* Appends the answer; if the scratch has failed, a problem (500) in its place, which needs no
 * scratch. Unless the call is keep_alive, the connection is finished. */
void sl_reply_print(struct sl_round *round, struct sl_call *call,
                    const struct sl_answer_parts *parts);

/* Appends a problem: call->status and call->detail. */
sl_reply sl_reply_problem;

/* Appends the line that asks for the body (100 Continue). */
sl_reply sl_reply_continue;

#endif
