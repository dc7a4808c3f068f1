/* The client's address from the headers that proxies write.
 *
 * Two headers mean the same thing, and a proxy mostly writes one of them and passes
 * the other on as the client sent it.
 *
 *   the proxy writes     X-Forwarded-For: 203.0.113.9       the true client
 *   the client wrote     Forwarded: for=198.51.100.1        any address it likes
 *
 * Preferring either of them lets clients of the other kind of proxy choose their
 * address, and with it a fresh count for every request, or an exempt one. The kind of
 * proxy cannot be seen from here. So each header is walked alone, and where they do not
 * lead to the same address, the answer is 0.0.0.0. A header that a client adds can turn
 * the true answer into that one, and into no other.
 *
 * Why not the proxy's own address when they contradict? A client that sends a header
 * too many would be counted as the proxy, and operators exempt proxies, loopback above
 * all: one header, and no limit at all. No packet comes from 0.0.0.0 and no list exempts
 * it. All such requests count together, so that a client that lies about its address
 * gains at most one count, shared with all that do the same. Nothing else of its requests
 * changes. The cure for an honest client that gets there is in the proxy: remove the
 * header that it does not write. */
#include "auth/client_address.h"

#include "wire/http/forwarded.h"

static const struct sl_address nobody = { { [10] = 0xff, [11] = 0xff } };
static const struct sl_address localhost = { { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };

/* The lines of one header as one list, whose last element can be cut off. */
struct list {
    struct sluice_text name;
    enum sl_forwarded_kind (*take_last)(struct sluice_text *line, struct sl_address *out);
    const struct sl_http_field *fields;
    size_t field_count;      /* not read yet: they are further left */
    struct sluice_text line; /* the rest of the line that was begun */
};

bool sl_address_is_loopback(const struct sl_address *address)
{
    static const struct sl_address v6 = { { [15] = 1 } };
    if (sl_address_is_v4(address))
        return address->byte[12] == 127;
    return memcmp(address, &v6, sizeof v6) == 0;
}

bool sl_peer_is_trusted(const struct sl_identity *identity, const struct sl_address *address)
{
    if (identity->trusted_proxy_count == 0)
        return sl_address_is_loopback(address);
    for (size_t i = 0; i < identity->trusted_proxy_count; i++)
        if (sl_network_has(&identity->trusted_proxies[i], address))
            return true;
    return false;
}

static enum sl_forwarded_kind cut_last(struct list *list, struct sl_address *out)
{
    for (;;) {
        enum sl_forwarded_kind kind = list->take_last(&list->line, out);
        if (kind != SL_FORWARDED_END || list->field_count == 0)
            return kind;
        const struct sl_http_field *field = &list->fields[--list->field_count];
        if (sl_http_name_is(field->name, list->name))
            list->line = field->value;
    }
}

/* Walks from *client, a trusted proxy, to the left. Returns false if the list names no address. */
static bool walk_left(const struct sl_identity *identity, struct list *list,
                      struct sl_address *client)
{
    for (int i = 0; i < SL_FORWARDED_MAX; i++) {
        struct sl_address next;
        enum sl_forwarded_kind kind = cut_last(list, &next);
        if (kind != SL_FORWARDED_ADDRESS)
            return i > 0 || kind == SL_FORWARDED_OPAQUE;
        *client = next;
        if (!sl_peer_is_trusted(identity, client))
            break;
    }
    return true;
}

struct sl_address sl_peer_client(const struct sl_identity *identity, const struct sl_address *peer,
                                 const struct sl_http_head *head)
{
    if (peer && !sl_peer_is_trusted(identity, peer))
        return *peer;
    struct list forwarded = {
        .name = SL_TEXT("forwarded"),
        .take_last = sl_forwarded_last,
        .fields = head->fields,
        .field_count = head->known[SL_HTTP_FORWARDED].at ? head->field_count : 0,
    };
    struct list x_forwarded_for = {
        .name = SL_TEXT("x-forwarded-for"),
        .take_last = sl_x_forwarded_for_last,
        .fields = head->fields,
        .field_count = head->known[SL_HTTP_X_FORWARDED_FOR].at ? head->field_count : 0,
    };
    struct sl_address one = peer ? *peer : localhost, other = one;
    bool one_speaks = walk_left(identity, &forwarded, &one);
    bool other_speaks = walk_left(identity, &x_forwarded_for, &other);
    if (one_speaks && other_speaks && memcmp(&one, &other, sizeof one) != 0)
        return nobody;
    return one_speaks ? one : other;
}
