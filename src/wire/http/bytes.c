/* The table of bytes that HTTP/1 allows in each place. */
#include "wire/http/bytes.h"

/* Sets of places that many bytes share. */
enum {
    ANYWHERE = SL_BYTE_TOKEN | SL_BYTE_VALUE | SL_BYTE_TARGET | SL_BYTE_HOST,
    NOT_HOST = SL_BYTE_TOKEN | SL_BYTE_VALUE | SL_BYTE_TARGET,
    NOT_TOKEN = SL_BYTE_VALUE | SL_BYTE_TARGET | SL_BYTE_HOST,
    VISIBLE = SL_BYTE_VALUE | SL_BYTE_TARGET,
};

const uint8_t sl_byte_places[256] = {
    ['\t'] = SL_BYTE_VALUE,
    [' '] = SL_BYTE_VALUE,
    ['!'] = ANYWHERE,
    ['"'] = VISIBLE,
    ['#'] = SL_BYTE_TOKEN | SL_BYTE_VALUE,
    ['$' ... '\''] = ANYWHERE,
    ['(' ... ')'] = NOT_TOKEN,
    ['*' ... '+'] = ANYWHERE,
    [','] = NOT_TOKEN,
    ['-' ... '.'] = ANYWHERE,
    ['/'] = VISIBLE,
    ['0' ... '9'] = ANYWHERE,
    [':'] = VISIBLE,
    [';'] = NOT_TOKEN,
    ['<'] = VISIBLE,
    ['='] = NOT_TOKEN,
    ['>' ... '@'] = VISIBLE,
    ['A' ... 'Z'] = ANYWHERE,
    ['[' ... ']'] = VISIBLE,
    ['^'] = NOT_HOST,
    ['_'] = ANYWHERE,
    ['`'] = NOT_HOST,
    ['a' ... 'z'] = ANYWHERE,
    ['{'] = VISIBLE,
    ['|'] = NOT_HOST,
    ['}'] = VISIBLE,
    ['~'] = ANYWHERE,
    [0x80 ... 0xff] = SL_BYTE_VALUE, /* not ours to interpret, and harmless there */
};
