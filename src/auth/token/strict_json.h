/* Parsing JSON that is not trusted yet: bounded in depth, without NUL, and with one
 * meaning only. Of a member that is there twice we would read one and the signer perhaps
 * the other; so it is refused, at any depth. */
#ifndef SL_AUTH_TOKEN_STRICT_JSON_H
#define SL_AUTH_TOKEN_STRICT_JSON_H

#include <jansson.h>

#include "base/text.h"

/* In the order of SL_REFUSALS_OF_JSON. */
enum sl_strict_wrong {
    SL_STRICT_TOO_DEEP,
    SL_STRICT_NOT_UTF8,
    SL_STRICT_NUL,
    SL_STRICT_TWICE,
    SL_STRICT_NUMBER, /* beyond 64 bits, or a double */
    SL_STRICT_NOT_JSON,
    SL_STRICT_NOT_OBJECT,
    SL_STRICT_NO_MEMORY,
};

/* Returns an object, for json_decref; NULL: *wrong is the fault. */
json_t *sl_strict_json(struct sluice_text bytes, enum sl_strict_wrong *wrong);

/* A string's bytes; missing where it is not a string, or NULL. */
static inline struct sluice_text sl_strict_text(const json_t *value)
{
    if (!json_is_string(value))
        return (struct sluice_text){ 0 };
    return (struct sluice_text){ json_string_value(value), json_string_length(value) };
}

#endif
