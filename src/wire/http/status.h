/* Statuses of HTTP: their phrases, and problems (RFC 9457) for a body. */
#ifndef SL_WIRE_HTTP_STATUS_H
#define SL_WIRE_HTTP_STATUS_H

#include "base/buffer.h"

/* Returns "Not Found" for 404; "Denied" for a status that only `deny_status` can choose. */
const char *sl_status_phrase(uint32_t status);

/* Appends "HTTP/1.1 404 Not Found" and CRLF. */
void sl_status_line_print(struct sl_buffer *out, uint32_t status);

/* Appends a problem as JSON. */
void sl_problem_print(struct sl_buffer *out, uint32_t status, const char *detail);

#endif
