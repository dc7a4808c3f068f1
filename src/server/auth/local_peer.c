/* Telling a local client from a local proxy. A peer at a loopback address may be a proxy that
 * forwards for the whole world, or a browser that shows a foreign page; headers give both away. */
#include "server/auth/local_peer.h"

#include <strings.h>

#include "auth/client_address.h"
#include "server/conn.h"

static bool is_loopback_name(struct sluice_text host)
{
    const char *colon = host.len ? memrchr(host.at, ':', host.len) : NULL;
    struct sluice_text name = { host.at, colon ? (size_t)(colon - host.at) : host.len };
    struct sl_address address;
    if (host.len && host.at[0] == '[') { /* only an IPv6 address stands in brackets */
        const char *end = memchr(host.at, ']', host.len);
        name = (struct sluice_text){ host.at + 1, end ? (size_t)(end - host.at) - 1 : 0 };
        return memchr(name.at, ':', name.len) && sl_address_parse(name, &address) &&
               sl_address_is_loopback(&address);
    }
    if (name.len == 9 && strncasecmp(name.at, "localhost", 9) == 0)
        return true;
    return sl_address_parse(name, &address) && sl_address_is_loopback(&address);
}

static bool has_field(const struct sl_http_head *head, struct sluice_text lower,
                      struct sluice_text *out)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (sl_http_name_is(head->fields[i].name, lower)) {
            *out = head->fields[i].value;
            return true;
        }
    return false;
}

/* Does a field's name begin or end like those that proxies add? */
static bool is_proxys(struct sluice_text name)
{
    static const char *const starts[] = { "x-forwarded-", "x-original-", "x-real-", NULL };
    static const char *const ends[] = { "-client-ip", "-connecting-ip", NULL };
    for (size_t i = 0; starts[i]; i++)
        if (name.len >= strlen(starts[i]) &&
            strncasecmp(name.at, starts[i], strlen(starts[i])) == 0)
            return true;
    for (size_t i = 0; ends[i]; i++) {
        size_t len = strlen(ends[i]);
        if (name.len >= len && strncasecmp(name.at + name.len - len, ends[i], len) == 0)
            return true;
    }
    return sl_http_name_is(name, SL_TEXT("forwarded")) || sl_http_name_is(name, SL_TEXT("via"));
}

static bool is_forwarded(const struct sl_http_head *head)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (is_proxys(head->fields[i].name))
            return true;
    return false;
}

/* Another site's page, in a browser on this machine. */
static bool is_foreign_page(const struct sl_http_head *head)
{
    struct sluice_text origin, host = head->known[SL_HTTP_HOST];
    if (!has_field(head, SL_TEXT("origin"), &origin))
        return false;
    const char *slashes = memmem(origin.at, origin.len, "//", 2);
    if (!slashes)
        return true;
    struct sluice_text name = { slashes + 2, origin.len - (size_t)(slashes + 2 - origin.at) };
    return !sl_text_equal(name, host);
}

const char *sl_message_not_local(const struct sl_message *message)
{
    const struct sl_conn *conn = message->conn;
    const struct sl_http_head *head = message->head;
    if (conn->speaks_proxy || (!conn->is_local && !sl_address_is_loopback(&conn->peer)))
        return "Without an admin token only this machine is answered; set `admin.token_file`.";
    if (head->is_1_0 ||
        is_forwarded(head)) /* nginx speaks 1.0 to its backends unless it is told otherwise */
        return "This came through a proxy, and without an admin token only this machine is "
               "answered; set `admin.token_file`.";
    if (!is_loopback_name(head->known[SL_HTTP_HOST]) || is_foreign_page(head))
        return "`Host` or `Origin` is not this machine's, so a web page may have sent this; set "
               "`admin.token_file`, or ask for http://127.0.0.1.";
    return NULL;
}
