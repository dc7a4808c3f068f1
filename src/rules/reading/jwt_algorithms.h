/* THE list of signatures that a token may have: name, and whether its key is a
 * shared secret (else a public key in a PEM file). */
#ifndef SL_RULES_READING_JWT_ALGORITHMS_H
#define SL_RULES_READING_JWT_ALGORITHMS_H

#define SL_JWT_ALGORITHMS(X)                                                                       \
    X(HS256, true)                                                                                 \
    X(RS256, false)                                                                                \
    X(PS256, false)                                                                                \
    X(ES256, false)                                                                                \
    X(EdDSA, false)

enum sl_jwt_algorithm {
#define SL_JWT_ROW(name, is_secret) SL_JWT_##name,
    SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
};

#endif
