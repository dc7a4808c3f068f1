#include "unit/registry/in_memory.h"

IN_MEMORY(only_what_changed_since_is_visited)
{
    put_user(registry, "t", "a", NULL);
    put_user(registry, "t", "b", NULL);
    add_outcomes(registry, "a", 1, 1, 1);
    add_outcomes(registry, "a", 2, 1, 1);
    uint64_t before = next_transaction();
    assert_string_equal(users_since(registry, before), "");
    put_user(registry, "t", "b", "pro");
    add_outcomes(registry, "a", 2, 1, 1);
    add_violation(registry, "c", 3 * 1440);
    assert_string_equal(users_since(registry, before),
                        "[t/b tier pro][t/a day 2: 2/2, 0 at -1][t/c day 3: 0/0, 1 at 4320]");
    uint64_t after = next_transaction();
    assert_string_equal(users_since(registry, after), "");
    assert_string_equal(users_since(registry, before),
                        "[t/b tier pro][t/a day 2: 2/2, 0 at -1][t/c day 3: 0/0, 1 at 4320]");
}

IN_MEMORY(days_before_the_first_are_left_out)
{
    put_user(registry, "t", "a", NULL);
    add_outcomes(registry, "a", 1, 1, 1);
    uint64_t before = next_transaction();
    add_outcomes(registry, "a", 1, 1, 1);
    add_outcomes(registry, "a", 2, 1, 1);
    for (int since = 0; since < 2; since++) {
        written[0] = 0;
        DONE(sl_registry_visit_users(registry, since ? before : 0, 2, &writer, &error));
        assert_string_equal(written,
                            since ? "[t/a day 2: 1/1, 0 at -1]" : "[t/a][t/a day 2: 1/1, 0 at -1]");
    }
}

IN_MEMORY(a_dropped_user_is_listed_as_gone)
{
    put_user(registry, "", "a", NULL);
    add_outcomes(registry, "b", 1, 1, 1);
    uint64_t before = next_transaction();
    drop_user(registry, "", "a");
    drop_user(registry, "t", "b");
    assert_false(drop_user(registry, "t", "nobody"));
    assert_string_equal(users_since(registry, before), "[gone /a][gone t/b]");
    uint64_t after = next_transaction();
    assert_string_equal(users_since(registry, before), "[gone /a][gone t/b]");
    assert_string_equal(users_since(registry, after), "");
    assert_string_equal(users_of(registry), "");
}

IN_MEMORY(a_user_that_came_back_is_listed_as_gone_first)
{
    put_user(registry, "t", "a", "old");
    add_outcomes(registry, "a", 1, 1, 1);
    uint64_t before = next_transaction();
    drop_user(registry, "t", "a");
    put_user(registry, "t", "a", "new");
    add_outcomes(registry, "a", 2, 1, 1);
    assert_string_equal(users_since(registry, before),
                        "[gone t/a][t/a tier new][t/a day 2: 1/1, 0 at -1]");
}

static void drop_many(int count)
{
    char id[16];
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "u%d", i);
        put_user(registry, "", id, NULL);
        assert_true(drop_user(registry, "", id));
        next_transaction();
    }
}

IN_MEMORY(when_too_many_are_gone_everything_comes_afresh)
{
    put_user(registry, "t", "stays", NULL);
    add_outcomes(registry, "stays", 1, 1, 1);
    uint64_t before = next_transaction();
    drop_many(SL_REGISTRY_GONE_MAX);
    assert_null(strstr(users_since(registry, before), "afresh"));
    assert_non_null(strstr(written, "[gone /u0]"));
    drop_many(1);
    assert_string_equal(users_since(registry, before),
                        "[afresh][t/stays][t/stays day 1: 1/1, 0 at -1]");
    assert_null(strstr(users_since(registry, before + 2), "afresh"));
    assert_non_null(strstr(written, "[gone /u4095]"));
}

IN_MEMORY(a_revision_of_another_database_brings_everything_afresh)
{
    put_user(registry, "t", "a", NULL);
    uint64_t now = next_transaction();
    assert_string_equal(users_since(registry, now), "");
    commit(registry);
    assert_string_equal(users_since(registry, now + 1), "[afresh][t/a]");
    assert_string_equal(users_since(registry, UINT64_MAX), "[afresh][t/a]");
    begin(registry);
}

IN_MEMORY(the_transactions_own_revision_is_no_other_databases)
{
    put_user(registry, "t", "a", NULL);
    assert_string_equal(users_since(registry, sl_registry_revision(registry)), "");
}

IN_MEMORY(a_visitor_may_leave_things_out)
{
    struct sl_user_visitor blind = { .about = NULL };
    put_user(registry, "t", "a", NULL);
    drop_user(registry, "t", "a");
    put_user(registry, "t", "a", NULL);
    add_outcomes(registry, "a", 1, 1, 1);
    next_transaction();
    for (uint64_t since = 0; since < 5; since++)
        DONE(sl_registry_visit_users(registry, since, 0, &blind, &error));
}

/* ---- many ---- */

enum { MANY = 100000 };

struct ledger {
    size_t records, days;
    uint64_t calls;
};

static void count_record(void *about, const struct sl_user_record *record)
{
    struct ledger *ledger = about;
    assert_int_equal(atoi(record->id), ledger->records * 2);
    ledger->records++;
}

static void count_day(void *about, const struct sl_user_day *day)
{
    struct ledger *ledger = about;
    assert_int_equal(day->calls, atoi(day->id) + 1);
    ledger->calls += day->calls;
    ledger->days++;
}

IN_MEMORY(a_hundred_thousand_users_are_each_visited_once)
{
    char id[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "%d", i);
        if (i % 2 == 0)
            put_user(registry, "t", id, NULL);
        add_outcomes(registry, id, 7, (uint64_t)i + 1, 0);
    }
    struct ledger ledger = { 0 };
    struct sl_user_visitor counter = { .record = count_record, .day = count_day, .about = &ledger };
    DONE(sl_registry_visit_users(registry, 0, 7, &counter, &error));
    assert_int_equal(ledger.records, MANY / 2);
    assert_int_equal(ledger.days, MANY);
    assert_int_equal(ledger.calls, (uint64_t)MANY * (MANY + 1) / 2);
}
