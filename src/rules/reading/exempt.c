/* Reading exemptions: `exempt` of the file, and those that an overlay adds. */
#include "base/check.h"
#include "rules/reading/overlay.h"
#include "rules/reading/parts.h"

enum { DIGEST_LEN = 64 };

/* "10.0.0.1/8" → the network it lies in, or NULL where the fault is another. */
static const char *suggest_network(struct sl_reader *in, struct sluice_text text)
{
    const char *slash = text.len ? memchr(text.at, '/', text.len) : NULL;
    if (!slash)
        return NULL;
    struct sluice_text base = { text.at, (size_t)(slash - text.at) };
    struct sluice_text digits = { slash + 1, text.len - base.len - 1 };
    struct sl_address address;
    uint64_t bits;
    if (!sl_address_parse(base, &address) || !sl_parse_u64(digits, &bits))
        return NULL;
    bool v4 = sl_address_is_v4(&address);
    if (bits > (v4 ? 32 : 128) || (v4 && memchr(base.at, ':', base.len)))
        return NULL;
    char print[SL_ADDRESS_PRINT_MAX];
    address = sl_address_cut(&address, (uint32_t)bits);
    sl_address_print(&address, print);
    return sl_arena_print(in->scratch, "%s/%u", print, (uint32_t)bits);
}

bool sl_read_network(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    (void)shape;
    if (node->kind == SL_NODE_SCALAR && sl_network_parse(node->text, out))
        return true;
    const char *meant = suggest_network(in, node->text);
    if (meant)
        return sl_refuse(in, node, "the network `%s`, or the address without its prefix", meant);
    return sl_refuse(in, node, "an address such as 192.0.2.1, or a network such as 10.0.0.0/8");
}

/* Cuts at the first slash: a tenant's name has none, a user's may. */
static bool read_name(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    struct sl_exempt_name name = { 0 };
    if (!sl_read_span(in, node, shape, &name.name))
        return false;
    const char *slash = memchr(name.name.at, '/', name.name.len);
    if (slash) {
        name.tenant = (struct sluice_text){ name.name.at, (size_t)(slash - name.name.at) };
        name.name.len -= name.tenant.len + 1;
        name.name.at = slash + 1;
        if (name.tenant.len == 0 || name.name.len == 0)
            return sl_refuse(in, node, "tenant/name, or the name alone where there is no tenant");
    }
    *(struct sl_exempt_name *)out = name;
    return true;
}

/* Reads a key's digest: the key itself must not stand in the file, nor in a message about it. */
static bool read_digest(struct sl_reader *in, const struct sl_node *node, const void *shape,
                        void *out)
{
    (void)shape;
    bool good = node->kind == SL_NODE_SCALAR && node->text.len == DIGEST_LEN;
    for (size_t i = 0; good && i < DIGEST_LEN; i++)
        good = sl_hex_digit(node->text.at[i]) >= 0;
    if (!good && node->kind != SL_NODE_BROKEN)
        sl_report_error(in->report, node->mark,
                        "`%s` are SHA-256 digests: write the 64 hex digits that `printf %%s KEY | "
                        "sha256sum` prints, not the key itself",
                        node->key.at);
    if (!good)
        return false;
    char *lower = sl_arena_copy(in->arena, node->text);
    for (size_t i = 0; i < DIGEST_LEN; i++)
        if (lower[i] >= 'A' && lower[i] <= 'F')
            lower[i] = (char)(lower[i] + ('a' - 'A'));
    *(struct sluice_text *)out = (struct sluice_text){ lower, DIGEST_LEN };
    return true;
}

#define EACH(reader, at, count)                                                                    \
    .read = sl_read_each,                                                                          \
    .shape = &(const struct sl_each)SL_EACH(reader, struct sl_exempt, at, count)

static const struct sl_key exempt_keys[] = {
    { "ips", EACH(sl_read_network, ips, ip_count), .missing = "none",
      .help = "addresses and networks" },
    { "users", EACH(read_name, users, user_count), .missing = "none",
      .help = "tenant/user; a bare name: no tenant" },
    { "clients", EACH(read_name, clients, client_count), .missing = "none",
      .help = "tenant/client; a bare name: no tenant" },
    { "api_keys", EACH(read_digest, api_keys, api_key_count), .missing = "none",
      .help = "SHA-256 of each key, 64 hex digits" },
    { 0 },
};

const struct sl_key_table sl_exempt_table = { "`exempt`", exempt_keys };

static const struct exempt_kind {
    const char *key; /* the name of the value in problems */
    sl_reading *read;
    size_t offset;
    int kind;
} kinds[] = {
    [SL_EXEMPT_CLIENT] = { "client", read_name, offsetof(struct sl_exempt_until, client),
                           SL_UNTIL_CLIENT },
    [SL_EXEMPT_IP] = { "ip", sl_read_network, offsetof(struct sl_exempt_until, ip), SL_UNTIL_IP },
    [SL_EXEMPT_API_KEY] = { "api_keys", read_digest, offsetof(struct sl_exempt_until, api_key),
                            SL_UNTIL_API_KEY },
};

/* A message does not repeat a value that may be a key in the clear. */
static const char *exemption_subject(struct sl_reader *in,
                                     const struct sl_overlay_exemption *exemption)
{
    if (exemption->kind == SL_EXEMPT_API_KEY)
        return "exemption of an `api_key`";
    return sl_report_subject(in->report, "exemption", exemption->value);
}

static bool read_exemption(struct sl_reader *in, const struct sl_overlay_exemption *exemption,
                           struct sl_exempt_until *out)
{
    SL_CHECK(exemption->kind != SL_EXEMPT_USER);
    const struct exempt_kind *kind = &kinds[exemption->kind];
    struct sl_node node = { .kind = SL_NODE_SCALAR,
                            .key = sl_text(kind->key),
                            .text = sl_text(exemption->value) };
    in->report->subject = exemption_subject(in, exemption);
    out->kind = kind->kind;
    out->until_us = exemption->until_us;
    bool good = kind->read(in, &node, NULL, (char *)out + kind->offset);
    in->report->subject = NULL;
    return good;
}

bool sl_read_exempt_until(struct sl_reader *in, struct sl_ruleset *rules)
{
    size_t count = in->overlay ? in->overlay->exemption_count : 0;
    struct sl_exempt_until *until = sl_arena_take(in->arena, count * sizeof *until);
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good &= read_exemption(in, &in->overlay->exemptions[i], &until[i]);
    rules->exempt_until = until;
    rules->exempt_until_count = count;
    return good;
}
