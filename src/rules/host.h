/* Hosts with ports, as text: "cache:6379", "192.0.2.1:80", "[::1]:8080".
 * No name look-ups. */
#ifndef SL_RULES_HOST_H
#define SL_RULES_HOST_H

#include "base/text.h"

/* Cuts at the colon before the port, leaving brackets with the host. Where
 * there is no colon, `port->at` is null. */
void sl_host_cut(struct sluice_text text, struct sluice_text *host, struct sluice_text *port);

/* A name, an IPv4 address, or an IPv6 address in brackets. */
bool sl_host_is_good(struct sluice_text host);

/* 0 to 65535. */
bool sl_port_parse(struct sluice_text text, uint32_t *out);

#endif
