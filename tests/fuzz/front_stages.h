/* The stages of fuzz_front.c: their rules, visitors, tenants and users. Each has
 * a control plane with a registry in memory, as it was at the start for every run.
 *
 * The store's clock stands still, so that a crash repeats. */
#ifndef FUZZ_FRONT_STAGES_H
#define FUZZ_FRONT_STAGES_H

#include "unit/server/control_on_stage.h"

/* ---- a store whose time stands still ---------------------------------------------- */

static struct still {
    struct sl_store store;
    struct sl_store *heap;
    uint64_t held; /* reservations so far; */
    uint64_t open; /* bit i: the i-th of the last 64 is not settled yet */
    int status;
} still;

static void decide(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    (void)store;
    for (size_t i = 0; i < count; i++)
        if (bundles[i].now_us < 0)
            bundles[i].now_us = INT64_C(1700000000000000);
    still.heap->ops->decide(still.heap, bundles, count);
    for (size_t i = 0; i < count && still.status; i++)
        bundles[i].status = still.status;
}

static int hold_bundle(struct sl_store *store, const struct sl_bundle *bundle, int64_t expiry_us,
                       uint64_t *id)
{
    (void)store;
    (void)bundle;
    (void)expiry_us;
    *id = ++still.held;
    still.open |= UINT64_C(1) << *id % 64;
    return SLUICE_OK;
}

static int settle(struct sl_store *store, uint64_t id, uint32_t cost)
{
    (void)store;
    (void)cost;
    if (id == 0 || id > still.held || !(still.open >> id % 64 & 1))
        return SLUICE_NO_RESERVATION;
    still.open &= ~(UINT64_C(1) << id % 64);
    return SLUICE_OK;
}

/* Resets the counts of all keys: more than the request names, and the same in every run. */
static int forget(struct sl_store *store, const struct sl_claim *claim)
{
    (void)store;
    (void)claim;
    sl_store_close(still.heap);
    still.heap = sl_heap_open();
    SL_CHECK(still.heap != NULL);
    return still.status;
}

static void start_store(bool fails)
{
    static const struct sl_store_ops ops = {
        .decide = decide, .reset = forget, .hold = hold_bundle, .settle = settle
    };
    sl_store_close(still.heap);
    still = (struct still){ .store = { .ops = &ops, .secret = 42, .naming = 42 },
                            .heap = sl_heap_open() };
    still.status = fails ? SLUICE_STORE_DOWN : SLUICE_OK;
    SL_CHECK(still.heap != NULL);
}

/* ---- the stages --------------------------------------------------------------------- */

enum { USERS_MAX = 256 };
enum variant { TRUSTED, LOCAL, FAILING, DRAINING, GUARDED, REQUIRED, VARIANTS };

/* `$`: the folder of the files that are named. */
#define NAMED_FILES                                                                                \
    "admin: { token_file: $/admin, readonly_token_file: $/reader }\n"                              \
    "identity: { jwt: { algorithms: [HS256], keys: [{ kid: a, secret_file: $/secret }],\n"         \
    "  claims: { user: sub, tenant: org, tier: plan, email: email }"

static const struct {
    const char *yaml;
    const char *peer; /* NULL: through a Unix socket */
} settings[VARIANTS] = {
    [TRUSTED] = { "deny_status: 499\n"
                  "identity: { trusted_proxies: [192.0.2.0/24, 10.0.0.0/8],\n"
                  "            headers: { user: X-User, tier: X-Tier, plan: X-Plan } }\n"
                  "tiers: { pro: { scale: 10 } }\n"
                  "exempt: { ips: ['2001:db8::/32'], users: [root] }\n"
                  "rules: [{ name: all, per: ip, limit: 20/m },\n"
                  "        { name: log, resource: /api/*, per: [user, plan], limit: 3/10s,\n"
                  "          algorithm: sliding_window_log, on_missing: deny },\n"
                  "        { name: tried, per: user, limit: 1/h, shadow: true }]\n",
                  "192.0.2.1" },
    [LOCAL] = { "max_wait: 5s\n"
                "tiers: { pro: { scale: 10, algorithms: [token_bucket] }, free: { scale: 1 } }\n"
                "exempt: { users: [root], ips: [203.0.113.0/24] }\n"
                "rules: [{ name: queue, per: user, algorithm: leaky_bucket, capacity: 4,\n"
                "          refill_rate: 1 }]\n",
                NULL },
    [FAILING] = { "on_store_failure: deny\nheaders: []\n"
                  "rules: [{ name: all, per: global, limit: 5/m }]\n",
                  "192.0.2.1" },
    [DRAINING] = { "rules: [{ name: all, per: ip, limit: 20/m }]\n", "127.0.0.1" },
    [GUARDED] = { NAMED_FILES " }, user_id: sha256(email_ip), trusted_proxies: [192.0.2.1],\n"
                              "  headers: { tenant: X-Tenant } }\n"
                              "tiers: { pro: { scale: 10 }, free: { scale: 1 } }\n"
                              "rules: [{ name: all, per: [tenant, user], limit: 20/m,\n"
                              "          adaptive: true }]\n",
                  "192.0.2.1" },
    [REQUIRED] = { NAMED_FILES ", required: true }, api_keys: required }\n"
                               "hash_identifiers: true\n"
                               "rules: [{ name: all, per: api_key, limit: 20/m }]\n",
                   "::1" },
};

static struct stage *stages[VARIANTS];
static struct desk *desks[VARIANTS];

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    SL_CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* What the files hold is read once, and so they are gone again before the first run. */
static void open_stage(enum variant variant, const char *text)
{
    static const char *const names[] = { "admin", "reader", "secret" };
    char folder[] = "/tmp/sluice-fuzz-XXXXXX", yaml[4096], path[64];
    size_t len = 0;
    SL_CHECK(mkdtemp(folder));
    write_file(folder, "admin", "admin-token-of-the-fuzzer");
    write_file(folder, "reader", "reader-token-of-the-fuzzer");
    write_file(folder, "secret", "0123456789abcdef0123456789abcdef");
    for (; *text; text++)
        len += (size_t)snprintf(yaml + len, sizeof yaml - len, *text == '$' ? "%s" : "%.1s",
                                *text == '$' ? folder : text);
    start_store(false);
    stage_open(stages[variant], yaml, &still.store);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* acme has a key, and a rule of its own. */
static void add_tenants(struct desk *desk)
{
    struct sl_registry *registry = desk->control.registry;
    struct sluice_error error = { 0 };
    struct sl_tenant_key key = { .tenant = "acme" };
    bool is_new;
    sl_sha256_of(desk->control.hasher, SL_TEXT("sk_acme"), &key.digest);
    SL_CHECK(sl_registry_begin(registry, SL_CARE_KILL, &error) &&
             sl_registry_put_tenant(registry, "acme", NULL, &is_new, &error) &&
             sl_registry_put_tenant(registry, "bolt", NULL, &is_new, &error) &&
             sl_registry_put_key(registry, &key, &is_new, &error) &&
             sl_registry_put_rule(registry, "acme", "own",
                                  "{\"per\": \"user\", \"limit\": \"3/1m\"}", &error) &&
             sl_registry_commit(registry, &error));
}

/* A new control plane in place of one that has run jobs. */
static void open_desk(enum variant variant)
{
    struct desk *old = desks[variant], *desk = malloc(sizeof *desk);
    struct stage *stage = stages[variant];
    SL_CHECK(desk != NULL);
    desk_open(desk, stage, settings[variant].yaml, USERS_MAX);
    desks[variant] = desk;
    if (variant >= GUARDED) {
        add_tenants(desk);
        desk_compose(desk, stage);
    }
    if (old)
        desk_close(old);
    free(old);
}

/* As it was at the start. */
static struct stage *stage_of(enum variant variant)
{
    if (!stages[variant]) {
        stages[variant] = malloc(sizeof *stages[variant]);
        SL_CHECK(stages[variant] != NULL);
        open_stage(variant, settings[variant].yaml);
        stages[variant]->workers[0].is_draining = variant == DRAINING;
    }
    if (!desks[variant] || desks[variant]->changing)
        open_desk(variant);
    sl_users_clear(desks[variant]->control.users); /* the users that were denied */
    return stages[variant];
}

#endif
