/* Who sent a message: by a token, by an API key, or by where it comes from. Two
 * questions, asked by different routes:
 *
 *   sl_caller_identify, sl_caller_name    whom a decision counts, and for which tenant
 *   sl_caller_role                        who may see and change what the API keeps
 *
 * What is signed or secret wins over what is only said; what is there and wrong is
 * refused; and who guesses is limited, by the same store that limits everybody. */
#ifndef SL_SERVER_AUTH_CALLER_H
#define SL_SERVER_AUTH_CALLER_H

#include "auth/access.h"
#include "auth/token/verifier.h"
#include "server/message.h"

struct sl_caller {
    bool is_anybody; /* nothing is known: naming is nothing to do */
    bool is_admin;
    const struct sl_key_owner *owner;  /* of the API key, if it is a tenant's; lives as long as
                                          the edition */
    struct sluice_text api_key;        /* its digest in hex; null `at`: none was given */
    bool has_token;                    /* a JSON Web Token that was good */
    struct sl_token token;             /* its values, in the round's memory */
    const struct sl_identity *mapping; /* of the claims to attributes */
};

/* False: refused already. */
bool sl_caller_identify(struct sl_message *message, struct sl_caller *out);

/* Is everybody refused here who does not say who they are? */
bool sl_caller_must_say(const struct sl_message *message);

/* Three parts: it is to be a JSON Web Token. */
bool sl_caller_has_parts(struct sluice_text token);

/* Is the key with this digest, in hex, exempt now? */
bool sl_caller_is_exempt(const struct sl_message *message, struct sluice_text digest);

/* Gives the request the caller's attributes. `is_said`: what the request has already was
 * written by the caller, and a contradiction is refused; else it is overruled. False:
 * refused already. */
bool sl_caller_name(const struct sl_caller *caller, struct sl_message *message,
                    struct sluice_request *request, bool is_said);

/* The caller's role on the admin API, and whose key it is where that is a tenant's.
 * False: refused already. */
bool sl_caller_role(struct sl_message *message, enum sl_role *role,
                    const struct sl_key_owner **owner);

/* The client's address, in the round's memory. False: refused already. */
bool sl_message_address(struct sl_message *message, struct sluice_text *out);

/* The field of an attribute that has one of its own; NULL: it has none. */
struct sluice_text *sl_request_field(struct sluice_request *request, enum sl_attribute attribute);

#endif
