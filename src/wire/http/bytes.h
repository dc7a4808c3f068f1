/* Which bytes may stand where in HTTP/1 (RFC 9110 section 5.6, RFC 9112): one
 * table, because a byte is looked up once and asked for its place. */
#ifndef SL_WIRE_HTTP_BYTES_H
#define SL_WIRE_HTTP_BYTES_H

#include <stdint.h>

enum {
    SL_BYTE_TOKEN = 1,  /* a method, a field's name */
    SL_BYTE_VALUE = 2,  /* a field's value: no control character but the tab */
    SL_BYTE_TARGET = 4, /* visible ASCII, and no `#`: a fragment is never sent */
    SL_BYTE_HOST = 8,   /* a host's name; ports and brackets aside */
};

extern const uint8_t sl_byte_places[256];

static inline int sl_byte_fits(char c, int place)
{
    return sl_byte_places[(unsigned char)c] & place;
}

static inline int sl_byte_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

#endif
