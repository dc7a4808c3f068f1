/* Short ways to fill a user table, for its tests. */
#ifndef TEST_REGISTRY_CROWD_H
#define TEST_REGISTRY_CROWD_H

#include "registry/users/users.h"
#include "unit/base/unit.h"

#define S      INT64_C(1000000)
#define MINUTE (60 * S)
#define DAY    (86400 * S)

enum { TODAY = 20500 };
#define NOON (TODAY * DAY + DAY / 2)

static struct sl_users *users;

static inline void open_users(size_t most)
{
    users = sl_users_open(&(struct sl_users_config){ .most = most });
    assert_non_null(users);
}

static inline int open_crowd(void **unused)
{
    (void)unused;
    open_users(0);
    return 0;
}

static inline int close_crowd(void **unused)
{
    (void)unused;
    sl_users_close(users);
    users = NULL;
    return 0;
}

#define WITH_USERS(name) TEST_WITH(name, open_crowd, close_crowd)

/* Of user u without a tenant, unless it says otherwise. */
#define PUT(...)                                                                                   \
    sl_users_put(users, &(struct sl_user_record){ .tenant = "", .id = "u", __VA_ARGS__ })
#define PUT_DAY(...)                                                                               \
    sl_users_put_day(users,                                                                        \
                     &(struct sl_user_day){                                                        \
                         .tenant = "", .id = "u", .day = TODAY, .last_minute = -1, __VA_ARGS__ })
#define ADD(...)                                                                                   \
    sl_users_add_outcomes(                                                                         \
        users, &(struct sl_user_day){                                                              \
                   .tenant = "", .id = "u", .day = TODAY, .last_minute = -1, __VA_ARGS__ })
#define EXEMPT(...)                                                                                \
    sl_users_set_exempt(users, (struct sl_exemption[]){ __VA_ARGS__ },                             \
                        sizeof((struct sl_exemption[]){ __VA_ARGS__ }) /                           \
                            sizeof(struct sl_exemption))

#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Woverride-init-side-effects"

static struct sl_user found; /* the user that `knows` has found */

static inline bool knows_at(const char *tenant, const char *id, int64_t now_us)
{
    memset(&found, 0x5a, sizeof found);
    return users->ops->find(users, sl_text(tenant), sl_text(id), now_us, &found);
}

static inline bool knows(const char *id)
{
    return knows_at(NULL, id, NOON);
}

static inline void violate(const char *tenant, const char *id, int64_t now_us)
{
    users->ops->violated(users, sl_text(tenant), sl_text(id), now_us);
}

#endif
