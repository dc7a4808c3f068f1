/* Rules and tiers in the registry, and the overlay that is made of them. */
#include "registry/rows.h"

bool sl_registry_put_rule(struct sl_registry *registry, const char *tenant, const char *name,
                          const char *json, struct sluice_error *error)
{
    if ((tenant && !sl_touch_tenant(registry, tenant, error)) ||
        !sl_note_row(registry, SL_ROW_RULE, tenant ? tenant : "", name, error))
        return false;
    struct sl_sql_query query = sl_change(registry, SL_SQL_PUT_RULE);
    sl_bind_text(&query, tenant);
    sl_bind_text(&query, name);
    sl_bind_text(&query, json);
    sl_bind_i64(&query, registry->stamp);
    return sl_sql_query_run(&query, NULL, error);
}

bool sl_registry_drop_rule(struct sl_registry *registry, const char *tenant, const char *name,
                           bool *found, struct sluice_error *error)
{
    int64_t dropped;
    struct sl_sql_query query = sl_change(registry, SL_SQL_DROP_RULE);
    sl_bind_text(&query, tenant);
    sl_bind_text(&query, name);
    if (!sl_sql_query_run(&query, &dropped, error))
        return false;
    if (dropped && ((tenant && !sl_touch_tenant(registry, tenant, error)) ||
                    !sl_note_row(registry, SL_ROW_RULE, tenant ? tenant : "", name, error)))
        return false;
    *found = dropped > 0;
    return true;
}

bool sl_registry_put_tier(struct sl_registry *registry, const char *name, const char *json,
                          struct sluice_error *error)
{
    if (!sl_note_row(registry, SL_ROW_TIER, name, NULL, error))
        return false;
    struct sl_sql_query query = sl_change(registry, SL_SQL_PUT_TIER);
    sl_bind_text(&query, name);
    sl_bind_text(&query, json);
    sl_bind_i64(&query, registry->stamp);
    return sl_sql_query_run(&query, NULL, error);
}

bool sl_registry_drop_tier(struct sl_registry *registry, const char *name, bool *found,
                           struct sluice_error *error)
{
    int64_t dropped;
    struct sl_sql_query query = sl_change(registry, SL_SQL_DROP_TIER);
    sl_bind_text(&query, name);
    if (!sl_sql_query_run(&query, &dropped, error) ||
        (dropped && !sl_note_row(registry, SL_ROW_TIER, name, NULL, error)))
        return false;
    *found = dropped > 0;
    return true;
}

/* ---- users of a tier -------------------------------------------------------------- */

/* What may name a tier: the statement that finds it, and its name in messages. */
static const struct {
    enum sl_sql sql;
    const char *called;
} naming[] = {
    { SL_SQL_TENANT_OF_TIER, "tenant" },
    { SL_SQL_KEY_OF_TIER, "a key of tenant" },
    { SL_SQL_USER_OF_TIER, "user" },
};

static bool find_tier_user(struct sl_registry *registry, const char *name, struct sl_arena *arena,
                           const char **out, struct sluice_error *error)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof naming / sizeof *naming && !*out; i++) {
        struct sl_sql_query query = sl_query(registry, naming[i].sql);
        sl_bind_text(&query, name);
        enum sl_step step = sl_sql_query_step(&query, error);
        if (step == SL_STEP_FAILED)
            return false;
        if (step == SL_STEP_DONE)
            continue;
        bool is_user = naming[i].sql == SL_SQL_USER_OF_TIER;
        const char *first = sl_row_text(&query, 0);
        const char *slash = is_user && *first ? "/" : "";
        const char *second = is_user ? sl_row_text(&query, 1) : "";
        *out = sl_arena_print(arena, "%s `%s%s%s`", naming[i].called, first, slash, second);
        sl_sql_query_end(&query);
    }
    return true;
}

bool sl_registry_tier_user(struct sl_registry *registry, const char *name, struct sl_arena *arena,
                           const char **out, struct sluice_error *error)
{
    const char *found = NULL;
    if (!sl_look_begin(registry, error))
        return false;
    bool good = find_tier_user(registry, name, arena, &found, error);
    sl_look_end(registry);
    if (good)
        *out = found;
    return good;
}

/* ---- the overlay ------------------------------------------------------------------ */

static bool read_rules(struct sl_registry *registry, struct sl_arena *arena,
                       struct sl_overlay *overlay, struct sluice_error *error)
{
    size_t room;
    if (!sl_count_rows(registry, SL_SQL_COUNT_RULES, &room, error))
        return false;
    struct sl_overlay_rule *rules = sl_arena_take(arena, room * sizeof *rules);
    struct sl_sql_query query = sl_query(registry, SL_SQL_RULES);
    enum sl_step step;
    size_t count = 0;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW && count < room)
        rules[count++] = (struct sl_overlay_rule){
            .tenant = sl_row_maybe_copy(&query, 0, arena),
            .name = sl_row_copy(&query, 1, arena),
            .json = sl_row_maybe_copy(&query, 2, arena),
            .revision = (uint64_t)sl_row_i64(&query, 3),
        };
    overlay->rules = rules;
    overlay->rule_count = count;
    return sl_sql_query_ended(&query, step);
}

static bool read_tiers(struct sl_registry *registry, struct sl_arena *arena,
                       struct sl_overlay *overlay, struct sluice_error *error)
{
    size_t room;
    if (!sl_count_rows(registry, SL_SQL_COUNT_TIERS, &room, error))
        return false;
    struct sl_overlay_tier *tiers = sl_arena_take(arena, room * sizeof *tiers);
    struct sl_sql_query query = sl_query(registry, SL_SQL_TIERS);
    enum sl_step step;
    size_t count = 0;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW && count < room)
        tiers[count++] = (struct sl_overlay_tier){
            .name = sl_row_copy(&query, 0, arena),
            .json = sl_row_maybe_copy(&query, 1, arena),
            .revision = (uint64_t)sl_row_i64(&query, 2),
        };
    overlay->tiers = tiers;
    overlay->tier_count = count;
    return sl_sql_query_ended(&query, step);
}

/* A request finds its user's exemption in the user table, not in the ruleset. */
static void add_exemptions(const struct sl_exemption *all, size_t count, struct sl_arena *arena,
                           struct sl_overlay *overlay)
{
    struct sl_overlay_exemption *some = sl_arena_take(arena, count * sizeof *some);
    size_t taken = 0;
    for (size_t i = 0; i < count; i++)
        if (all[i].kind != SL_EXEMPT_USER)
            some[taken++] =
                (struct sl_overlay_exemption){ all[i].kind, all[i].value, all[i].until_us };
    overlay->exemptions = some;
    overlay->exemption_count = taken;
}

bool sl_registry_overlay(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                         struct sl_overlay *out, struct sluice_error *error)
{
    struct sl_overlay overlay = { 0 };
    struct sl_exemption *exemptions;
    size_t count;
    if (!sl_look_begin(registry, error))
        return false;
    bool good = read_rules(registry, arena, &overlay, error) &&
                read_tiers(registry, arena, &overlay, error) &&
                sl_read_exemptions(registry, now_us, arena, &exemptions, &count, error);
    sl_look_end(registry);
    if (!good)
        return false;
    add_exemptions(exemptions, count, arena, &overlay);
    *out = overlay;
    return true;
}
