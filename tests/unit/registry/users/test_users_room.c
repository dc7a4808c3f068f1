/* Which users are added, make room, and are forgotten. */
#include "unit/registry/crowd.h"

static bool knows_number(const char *letter, int number)
{
    char id[16];
    snprintf(id, sizeof id, "%s%d", letter, number);
    return knows(id);
}

static void violate_number(const char *letter, int number)
{
    char id[16];
    snprintf(id, sizeof id, "%s%d", letter, number);
    violate(NULL, id, NOON);
}

WITH_USERS(the_longest_silent_user_makes_room)
{
    struct sl_users_counts counts;
    close_crowd(NULL);
    open_users(10);
    PUT(.id = "r");
    EXEMPT({ SL_EXEMPT_USER, "e", 0, NULL });
    for (int i = 0; i < 8; i++)
        violate_number("s", i);
    ADD(.id = "s0", .calls = 1); /* heard of again */
    sl_users_measure(users, &counts);
    assert_int_equal(counts.evicted, 0);
    violate_number("n", 0);
    violate_number("n", 1);
    assert_int_equal(users->count, 10);
    sl_users_measure(users, &counts);
    assert_int_equal(counts.evicted, 2);
    assert_false(knows_number("s", 1) || knows_number("s", 2));
    assert_true(knows_number("s", 0) && knows_number("s", 3) && knows_number("n", 1));
    PUT(.id = "s3"); /* no stranger any more */
    for (int i = 10; i < 100; i++)
        violate_number("n", i);
    assert_true(knows("r") && knows("e") && knows("s3"));
    assert_int_equal(users->count, 10);
    for (int i = 93; i < 100; i++)
        assert_true(knows_number("n", i));
}

WITH_USERS(only_strangers_make_room)
{
    struct sl_users_counts counts;
    close_crowd(NULL);
    open_users(3);
    assert_true(PUT(.id = "a") && PUT(.id = "b"));
    assert_true(EXEMPT({ SL_EXEMPT_USER, "e", 0, NULL }));
    assert_false(PUT(.id = "c", .limits = "{\"api\":{\"capacity\":5}}"));
    assert_false(ADD(.id = "c", .calls = 1));
    assert_false(PUT_DAY(.id = "c", .calls = 1));
    violate(NULL, "c", NOON);
    assert_false(EXEMPT({ SL_EXEMPT_USER, "e", 0, NULL }, { SL_EXEMPT_USER, "c", 0, NULL }));
    assert_true(knows("a") && knows("b") && knows("e"));
    assert_false(knows("c"));
    sl_users_measure(users, &counts);
    assert_int_equal(counts.refused, 5);
    struct sl_violation waiting[1];
    assert_int_equal(sl_users_take_violations(users, waiting, 1), 0);
    assert_true(PUT(.id = "a", .tier = "pro")); /* a user that is there can be changed */
    assert_true(ADD(.id = "a", .calls = 1));
    assert_true(knows("a"));
    assert_string_equal(found.tier, "pro");
    sl_users_drop(users, "", "b");
    assert_true(PUT(.id = "c"));
    assert_true(knows("c"));
}

WITH_USERS(many_users_are_all_found)
{
    enum { MANY = 20000 };
    char id[16], tier[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(id, sizeof id, "u%d", i);
            snprintf(tier, sizeof tier, "t%d", i + round);
            assert_true(PUT(.id = id, .tier = tier));
        }
        assert_int_equal(users->count, MANY);
        for (int i = 0; i < MANY; i++) {
            snprintf(tier, sizeof tier, "t%d", i + round);
            assert_true(knows_number("u", i));
            assert_string_equal(found.tier, tier);
        }
        assert_false(knows_number("u", MANY));
    }
    for (int i = 0; i < MANY; i += 2) {
        snprintf(id, sizeof id, "u%d", i);
        sl_users_drop(users, "", id);
    }
    assert_int_equal(users->count, MANY / 2);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(knows_number("u", i), i % 2);
}

WITH_USERS(a_sweep_forgets_strangers_of_long_ago)
{
    PUT(.id = "r");
    PUT_DAY(.id = "r", .day = TODAY - 50, .calls = 1);
    PUT_DAY(.id = "old", .day = TODAY - 30, .violations = 1);
    PUT_DAY(.id = "new", .day = TODAY - 29, .violations = 1);
    ADD(.id = "s", .calls = 1);
    EXEMPT({ SL_EXEMPT_USER, "e", 0, NULL }, { SL_EXEMPT_USER, "over", (TODAY - 29) * DAY, NULL },
           { SL_EXEMPT_USER, "ends", NOON, NULL });
    assert_int_equal(users->count, 7);
    sl_users_sweep(users, TODAY - 29);
    assert_int_equal(users->count, 5); /* `old` and `over` are gone */
    assert_true(knows("r") && knows("new") && knows("s") && knows("e"));
    assert_true(knows_at(NULL, "ends", NOON - 1));
    sl_users_sweep(users, TODAY + 1);
    assert_int_equal(users->count, 2);
    assert_true(knows("r") && knows("e"));
}

WITH_USERS(all_are_forgotten_but_for_exemptions)
{
    for (int round = 0; round < 600; round++) { /* more than generations have numbers */
        PUT(.limits = "{\"api\":{\"capacity\":5}}", .tier = "pro");
        PUT(.id = "e", .tier = "pro");
        violate(NULL, "s", NOON + round * MINUTE);
        EXEMPT({ SL_EXEMPT_USER, "e", 0, NULL });
        assert_true(knows("u") && found.own_count == 1);
        sl_users_clear(users);
        assert_false(knows("u"));
        assert_false(knows("s"));
        assert_true(knows("e") && found.is_exempt);
        assert_string_equal(found.tier, "");
        assert_int_equal(users->count, 1);
    }
    struct sl_violation waiting[1]; /* those are on their way, and stay so */
    assert_int_equal(sl_users_take_violations(users, waiting, 1), 1);
    free(waiting[0].tenant);
    free(waiting[0].id);
}
