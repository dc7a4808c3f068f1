/* The PROXY protocol's header, versions 1 and 2: whose connection this is, said
 * by a load balancer before the first byte. Only ever read where a listener is
 * told to expect it, and then required: there is no guessing. */
#ifndef SL_WIRE_HTTP_PROXY_HEADER_H
#define SL_WIRE_HTTP_PROXY_HEADER_H

#include "rules/address.h"

/* Version 2 says its own length; more than this is refused. */
enum { SL_PROXY_HEADER_MAX_BYTES = 2048 };

struct sl_proxy_header {
    bool has_source; /* else (LOCAL, UNKNOWN, a Unix socket): the peer itself */
    struct sl_address source;
};

/* Returns the header's length; 0: it is not complete yet; -1: it is none, and
 * *wrong says why in a sentence. */
ptrdiff_t sl_proxy_header_read(struct sluice_text bytes, struct sl_proxy_header *out,
                               const char **wrong);

#endif
