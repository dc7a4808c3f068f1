#include "unit/registry/in_memory.h"

#define DAY INT64_C(1440) /* in minutes */

static const char *shown(const char *tenant, const char *id)
{
    bool found;
    struct sl_user_record record;
    DONE(sl_registry_user(registry, tenant, id, &arena, &record, &found, &error));
    written[0] = 0;
    if (found)
        write_record(NULL, &record);
    return written;
}

/* ---- records ---- */

IN_MEMORY(a_record_is_what_was_put)
{
    struct sl_user_record whole = {
        .tenant = "acme",
        .id = "u1",
        .has_created_at = true,
        .created_at_us = -5,
        .has_email_verified = true,
        .email_verified = true,
        .tier = "pro",
        .limits = "{}",
    };
    struct sl_user_record bare = { .tenant = "", .id = "u1", .has_email_verified = true };
    DONE(sl_registry_put_user(registry, &whole, &error));
    DONE(sl_registry_put_user(registry, &bare, &error));
    assert_string_equal(shown("acme", "u1"), "[acme/u1 created -5 verified tier pro limits {}]");
    assert_string_equal(shown("", "u1"), "[/u1 unverified]");
    assert_string_equal(shown("acme", "u2"), "");
    assert_string_equal(shown("other", "u1"), "");
}

IN_MEMORY(putting_it_again_replaces_all_of_it)
{
    struct sl_user_record record = {
        .tenant = "acme", .id = "u1", .has_created_at = true, .tier = "pro"
    };
    DONE(sl_registry_put_user(registry, &record, &error));
    record = (struct sl_user_record){ .tenant = "acme", .id = "u1", .limits = "{}" };
    DONE(sl_registry_put_user(registry, &record, &error));
    assert_string_equal(shown("acme", "u1"), "[acme/u1 limits {}]");
}

IN_MEMORY(it_has_the_revision_of_its_last_change)
{
    struct sl_user_record record;
    bool found;
    put_user(registry, "t", "u1", NULL);
    put_user(registry, "t", "u2", NULL);
    next_transaction();
    put_user(registry, "t", "u1", NULL);
    next_transaction();
    add_outcomes(registry, "u1", 1, 1, 1);
    DONE(sl_registry_user(registry, "t", "u1", &arena, &record, &found, &error));
    assert_int_equal(record.revision, 2);
    DONE(sl_registry_user(registry, "t", "u2", &arena, &record, &found, &error));
    assert_int_equal(record.revision, 1);
}

IN_MEMORY(days_alone_are_no_record)
{
    add_outcomes(registry, "u1", 1, 1, 1);
    assert_string_equal(shown("t", "u1"), "");
    put_user(registry, "t", "u1", NULL);
    assert_string_equal(shown("t", "u1"), "[t/u1]");
    assert_string_equal(users_of(registry), "[t/u1][t/u1 day 1: 1/1, 0 at -1]");
}

IN_MEMORY(a_dropped_user_goes_with_all_days)
{
    const int64_t days[] = { -3, 0, 1, 2, 30, 1000000 };
    put_user(registry, "t", "u1", "pro");
    for (size_t i = 0; i < COUNT(days); i++) {
        add_outcomes(registry, "u1", days[i], 1, 1);
        if (i % 2)
            add_outcomes(registry, "u2", days[i], 1, 0);
    }
    assert_true(drop_user(registry, "t", "u1"));
    assert_false(drop_user(registry, "t", "u1"));
    assert_string_equal(users_of(registry), "[t/u2 day 0: 0/1, 0 at -1][t/u2 day 2: 0/1, 0 at -1]"
                                            "[t/u2 day 1000000: 0/1, 0 at -1]");
    assert_true(drop_user(registry, "t", "u2"));
    assert_string_equal(users_of(registry), "");
}

IN_MEMORY(ids_are_bytes)
{
    put_user(registry, "", "\xff\xfe", NULL);
    put_user(registry, "", "\xff\xfe ", NULL);
    put_user(registry, "", "A", NULL);
    put_user(registry, "", "a", NULL);
    put_user(registry, "", "", NULL);
    put_user(registry, "", "1", NULL);
    put_user(registry, "", "01", NULL);
    assert_string_equal(users_of(registry), "[/\xff\xfe][/\xff\xfe ][/A][/a][/][/1][/01]");
    assert_true(drop_user(registry, "", "1"));
    assert_string_equal(shown("", "01"), "[/01]");
}

/* ---- outcomes ---- */

IN_MEMORY(outcomes_add_up_by_day)
{
    add_outcomes(registry, "u1", 5, 3, 2);
    add_outcomes(registry, "u1", 5, 1, 1);
    add_outcomes(registry, "u1", 6, 1, 0);
    add_outcomes(registry, "u2", 5, 0, 0);
    assert_string_equal(users_of(registry), "[t/u1 day 5: 3/4, 0 at -1][t/u2 day 5: 0/0, 0 at -1]"
                                            "[t/u1 day 6: 0/1, 0 at -1]");
}

IN_MEMORY(counts_stop_growing_instead_of_overflowing)
{
    const uint64_t most = UINT64_MAX >> 2;
    add_outcomes(registry, "u1", 5, UINT64_MAX, most - 1);
    assert_string_equal(users_of(registry),
                        "[t/u1 day 5: 4611686018427387902/4611686018427387903, 0 at -1]");
    add_outcomes(registry, "u1", 5, 1, 1);
    add_outcomes(registry, "u1", 5, UINT64_MAX, UINT64_MAX);
    assert_string_equal(users_of(registry),
                        "[t/u1 day 5: 4611686018427387903/4611686018427387903, 0 at -1]");
}

/* ---- violations ---- */

IN_MEMORY(a_minute_counts_once)
{
    add_violation(registry, "u1", 5 * DAY + 7);
    add_violation(registry, "u1", 5 * DAY + 7);
    assert_string_equal(users_of(registry), "[t/u1 day 5: 0/0, 1 at 7207]");
    next_transaction();
    add_violation(registry, "u1", 5 * DAY + 7);
    add_violation(registry, "u1", 5 * DAY + 6);
    assert_string_equal(users_of(registry), "[t/u1 day 5: 0/0, 1 at 7207]");
    add_violation(registry, "u1", 5 * DAY + 8);
    assert_string_equal(users_of(registry), "[t/u1 day 5: 0/0, 2 at 7208]");
}

IN_MEMORY(a_violation_known_already_is_no_change)
{
    add_violation(registry, "u1", 5 * DAY);
    uint64_t before = next_transaction();
    add_violation(registry, "u1", 5 * DAY);
    assert_int_equal(next_transaction(), before);
}

IN_MEMORY(a_day_ends_with_its_last_minute)
{
    add_violation(registry, "u1", 5 * DAY);
    add_violation(registry, "u1", 6 * DAY - 1);
    add_violation(registry, "u1", 6 * DAY);
    add_violation(registry, "u1", 0);
    assert_string_equal(users_of(registry), "[t/u1 day 0: 0/0, 1 at 0][t/u1 day 5: 0/0, 2 at 8639]"
                                            "[t/u1 day 6: 0/0, 1 at 8640]");
}

IN_MEMORY(outcomes_and_violations_share_a_day)
{
    add_outcomes(registry, "u1", 5, 2, 1);
    add_violation(registry, "u1", 5 * DAY + 1);
    add_outcomes(registry, "u1", 5, 2, 1);
    add_violation(registry, "u1", 5 * DAY + 1);
    assert_string_equal(users_of(registry), "[t/u1 day 5: 2/4, 1 at 7201]");
}

/* ---- forgetting ---- */

IN_MEMORY(forgetting_days_drops_users_that_have_nothing_else)
{
    put_user(registry, "t", "record", NULL);
    add_outcomes(registry, "record", 1, 1, 1);
    add_outcomes(registry, "old", 1, 1, 1);
    add_outcomes(registry, "active", 1, 1, 1);
    add_outcomes(registry, "active", 2, 1, 1);
    DONE(sl_registry_forget_days(registry, 2, &error));
    assert_string_equal(users_of(registry), "[t/record][t/active day 2: 1/1, 0 at -1]");
    assert_false(drop_user(registry, "t", "old"));
    DONE(sl_registry_forget_days(registry, 3, &error));
    assert_string_equal(users_of(registry), "[t/record]");
    assert_false(drop_user(registry, "t", "active"));
}

IN_MEMORY(forgetting_nothing_is_no_change)
{
    add_outcomes(registry, "u1", 2, 1, 1);
    uint64_t before = next_transaction();
    DONE(sl_registry_forget_days(registry, 2, &error));
    assert_int_equal(next_transaction(), before);
}

IN_MEMORY(a_number_that_is_used_again_inherits_nothing)
{
    add_outcomes(registry, "old", 1, 1, 1);
    DONE(sl_registry_forget_days(registry, 2, &error));
    add_outcomes(registry, "new", 2, 0, 0);
    assert_string_equal(users_of(registry), "[t/new day 2: 0/0, 0 at -1]");
}

/* ---- how many ---- */

IN_MEMORY(the_longest_unseen_user_without_a_record_makes_room)
{
    registry->users_max = 3;
    add_outcomes(registry, "older", 1, 1, 1);
    add_outcomes(registry, "old", 1, 1, 1);
    add_outcomes(registry, "older", 3, 1, 1);
    put_user(registry, "t", "record", NULL);
    next_transaction();
    add_outcomes(registry, "new", 2, 1, 1);
    assert_string_equal(users_of(registry),
                        "[t/record][t/older day 1: 1/1, 0 at -1][t/new day 2: 1/1, 0 at -1]"
                        "[t/older day 3: 1/1, 0 at -1]");
    put_user(registry, "t", "record 2", NULL);
    put_user(registry, "t", "record 3", NULL);
    assert_string_equal(users_of(registry), "[t/record][t/record 2][t/record 3]");
    put_user(registry, "t", "record", "pro");
    struct sl_user_record more = { .tenant = "t", .id = "record 4" };
    REFUSED(sl_registry_put_user(registry, &more, &error), "holds 3 users, each with a record");
}

IN_MEMORY(every_dropped_user_makes_room)
{
    registry->users_max = 2;
    put_user(registry, "t", "a", NULL);
    add_outcomes(registry, "b", 1, 1, 1);
    next_transaction();
    DONE(sl_registry_forget_days(registry, 2, &error));
    put_user(registry, "t", "c", NULL);
    assert_true(drop_user(registry, "t", "a"));
    next_transaction();
    put_user(registry, "t", "d", NULL);
    assert_string_equal(users_of(registry), "[t/c][t/d]");
}
