#include "registry/users/load_users.h"

#include "base/error.h"

#define DAY_US INT64_C(86400000000)

int64_t sl_day_of(int64_t now_us)
{
    return now_us / DAY_US;
}

struct fill {
    struct sl_people *people;
    int64_t last_day;
};

/* Who was dropped cannot be told any more: nobody is known, and everybody follows. */
static void take_afresh(void *about)
{
    sl_people_clear(((struct fill *)about)->people);
}

static void take_gone(void *about, const char *tenant, const char *id)
{
    sl_people_drop(((struct fill *)about)->people, tenant, id);
}

/* Where there is no room the user stays unknown, which grants nothing. */
static void take_record(void *about, const struct sl_user_record *record)
{
    sl_people_put(((struct fill *)about)->people, record);
}

/* A day that is yet to come was written by a clock that had leapt: it would push out those
 * that were. */
static void take_day(void *about, const struct sl_user_day *day)
{
    const struct fill *fill = about;
    if (day->day <= fill->last_day)
        sl_people_put_day(fill->people, day);
}

bool sl_people_fill_exempt(struct sl_people *people, struct sl_registry *registry, int64_t now_us,
                           struct sluice_error *error)
{
    struct sl_arena scratch = { 0 };
    struct sl_exemption *all;
    size_t count, users = 0;
    bool good = sl_registry_exemptions(registry, now_us, &scratch, &all, &count, error);
    for (size_t i = 0; good && i < count; i++)
        if (all[i].kind == SL_EXEMPT_USER)
            all[users++] = all[i];
    if (good && !sl_people_set_exempt(people, all, users))
        good = sl_error_say(error, "out of memory");
    sl_arena_release(&scratch);
    return good;
}

bool sl_people_fill(struct sl_people *people, struct sl_registry *registry, int64_t now_us,
                    uint64_t *revision, struct sluice_error *error)
{
    struct fill fill = { people, sl_day_of(now_us) + 1 };
    const struct sl_user_visitor visitor = {
        .afresh = take_afresh,
        .gone = take_gone,
        .record = take_record,
        .day = take_day,
        .about = &fill,
    };
    uint64_t now = sl_registry_revision(registry);
    int64_t first_day = sl_day_of(now_us) - (SL_TRUST_DAYS - 1);
    /* Who is exempt comes first, while there is room, and again, where all were forgotten. */
    if (!sl_people_fill_exempt(people, registry, now_us, error) ||
        !sl_registry_visit_users(registry, *revision, first_day, &visitor, error) ||
        !sl_people_fill_exempt(people, registry, now_us, error))
        return false;
    *revision = now;
    return true;
}
