/* Users in the registry: changing their records and days. Visiting them is rows_visit.c. */
#include "registry/rows.h"

#define COUNT_MAX   (INT64_MAX / 2) /* the sum of two does not overflow */
#define DAY_MINUTES INT64_C(1440)
#define NO_DAY      INT64_MIN

struct found_user {
    int64_t number; /* 0: there is none */
    int64_t last_day;
};

static bool find_user(struct sl_registry *registry, const char *tenant, const char *id,
                      struct found_user *out, struct sluice_error *error)
{
    struct sl_sql_query query = sl_change(registry, SL_SQL_FIND_USER);
    sl_bind_text(&query, tenant);
    sl_bind_text(&query, id);
    enum sl_step step = sl_sql_query_step(&query, error);
    *out = (struct found_user){ 0, NO_DAY };
    if (step == SL_STEP_ROW) {
        out->number = sl_row_i64(&query, 0);
        out->last_day = sl_row_is_null(&query, 1) ? NO_DAY : sl_row_i64(&query, 1);
    }
    return sl_sql_query_ended(&query, step);
}

/* Deletes the user and all its days. */
static bool drop_number(struct sl_registry *registry, int64_t number, struct sluice_error *error)
{
    struct sl_sql_query days = sl_change(registry, SL_SQL_DROP_DAYS_OF);
    sl_bind_i64(&days, number);
    if (!sl_sql_query_run(&days, NULL, error))
        return false;
    struct sl_sql_query user = sl_change(registry, SL_SQL_DROP_USER);
    sl_bind_i64(&user, number);
    registry->counters.users--;
    return sl_sql_query_run(&user, NULL, error);
}

/* Deletes the user seen longest ago of those without a record. Other processes are not told:
 * they make room by themselves, and would otherwise have to be told of each one of a million
 * made-up names. */
static bool make_room(struct sl_registry *registry, struct sluice_error *error)
{
    int64_t number;
    if (registry->counters.users < registry->users_max)
        return true;
    struct sl_sql_query query = sl_change(registry, SL_SQL_LEAST_KNOWN);
    if (!sl_sql_query_number(&query, &number, error))
        return false;
    if (number == 0)
        return sl_sql_query_doom(
            &query, error,
            "the database %s holds %lld users, each with a record, and takes no "
            "more",
            registry->name, (long long)registry->users_max);
    return drop_number(registry, number, error);
}

static bool add_user(struct sl_registry *registry, const struct sl_user_day *day, int64_t *number,
                     struct sluice_error *error)
{
    if (!make_room(registry, error))
        return false;
    struct sl_sql_query query = sl_change(registry, SL_SQL_ADD_USER);
    sl_bind_text(&query, day->tenant);
    sl_bind_text(&query, day->id);
    if (day->day == NO_DAY)
        sl_bind_null(&query);
    else
        sl_bind_i64(&query, day->day);
    if (!sl_sql_query_run(&query, NULL, error))
        return false;
    *number = sqlite3_last_insert_rowid(registry->db);
    registry->counters.users++;
    return true;
}

/* Finds the user's number, or adds the user. If `day` is newer than the user's last day, it
 * becomes that (NO_DAY never does). */
static bool number_user(struct sl_registry *registry, const struct sl_user_day *day,
                        int64_t *number, struct sluice_error *error)
{
    struct found_user user;
    if (!find_user(registry, day->tenant, day->id, &user, error))
        return false;
    *number = user.number;
    if (user.number == 0)
        return add_user(registry, day, number, error);
    if (user.last_day >= day->day)
        return true;
    struct sl_sql_query query = sl_change(registry, SL_SQL_PUT_LAST_DAY);
    sl_bind_i64(&query, user.number);
    sl_bind_i64(&query, day->day);
    return sl_sql_query_run(&query, NULL, error);
}

/* ---- records ---------------------------------------------------------------------- */

static void bind_if(struct sl_sql_query *query, bool is_given, int64_t number)
{
    if (is_given)
        sl_bind_i64(query, number);
    else
        sl_bind_null(query);
}

bool sl_registry_put_user(struct sl_registry *registry, const struct sl_user_record *record,
                          struct sluice_error *error)
{
    int64_t number;
    struct sl_user_day user_day = { .tenant = record->tenant, .id = record->id, .day = NO_DAY };
    if (!number_user(registry, &user_day, &number, error) ||
        !sl_note_row(registry, SL_ROW_USER, record->tenant, record->id, error))
        return false;
    struct sl_sql_query query = sl_change(registry, SL_SQL_PUT_RECORD);
    sl_bind_i64(&query, number);
    bind_if(&query, record->has_created_at, record->created_at_us);
    bind_if(&query, record->has_email_verified, record->email_verified);
    sl_bind_text(&query, record->tier);
    sl_bind_text(&query, record->limits);
    sl_bind_i64(&query, registry->next);
    return sl_sql_query_run(&query, NULL, error);
}

static bool note_gone(struct sl_registry *registry, const char *tenant, const char *id,
                      struct sluice_error *error)
{
    struct sl_sql_query add = sl_change(registry, SL_SQL_ADD_GONE);
    sl_bind_text(&add, tenant);
    sl_bind_text(&add, id);
    sl_bind_i64(&add, registry->next);
    if (!sl_sql_query_run(&add, NULL, error))
        return false;
    struct sl_sql_query sweep = sl_change(registry, SL_SQL_SWEEP_GONE);
    sl_bind_i64(&sweep, SL_REGISTRY_GONE_MAX);
    return sl_sql_query_run(&sweep, NULL, error);
}

bool sl_registry_drop_user(struct sl_registry *registry, const char *tenant, const char *id,
                           bool *found, struct sluice_error *error)
{
    struct found_user user;
    if (!find_user(registry, tenant, id, &user, error))
        return false;
    if (user.number &&
        (!drop_number(registry, user.number, error) || !note_gone(registry, tenant, id, error) ||
         !sl_note_row(registry, SL_ROW_USER, tenant, id, error)))
        return false;
    *found = user.number != 0;
    return true;
}

/* ---- days ------------------------------------------------------------------------- */

static int64_t clamp_count(uint64_t count)
{
    return count < (uint64_t)COUNT_MAX ? (int64_t)count : COUNT_MAX;
}

bool sl_registry_add_outcomes(struct sl_registry *registry, const struct sl_user_day *more,
                              struct sluice_error *error)
{
    int64_t number;
    if (!number_user(registry, more, &number, error))
        return false;
    struct sl_sql_query query = sl_change(registry, SL_SQL_ADD_OUTCOMES);
    sl_bind_i64(&query, more->day);
    sl_bind_i64(&query, number);
    sl_bind_i64(&query, clamp_count(more->calls));
    sl_bind_i64(&query, clamp_count(more->successes));
    sl_bind_i64(&query, registry->next);
    return sl_sql_query_run(&query, NULL, error);
}

static int64_t day_of(int64_t minute)
{
    return minute / DAY_MINUTES - (minute % DAY_MINUTES < 0);
}

bool sl_registry_add_violation(struct sl_registry *registry, const char *tenant, const char *id,
                               int64_t minute, struct sluice_error *error)
{
    int64_t number;
    struct sl_user_day user_day = { .tenant = tenant, .id = id, .day = day_of(minute) };
    if (!number_user(registry, &user_day, &number, error))
        return false;
    struct sl_sql_query query = sl_change(registry, SL_SQL_ADD_VIOLATION);
    sl_bind_i64(&query, user_day.day);
    sl_bind_i64(&query, number);
    sl_bind_i64(&query, minute);
    sl_bind_i64(&query, registry->next);
    return sl_sql_query_run(&query, NULL, error);
}

bool sl_registry_forget_days(struct sl_registry *registry, int64_t before_day,
                             struct sluice_error *error)
{
    int64_t forgotten;
    struct sl_sql_query days = sl_change(registry, SL_SQL_FORGET_DAYS);
    sl_bind_i64(&days, before_day);
    if (!sl_sql_query_run(&days, NULL, error))
        return false;
    struct sl_sql_query users = sl_change(registry, SL_SQL_FORGET_USERS);
    sl_bind_i64(&users, before_day);
    if (!sl_sql_query_run(&users, &forgotten, error))
        return false;
    registry->counters.users -= forgotten;
    return true;
}
