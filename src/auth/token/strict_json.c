/* Parsing JSON that is signed: nothing in it may be ambiguous. */
#include "auth/token/strict_json.h"

#include "auth/token/verifier.h"

/* Counts the depth before jansson builds anything: it would go 2,048 deep. Where the text is not
 * JSON, jansson stops at the first wrong character, and up to there this counts as jansson
 * does. */
static bool is_too_deep(struct sluice_text json)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.at[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if ((c == '[' || c == '{') && ++depth > SL_TOKEN_DEPTH_MAX)
            return true;
        else if (c == ']' || c == '}')
            depth--;
    }
    return false;
}

static enum sl_strict_wrong find_fault(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_out_of_memory:
        return SL_STRICT_NO_MEMORY;
    case json_error_invalid_utf8:
        return SL_STRICT_NOT_UTF8;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return SL_STRICT_NUL;
    case json_error_duplicate_key:
        return SL_STRICT_TWICE;
    case json_error_numeric_overflow:
        return SL_STRICT_NUMBER;
    default:
        return SL_STRICT_NOT_JSON;
    }
}

json_t *sl_strict_json(struct sluice_text bytes, enum sl_strict_wrong *wrong)
{
    if (is_too_deep(bytes)) {
        *wrong = SL_STRICT_TOO_DEEP;
        return NULL;
    }
    json_error_t error;
    json_t *json = json_loadb(bytes.len ? bytes.at : "", bytes.len,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json) {
        *wrong = find_fault(&error);
        return NULL;
    }
    if (!json_is_object(json)) {
        json_decref(json);
        *wrong = SL_STRICT_NOT_OBJECT;
        return NULL;
    }
    return json;
}
