/* IP addresses and networks, without name look-ups. IPv4 is stored as
 * v4-mapped IPv6, so that one comparison serves both. */
#ifndef SL_RULES_ADDRESS_H
#define SL_RULES_ADDRESS_H

#include "base/text.h"

struct sl_address {
    uint8_t byte[16];
};

struct sl_network {
    struct sl_address base; /* bits beyond prefix are zero */
    uint32_t prefix;        /* 0 to 128; IPv4 prefixes have 96 added */
};

enum { SL_ADDRESS_PRINT_MAX = 64 };

/* "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1" (which is the first). */
bool sl_address_parse(struct sluice_text text, struct sl_address *out);
bool sl_address_is_v4(const struct sl_address *address);

/* Parses an address, or address/prefix. Bits set beyond the prefix are refused. */
bool sl_network_parse(struct sluice_text text, struct sl_network *out);
/* The network with this prefix that the address lies in. */
struct sl_network sl_network_around(const struct sl_address *address, uint32_t prefix);
bool sl_network_has(const struct sl_network *network, const struct sl_address *address);

/* The address cut to a prefix of `bits` (of 32 or 128, as it is v4 or not). */
struct sl_address sl_address_cut(const struct sl_address *address, uint32_t bits);

/* Canonical text, terminated; returns its length. */
size_t sl_address_print(const struct sl_address *address, char out[SL_ADDRESS_PRINT_MAX]);

#endif
