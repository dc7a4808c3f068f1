/* Who is never counted (`exempt`), and what people are worth (`tiers`): the
 * two lists of the file that rules refer to. */
#include "rules/parts.h"

enum { TIERS_MAX = 256, DIGEST_LEN = 64 };

/* "10.0.0.1/8" → the network it lies in, or NULL where that is not what is
 * wrong with it. */
static const char *network_meant(struct sl_reader *in, struct sluice_text text)
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
    const char *meant = network_meant(in, node->text);
    if (meant)
        return sl_refuse(in, node, "the network `%s`, or the address without its prefix", meant);
    return sl_refuse(in, node, "an address such as 192.0.2.1, or a network such as 10.0.0.0/8");
}

/* Cut at the first slash: a tenant's name has none, a user's may. */
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

/* A key itself must not stand in the file, nor in a message about it. */
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

const struct sl_table sl_exempt_table = { "`exempt`", exempt_keys };

static const struct sl_decimal_range scale_range = { 1, UINT64_C(1000000000) * 1000000000,
                                                     "a decimal above 0" };

static const struct sl_key tier_keys[] = {
    { "scale", sl_read_decimal, offsetof(struct sl_tier, scale), &scale_range, .standard = "1",
      .help = "what capacities and rates are multiplied by" },
    { "unlimited", sl_read_bool, offsetof(struct sl_tier, unlimited), .standard = "false",
      .help = "no rule applies" },
    { 0 },
};

const struct sl_table sl_tier_table = { "a tier", tier_keys };

static bool read_tier(struct sl_reader *in, const struct sl_node *entry, struct sl_tier *out)
{
    struct sl_node key = sl_node_of_key(entry);
    /* A tier whose mistakes are reported still has numbers that rules can use. */
    *out = (struct sl_tier){ .name = entry->key, .scale = { 1, 0 } };
    bool good = sl_read_span(in, &key, NULL, &out->name);
    good &= sl_read_keys(in, entry, &sl_tier_table, out);
    if (good && out->unlimited && sl_node_get(entry, "scale")) {
        sl_report_error(in->report, sl_node_get(entry, "scale")->key_mark,
                        "an unlimited tier has no `scale`; leave one of them out");
        good = false;
    }
    return good;
}

bool sl_read_tiers(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sl_ruleset *rules = out;
    (void)shape;
    if (node->kind != SL_NODE_MAP)
        return sl_refuse(in, node, "a map, such as { free: { scale: 1 }, pro: { scale: 10 } }");
    if (node->count > TIERS_MAX) {
        sl_report_error(in->report, node->mark, "there are %zu tiers; a file has at most %d",
                        node->count, TIERS_MAX);
        return false;
    }
    rules->tiers = sl_arena_take(in->arena, node->count * sizeof *rules->tiers);
    bool good = true;
    for (const struct sl_node *entry = node->first; entry; entry = entry->next)
        good &= read_tier(in, entry, &rules->tiers[rules->tier_count++]);
    return good;
}
