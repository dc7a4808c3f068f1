/* The head of an HTTP/1 request, read from bytes. Strict (RFC 9112): a head that two
 * readers could understand differently is refused, because a proxy in front of us is
 * the other reader. No I/O, no allocation.
 *
 *   sl_http_find_end   over the bytes that are new: is the head complete?
 *   sl_http_read_head  the complete head, once
 */
#ifndef SL_WIRE_HTTP_HEAD_H
#define SL_WIRE_HTTP_HEAD_H

#include "base/text.h"

enum {
    SL_HTTP_HEAD_MAX_BYTES = 16384 - 1, /* with its last CRLF */
    SL_HTTP_TARGET_MAX_BYTES = 8192,
    SL_HTTP_FIELDS_MAX = 100,
};

/* What is wrong with a message: the status of the answer, and a sentence that tells
 * the sender what to do. Status 0: nothing is wrong. */
struct sl_http_wrong {
    uint32_t status;
    const char *detail;
};

/* Fields that other code looks up by name. All others are found by walking `fields`. */
#define SL_HTTP_KNOWN(X)                                                                           \
    X(AUTHORIZATION, "authorization")                                                              \
    X(CONNECTION, "connection")                                                                    \
    X(CONTENT_LENGTH, "content-length")                                                            \
    X(CONTENT_TYPE, "content-type")                                                                \
    X(EXPECT, "expect")                                                                            \
    X(FORWARDED, "forwarded")                                                                      \
    X(HOST, "host")                                                                                \
    X(TRANSFER_ENCODING, "transfer-encoding")                                                      \
    X(X_API_KEY, "x-api-key")                                                                      \
    X(X_FORWARDED_FOR, "x-forwarded-for")                                                          \
    X(X_FORWARDED_METHOD, "x-forwarded-method")                                                    \
    X(X_FORWARDED_URI, "x-forwarded-uri")                                                          \
    X(X_ORIGINAL_METHOD, "x-original-method")                                                      \
    X(X_ORIGINAL_URI, "x-original-uri")

enum sl_http_known {
#define SL_HTTP_KNOWN_ROW(constant, name) SL_HTTP_##constant,
    SL_HTTP_KNOWN(SL_HTTP_KNOWN_ROW)
#undef SL_HTTP_KNOWN_ROW
        SL_HTTP_KNOWN_COUNT
};

struct sl_http_field {
    struct sluice_text name;  /* as it was written; compare with sl_http_name_is */
    struct sluice_text value; /* without blanks around it */
};

/* Texts point into the bytes that were read. */
struct sl_http_head {
    struct sluice_text method;
    struct sluice_text target; /* as it was written */
    struct sluice_text path;   /* of the target: from its first slash, or "*" */
    struct sluice_text query;  /* behind the first `?`; a null `at`: there is none */
    bool is_1_0;
    bool keep_alive; /* by the version and `Connection` */
    bool chunked;    /* else the body has `length` bytes */
    uint64_t length; /* 0 where none is given */
    bool expects_continue;

    struct sluice_text known[SL_HTTP_KNOWN_COUNT]; /* the first of that name; null `at`: none */
    uint32_t repeated;                             /* bit i: known[i] came more than once */

    struct sl_http_field fields[SL_HTTP_FIELDS_MAX]; /* all of them, in their order */
    size_t field_count;
};

/* How far a head has been looked through. A zeroed struct is at its start. */
struct sl_http_search {
    size_t at;         /* bytes looked at */
    size_t line_start; /* of the line that `at` is in */
};

/* `bytes` are all there are so far, always from the head's first byte. Returns
 * the length of the head with its empty line; or 0: not complete yet (wrong->status
 * is 0 then), or *wrong.
 * Each byte is looked at once, in pieces of any size. One empty line before the head
 * is allowed and belongs to it. */
size_t sl_http_find_end(struct sl_http_search *search, struct sluice_text bytes,
                        struct sl_http_wrong *wrong);

/* Reads a complete head, which sl_http_find_end has measured; refuses other bytes.
 * Returns false with the reason in *wrong, and *out undefined; else leaves *wrong
 * alone. */
bool sl_http_read_head(struct sluice_text head, struct sl_http_head *out,
                       struct sl_http_wrong *wrong);

/* Compares a field's name without case; `lower` is in lower case. */
bool sl_http_name_is(struct sluice_text name, struct sluice_text lower);

/* Returns true if a list such as `Connection` holds this token. Compares without case;
 * `lower` is in lower case. */
bool sl_http_list_has(struct sluice_text list, struct sluice_text lower);

#endif
