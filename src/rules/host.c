/* Cutting and checking hosts with ports, as operators write them for listeners and stores.
 *
 * The colon is why this is a file of its own: an IPv6 address is full of
 * colons, so it stands in brackets, and the port follows the first colon
 * after the last bracket. */
#include "rules/host.h"

#include "base/text/number.h"
#include "rules/address.h"

enum { NAME_MAX_BYTES = 253 };

void sl_host_cut(struct sluice_text text, struct sluice_text *host, struct sluice_text *port)
{
    const char *bracket = text.len ? memrchr(text.at, ']', text.len) : NULL;
    size_t skip = bracket ? (size_t)(bracket - text.at) : 0;
    const char *colon = text.len ? memchr(text.at + skip, ':', text.len - skip) : NULL;
    *host = text;
    *port = (struct sluice_text){ 0 };
    if (colon) {
        host->len = (size_t)(colon - text.at);
        *port = (struct sluice_text){ colon + 1, text.len - host->len - 1 };
    }
}

static bool is_bracketed_v6(struct sluice_text host)
{
    struct sl_address address;
    if (host.len < 4 || host.at[0] != '[' || host.at[host.len - 1] != ']')
        return false;
    struct sluice_text inside = { host.at + 1, host.len - 2 };
    return memchr(inside.at, ':', inside.len) && sl_address_parse(inside, &address);
}

bool sl_host_is_good(struct sluice_text host)
{
    bool numeric = true;
    if (host.len == 0 || host.len > NAME_MAX_BYTES)
        return false;
    if (host.at[0] == '[')
        return is_bracketed_v6(host);
    for (size_t i = 0; i < host.len; i++) {
        char c = host.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
        if (!letter && c != '.' && (c < '0' || c > '9'))
            return false;
        numeric &= !letter;
    }
    /* Digits and dots that are not an address are a mistake, not a name. */
    struct sl_address address;
    return !numeric || sl_address_parse(host, &address);
}

bool sl_port_parse(struct sluice_text text, uint32_t *out)
{
    uint64_t port;
    if (!sl_parse_u64(text, &port) || port > 65535)
        return false;
    *out = (uint32_t)port;
    return true;
}
