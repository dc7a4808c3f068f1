/* Exemptions in the registry: put, delete, list, sweep. */
#include "base/check.h"
#include "registry/rows.h"

/* By enum sl_exempt_kind, spelled as in the database. */
static const char *const kinds[] = {
    [SL_EXEMPT_USER] = "user",
    [SL_EXEMPT_CLIENT] = "client",
    [SL_EXEMPT_IP] = "ip",
    [SL_EXEMPT_API_KEY] = "api_key",
};

enum {
    KIND_COUNT = sizeof kinds / sizeof *kinds,
    SWEEP_MAX_BYTES = 256 << 10 /* of values, plus one value: they must fit one change */
};

const char *sl_exempt_kind_name(enum sl_exempt_kind kind)
{
    SL_CHECK((size_t)kind < KIND_COUNT);
    return kinds[kind];
}

bool sl_exempt_kind_read(const char *name, enum sl_exempt_kind *out)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (!strcmp(kinds[i], name)) {
            *out = (enum sl_exempt_kind)i;
            return true;
        }
    return false;
}

bool sl_registry_put_exemption(struct sl_registry *registry, const struct sl_exemption *exemption,
                               bool *is_new, struct sluice_error *error)
{
    int64_t is_there;
    struct sl_sql_query has = sl_change(registry, SL_SQL_HAS_EXEMPTION);
    sl_bind_text(&has, sl_exempt_kind_name(exemption->kind));
    sl_bind_text(&has, exemption->value);
    if (!sl_sql_query_number(&has, &is_there, error) ||
        !sl_note_row(registry, SL_ROW_EXEMPTION, sl_exempt_kind_name(exemption->kind),
                     exemption->value, error))
        return false;
    struct sl_sql_query put = sl_change(registry, SL_SQL_PUT_EXEMPTION);
    sl_bind_text(&put, sl_exempt_kind_name(exemption->kind));
    sl_bind_text(&put, exemption->value);
    if (exemption->until_us)
        sl_bind_i64(&put, exemption->until_us);
    else
        sl_bind_null(&put);
    sl_bind_text(&put, exemption->reason);
    sl_bind_i64(&put, registry->stamp);
    if (!sl_sql_query_run(&put, NULL, error))
        return false;
    *is_new = !is_there;
    return true;
}

bool sl_registry_drop_exemption(struct sl_registry *registry, enum sl_exempt_kind kind,
                                const char *value, bool *found, struct sluice_error *error)
{
    int64_t dropped;
    struct sl_sql_query query = sl_change(registry, SL_SQL_DROP_EXEMPTION);
    sl_bind_text(&query, sl_exempt_kind_name(kind));
    sl_bind_text(&query, value);
    if (!sl_sql_query_run(&query, &dropped, error) ||
        (dropped &&
         !sl_note_row(registry, SL_ROW_EXEMPTION, sl_exempt_kind_name(kind), value, error)))
        return false;
    *found = dropped > 0;
    return true;
}

bool sl_read_exemptions(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                        struct sl_exemption **out, size_t *count, struct sluice_error *error)
{
    size_t room;
    if (!sl_count_rows(registry, SL_SQL_COUNT_EXEMPTIONS, &room, error))
        return false;
    struct sl_exemption *all = sl_arena_take(arena, room * sizeof *all);
    struct sl_sql_query query = sl_query(registry, SL_SQL_EXEMPTIONS);
    sl_bind_i64(&query, now_us);
    enum sl_step step;
    size_t found = 0;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW && found < room) {
        if (!sl_exempt_kind_read(sl_row_text(&query, 0), &all[found].kind))
            continue; /* the table's CHECK allows none */
        all[found].value = sl_row_copy(&query, 1, arena);
        all[found].until_us = sl_row_i64(&query, 2);
        all[found++].reason = sl_row_maybe_copy(&query, 3, arena);
    }
    *out = all;
    *count = found;
    return sl_sql_query_ended(&query, step);
}

bool sl_registry_exemptions(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                            struct sl_exemption **out, size_t *count, struct sluice_error *error)
{
    struct sl_exemption *all;
    size_t found;
    if (!sl_look_begin(registry, error))
        return false;
    bool good = sl_read_exemptions(registry, now_us, arena, &all, &found, error);
    sl_look_end(registry);
    if (!good)
        return false;
    *out = all;
    *count = found;
    return true;
}

/* Reads the first exemptions that are over, returns their number; *has_more: there may be others.
 */
static size_t read_over(struct sl_sql_query *query, struct sl_arena *arena,
                        struct sl_exemption *out, bool *has_more, struct sluice_error *error)
{
    size_t found = 0, bytes = 0;
    enum sl_step step = SL_STEP_ROW;
    while (found < SL_SWEEP_MAX && bytes < SWEEP_MAX_BYTES &&
           (step = sl_sql_query_step(query, error)) == SL_STEP_ROW) {
        if (!sl_exempt_kind_read(sl_row_text(query, 0), &out[found].kind))
            continue; /* the table's CHECK allows none */
        out[found].value = sl_row_copy(query, 1, arena);
        bytes += strlen(out[found++].value);
    }
    *has_more = step == SL_STEP_ROW;
    return sl_sql_query_ended(query, step) ? found : 0;
}

/* Deletes exactly the rows that were read: the names that are collected are those deleted. */
bool sl_registry_sweep(struct sl_registry *registry, int64_t now_us, bool *has_more,
                       struct sluice_error *error)
{
    struct sl_exemption over[SL_SWEEP_MAX] = { 0 };
    struct sl_arena arena = { 0 };
    struct sl_sql_query query = sl_query(registry, SL_SQL_EXEMPTIONS_OVER);
    sl_bind_i64(&query, now_us);
    size_t count = read_over(&query, &arena, over, has_more, error);
    bool found, good = !registry->has_failed;
    for (size_t i = 0; good && i < count; i++)
        good = sl_registry_drop_exemption(registry, over[i].kind, over[i].value, &found, error);
    sl_arena_release(&arena);
    return good;
}
