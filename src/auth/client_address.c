/* Two headers say the same thing, and a proxy mostly writes one of them and passes
 * the other on as the client sent it.
 *
 *   the proxy writes     X-Forwarded-For: 203.0.113.9       the client, truly
 *   the client wrote     Forwarded: for=198.51.100.1        whoever it likes to be
 *
 * Preferring either of them lets clients of the other kind of proxy choose their
 * address, and with it a fresh count for every request, or an exempt one. Which
 * kind of proxy it is cannot be seen from here. So each is walked alone, and where
 * they do not lead to the same address, it is nobody's: 0.0.0.0. Whatever a client
 * adds can turn the true answer into that one, and into no other.
 *
 * Why not the proxy's own address when they contradict? Whoever sends a header
 * too many would be counted as the proxy, and proxies, loopback above all, are
 * what operators exempt: one header, and no limit at all. 0.0.0.0 is no sender's
 * address and in nobody's list of exemptions. All such requests count together,
 * so that lying about one's address gains at most one count, shared with every
 * other liar. Nothing else of theirs changes. The cure for an honest client that
 * gets there is in the proxy: remove the header that it does not write. */
#include "auth/client_address.h"

#include "wire/http/forwarded.h"

static const struct sl_address nobody = { { [10] = 0xff, [11] = 0xff } };
static const struct sl_address localhost = { { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };

/* One name's lines as one list, of which the last element can be taken. */
struct list {
    struct sluice_text name;
    enum sl_forwarded_kind (*take_last)(struct sluice_text *line, struct sl_address *out);
    const struct sl_http_field *fields;
    size_t field_count;      /* not yet looked at: they are further left */
    struct sluice_text line; /* what is left of the line that was begun */
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

static enum sl_forwarded_kind take_last(struct list *list, struct sl_address *out)
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

/* From *client, a trusted proxy, on to the left. False: the list names nothing. */
static bool walk(const struct sl_identity *identity, struct list *list, struct sl_address *client)
{
    for (int i = 0; i < SL_FORWARDED_MAX; i++) {
        struct sl_address next;
        enum sl_forwarded_kind kind = take_last(list, &next);
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
    bool one_speaks = walk(identity, &forwarded, &one);
    bool other_speaks = walk(identity, &x_forwarded_for, &other);
    if (one_speaks && other_speaks && memcmp(&one, &other, sizeof one) != 0)
        return nobody;
    return one_speaks ? one : other;
}
