/* Tenants and their keys in the registry. */
#include "registry/rows.h"

bool sl_touch_tenant(struct sl_registry *registry, const char *tenant, struct sluice_error *error)
{
    int64_t touched;
    struct sl_sql_query query = sl_change(registry, SL_SQL_TOUCH_TENANT);
    sl_bind_text(&query, tenant);
    sl_bind_i64(&query, registry->stamp);
    if (!sl_sql_query_run(&query, &touched, error) ||
        (touched && !sl_note_row(registry, SL_ROW_TENANT, tenant, NULL, error)))
        return false;
    return touched || sl_sql_query_doom(&query, error, "there is no tenant `%s`", tenant);
}

static bool has_tenant(struct sl_registry *registry, const char *name, bool *out,
                       struct sluice_error *error)
{
    int64_t is_there;
    struct sl_sql_query query = sl_change(registry, SL_SQL_HAS_TENANT);
    sl_bind_text(&query, name);
    if (!sl_sql_query_number(&query, &is_there, error))
        return false;
    *out = is_there;
    return true;
}

/* ---- tenants ---------------------------------------------------------------------- */

bool sl_registry_put_tenant(struct sl_registry *registry, const char *name, const char *tier,
                            bool *is_new, struct sluice_error *error)
{
    bool is_there;
    if (!has_tenant(registry, name, &is_there, error))
        return false;
    struct sl_sql_query put = sl_change(registry, SL_SQL_PUT_TENANT);
    sl_bind_text(&put, name);
    sl_bind_text(&put, tier);
    sl_bind_i64(&put, registry->stamp);
    if (!sl_sql_query_run(&put, NULL, error) ||
        !sl_note_row(registry, SL_ROW_TENANT, name, NULL, error))
        return false;
    *is_new = !is_there;
    return true;
}

bool sl_registry_drop_tenant(struct sl_registry *registry, const char *name, bool *found,
                             struct sluice_error *error)
{
    static const enum sl_sql steps[] = { SL_SQL_DROP_KEYS_OF, SL_SQL_DROP_RULES_OF,
                                         SL_SQL_DROP_TENANT };
    int64_t dropped = 0;
    if (!sl_note_rows_of(registry, SL_SQL_KEYS_NAMED, name, error) ||
        !sl_note_rows_of(registry, SL_SQL_RULES_NAMED, name, error))
        return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct sl_sql_query query = sl_change(registry, steps[i]);
        sl_bind_text(&query, name);
        if (!sl_sql_query_run(&query, &dropped, error))
            return false;
    }
    if (dropped && !sl_note_row(registry, SL_ROW_TENANT, name, NULL, error))
        return false;
    *found = dropped > 0;
    return true;
}

/* ---- keys ------------------------------------------------------------------------- */

static bool add_key(struct sl_registry *registry, const struct sl_tenant_key *key, int64_t *added,
                    struct sluice_error *error)
{
    char hex[SL_DIGEST_HEX + 1];
    sl_digest_print(&key->digest, hex);
    struct sl_sql_query query = sl_change(registry, SL_SQL_ADD_KEY);
    sl_bind_text(&query, key->tenant);
    sl_bind_text(&query, hex);
    sl_bind_text(&query, key->label);
    sl_bind_text(&query, key->tier);
    sl_bind_i64(&query, key->created_at_us);
    return sl_sql_query_run(&query, added, error) &&
           (*added == 0 || sl_note_row(registry, SL_ROW_KEY, hex, NULL, error));
}

bool sl_registry_put_key(struct sl_registry *registry, const struct sl_tenant_key *key,
                         bool *is_new, struct sluice_error *error)
{
    int64_t added;
    bool is_there;
    if (!has_tenant(registry, key->tenant, &is_there, error))
        return false;
    if (!is_there)
        return sl_touch_tenant(registry, key->tenant, error);
    if (!add_key(registry, key, &added, error))
        return false;
    if (added && !sl_touch_tenant(registry, key->tenant, error))
        return false;
    *is_new = added > 0;
    return true;
}

bool sl_registry_drop_key(struct sl_registry *registry, const char *tenant,
                          const struct sl_digest *digest, bool *found, struct sluice_error *error)
{
    int64_t dropped;
    char hex[SL_DIGEST_HEX + 1];
    sl_digest_print(digest, hex);
    struct sl_sql_query query = sl_change(registry, SL_SQL_DROP_KEY);
    sl_bind_text(&query, tenant);
    sl_bind_text(&query, hex);
    if (!sl_sql_query_run(&query, &dropped, error))
        return false;
    if (dropped && (!sl_touch_tenant(registry, tenant, error) ||
                    !sl_note_row(registry, SL_ROW_KEY, hex, NULL, error)))
        return false;
    *found = dropped > 0;
    return true;
}

/* ---- reading ---------------------------------------------------------------------- */

static bool read_key(struct sl_sql_query *query, struct sl_arena *arena, struct sl_tenant_key *key,
                     struct sluice_error *error)
{
    if (!sl_digest_parse(sl_text(sl_row_text(query, 0)), &key->digest))
        return sl_sql_query_doom(query, error, "the database %s is damaged: a key has no digest",
                                 query->registry->name);
    key->label = sl_row_maybe_copy(query, 1, arena);
    key->tier = sl_row_maybe_copy(query, 2, arena);
    key->created_at_us = sl_row_i64(query, 3);
    return true;
}

static bool count_keys(struct sl_registry *registry, const char *tenant, int64_t *out,
                       struct sluice_error *error)
{
    struct sl_sql_query query = sl_query(registry, SL_SQL_COUNT_KEYS_OF);
    sl_bind_text(&query, tenant);
    return sl_sql_query_number(&query, out, error);
}

static bool read_keys(struct sl_registry *registry, struct sl_arena *arena,
                      struct sl_tenant *tenant, struct sluice_error *error)
{
    int64_t room;
    if (!count_keys(registry, tenant->name, &room, error))
        return false;
    struct sl_tenant_key *keys = sl_arena_take(arena, (size_t)room * sizeof *keys);
    struct sl_sql_query query = sl_query(registry, SL_SQL_KEYS_OF);
    sl_bind_text(&query, tenant->name);
    enum sl_step step;
    size_t count = 0;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW && count < (size_t)room) {
        keys[count].tenant = tenant->name;
        if (!read_key(&query, arena, &keys[count++], error))
            return false;
    }
    tenant->keys = keys;
    tenant->key_count = count;
    return sl_sql_query_ended(&query, step);
}

static bool read_tenants(struct sl_registry *registry, struct sl_arena *arena,
                         struct sl_tenant **out, size_t *count, struct sluice_error *error)
{
    size_t room;
    if (!sl_count_rows(registry, SL_SQL_COUNT_TENANTS, &room, error))
        return false;
    struct sl_tenant *all = sl_arena_take(arena, room * sizeof *all);
    struct sl_sql_query query = sl_query(registry, SL_SQL_TENANTS);
    enum sl_step step;
    size_t found = 0;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW && found < room)
        all[found++] = (struct sl_tenant){
            .name = sl_row_copy(&query, 0, arena),
            .tier = sl_row_maybe_copy(&query, 1, arena),
            .revision = (uint64_t)sl_row_i64(&query, 2),
        };
    if (!sl_sql_query_ended(&query, step))
        return false;
    for (size_t i = 0; i < found; i++)
        if (!read_keys(registry, arena, &all[i], error))
            return false;
    *out = all;
    *count = found;
    return true;
}

bool sl_registry_tenants(struct sl_registry *registry, struct sl_arena *arena,
                         struct sl_tenant **out, size_t *count, struct sluice_error *error)
{
    if (!sl_look_begin(registry, error))
        return false;
    bool good = read_tenants(registry, arena, out, count, error);
    sl_look_end(registry);
    return good;
}
