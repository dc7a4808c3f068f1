/* The addresses that proxies add to a request: `Forwarded` (RFC 7239) and
 * `X-Forwarded-For`, read from the right, which is the near end.
 *
 * A list is walked element by element; nothing is allocated. An element that is no address
 * (`unknown`, `_hidden`, garbage) is reported as OPAQUE and never skipped: nothing to its
 * left can be trusted. */
#ifndef SL_WIRE_HTTP_FORWARDED_H
#define SL_WIRE_HTTP_FORWARDED_H

#include "rules/address.h"

enum { SL_FORWARDED_MAX = 64 }; /* elements of all lines together that are looked at */

enum sl_forwarded_kind { SL_FORWARDED_END, SL_FORWARDED_ADDRESS, SL_FORWARDED_OPAQUE };

/* Takes the last element off *list, a field's value. Returns ADDRESS with the address in
 * *out, without port and brackets, ::ffff:a.b.c.d as IPv4; OPAQUE if the element is no
 * address or malformed; END if nothing is left (empty elements are skipped). */
enum sl_forwarded_kind sl_x_forwarded_for_last(struct sluice_text *list, struct sl_address *out);

/* The same for the `for` of each element of `Forwarded`. Quoted strings may hold commas
 * and semicolons. An element without `for` is OPAQUE; so is a malformed one (two `for`, a
 * quote out of place), and the rest of the list is dropped with it. Bytes further left
 * never change how well-formed elements at the right are read. */
enum sl_forwarded_kind sl_forwarded_last(struct sluice_text *list, struct sl_address *out);

#endif
