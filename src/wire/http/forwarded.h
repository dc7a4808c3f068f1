/* The addresses that proxies add to a request: `Forwarded` (RFC 7239) and
 * `X-Forwarded-For`, read from the right, which is the near end.
 *
 * A list is walked element by element; nothing is allocated. What is no address
 * (`unknown`, `_hidden`, garbage) is told as such and never skipped: behind it
 * nobody vouches for anything. */
#ifndef SL_WIRE_HTTP_FORWARDED_H
#define SL_WIRE_HTTP_FORWARDED_H

#include "rules/address.h"

enum { SL_FORWARDED_MAX = 64 }; /* elements of all lines together that are looked at */

enum sl_forwarded_kind { SL_FORWARDED_END, SL_FORWARDED_ADDRESS, SL_FORWARDED_OPAQUE };

/* Takes the last element off *list, a field's value. ADDRESS: *out is it, without
 * port and brackets, ::ffff:a.b.c.d as IPv4. OPAQUE: it is none, or the element is
 * malformed. END: nothing was left (empty elements are passed over). */
enum sl_forwarded_kind sl_x_forwarded_for_last(struct sluice_text *list, struct sl_address *out);

/* The same for `Forwarded`; the element's `for`. Quoted strings may hold commas
 * and semicolons. An element without `for` is OPAQUE; so is a malformed one (two
 * `for`, a quote out of place), and the rest of the list is dropped with it. What
 * stands further left never changes how well-formed elements at the right are read. */
enum sl_forwarded_kind sl_forwarded_last(struct sluice_text *list, struct sl_address *out);

#endif
