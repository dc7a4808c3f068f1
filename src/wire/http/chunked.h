/* A body in chunks, decoded in place as it arrives.
 *
 *   |  decoded  |....gone....|  not looked at yet  |
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
    uint32_t state;     /* the decoder's */
    uint32_t line_len;  /* bytes of the line that is being read */
    uint32_t spent;     /* bytes of trailers so far, line ends aside */
    uint64_t left;      /* of this chunk */
    size_t decoded_len; /* of the whole body so far */
};

enum sl_chunked_end { SL_CHUNKED_MORE, SL_CHUNKED_DONE, SL_CHUNKED_WRONG };

/* Decodes from *at, moving what belongs to the body to body + decoded_len, which
 * is never behind *at. On return *at is behind what was used. MORE: all of it
 * was used and more must come. A body above `most_bytes` is wrong (413), as soon
 * as a chunk's size says so. */
enum sl_chunked_end sl_chunked_read(struct sl_chunked *chunked, char *body, char **at,
                                    const char *end, size_t most_bytes,
                                    struct sl_http_wrong *wrong);

#endif
