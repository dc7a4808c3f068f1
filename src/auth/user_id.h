/* The user id of `identity.user_id: sha256(email_ip)`. */
#ifndef SL_AUTH_USER_ID_H
#define SL_AUTH_USER_ID_H

#include "base/sha256.h"

/* Where the request has an attribute `email` and an ip, its user becomes the lowercase
 * hex SHA-256 of email + "_" + ip: the address canonical and not cut; a text that is no address
 * as it is, because it is counted so too. `room` holds the digest as long as the request is
 * used. Returns true if the user was replaced. */
bool sl_user_id_apply(struct sl_sha256 *hasher, struct sluice_request *request,
                      char room[SL_DIGEST_HEX + 1]);

#endif
