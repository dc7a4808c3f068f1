/* A token in its compact form, taken apart: three parts decoded from base64url, and the header's
 * members. None of it is trusted yet. */
#ifndef SL_AUTH_TOKEN_JWT_H
#define SL_AUTH_TOKEN_JWT_H

#include "auth/token/refusal.h"
#include "auth/token/strict_json.h"
#include "auth/token/verifier.h"
#include "rules/reading/jwt_algorithms.h"

struct sl_jwt {
    struct sluice_text signed_text;               /* header.claims, as received */
    struct sluice_text header, claims, signature; /* decoded, in the caller's room */
};

enum sl_refusal sl_jwt_split(struct sluice_text token, uint8_t room[SL_TOKEN_MAX_BYTES],
                             struct sl_jwt *out);

struct sl_jwt_header {
    enum sl_jwt_algorithm algorithm;
    struct sluice_text kid; /* or not given; lives in `json` */
    json_t *json;
};

/* After SL_ACCEPTED the caller calls sl_jwt_header_release. */
enum sl_refusal sl_jwt_header_read(struct sluice_text bytes, struct sl_jwt_header *out);
void sl_jwt_header_release(struct sl_jwt_header *header);

/* As sl_strict_json; the refusal is one of the rows from `first` on. */
json_t *sl_jwt_json(struct sluice_text bytes, enum sl_refusal first, enum sl_refusal *refusal);

#endif
