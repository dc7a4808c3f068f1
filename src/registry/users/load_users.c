/* Loading users and exemptions from the registry into the user table. */
#include "registry/users/load_users.h"

#include "base/error.h"

#define DAY_US INT64_C(86400000000)

int64_t sl_day_of(int64_t now_us)
{
    return now_us / DAY_US;
}

struct fill {
    struct sl_users *users;
    int64_t last_day;
};

/* Deletions are no longer known: clear the table, all users follow. */
static void clear_users(void *about)
{
    sl_users_clear(((struct fill *)about)->users);
}

static void drop_user(void *about, const char *tenant, const char *id)
{
    sl_users_drop(((struct fill *)about)->users, tenant, id);
}

/* Where there is no room the user stays unknown, which grants nothing. */
static void put_record(void *about, const struct sl_user_record *record)
{
    sl_users_put(((struct fill *)about)->users, record);
}

/* A day that is yet to come was written by a clock that had leapt: it would push out the true
 * ones. */
static void put_day(void *about, const struct sl_user_day *day)
{
    const struct fill *fill = about;
    if (day->day <= fill->last_day)
        sl_users_put_day(fill->users, day);
}

bool sl_users_fill_exempt(struct sl_users *users, struct sl_registry *registry, int64_t now_us,
                          struct sluice_error *error)
{
    struct sl_arena scratch = { 0 };
    struct sl_exemption *all;
    size_t count, kept = 0;
    bool good = sl_registry_exemptions(registry, now_us, &scratch, &all, &count, error);
    for (size_t i = 0; good && i < count; i++)
        if (all[i].kind == SL_EXEMPT_USER)
            all[kept++] = all[i];
    if (good && !sl_users_set_exempt(users, all, kept))
        good = sl_error_say(error, "out of memory");
    sl_arena_release(&scratch);
    return good;
}

bool sl_users_fill(struct sl_users *users, struct sl_registry *registry, int64_t now_us,
                   uint64_t *revision, struct sluice_error *error)
{
    struct fill fill = { users, sl_day_of(now_us) + 1 };
    const struct sl_user_visitor visitor = {
        .afresh = clear_users,
        .gone = drop_user,
        .record = put_record,
        .day = put_day,
        .about = &fill,
    };
    uint64_t now = sl_registry_revision(registry);
    int64_t first_day = sl_day_of(now_us) - (SL_TRUST_DAYS - 1);
    /* Exemptions come first, while there is room, and again, in case the table was cleared. */
    if (!sl_users_fill_exempt(users, registry, now_us, error) ||
        !sl_registry_visit_users(registry, *revision, first_day, &visitor, error) ||
        !sl_users_fill_exempt(users, registry, now_us, error))
        return false;
    *revision = now;
    return true;
}
