/* Reads the client's address from the lists that proxies add, from the near end.
 *
 *   Forwarded: for=198.51.100.7, for="[2001:db8::1]:4711";proto=https
 *              |<- a stranger's ->| |<- appended by the proxy we trust ->|
 *                                  <---------------------- we read so
 *
 * A proxy appends its element to whatever the client sent, and the client sends
 * what does most harm: `for="a` for instance, so that the line becomes
 *
 *   for="a, for=192.0.2.1
 *
 * Split from the left, as lists usually are, the open quote swallows what the
 * proxy said. So the line is never looked at from the left. From the right, a
 * quote closes a string, the next one that is not escaped opens it, and a comma
 * outside ends the element. Whether a quote is escaped depends on the backslashes
 * right before it, and in a well-formed element these never reach its beginning: a
 * string is opened behind `=`. So where an element begins is known from the element
 * alone, and nothing to its left can move that comma: well-formed elements at the
 * end of a line read the same behind any bytes.
 * tests/fuzz/fuzz_forwarded.c puts such elements behind any bytes it generates.
 *
 * Going on to the left is safe for the same reason, as long as the address just
 * read is a trusted proxy's: it appended to what it had received. If an element is
 * malformed, the commas of its writer cannot be trusted either: the element is opaque,
 * and the rest of the list is dropped.
 *
 * No reader can repair the line of a trusted proxy that itself writes unbalanced
 * quotes, for instance by copying a `host` without escaping it.
 *
 * X-Forwarded-For has no quotes, and its commas are just commas. */
#include "wire/http/forwarded.h"

#include "base/check.h"
#include "base/text/number.h"
#include "wire/http/bytes.h"
#include "wire/http/head.h"

enum { NODE_MAX_BYTES = 128 }; /* an address has 45 at most; a hidden port may be longer */

static void drop_front(struct sluice_text *text, size_t count)
{
    SL_CHECK(count <= text->len);
    text->at += count;
    text->len -= count;
}

static struct sluice_text trimmed(struct sluice_text text)
{
    while (text.len > 0 && sl_byte_is_blank(text.at[text.len - 1]))
        text.len--;
    while (text.len > 0 && sl_byte_is_blank(text.at[0]))
        drop_front(&text, 1);
    return text;
}

/* ---- one node: an address, perhaps with a port ------------------------------------ */

static bool is_port(struct sluice_text text)
{
    uint64_t port;
    return text.len <= 5 && sl_parse_u64(text, &port) && port <= 65535;
}

/* RFC 7239 lets a proxy hide a port behind a name of its own: letters, digits
 * and `._-` behind an underscore. */
static bool is_hidden_port(struct sluice_text text)
{
    if (text.len < 2 || text.at[0] != '_')
        return false;
    for (size_t i = 1; i < text.len; i++) {
        char c = text.at[i], lower = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'z') && !memchr("._-", c, 3))
            return false;
    }
    return true;
}

/* Sets *port to the text behind the address and its colon; a null `at`: there is none. */
static bool read_bracketed(struct sluice_text node, struct sl_address *out,
                           struct sluice_text *port)
{
    const char *close = memchr(node.at, ']', node.len);
    if (!close)
        return false;
    struct sluice_text host = { node.at + 1, (size_t)(close - node.at) - 1 };
    drop_front(&node, host.len + 2);
    if (node.len > 0 && node.at[0] != ':')
        return false;
    *port = node.len > 0 ? (struct sluice_text){ node.at + 1, node.len - 1 }
                         : (struct sluice_text){ 0 };
    return memchr(host.at, ':', host.len) && sl_address_parse(host, out);
}

/* One colon comes before a port; several make an IPv6 address. */
static bool read_bare(struct sluice_text node, struct sl_address *out, struct sluice_text *port)
{
    const char *colon = memrchr(node.at, ':', node.len);
    *port = (struct sluice_text){ 0 };
    if (colon && memchr(node.at, ':', node.len) == colon) {
        size_t host_len = (size_t)(colon - node.at);
        *port = (struct sluice_text){ colon + 1, node.len - host_len - 1 };
        node.len = host_len;
    }
    return sl_address_parse(node, out);
}

/* ---- X-Forwarded-For -------------------------------------------------------------- */

enum sl_forwarded_kind sl_x_forwarded_for_last(struct sluice_text *list, struct sl_address *out)
{
    struct sluice_text node = { 0 };
    size_t before = list->len;
    SL_CHECK(list->at || list->len == 0);
    while (node.len == 0 && list->len > 0) {
        const char *comma = memrchr(list->at, ',', list->len);
        size_t start = comma ? (size_t)(comma - list->at) + 1 : 0;
        node = trimmed((struct sluice_text){ list->at + start, list->len - start });
        list->len = comma ? start - 1 : 0;
    }
    if (node.len == 0)
        return SL_FORWARDED_END;

    struct sl_address address;
    struct sluice_text port;
    SL_CHECK(list->len < before); /* so that a walk ends */
    bool good = node.at[0] == '[' ? read_bracketed(node, &address, &port)
                                  : read_bare(node, &address, &port);
    if (!good || (port.at && !is_port(port)))
        return SL_FORWARDED_OPAQUE;
    *out = address;
    return SL_FORWARDED_ADDRESS;
}

/* ---- Forwarded: finding the last element, from the right -------------------------- */

static bool is_escaped(struct sluice_text text, size_t at)
{
    size_t first = at;
    while (first > 0 && text.at[first - 1] == '\\')
        first--;
    return (at - first) % 2 != 0;
}

/* A string without an opening quote reaches to the start; read_element refuses it. */
static size_t element_start(struct sluice_text list)
{
    bool quoted = false;
    for (size_t at = list.len; at > 0; at--) {
        char c = list.at[at - 1];
        if (c == '"' && !is_escaped(list, at - 1))
            quoted = !quoted;
        if (c == ',' && !quoted)
            return at;
    }
    return 0;
}

/* Takes the last element that is not empty off the list. */
static struct sluice_text take_element(struct sluice_text *list)
{
    struct sluice_text element = { 0 };
    while (element.len == 0 && list->len > 0) {
        size_t start = element_start(*list);
        element = trimmed((struct sluice_text){ list->at + start, list->len - start });
        list->len = start > 0 ? start - 1 : 0;
    }
    return element;
}

/* ---- Forwarded: reading an element, from the left --------------------------------- */

static size_t token_len(struct sluice_text text)
{
    size_t len = 0;
    while (len < text.len && sl_byte_fits(text.at[len], SL_BYTE_TOKEN))
        len++;
    return len;
}

/* Returns the length of the string at the start, with both quotes; 0: there is none. */
static size_t quoted_len(struct sluice_text text)
{
    if (text.len == 0 || text.at[0] != '"')
        return 0;
    for (size_t i = 1; i < text.len && sl_byte_fits(text.at[i], SL_BYTE_VALUE); i++) {
        if (text.at[i] == '"')
            return i + 1;
        if (text.at[i] == '\\' && (++i == text.len || !sl_byte_fits(text.at[i], SL_BYTE_VALUE)))
            return 0;
    }
    return 0;
}

/* Takes `name=value` off the rest; the value keeps its quotes. */
static bool take_pair(struct sluice_text *rest, struct sluice_text *name, struct sluice_text *value)
{
    *name = (struct sluice_text){ rest->at, token_len(*rest) };
    drop_front(rest, name->len);
    if (name->len == 0 || rest->len == 0 || rest->at[0] != '=')
        return false;
    drop_front(rest, 1);
    size_t len = token_len(*rest);
    *value = (struct sluice_text){ rest->at, len > 0 ? len : quoted_len(*rest) };
    drop_front(rest, value->len);
    return value->len > 0;
}

/* Blanks beside `;` are not in the grammar, but many proxies write one, and it is not
 * ambiguous. Sets *node to the value of `for`; a null `at`: there is none. Returns
 * false if the element is malformed or has two. */
static bool read_element(struct sluice_text element, struct sluice_text *node)
{
    *node = (struct sluice_text){ 0 };
    for (struct sluice_text rest = element; rest.len > 0; rest = trimmed(rest)) {
        struct sluice_text name, value;
        if (rest.at[0] != ';') {
            if (!take_pair(&rest, &name, &value))
                return false;
            bool is_for = sl_http_name_is(name, SL_TEXT("for"));
            if (is_for && node->at)
                return false;
            if (is_for)
                *node = value;
            rest = trimmed(rest);
        }
        if (rest.len > 0 && rest.at[0] != ';')
            return false;
        drop_front(&rest, rest.len > 0);
    }
    return true;
}

/* Returns the content of a quoted string, or a text without quotes as it is; empty if it
 * is longer than any address. */
static struct sluice_text unquoted(struct sluice_text text, char room[NODE_MAX_BYTES])
{
    if (text.len == 0 || text.at[0] != '"')
        return text;
    size_t len = 0;
    SL_CHECK(text.len >= 2 && text.at[text.len - 1] == '"');
    for (size_t i = 1; i < text.len - 1; i++) {
        if (text.at[i] == '\\')
            i++;
        if (len == NODE_MAX_BYTES)
            return (struct sluice_text){ 0 };
        room[len++] = text.at[i];
    }
    return (struct sluice_text){ room, len };
}

/* IPv6 has brackets here: `2001:db8::1:80` could be an address or one with a port. */
static bool read_node(struct sluice_text node, struct sl_address *out)
{
    struct sluice_text port;
    if (node.len == 0)
        return false;
    if (node.at[0] == '[' ? !read_bracketed(node, out, &port) : !read_bare(node, out, &port))
        return false;
    if (!port.at)
        return node.at[0] == '[' || !memchr(node.at, ':', node.len);
    return is_port(port) || is_hidden_port(port);
}

enum sl_forwarded_kind sl_forwarded_last(struct sluice_text *list, struct sl_address *out)
{
    size_t before = list->len;
    SL_CHECK(list->at || list->len == 0);
    struct sluice_text node, element = take_element(list);
    if (element.len == 0)
        return SL_FORWARDED_END;
    SL_CHECK(list->len < before);
    if (!read_element(element, &node)) {
        list->len = 0;
        return SL_FORWARDED_OPAQUE;
    }
    char room[NODE_MAX_BYTES];
    struct sl_address address;
    if (!read_node(unquoted(node, room), &address))
        return SL_FORWARDED_OPAQUE;
    *out = address;
    return SL_FORWARDED_ADDRESS;
}
