/* Reading `listen` and `tls`: addresses, and the certificate they may need.
 *
 * An address is checked for its form alone. Whether the server can listen on it shows
 * when it tries; but two listeners on one address, or TLS without
 * a certificate, can never work and are refused here, with their line. */
#include "rules/reading/listen.h"

#include "rules/host.h"
#include "rules/reading/parts.h"

enum { UNIX_PATH_MAX = 107 }; /* the room in a socket's address */

/* Returns "unix:PATH", the path joined to the file's folder; NULL if it is too long. */
static const char *unix_address(struct sl_reader *in, struct sluice_text text)
{
    struct sluice_text path = { text.at + 5, text.len - 5 };
    const char *joined = sl_path_join(in->scratch, in->folder, path);
    if (path.len == 0 || strlen(joined) > UNIX_PATH_MAX)
        return NULL;
    return sl_arena_print(in->arena, "unix:%s", joined);
}

static bool is_host_and_port(struct sluice_text text)
{
    struct sluice_text host, digits;
    uint32_t port;
    sl_host_cut(text, &host, &digits);
    return sl_port_parse(digits, &port) && sl_host_is_good(host);
}

static bool is_path(struct sluice_text text)
{
    return text.len >= 5 && memcmp(text.at, "unix:", 5) == 0;
}

bool sl_listen_address_is_good(struct sluice_text text)
{
    return is_path(text) ? text.len > 5 && text.len - 5 <= UNIX_PATH_MAX : is_host_and_port(text);
}

static bool read_address(struct sl_reader *in, const struct sl_node *node, const void *shape,
                         void *out)
{
    const char **address = out;
    struct sluice_text text;
    if (!sl_read_span(in, node, shape, &text))
        return false;
    if (is_path(text)) {
        const char *joined = unix_address(in, text);
        if (!joined)
            return sl_refuse(in, node, "unix: and a path of at most %d bytes", UNIX_PATH_MAX);
        *address = joined;
        return true;
    }
    if (!is_host_and_port(text))
        return sl_refuse(in, node,
                         "address:port such as 127.0.0.1:8080, \"[::1]:8080\", or "
                         "unix:PATH");
    *address = text.at;
    return true;
}

static const struct sl_key listener_keys[] = {
    { "address", read_address, offsetof(struct sl_listener, address), .required = true,
      .help = "address:port, [v6]:port or unix:PATH" },
    { "proxy_protocol", sl_read_bool, offsetof(struct sl_listener, proxy_protocol),
      .standard = "false", .help = "expect the PROXY protocol from trusted proxies" },
    { "tls", sl_read_bool, offsetof(struct sl_listener, tls), .standard = "false",
      .help = "`grpc` and `resp`: over TLS, with the certificate of `tls`" },
    { 0 },
};

static const struct sl_key_table listener_table = { "a listener", listener_keys };

/* Reads the address alone, a map of both, or `off`. */
static bool read_listener(struct sl_reader *in, const struct sl_node *node, const void *shape,
                          void *out)
{
    struct sl_listener listener = { 0 };
    bool good = true;
    if (node->kind == SL_NODE_MAP)
        good = sl_read_keys(in, node, shape, &listener);
    else if (node->kind != SL_NODE_SCALAR || !sl_text_is(node->text, "off"))
        good = read_address(in, node, NULL, &listener.address);
    if (good)
        *(struct sl_listener *)out = listener;
    return good;
}

#define LISTENER(front, default_text, help_text)                                                   \
    {                                                                                              \
        .name = #front, .read = read_listener, .offset = offsetof(struct sl_settings, front),      \
        .below = &listener_table, .standard = default_text, .help = help_text                      \
    }

static const struct sl_key listen_keys[] = {
    LISTENER(http, "127.0.0.1:8080", "checks, forward-auth, admin, metrics, dashboard"),
    LISTENER(https, "off", "the same over TLS"),
    LISTENER(grpc, "off", "Envoy's rate limit service"),
    LISTENER(resp, "off", "the Redis protocol"),
    { 0 },
};

const struct sl_key_table sl_listen_table = { "`listen`", listen_keys };

#define AT(field) (offsetof(struct sl_settings, tls.field) - offsetof(struct sl_settings, tls))

static const struct sl_key tls_keys[] = {
    { "certificate", sl_read_path, AT(certificate), .help = "PEM file" },
    { "key", sl_read_path, AT(key), .help = "PEM file of the private key" },
    { "client_ca", sl_read_path, AT(client_ca),
      .help = "PEM file; clients must show a certificate from it" },
    { 0 },
};

const struct sl_key_table sl_tls_table = { "`tls`", tls_keys };

/* Finds the entry of `listen` under `key`; NULL: it is not written. */
static const struct sl_node *listener_node(const struct sl_node *file, const char *key)
{
    const struct sl_node *listen = sl_node_get(file, "listen");
    return listen ? sl_node_get(listen, key) : NULL;
}

/* Refuses a listener over TLS without a certificate, or HTTP under the wrong name. */
static void check_listener_tls(struct sl_reader *in, const struct sl_node *file,
                               const struct sl_settings *settings)
{
    const struct sl_listener *all[] = { &settings->http, &settings->grpc, &settings->resp };
    static const char *const names[] = { "http", "grpc", "resp" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct sl_node *node = listener_node(file, names[i]);
        if (!node || !all[i]->tls)
            continue;
        if (i == 0)
            sl_report_error(in->report, node->key_mark,
                            "`http` is without TLS; write `https: ADDRESS` for HTTP over it");
        else if (!sl_node_get(file, "tls"))
            sl_report_error(in->report, node->key_mark,
                            "`%s` over TLS needs a certificate; add `tls: { certificate: FILE, "
                            "key: FILE }`",
                            names[i]);
    }
}

static void check_tls(struct sl_reader *in, const struct sl_node *file,
                      const struct sl_settings *settings)
{
    const struct sl_node *tls = sl_node_get(file, "tls");
    const struct sl_node *https = listener_node(file, "https");
    bool complete = tls && sl_node_get(tls, "certificate") && sl_node_get(tls, "key");
    if (tls && tls->kind == SL_NODE_MAP && !complete)
        sl_report_error(in->report, tls->key_mark,
                        "`tls` needs both `certificate` and `key`, two PEM files");
    if (!tls && https && settings->https.address)
        sl_report_error(in->report, https->key_mark,
                        "`https` needs a certificate; add `tls: { certificate: FILE, key: FILE }`");
}

static void check_store_tls(struct sl_reader *in, const struct sl_node *file,
                            const struct sl_settings *settings)
{
    const struct sl_node *tls = sl_node_get(file, "store_tls");
    if (!tls || tls->kind != SL_NODE_MAP)
        return;
    if (!sl_node_get(tls, "certificate") != !sl_node_get(tls, "key"))
        sl_report_error(in->report, tls->key_mark,
                        "`store_tls` needs `certificate` and `key` together, or neither");
    if (!settings->store.tls)
        sl_report_error(in->report, tls->key_mark,
                        "`store_tls` is for a store that speaks TLS; write `store: "
                        "rediss://HOST`, or leave it out");
}

/* Port 0 is any free one, so two of those differ. */
static bool is_shared(const char *a, const char *b)
{
    size_t len = a ? strlen(a) : 0;
    return a && b && strcmp(a, b) == 0 && (len < 2 || strcmp(a + len - 2, ":0") != 0);
}

static void check_shared(struct sl_reader *in, const struct sl_node *file,
                         const struct sl_settings *settings)
{
    const struct sl_listener *all[] = { &settings->http, &settings->https, &settings->grpc,
                                        &settings->resp };
    for (size_t i = 1; i < sizeof all / sizeof *all; i++) {
        const struct sl_node *node = listener_node(file, listen_keys[i].name);
        size_t j = 0;
        while (j < i && !is_shared(all[i]->address, all[j]->address))
            j++;
        if (node && j < i)
            sl_report_error(in->report, node->mark,
                            "`%s` cannot listen where `%s` does; give it another port",
                            listen_keys[i].name, listen_keys[j].name);
    }
}

void sl_listen_check(struct sl_reader *in, const struct sl_node *file,
                     const struct sl_settings *settings)
{
    check_tls(in, file, settings);
    check_listener_tls(in, file, settings);
    check_store_tls(in, file, settings);
    check_shared(in, file, settings);
}
