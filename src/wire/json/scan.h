/* A strict reader of JSON tokens (RFC 8259) over bytes in memory. Strings are
 * unescaped in place: nothing is allocated, and the input is overwritten. */
#ifndef SL_WIRE_JSON_SCAN_H
#define SL_WIRE_JSON_SCAN_H

#include "base/check.h"
#include "base/text.h"

struct sl_json_scan {
    const char *start; /* places in messages count from here */
    char *at;
    char *end;
    const char *error; /* the first one; NULL: none so far */
};

static inline struct sl_json_scan sl_json_scan(char *text, size_t len)
{
    SL_CHECK(text || len == 0);
    return (struct sl_json_scan){ .start = text, .at = text, .end = text + len };
}

enum sl_json_kind {
    SL_JSON_BAD, /* see error */
    SL_JSON_STRING,
    SL_JSON_NUMBER, /* text as written */
    SL_JSON_TRUE,
    SL_JSON_FALSE,
    SL_JSON_NULL,
    SL_JSON_OTHER, /* the start of an object or an array; not consumed */
};

void sl_json_skip_space(struct sl_json_scan *scan);

/* Consumes the character if it is next, after white space. */
bool sl_json_take(struct sl_json_scan *scan, char c);

/* Consumes a scalar; *text is set for strings and numbers. */
enum sl_json_kind sl_json_scalar(struct sl_json_scan *scan, struct sluice_text *text);

/* Consumes a string. Returns false if there is none, or a malformed one. */
bool sl_json_string(struct sl_json_scan *scan, struct sluice_text *text);

#endif
