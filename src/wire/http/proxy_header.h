/* The PROXY protocol's header, versions 1 and 2: a load balancer names the client's
 * address before the first byte. A listener either requires it, by its setting, or does
 * not read it at all: there is no guessing. */
#ifndef SL_WIRE_HTTP_PROXY_HEADER_H
#define SL_WIRE_HTTP_PROXY_HEADER_H

#include "rules/address.h"

/* Version 2 names its own length; more than this is refused. */
enum { SL_PROXY_HEADER_MAX_BYTES = 2048 };

struct sl_proxy_header {
    bool has_source; /* else (LOCAL, UNKNOWN, a Unix socket): the peer itself */
    struct sl_address source;
};

/* Returns the header's length; 0 if it is not complete yet; -1 if it is wrong, with the
 * reason as a sentence in *wrong. */
ptrdiff_t sl_proxy_header_read(struct sluice_text bytes, struct sl_proxy_header *out,
                               const char **wrong);

#endif
