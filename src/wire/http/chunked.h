/* A chunked body, decoded in place as it arrives.
 *
 *   |  decoded  |....free....|  not decoded yet  |
 *
 * A zeroed struct is before the first chunk. */
#ifndef SL_WIRE_HTTP_CHUNKED_H
#define SL_WIRE_HTTP_CHUNKED_H

#include "wire/http/head.h"

enum {
    SL_CHUNK_LINE_MAX_BYTES = 256,     /* a size with its extension */
    SL_CHUNK_TRAILERS_MAX_BYTES = 4096 /* all lines; they are checked and dropped */
};

struct sl_chunked {
    uint32_t state;     /* enum chunked_state */
    uint32_t line_len;  /* bytes of the current line so far */
    uint32_t spent;     /* bytes of trailers so far, without line ends */
    uint64_t left;      /* of this chunk */
    size_t decoded_len; /* of the whole body so far */
};

enum sl_chunked_end { SL_CHUNKED_MORE, SL_CHUNKED_DONE, SL_CHUNKED_WRONG };

/* Decodes from *at and moves data to body + decoded_len, which is never behind *at.
 * On return *at is behind the last byte used. Returns MORE if all bytes are used and
 * more must come. A body above `most_bytes` is refused (413) as soon as a chunk's
 * size says so. */
enum sl_chunked_end sl_chunked_read(struct sl_chunked *chunked, char *body, char **at,
                                    const char *end, size_t most_bytes,
                                    struct sl_http_wrong *wrong);

#endif
