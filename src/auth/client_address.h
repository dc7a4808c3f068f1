/* The client's address: the peer's, or the one that trusted proxies name. Pure: the head was
 * read, the peer is known.
 *
 * From the right: the peer; while the address so far is a trusted proxy, the next
 * one to the left. The first that is not trusted is the client. Where a trusted
 * proxy names no address, the result is that proxy's own. */
#ifndef SL_AUTH_CLIENT_ADDRESS_H
#define SL_AUTH_CLIENT_ADDRESS_H

#include "rules/ruleset.h"
#include "wire/http/head.h"

/* Returns true if this is one of the trusted proxies. Where none is configured, the loopback
 * addresses are. */
bool sl_peer_is_trusted(const struct sl_identity *identity, const struct sl_address *address);

/* ::1 and 127.0.0.0/8. */
bool sl_address_is_loopback(const struct sl_address *address);

/* The client's address by `Forwarded` or `X-Forwarded-For`; all lines of one name, joined in
 * their order. Reads at most SL_FORWARDED_MAX elements from the right and ignores the others.
 *
 * Where both headers are there, each is walked, and both must lead to the same address. If
 * they do not, the address is 0.0.0.0: one of the two came from the client, and nothing
 * tells which (why not the proxy's own: see client_address.c). A header without an element
 * counts as missing.
 *
 * A null peer is a client of a Unix socket: trusted, and 127.0.0.1 where no header names
 * another address. */
struct sl_address sl_peer_client(const struct sl_identity *identity, const struct sl_address *peer,
                                 const struct sl_http_head *head);

#endif
