/* A request's target: its path and its query. */
#ifndef SL_WIRE_HTTP_TARGET_H
#define SL_WIRE_HTTP_TARGET_H

#include "wire/http/head.h"

/* Sets out->path and out->query, null until now, from out->method and out->target, which
 * has at least one byte and only bytes that a target may have. */
bool sl_http_read_target(struct sl_http_head *out, struct sl_http_wrong *wrong);

/* Returns true for a host as in a URI, with or without a port. Plausible is enough, since
 * this server does not connect to it; bytes that could confuse a log or a proxy are
 * refused. */
bool sl_http_is_host(struct sluice_text text);

#endif
