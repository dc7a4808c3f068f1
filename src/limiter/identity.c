/* Makes keys: hashes of everything that makes two counts different.
 *
 *   seed    rule name, algorithm, window, alignment: a change starts afresh
 *   bytes   tenant, unless the rule spans tenants; the values in `per` order
 *
 * Values have their length before them, so that no two lists of values run together to the same
 * bytes. Tier, capacity and rate are not in it: counts carry over when they change. */
#include "limiter/identity.h"

#include <stdlib.h>

#include "base/clock.h"
#include "rules/index.h"
#include "rules/whitelist.h"

/* A longer name is hashed by itself first: keys are made in a buffer of fixed size however long the
 * names of a request are. */
enum { NAME_MAX_BYTES = 128, KEY_MAX_BYTES = 1024 };

static bool set_resource(struct sl_caller_keys *caller, struct sluice_text resource)
{
    if (resource.len > caller->resource_room) {
        char *larger = realloc(caller->resource, resource.len);
        if (!larger)
            return false;
        caller->resource = larger;
        caller->resource_room = resource.len;
    }
    if (resource.len == 0)
        return true;
    memcpy(caller->resource, resource.at, resource.len);
    size_t len = sl_resource_normalise(caller->resource, resource.len);
    caller->request.resource = (struct sluice_text){ caller->resource, len };
    return true;
}

/* Text that is not an address stays as it is: it is counted, and is in no network. */
static void read_ip(struct sl_caller_keys *caller, const struct sl_identity *identity,
                    struct sluice_text text)
{
    caller->has_address = sl_address_parse(text, &caller->address);
    caller->given_len = 0;
    if (!caller->has_address)
        return;
    bool v4 = sl_address_is_v4(&caller->address);
    uint32_t bits = v4 ? identity->ipv4_prefix : identity->ipv6_prefix;
    struct sl_address cut = sl_address_cut(&caller->address, bits);
    caller->ip_len = sl_address_print(&caller->address, caller->ip);
    caller->counted_ip_len = sl_address_print(&cut, caller->counted_ip);
    caller->given_len = text.len; /* an address is shorter than the array */
    memcpy(caller->given, text.at, text.len);
}

/* Requests of one address come in rows: the address read last is not read again. */
static void set_ip(struct sl_caller_keys *caller, const struct sl_identity *identity)
{
    struct sluice_text text = caller->request.ip;
    struct sluice_text last = { caller->given, caller->given_len };
    bool is_last = last.len > 0 && sl_text_equal(text, last);
    if (!is_last)
        read_ip(caller, identity, text);
    if (caller->has_address)
        caller->request.ip = (struct sluice_text){ caller->ip, caller->ip_len };
}

bool sl_caller_keys_init(struct sl_caller_keys *caller, const struct sl_ruleset *rules,
                         const struct sluice_request *request)
{
    caller->request = *request;
    caller->tier = sl_ruleset_tier(rules, request->tier);
    set_ip(caller, &rules->settings.identity);
    return set_resource(caller, request->resource);
}

void sl_caller_keys_release(struct sl_caller_keys *caller)
{
    free(caller->resource);
}

/* Is the exemption in force? The clock is read only for one that ends. */
static bool is_in_force(const struct sluice_request *request, int64_t until_us)
{
    if (until_us == SL_EXEMPT_NOT || until_us == SL_EXEMPT_ALWAYS)
        return until_us == SL_EXEMPT_ALWAYS;
    int64_t now_us = request->at_us == SLUICE_NOW ? sl_walltime_us() : request->at_us;
    return now_us < until_us;
}

static bool has_exempt_key(const struct sluice_request *request, const struct sl_whitelist *list)
{
    static const struct sl_part api_key = { SL_ATTR_OTHER, { "api_key", 7 } };
    struct sluice_text digest_hex = sl_attribute_of(request, &api_key);
    return !sl_text_missing(digest_hex) &&
           is_in_force(request, sl_whitelist_api_key_us(list, digest_hex));
}

bool sl_caller_keys_exempt(const struct sl_caller_keys *caller, const struct sl_whitelist *list)
{
    const struct sluice_request *request = &caller->request;
    if (caller->has_address &&
        is_in_force(request, sl_whitelist_address_us(list, &caller->address)))
        return true;
    if (!sl_text_missing(request->user) &&
        sl_whitelist_has_user(list, request->tenant, request->user))
        return true;
    if (!sl_text_missing(request->client) &&
        is_in_force(request, sl_whitelist_client_us(list, request->tenant, request->client)))
        return true;
    return sl_whitelist_has_api_keys(list) && has_exempt_key(request, list);
}

struct key_bytes {
    char at[KEY_MAX_BYTES];
    size_t len;
};

static struct sl_hash128 hash_key(const struct key_bytes *key, uint64_t seed)
{
    return sl_hash128((struct sluice_text){ key->at, key->len }, seed);
}

static void add_bytes(struct key_bytes *key, const void *bytes, size_t len)
{
    memcpy(key->at + key->len, bytes, len);
    key->len += len;
}

static void add_name(struct key_bytes *key, struct sluice_text name, uint64_t seed)
{
    uint32_t len = (uint32_t)name.len;
    /* A full buffer is replaced by a hash of it. */
    if (key->len + NAME_MAX_BYTES + sizeof len > KEY_MAX_BYTES) {
        struct sl_hash128 folded = hash_key(key, seed);
        key->len = 0;
        add_bytes(key, &folded, sizeof folded);
    }
    add_bytes(key, &len, sizeof len);
    if (name.len <= NAME_MAX_BYTES) {
        add_bytes(key, name.at, name.len);
    } else {
        struct sl_hash128 hashed = sl_hash128(name, seed);
        add_bytes(key, &hashed, sizeof hashed);
    }
}

struct sluice_text sl_caller_keys_value(const struct sl_caller_keys *caller,
                                        const struct sl_part *part)
{
    if (part->attribute == SL_ATTR_IP && caller->has_address)
        return (struct sluice_text){ caller->counted_ip, caller->counted_ip_len };
    return sl_attribute_of(&caller->request, part);
}

static bool add_identifier(struct key_bytes *key, const struct sl_caller_keys *caller,
                           const struct sl_rule *rule, uint64_t seed)
{
    if (!rule->spans_tenants)
        add_name(key, caller->request.tenant.at ? caller->request.tenant : SL_TEXT(""), seed);
    for (size_t i = 0; i < rule->per_count; i++) {
        struct sluice_text value = sl_caller_keys_value(caller, &rule->per[i]);
        if (sl_text_missing(value))
            return false;
        add_name(key, value, seed);
    }
    return true;
}

bool sl_caller_keys_keys(const struct sl_caller_keys *caller, const struct sl_rule *rule,
                         const struct sl_rule_seeds *seeds, struct sl_hash128 *key,
                         struct sl_hash128 *guard_key)
{
    struct key_bytes bytes;
    bytes.len = 0;
    if (!add_identifier(&bytes, caller, rule, seeds->limit))
        return false;
    *key = hash_key(&bytes, seeds->limit);
    if (rule->guard.window_us)
        *guard_key = hash_key(&bytes, seeds->guard);
    return true;
}

static uint64_t seed_of(const struct sl_rule *rule, uint64_t secret, const int64_t numbers[3])
{
    uint64_t seed = sl_hash64(sl_text(rule->name), secret);
    seed = sl_hash64(sl_text(rule->algo->name), seed);
    return sl_hash64((struct sluice_text){ (const char *)numbers, 3 * sizeof *numbers }, seed);
}

struct sl_rule_seeds sl_rule_seeds(const struct sl_rule *rule, uint64_t secret)
{
    return sl_limit_seeds(rule, &rule->numbers[0].limit, secret);
}

struct sl_rule_seeds sl_limit_seeds(const struct sl_rule *rule, const struct sl_limit *limit,
                                    uint64_t secret)
{
    const struct sl_guard *guard = &rule->guard;
    return (struct sl_rule_seeds){
        .limit = seed_of(rule, secret, (int64_t[]){ limit->window_us, limit->first_request, 0 }),
        .guard = seed_of(rule, ~secret,
                         (int64_t[]){ guard->window_us, guard->penalty_us, guard->threshold }),
    };
}
