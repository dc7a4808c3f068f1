/* A request's target: which path and which query it asks for. */
#ifndef SL_WIRE_HTTP_TARGET_H
#define SL_WIRE_HTTP_TARGET_H

#include "wire/http/head.h"

/* From out->method and out->target, which has at least one byte and only such as
 * a target may have, to out->path and out->query (null until now). */
bool sl_http_read_target(struct sl_http_head *out, struct sl_http_wrong *wrong);

/* A host as a URI has it, and perhaps a port. Plausible is enough: nobody here
 * connects to it, but nothing that a log or a proxy could trip over gets by. */
bool sl_http_is_host(struct sluice_text text);

#endif
