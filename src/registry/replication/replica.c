/* Reads the rows of the database that are shared, and notes the rows that a change of ours writes.
 * Rows of other instances, and the position: replica_apply.c. */
#include "registry/replication/replica.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "registry/rows.h"

enum { NOTED_MAX_BYTES = 4 << 20 };

uint64_t sl_change_new(uint64_t version)
{
    uint64_t most = (UINT64_C(1) << 33) - 1; /* Redis may return any version */
    uint64_t change = (version < most ? version : most) << 30 | (sl_random64() & ((1u << 30) - 1));
    SL_CHECK(change <= INT64_MAX);
    return change;
}

/* ---- noting changed rows ---- */

bool sl_note_row(struct sl_registry *registry, enum sl_row_kind kind, const char *first,
                 const char *second, struct sluice_error *error)
{
    if (!registry->notes)
        return true;
    sl_row_name_print(&registry->changed, &(struct sl_row_name){ kind, first, second });
    sl_buffer_add(&registry->changed, (struct sluice_text){ "", 1 });
    return !registry->changed.failed || sl_error_say(error, "the change has too many rows");
}

bool sl_note_rows_of(struct sl_registry *registry, enum sl_sql which, const char *tenant,
                     struct sluice_error *error)
{
    bool is_key = which == SL_SQL_KEYS_NAMED, good = true;
    if (!registry->notes)
        return true;
    struct sl_sql_query query = sl_query(registry, which);
    sl_bind_text(&query, tenant);
    enum sl_step step;
    while (good && (step = sl_sql_query_step(&query, error)) == SL_STEP_ROW)
        good = sl_note_row(registry, is_key ? SL_ROW_KEY : SL_ROW_RULE, sl_row_text(&query, 0),
                           is_key ? NULL : sl_row_text(&query, 1), error);
    return sl_sql_query_ended(&query, step) && good;
}

void sl_replica_note(struct sl_registry *registry, uint64_t change)
{
    SL_CHECK(registry->is_changing && change <= INT64_MAX);
    if (registry->changed.most == 0)
        registry->changed = sl_buffer(NOTED_MAX_BYTES);
    sl_buffer_clear(&registry->changed);
    registry->stamp = (int64_t)change;
    registry->notes = true;
}

/* ---- reading rows ---- */

static const enum sl_sql replica_queries[SL_ROW_KIND_COUNT] = {
    [SL_ROW_RULE] = SL_SQL_COPY_RULE,
    [SL_ROW_TIER] = SL_SQL_COPY_TIER,
    [SL_ROW_EXEMPTION] = SL_SQL_COPY_EXEMPTION,
    [SL_ROW_TENANT] = SL_SQL_COPY_TENANT,
    [SL_ROW_KEY] = SL_SQL_COPY_KEY,
    [SL_ROW_USER] = SL_SQL_COPY_USER,
};

static struct sl_row_number number_at(struct sl_sql_query *query, int column)
{
    return (struct sl_row_number){ !sl_row_is_null(query, column), sl_row_i64(query, column) };
}

/* All statements in `replica_queries` have these columns. */
static struct sl_row read_row(struct sl_sql_query *query, enum sl_row_kind kind,
                              struct sl_arena *arena)
{
    return (struct sl_row){
        .name = { kind, sl_row_copy(query, 0, arena), sl_row_maybe_copy(query, 1, arena) },
        .change = (uint64_t)sl_row_i64(query, 2),
        .made = number_at(query, 3),
        .json = sl_row_maybe_copy(query, 4, arena),
        .until_us = number_at(query, 5),
        .reason = sl_row_maybe_copy(query, 6, arena),
        .tenant = sl_row_maybe_copy(query, 7, arena),
        .label = sl_row_maybe_copy(query, 8, arena),
        .tier = sl_row_maybe_copy(query, 9, arena),
        .created_at_us = number_at(query, 10),
        .email_verified = number_at(query, 11),
        .limits = sl_row_maybe_copy(query, 12, arena),
    };
}

static bool read_named_row(struct sl_registry *registry, const struct sl_row_name *name,
                           struct sl_arena *arena, struct sl_row *out, struct sluice_error *error)
{
    struct sl_sql_query query = sl_query(registry, replica_queries[name->kind]);
    sl_bind_text(&query, name->first);
    if (name->second)
        sl_bind_text(&query, name->second);
    enum sl_step step = sl_sql_query_step(&query, error);
    if (step == SL_STEP_ROW)
        *out = read_row(&query, name->kind, arena);
    else
        *out = (struct sl_row){ .name = *name, .is_gone = true };
    out->change = (uint64_t)registry->stamp;
    return sl_sql_query_ended(&query, step);
}

static int by_name(const void *one, const void *other)
{
    const char *a = *(const char *const *)one, *b = *(const char *const *)other;
    int order = strcmp(a, b);
    return order ? order : (a > b) - (a < b);
}

static int by_address(const void *one, const void *other)
{
    const char *a = *(const char *const *)one, *b = *(const char *const *)other;
    return (a > b) - (a < b);
}

/* Returns the noted names, each once, in the order in which they were first noted. */
static const char **noted_names(const struct sl_buffer *noted, struct sl_arena *arena,
                                size_t *count)
{
    size_t all = 0, kept = 0;
    const char *end = noted->at + noted->len;
    for (size_t i = 0; i < noted->len; i++)
        all += noted->at[i] == '\0';
    const char **names = sl_arena_take(arena, (all + 1) * sizeof *names);
    for (const char *name = noted->at; name && name < end; name += strlen(name) + 1)
        names[kept++] = name;
    qsort(names, all, sizeof *names, by_name);
    kept = 0;
    for (size_t i = 0; i < all; i++)
        if (i == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    qsort(names, kept, sizeof *names, by_address);
    *count = kept;
    return names;
}

bool sl_replica_noted(struct sl_registry *registry, struct sl_arena *arena, struct sl_row **out,
                      size_t *count, struct sluice_error *error)
{
    size_t found;
    const char **names = noted_names(&registry->changed, arena, &found);
    struct sl_row *rows = sl_arena_take(arena, (found + 1) * sizeof *rows);
    for (size_t i = 0; i < found; i++) {
        struct sl_row_name parsed;
        bool is_name = sl_row_name_parse(sl_text(names[i]), arena, &parsed);
        SL_CHECK(is_name);
        if (!read_named_row(registry, &parsed, arena, &rows[i], error))
            return false;
    }
    *out = rows;
    *count = found;
    return true;
}

static bool count_rules(struct sl_registry *registry, size_t *out, struct sluice_error *error)
{
    static const enum sl_sql counts[] = { SL_SQL_COUNT_RULES, SL_SQL_COUNT_TIERS,
                                          SL_SQL_COUNT_EXEMPTIONS, SL_SQL_COUNT_TENANTS,
                                          SL_SQL_COUNT_KEYS };
    size_t count;
    *out = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!sl_count_rows(registry, counts[i], &count, error))
            return false;
        *out += count;
    }
    return true;
}

static bool read_rows_of_kind(struct sl_registry *registry, enum sl_row_kind kind,
                              struct sl_arena *arena, struct sl_row *rows, size_t *count,
                              struct sluice_error *error)
{
    struct sl_sql_query query = sl_query(registry, replica_queries[kind]);
    sl_bind_null(&query);
    if (kind == SL_ROW_RULE || kind == SL_ROW_EXEMPTION)
        sl_bind_null(&query);
    enum sl_step step;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW)
        rows[(*count)++] = read_row(&query, kind, arena);
    return sl_sql_query_ended(&query, step);
}

bool sl_replica_rules(struct sl_registry *registry, struct sl_arena *arena, struct sl_row **out,
                      size_t *count, struct sluice_error *error)
{
    size_t room = 0, found = 0;
    if (!sl_look_begin(registry, error))
        return false;
    bool good = count_rules(registry, &room, error);
    struct sl_row *rows = good ? sl_arena_take(arena, (room + 1) * sizeof *rows) : NULL;
    for (int kind = 0; good && kind < SL_ROW_USER; kind++)
        good = read_rows_of_kind(registry, (enum sl_row_kind)kind, arena, rows, &found, error);
    sl_look_end(registry);
    if (!good)
        return false;
    *out = rows;
    *count = found;
    return true;
}

bool sl_replica_users(struct sl_registry *registry, int64_t *after, size_t most,
                      struct sl_arena *arena, struct sl_row *out, size_t *count,
                      struct sluice_error *error)
{
    size_t found = 0;
    SL_CHECK(most > 0);
    if (!sl_look_begin(registry, error))
        return false;
    struct sl_sql_query query = sl_query(registry, SL_SQL_COPY_USERS);
    sl_bind_i64(&query, *after);
    sl_bind_i64(&query, (int64_t)most);
    enum sl_step step;
    while ((step = sl_sql_query_step(&query, error)) == SL_STEP_ROW && found < most) {
        out[found] = read_row(&query, SL_ROW_USER, arena);
        *after = out[found++].made.number;
    }
    bool good = sl_sql_query_ended(&query, step);
    sl_look_end(registry);
    SL_CHECK(found <= most);
    *count = found;
    return good;
}

bool sl_replica_is_empty(struct sl_registry *registry, bool *out, struct sluice_error *error)
{
    int64_t has_record = 0;
    size_t rules = 0;
    if (!sl_look_begin(registry, error))
        return false;
    struct sl_sql_query query = sl_query(registry, SL_SQL_HAS_RECORD);
    bool good =
        count_rules(registry, &rules, error) && sl_sql_query_number(&query, &has_record, error);
    sl_look_end(registry);
    *out = rules == 0 && has_record == 0;
    return good;
}

bool sl_replica_stamp(struct sl_registry *registry, uint64_t change, struct sluice_error *error)
{
    static const enum sl_sql stamps[] = { SL_SQL_STAMP_RULES, SL_SQL_STAMP_TIERS,
                                          SL_SQL_STAMP_EXEMPTIONS, SL_SQL_STAMP_TENANTS };
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        struct sl_sql_query query = sl_change(registry, stamps[i]);
        sl_bind_i64(&query, (int64_t)change);
        if (!sl_sql_query_run(&query, NULL, error))
            return false;
    }
    return true;
}
