/* A whole message over HTTP, before it becomes a call of the round. Every route reads it, and so do
 * the functions that identify its caller. */
#ifndef SL_SERVER_MESSAGE_H
#define SL_SERVER_MESSAGE_H

#include "server/round.h"
#include "wire/http/head.h"

struct sl_route;

struct sl_message {
    struct sl_round *round;
    struct sl_conn *conn;
    struct sl_call *call;
    const struct sl_http_head *head;
    char *body; /* may be changed by its reader */
    size_t body_len;
    const struct sl_route *route;
    struct sluice_text told_ip; /* the address in the body, where there is one */
    bool is_authorize;          /* attributes come from headers, and no token is the admin's */
    bool is_familiar;           /* its secret was right before on this connection: it is no guess */
};

/* Makes the call a problem: the front's own answer with this status. The call is not added yet.
 * `detail` is static or in the round's memory. Always returns false. */
bool sl_message_problem(struct sl_message *message, uint32_t status, const char *detail);

/* The same, and adds the call, without its requests. */
void sl_message_refuse(struct sl_message *message, uint32_t status, const char *detail);

#endif
