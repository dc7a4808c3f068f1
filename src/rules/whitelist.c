/* Names are looked up by tenant and then by name. Networks are looked up once
 * for each prefix length that occurs among them, by the address cut to it. */
#include "rules/whitelist.h"

#include "base/textmap.h"

enum kind { USER, CLIENT, KINDS };

struct sl_whitelist {
    struct sl_textmap tenants;  /* (0, name) → number from 1 */
    struct sl_textmap names;    /* (tenant · KINDS + kind, name) → 1 */
    struct sl_textmap networks; /* (prefix, base) → 1 */
    uint32_t prefixes[129];     /* those that occur */
    size_t prefix_count;
};

static struct sluice_text bytes_of(const struct sl_address *address)
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

static void add_name(struct sl_arena *arena, struct sl_whitelist *list, enum kind kind,
                     const struct sl_exempt_name *entry)
{
    uint32_t owner = tenant_number(arena, list, entry->tenant) * KINDS + kind;
    if (!sl_textmap_get(&list->names, owner, entry->name))
        sl_textmap_add(arena, &list->names, owner, entry->name, 1);
}

static void add_network(struct sl_arena *arena, struct sl_whitelist *list,
                        const struct sl_network *network)
{
    size_t i = 0;
    while (i < list->prefix_count && list->prefixes[i] != network->prefix)
        i++;
    if (i == list->prefix_count)
        list->prefixes[list->prefix_count++] = network->prefix;
    if (!sl_textmap_get(&list->networks, network->prefix, bytes_of(&network->base)))
        sl_textmap_add(arena, &list->networks, network->prefix, bytes_of(&network->base), 1);
}

struct sl_whitelist *sl_whitelist_new(struct sl_ruleset *rules)
{
    struct sl_arena *arena = &rules->arena;
    const struct sl_exempt *exempt = &rules->exempt;
    struct sl_whitelist *list = sl_arena_take(arena, sizeof *list);
    for (size_t i = 0; i < exempt->user_count; i++)
        add_name(arena, list, USER, &exempt->users[i]);
    for (size_t i = 0; i < exempt->client_count; i++)
        add_name(arena, list, CLIENT, &exempt->clients[i]);
    for (size_t i = 0; i < exempt->ip_count; i++)
        add_network(arena, list, &exempt->ips[i]);
    return list;
}

static bool has_name(const struct sl_whitelist *list, enum kind kind, struct sluice_text tenant,
                     struct sluice_text name)
{
    uint32_t number = 0;
    if (list->names.count == 0)
        return false;
    if (!sl_text_missing(tenant)) {
        number = sl_textmap_get(&list->tenants, 0, tenant);
        if (!number)
            return false;
    }
    return sl_textmap_get(&list->names, number * KINDS + kind, name) != 0;
}

bool sl_whitelist_has_user(const struct sl_whitelist *list, struct sluice_text tenant,
                           struct sluice_text name)
{
    return has_name(list, USER, tenant, name);
}

bool sl_whitelist_has_client(const struct sl_whitelist *list, struct sluice_text tenant,
                             struct sluice_text name)
{
    return has_name(list, CLIENT, tenant, name);
}

bool sl_whitelist_has_address(const struct sl_whitelist *list, const struct sl_address *address)
{
    for (size_t i = 0; i < list->prefix_count; i++) {
        struct sl_network around = sl_network_around(address, list->prefixes[i]);
        if (sl_network_has(&around, address) &&
            sl_textmap_get(&list->networks, around.prefix, bytes_of(&around.base)))
            return true;
    }
    return false;
}
