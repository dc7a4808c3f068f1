#include "rules/address.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/number.h"

static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

bool sl_address_is_v4(const struct sl_address *address)
{
    return memcmp(address->byte, v4_mapped, sizeof v4_mapped) == 0;
}

bool sl_address_parse(struct sluice_text text, struct sl_address *out)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof copy || memchr(text.at, 0, text.len))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    struct sl_address address;
    if (inet_pton(AF_INET6, copy, address.byte) != 1) {
        if (inet_pton(AF_INET, copy, address.byte + sizeof v4_mapped) != 1)
            return false;
        memcpy(address.byte, v4_mapped, sizeof v4_mapped);
    }
    *out = address;
    return true;
}

static struct sl_address masked(const struct sl_address *address, uint32_t prefix)
{
    struct sl_address cut = *address;
    for (uint32_t i = 0; i < sizeof cut.byte; i++) {
        uint32_t kept = prefix > i * 8 ? prefix - i * 8 : 0;
        if (kept < 8)
            cut.byte[i] &= (uint8_t)(0xff00 >> kept);
    }
    return cut;
}

struct sl_address sl_address_cut(const struct sl_address *address, uint32_t bits)
{
    return masked(address, sl_address_is_v4(address) ? bits + 96 : bits);
}

bool sl_network_parse(struct sluice_text text, struct sl_network *out)
{
    const char *slash = text.len ? memchr(text.at, '/', text.len) : NULL;
    struct sluice_text base = { text.at, slash ? (size_t)(slash - text.at) : text.len };
    struct sl_network network;
    if (!sl_address_parse(base, &network.base))
        return false;
    /* ::ffff:0:0/96 written as IPv6 counts its own 128 bits. */
    bool v4 = sl_address_is_v4(&network.base) && !memchr(base.at, ':', base.len);
    uint64_t prefix = v4 ? 32 : 128;
    if (slash) {
        struct sluice_text bits = { slash + 1, text.len - base.len - 1 };
        uint64_t most = prefix;
        if (bits.len > 3 || !sl_parse_u64(bits, &prefix) || prefix > most)
            return false;
    }
    network.prefix = (uint32_t)prefix + (v4 ? 96 : 0);
    struct sl_address cut = masked(&network.base, network.prefix);
    if (memcmp(&cut, &network.base, sizeof cut) != 0)
        return false;
    *out = network;
    return true;
}

struct sl_network sl_network_around(const struct sl_address *address, uint32_t prefix)
{
    return (struct sl_network){ masked(address, prefix), prefix };
}

bool sl_network_has(const struct sl_network *network, const struct sl_address *address)
{
    if (network->prefix < 96 && sl_address_is_v4(address))
        return false; /* a wide IPv6 network is not about IPv4 */
    struct sl_address cut = masked(address, network->prefix);
    return memcmp(&cut, &network->base, sizeof cut) == 0;
}

size_t sl_address_print(const struct sl_address *address, char out[SL_ADDRESS_PRINT_MAX])
{
    if (sl_address_is_v4(address))
        inet_ntop(AF_INET, address->byte + sizeof v4_mapped, out, SL_ADDRESS_PRINT_MAX);
    else
        inet_ntop(AF_INET6, address->byte, out, SL_ADDRESS_PRINT_MAX);
    return strlen(out);
}
