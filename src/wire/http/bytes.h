/* The bytes that HTTP/1 allows in each place (RFC 9110 section 5.6, RFC 9112). One
 * table for all places: one look-up answers for any of them. */
#ifndef SL_WIRE_HTTP_BYTES_H
#define SL_WIRE_HTTP_BYTES_H

#include <stdint.h>

enum {
    SL_BYTE_TOKEN = 1,  /* a method, a field's name */
    SL_BYTE_VALUE = 2,  /* a field's value: no control character but the tab */
    SL_BYTE_TARGET = 4, /* visible ASCII, and no `#`: a fragment is never sent */
    SL_BYTE_HOST = 8,   /* a host's name, without port and brackets */
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
