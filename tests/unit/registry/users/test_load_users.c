#include "registry/users/load_users.h"

#include "unit/registry/in_memory.h"

#define DAY_US INT64_C(86400000000)
#define TODAY  INT64_C(20000)
#define NOW_US (TODAY * DAY_US + DAY_US / 2)

static struct sl_users *users;
static uint64_t revision;

static int open_users(void **unused)
{
    revision = 0;
    users = sl_users_open(&(struct sl_users_config){ .most = 16 });
    return users && open_it(unused) == 0 ? 0 : -1;
}

static int close_users(void **unused)
{
    sl_users_close(users);
    return close_it(unused);
}

static void add_calls(int64_t day, uint64_t calls, uint64_t successes)
{
    struct sl_user_day more = { "", "u1", day, calls, successes, 0, -1 };
    DONE(sl_registry_add_outcomes(registry, &more, &error));
}

static void load_users(void)
{
    commit(registry);
    DONE(sl_users_fill(users, registry, NOW_US, &revision, &error));
    begin(registry);
}

#define WITH_USERS(name) TEST_WITH(name, open_users, close_users)

WITH_USERS(what_the_registry_holds_is_known)
{
    struct sl_user user;
    struct sl_user_record record = { .tenant = "acme", .id = "u1", .tier = "pro" };
    DONE(sl_registry_put_user(registry, &record, &error));
    add_calls(TODAY - 6, 3, 2);
    add_calls(TODAY - 7, 100, 100); /* before the week */
    load_users();
    assert_true(sl_users_find_kept(users, "acme", "u1", NOW_US, &user));
    assert_string_equal(user.tier, "pro");
    assert_true(sl_users_find_kept(users, "", "u1", NOW_US, &user));
    assert_int_equal(user.calls, 3);
    assert_int_equal(user.successes, 2);
}

/* Written by a clock that had leapt, it would turn the ring and push out what was. */
WITH_USERS(a_day_that_is_yet_to_come_hides_none_that_was)
{
    struct sl_user user;
    add_calls(TODAY, 4, 4);
    add_calls(TODAY + 100, 1, 0);
    load_users();
    assert_true(sl_users_find_kept(users, "", "u1", NOW_US, &user));
    assert_int_equal(user.calls, 4);
}

WITH_USERS(only_what_has_changed_is_read_again)
{
    struct sl_user user;
    bool found;
    struct sl_user_record record = { .tenant = "", .id = "u2", .tier = "pro" };
    DONE(sl_registry_put_user(registry, &record, &error));
    load_users();
    uint64_t first = revision;
    sl_users_drop(users, "", "u2"); /* which the registry does not know of */
    add_calls(TODAY, 1, 1);
    load_users();
    assert_true(revision > first);
    assert_false(sl_users_find_kept(users, "", "u2", NOW_US, &user));
    DONE(sl_registry_drop_user(registry, "", "u1", &found, &error));
    load_users();
    assert_false(sl_users_find_kept(users, "", "u1", NOW_US, &user));
}

WITH_USERS(exempt_users_are_exempt_until_their_moment)
{
    struct sl_user user;
    bool is_new;
    struct sl_exemption exempt = { SL_EXEMPT_USER, "acme/u1", NOW_US + 10, NULL };
    struct sl_exemption client = { SL_EXEMPT_CLIENT, "u2", 0, NULL };
    DONE(sl_registry_put_exemption(registry, &exempt, &is_new, &error));
    DONE(sl_registry_put_exemption(registry, &client, &is_new, &error));
    load_users();
    assert_true(sl_users_find_kept(users, "acme", "u1", NOW_US + 9, &user));
    assert_true(user.is_exempt);
    bool is_known = sl_users_find_kept(users, "acme", "u1", NOW_US + 10, &user);
    assert_false(is_known && user.is_exempt);
    assert_false(sl_users_find_kept(users, "", "u2", NOW_US, &user));
}
