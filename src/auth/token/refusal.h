/* THE list of reasons why a token is refused, in the order in which they are checked:
 * constant, and the sentence in the answer to the client. RFC 6750 puts it into a quoted
 * string: printable ASCII, no quotes, no backslashes.
 *
 * A sentence names the fault of the token and nothing about the configured keys. */
#ifndef SL_AUTH_TOKEN_REFUSAL_H
#define SL_AUTH_TOKEN_REFUSAL_H

/* The faults of a piece of JSON, the same for header and claims. */
#define SL_REFUSALS_OF_JSON(X, PART, part)                                                         \
    X(PART##_TOO_DEEP, "JSON in the " part " is nested deeper than 8")                             \
    X(PART##_NOT_UTF8, "the " part " part is not UTF-8")                                           \
    X(PART##_NUL, "there is a NUL in the " part)                                                   \
    X(PART##_TWICE, "an object in the " part " has a member twice")                                \
    X(PART##_NUMBER, "a number in the " part " is too large")                                      \
    X(PART##_NOT_JSON, "the " part " part is not JSON")                                            \
    X(PART##_NOT_OBJECT, "the " part " part is not a JSON object")

#define SL_REFUSALS(X)                                                                             \
    X(SL_REFUSED_NO_KEYS, "tokens are not accepted here")                                          \
    X(SL_REFUSED_TOO_LONG, "the token is longer than 8192 bytes")                                  \
    X(SL_REFUSED_PARTS, "the token does not have three parts")                                     \
    X(SL_REFUSED_EMPTY_PART, "a part of the token is empty")                                       \
    X(SL_REFUSED_BASE64, "a part of the token is not base64url without padding")                   \
    SL_REFUSALS_OF_JSON(X, SL_REFUSED_HEADER, "header")                                            \
    X(SL_REFUSED_CRIT, "the header has crit, and no extension is known here")                      \
    X(SL_REFUSED_B64, "the header has b64, which is not accepted")                                 \
    X(SL_REFUSED_ZIP, "the header has zip, which is not accepted")                                 \
    X(SL_REFUSED_ENC, "the header has enc, and encrypted tokens are not accepted")                 \
    X(SL_REFUSED_TYP, "the typ of the token is not JWT")                                           \
    X(SL_REFUSED_ALG_MISSING, "the header has no alg")                                             \
    X(SL_REFUSED_ALG_NOT_TEXT, "the alg in the header is not a string")                            \
    X(SL_REFUSED_ALG, "the alg of the token is not accepted")                                      \
    X(SL_REFUSED_KID_NOT_TEXT, "the kid in the header is not a string")                            \
    X(SL_REFUSED_KID, "there is no key of that kid")                                               \
    X(SL_REFUSED_ALG_OF_KEY, "the alg of the token is not one of its key")                         \
    X(SL_REFUSED_SIGNATURE_LENGTH, "the signature does not have the length of its alg and key")    \
    X(SL_REFUSED_SIGNATURE, "the signature is wrong")                                              \
    SL_REFUSALS_OF_JSON(X, SL_REFUSED_CLAIMS, "claims")                                            \
    X(SL_REFUSED_EXP_NOT_NUMBER, "exp is not a number")                                            \
    X(SL_REFUSED_NBF_NOT_NUMBER, "nbf is not a number")                                            \
    X(SL_REFUSED_IAT_NOT_NUMBER, "iat is not a number")                                            \
    X(SL_REFUSED_EXPIRED, "the token has expired")                                                 \
    X(SL_REFUSED_NBF, "the token is not valid yet")                                                \
    X(SL_REFUSED_IAT, "the token was issued in the future")                                        \
    X(SL_REFUSED_ISS_MISSING, "the token has no iss")                                              \
    X(SL_REFUSED_ISS_NOT_TEXT, "iss is not a string")                                              \
    X(SL_REFUSED_ISS, "the token is of another issuer")                                            \
    X(SL_REFUSED_AUD_MISSING, "the token has no aud")                                              \
    X(SL_REFUSED_AUD_NOT_TEXT, "aud is not a string or a list of strings")                         \
    X(SL_REFUSED_AUD, "the token is for another audience")                                         \
    X(SL_REFUSED_CLAIM_KIND, "a claim that is used is not a string, number or boolean")            \
    X(SL_REFUSED_NO_MEMORY, "there is no memory to check the token with")

enum sl_refusal {
    SL_ACCEPTED,
#define SL_REFUSAL_ROW(constant, sentence) constant,
    SL_REFUSALS(SL_REFUSAL_ROW)
#undef SL_REFUSAL_ROW
        SL_REFUSAL_COUNT,
};

/* Returns a static text. */
const char *sl_refusal_text(enum sl_refusal refusal);

#endif
