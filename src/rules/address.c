/* Parsing, printing and comparing IP addresses and networks. */
#include "rules/address.h"

#include <arpa/inet.h>

#include "base/text/number.h"

static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

bool sl_address_is_v4(const struct sl_address *address)
{
    return memcmp(address->byte, v4_mapped, sizeof v4_mapped) == 0;
}

/* Parses four decimal numbers, none with a zero before it. By hand: every request has an
 * address, and inet_pton would try IPv6 first, with a copy. */
static bool parse_v4(struct sluice_text text, uint8_t out[4])
{
    if (text.len == 0)
        return false;
    const char *at = text.at, *end = text.at + text.len;
    for (int i = 0; i < 4; i++) {
        uint32_t value = 0;
        const char *digits = at;
        for (; at < end && *at >= '0' && *at <= '9' && at - digits < 3; at++)
            value = value * 10 + (uint32_t)(*at - '0');
        if (at == digits || value > 255 || (*digits == '0' && at - digits > 1))
            return false;
        if (i < 3 && (at == end || *at++ != '.'))
            return false;
        out[i] = (uint8_t)value;
    }
    return at == end;
}

bool sl_address_parse(struct sluice_text text, struct sl_address *out)
{
    struct sl_address address;
    if (parse_v4(text, address.byte + sizeof v4_mapped)) {
        memcpy(address.byte, v4_mapped, sizeof v4_mapped);
        *out = address;
        return true;
    }
    char copy[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof copy || memchr(text.at, 0, text.len))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    if (inet_pton(AF_INET6, copy, address.byte) != 1)
        return false;
    *out = address;
    return true;
}

static struct sl_address mask_address(const struct sl_address *address, uint32_t prefix)
{
    struct sl_address cut = *address;
    if (prefix < 128) {
        cut.byte[prefix / 8] &= (uint8_t)(0xff00 >> prefix % 8);
        memset(cut.byte + prefix / 8 + 1, 0, 15 - prefix / 8);
    }
    return cut;
}

struct sl_address sl_address_cut(const struct sl_address *address, uint32_t bits)
{
    return mask_address(address, sl_address_is_v4(address) ? bits + 96 : bits);
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
    struct sl_address cut = mask_address(&network.base, network.prefix);
    if (memcmp(&cut, &network.base, sizeof cut) != 0)
        return false;
    *out = network;
    return true;
}

struct sl_network sl_network_around(const struct sl_address *address, uint32_t prefix)
{
    return (struct sl_network){ mask_address(address, prefix), prefix };
}

bool sl_network_has(const struct sl_network *network, const struct sl_address *address)
{
    if (network->prefix < 96 && sl_address_is_v4(address))
        return false; /* a wide IPv6 network holds no IPv4 addresses */
    struct sl_address cut = mask_address(address, network->prefix);
    return memcmp(&cut, &network->base, sizeof cut) == 0;
}

static char *print_v4(const uint8_t bytes[4], char *at)
{
    for (int i = 0; i < 4; i++) {
        uint32_t value = bytes[i];
        if (value >= 100)
            *at++ = (char)('0' + value / 100);
        if (value >= 10)
            *at++ = (char)('0' + value / 10 % 10);
        *at++ = (char)('0' + value % 10);
        *at++ = i < 3 ? '.' : 0;
    }
    return at - 1;
}

static uint32_t group_at(const struct sl_address *address, int i)
{
    return (uint32_t)address->byte[2 * i] << 8 | address->byte[2 * i + 1];
}

/* Finds the longest run of groups that are zero, at least two; the first of equals. */
static int find_longest_zeros(const struct sl_address *address, int *len)
{
    int best = -1;
    *len = 1;
    for (int i = 0; i < 8;) {
        int end = i;
        while (end < 8 && group_at(address, end) == 0)
            end++;
        if (end - i > *len) {
            best = i;
            *len = end - i;
        }
        i = end + 1;
    }
    return best;
}

static char *print_group(uint32_t value, char *at)
{
    static const char digits[] = "0123456789abcdef";
    for (int shift = 12; shift >= 0; shift -= 4)
        if (value >> shift || shift == 0)
            *at++ = digits[value >> shift & 15];
    return at;
}

/* Prints as RFC 5952 says; an address of 96 zero bits first ends like an IPv4 address. */
static char *print_v6(const struct sl_address *address, char *at)
{
    int zeros, start = find_longest_zeros(address, &zeros);
    bool ends_as_v4 = start == 0 && zeros == 6;
    for (int i = 0; i < (ends_as_v4 ? 6 : 8);) {
        if (i == start) {
            *at++ = ':';
            if (i == 0)
                *at++ = ':';
            i += zeros;
            continue;
        }
        at = print_group(group_at(address, i), at);
        if (++i < 8)
            *at++ = ':';
    }
    if (ends_as_v4)
        return print_v4(address->byte + 12, at);
    *at = 0;
    return at;
}

size_t sl_address_print(const struct sl_address *address, char out[SL_ADDRESS_PRINT_MAX])
{
    bool v4 = sl_address_is_v4(address);
    char *end = v4 ? print_v4(address->byte + sizeof v4_mapped, out) : print_v6(address, out);
    return (size_t)(end - out);
}
