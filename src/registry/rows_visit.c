/* Users in the registry: reading one, or visiting all that changed. */
#include "registry/rows.h"

/* Reads a row of RECORD or VISIT_RECORDS; its texts are the row's. */
static struct sl_user_record read_record(struct sl_sql_query *query)
{
    return (struct sl_user_record){
        .tenant = sl_row_text(query, 0),
        .id = sl_row_text(query, 1),
        .has_created_at = !sl_row_is_null(query, 2),
        .created_at_us = sl_row_i64(query, 2),
        .has_email_verified = !sl_row_is_null(query, 3),
        .email_verified = sl_row_i64(query, 3) != 0,
        .tier = sl_row_maybe(query, 4),
        .limits = sl_row_maybe(query, 5),
        .revision = (uint64_t)sl_row_i64(query, 6),
    };
}

static const char *copy_text(const char *text, struct sl_arena *arena)
{
    return text ? sl_arena_copy(arena, sl_text(text)) : NULL;
}

bool sl_registry_user(struct sl_registry *registry, const char *tenant, const char *id,
                      struct sl_arena *arena, struct sl_user_record *out, bool *found,
                      struct sluice_error *error)
{
    if (!sl_look_begin(registry, error))
        return false;
    struct sl_sql_query query = sl_query(registry, SL_SQL_RECORD);
    sl_bind_text(&query, tenant);
    sl_bind_text(&query, id);
    enum sl_step step = sl_sql_query_step(&query, error);
    if (step == SL_STEP_ROW) {
        struct sl_user_record record = read_record(&query);
        record.tenant = copy_text(record.tenant, arena);
        record.id = copy_text(record.id, arena);
        record.tier = copy_text(record.tier, arena);
        record.limits = copy_text(record.limits, arena);
        *out = record;
    }
    bool good = sl_sql_query_ended(&query, step);
    sl_look_end(registry);
    if (good)
        *found = step == SL_STEP_ROW;
    return good;
}

/* ---- visiting all that changed ---------------------------------------------------- */

struct visit {
    struct sl_registry *registry;
    const struct sl_user_visitor *visitor;
    int64_t since;
    int64_t first_day;
};

/* *out: the list of deleted users goes back to `since`. It does not if more were deleted than
 * the list holds, or if `since` is a revision that is yet to come: then it was another
 * database's. */
static bool knows_gone(const struct visit *visit, bool *out, struct sluice_error *error)
{
    int64_t oldest, newest;
    struct sl_registry *registry = visit->registry;
    struct sl_sql_query gone = sl_query(registry, SL_SQL_OLDEST_GONE);
    if (!sl_sql_query_number(&gone, &oldest, error))
        return false;
    struct sl_sql_query counters = sl_query(registry, SL_SQL_COUNTERS);
    if (!sl_sql_query_number(&counters, &newest, error))
        return false;
    if (registry->is_changing)
        newest = registry->next;
    *out = visit->since >= oldest && visit->since <= newest;
    return true;
}

static bool visit_gone(const struct visit *visit, struct sluice_error *error)
{
    const struct sl_user_visitor *visitor = visit->visitor;
    if (visit->since == 0)
        return true;
    struct sl_sql_query query = sl_query(visit->registry, SL_SQL_VISIT_GONE);
    sl_bind_i64(&query, visit->since);
    enum sl_step step;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW)
        if (visitor->gone)
            visitor->gone(visitor->about, sl_row_text(&query, 0), sl_row_text(&query, 1));
    return sl_sql_query_ended(&query, step);
}

static bool visit_records(const struct visit *visit, struct sluice_error *error)
{
    const struct sl_user_visitor *visitor = visit->visitor;
    struct sl_sql_query query =
        sl_query(visit->registry, visit->since ? SL_SQL_VISIT_RECORDS_SINCE : SL_SQL_VISIT_RECORDS);
    if (visit->since)
        sl_bind_i64(&query, visit->since);
    enum sl_step step;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW) {
        struct sl_user_record record = read_record(&query);
        if (visitor->record)
            visitor->record(visitor->about, &record);
    }
    return sl_sql_query_ended(&query, step);
}

static bool visit_days(const struct visit *visit, struct sluice_error *error)
{
    const struct sl_user_visitor *visitor = visit->visitor;
    struct sl_sql_query query =
        sl_query(visit->registry, visit->since ? SL_SQL_VISIT_DAYS_SINCE : SL_SQL_VISIT_DAYS);
    sl_bind_i64(&query, visit->first_day);
    if (visit->since)
        sl_bind_i64(&query, visit->since);
    enum sl_step step;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW) {
        struct sl_user_day day = {
            .tenant = sl_row_text(&query, 0),
            .id = sl_row_text(&query, 1),
            .day = sl_row_i64(&query, 2),
            .calls = (uint64_t)sl_row_i64(&query, 3),
            .successes = (uint64_t)sl_row_i64(&query, 4),
            .violations = (uint64_t)sl_row_i64(&query, 5),
            .last_minute = sl_row_i64(&query, 6),
        };
        if (visitor->day)
            visitor->day(visitor->about, &day);
    }
    return sl_sql_query_ended(&query, step);
}

static bool visit_all(struct visit *visit, struct sluice_error *error)
{
    bool knows = true;
    if (visit->since && !knows_gone(visit, &knows, error))
        return false;
    if (!knows) {
        visit->since = 0;
        if (visit->visitor->afresh)
            visit->visitor->afresh(visit->visitor->about);
    }
    return visit_gone(visit, error) && visit_records(visit, error) && visit_days(visit, error);
}

bool sl_registry_visit_users(struct sl_registry *registry, uint64_t since, int64_t first_day,
                             const struct sl_user_visitor *visitor, struct sluice_error *error)
{
    struct visit visit = {
        .registry = registry,
        .visitor = visitor,
        .since = since < INT64_MAX ? (int64_t)since : INT64_MAX,
        .first_day = first_day,
    };
    if (!sl_look_begin(registry, error))
        return false;
    bool good = visit_all(&visit, error);
    sl_look_end(registry);
    return good;
}
