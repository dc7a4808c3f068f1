#include "registry/people_fill.h"

#include "base/error.h"

#define DAY_US INT64_C(86400000000)

int64_t sl_day_of(int64_t now_us)
{
    return now_us / DAY_US;
}

/* Who was dropped cannot be told any more: nobody is known, and everybody follows. */
static void take_afresh(void *about)
{
    sl_people_clear(about);
}

static void take_gone(void *about, const char *tenant, const char *id)
{
    sl_people_drop(about, tenant, id);
}

/* Where there is no room the user stays unknown, which grants nothing. */
static void take_record(void *about, const struct sl_user_record *record)
{
    sl_people_put(about, record);
}

static void take_day(void *about, const struct sl_user_day *day)
{
    sl_people_put_day(about, day);
}

static bool fill_exempt(struct sl_people *people, struct sl_registry *registry, int64_t now_us,
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
    const struct sl_user_visitor visitor = {
        .afresh = take_afresh,
        .gone = take_gone,
        .record = take_record,
        .day = take_day,
        .about = people,
    };
    uint64_t now = sl_registry_revision(registry);
    int64_t first_day = sl_day_of(now_us) - (SL_TRUST_DAYS - 1);
    if (!sl_registry_visit_users(registry, *revision, first_day, &visitor, error) ||
        !fill_exempt(people, registry, now_us, error))
        return false;
    *revision = now;
    return true;
}
