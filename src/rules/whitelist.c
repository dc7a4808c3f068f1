/* The index of exemptions.
 *
 * Names are looked up by tenant and then by name. Networks are looked up once
 * for each prefix length that occurs among them, by the address cut to it.
 *
 * A map's value is the place of the exemption's end among `ends`. All exemptions without an
 * end share the first place, and a search that finds it stops there. */
#include "rules/whitelist.h"

#include "base/text/textmap.h"

enum map_kind { USER, CLIENT, KINDS };

enum { NOT_THERE = 0, ALWAYS = 1 };

struct sl_whitelist {
    struct sl_textmap tenants;  /* (0, name) → number from 1 */
    struct sl_textmap names;    /* (tenant · KINDS + kind, name) → end */
    struct sl_textmap networks; /* (prefix, base) → end */
    struct sl_textmap api_keys; /* (0, digest) → end */
    uint32_t prefixes[129];     /* those that occur */
    size_t prefix_count;
    int64_t *ends; /* [NOT_THERE], [ALWAYS], and one for each that ends */
    uint32_t end_count;
};

static struct sluice_text address_bytes(const struct sl_address *address)
{
    return (struct sluice_text){ (const char *)address->byte, sizeof address->byte };
}

static uint32_t tenant_number(struct sl_arena *arena, struct sl_whitelist *list,
                              struct sluice_text tenant)
{
    if (sl_text_missing(tenant))
        return 0;
    uint32_t number = sl_textmap_get(&list->tenants, 0, tenant);
    if (!number) {
        number = (uint32_t)list->tenants.count + 1;
        sl_textmap_add(arena, &list->tenants, 0, tenant, number);
    }
    return number;
}

/* Sets the end of one entry of `map`; where it is there already, the later of the two. Entries
 * without an end are added first: they share one place, which cannot be moved. */
struct exempt_entry {
    struct sl_textmap *map;
    uint32_t owner;
    struct sluice_text text;
    int64_t until_us;
};

static void add_entry(struct sl_arena *arena, struct sl_whitelist *list, struct exempt_entry entry)
{
    uint32_t end = sl_textmap_get(entry.map, entry.owner, entry.text);
    if (end) {
        list->ends[end] = sl_max_i64(list->ends[end], entry.until_us);
        return;
    }
    end = ALWAYS;
    if (entry.until_us != SL_EXEMPT_ALWAYS) {
        end = list->end_count++;
        list->ends[end] = entry.until_us;
    }
    sl_textmap_add(arena, entry.map, entry.owner, entry.text, end);
}

static void add_name(struct sl_arena *arena, struct sl_whitelist *list, enum map_kind kind,
                     const struct sl_exempt_name *name, int64_t until_us)
{
    uint32_t owner = tenant_number(arena, list, name->tenant) * KINDS + kind;
    add_entry(arena, list, (struct exempt_entry){ &list->names, owner, name->name, until_us });
}

static void add_network(struct sl_arena *arena, struct sl_whitelist *list,
                        const struct sl_network *network, int64_t until_us)
{
    size_t i = 0;
    while (i < list->prefix_count && list->prefixes[i] != network->prefix)
        i++;
    if (i == list->prefix_count)
        list->prefixes[list->prefix_count++] = network->prefix;
    add_entry(arena, list,
              (struct exempt_entry){ &list->networks, network->prefix,
                                     address_bytes(&network->base), until_us });
}

static void add_api_key(struct sl_arena *arena, struct sl_whitelist *list,
                        struct sluice_text digest_hex, int64_t until_us)
{
    add_entry(arena, list, (struct exempt_entry){ &list->api_keys, 0, digest_hex, until_us });
}

static void add_until(struct sl_arena *arena, struct sl_whitelist *list,
                      const struct sl_exempt_until *entry)
{
    int64_t until_us = entry->until_us ? entry->until_us : SL_EXEMPT_ALWAYS;
    if (until_us < 0)
        return; /* over before 1970: it would look like SL_EXEMPT_NOT */
    switch (entry->kind) {
    case SL_UNTIL_CLIENT:
        add_name(arena, list, CLIENT, &entry->client, until_us);
        break;
    case SL_UNTIL_IP:
        add_network(arena, list, &entry->ip, until_us);
        break;
    case SL_UNTIL_API_KEY:
        add_api_key(arena, list, entry->api_key, until_us);
        break;
    }
}

struct sl_whitelist *sl_whitelist_new(struct sl_ruleset *rules)
{
    struct sl_arena *arena = &rules->arena;
    const struct sl_exempt *exempt = &rules->exempt;
    struct sl_whitelist *list = sl_arena_take(arena, sizeof *list);
    list->ends =
        sl_arena_take(arena, (ALWAYS + 1 + rules->exempt_until_count) * sizeof *list->ends);
    list->ends[ALWAYS] = SL_EXEMPT_ALWAYS;
    list->end_count = ALWAYS + 1;
    for (size_t i = 0; i < exempt->user_count; i++)
        add_name(arena, list, USER, &exempt->users[i], SL_EXEMPT_ALWAYS);
    for (size_t i = 0; i < exempt->client_count; i++)
        add_name(arena, list, CLIENT, &exempt->clients[i], SL_EXEMPT_ALWAYS);
    for (size_t i = 0; i < exempt->ip_count; i++)
        add_network(arena, list, &exempt->ips[i], SL_EXEMPT_ALWAYS);
    for (size_t i = 0; i < exempt->api_key_count; i++)
        add_api_key(arena, list, exempt->api_keys[i], SL_EXEMPT_ALWAYS);
    for (size_t i = 0; i < rules->exempt_until_count; i++)
        add_until(arena, list, &rules->exempt_until[i]);
    return list;
}

static uint32_t end_of_name(const struct sl_whitelist *list, enum map_kind kind,
                            struct sluice_text tenant, struct sluice_text name)
{
    uint32_t number = 0;
    if (list->names.count == 0)
        return NOT_THERE;
    if (!sl_text_missing(tenant)) {
        number = sl_textmap_get(&list->tenants, 0, tenant);
        if (!number)
            return NOT_THERE;
    }
    return sl_textmap_get(&list->names, number * KINDS + kind, name);
}

bool sl_whitelist_has_user(const struct sl_whitelist *list, struct sluice_text tenant,
                           struct sluice_text name)
{
    return end_of_name(list, USER, tenant, name) != NOT_THERE;
}

int64_t sl_whitelist_client_us(const struct sl_whitelist *list, struct sluice_text tenant,
                               struct sluice_text name)
{
    return list->ends[end_of_name(list, CLIENT, tenant, name)];
}

int64_t sl_whitelist_address_us(const struct sl_whitelist *list, const struct sl_address *address)
{
    int64_t until_us = SL_EXEMPT_NOT;
    for (size_t i = 0; until_us != SL_EXEMPT_ALWAYS && i < list->prefix_count; i++) {
        struct sl_network around = sl_network_around(address, list->prefixes[i]);
        if (!sl_network_has(&around, address))
            continue;
        uint32_t end = sl_textmap_get(&list->networks, around.prefix, address_bytes(&around.base));
        until_us = sl_max_i64(until_us, list->ends[end]);
    }
    return until_us;
}

bool sl_whitelist_has_api_keys(const struct sl_whitelist *list)
{
    return list->api_keys.count != 0;
}

int64_t sl_whitelist_api_key_us(const struct sl_whitelist *list, struct sluice_text digest_hex)
{
    return list->ends[sl_textmap_get(&list->api_keys, 0, digest_hex)];
}
