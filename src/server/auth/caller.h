/* The caller of a message: known by a token, by an API key, or by the address it comes from.
 *
 *   sl_caller_identify, sl_caller_name    for decisions: which user and tenant is counted
 *   sl_caller_role                        for the admin API: what the caller may see and change
 *
 * Signed or secret values win over values that are only said. Wrong credentials are refused, and
 * clients that guess are limited, by the store that limits all requests. */
#ifndef SL_SERVER_AUTH_CALLER_H
#define SL_SERVER_AUTH_CALLER_H

#include "auth/access.h"
#include "auth/token/verifier.h"
#include "server/message.h"

struct sl_caller {
    bool is_anybody; /* it sent no credentials: sl_caller_name has nothing to do */
    bool is_admin;
    const struct sl_key_owner *owner;  /* of the API key, if it is a tenant's; lives as long as
                                          the edition */
    struct sluice_text api_key;        /* its digest in hex; null `at`: none was given */
    bool has_token;                    /* it sent a valid JSON Web Token */
    struct sl_token token;             /* its values, in the round's memory */
    const struct sl_identity *mapping; /* which claim becomes which attribute */
};

/* Returns false if the message is refused already. */
bool sl_caller_identify(struct sl_message *message, struct sl_caller *out);

/* Do these rules refuse requests without credentials? */
bool sl_caller_must_say(const struct sl_message *message);

/* Has it three parts, as a JSON Web Token? */
bool sl_caller_has_parts(struct sluice_text token);

/* Is the key with this digest, in hex, exempt now? */
bool sl_caller_is_exempt(const struct sl_message *message, struct sluice_text digest);

/* Adds the caller's attributes to the request. `is_said`: the caller has written the attributes
 * that the request has already, and a contradiction is refused; else they are overwritten. Returns
 * false if the message is refused already. */
bool sl_caller_name(const struct sl_caller *caller, struct sl_message *message,
                    struct sluice_request *request, bool is_said);

/* The caller's role on the admin API, and the owner of a tenant's key. Returns false if the message
 * is refused already. */
bool sl_caller_role(struct sl_message *message, enum sl_role *role,
                    const struct sl_key_owner **owner);

/* The client's address, in the round's memory. Returns false if the message is refused already. */
bool sl_message_address(struct sl_message *message, struct sluice_text *out);

/* The request's field for an attribute. NULL: it has no field of its own. */
struct sluice_text *sl_request_field(struct sluice_request *request, enum sl_attribute attribute);

#endif
