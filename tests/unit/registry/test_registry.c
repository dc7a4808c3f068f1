#include "registry/registry.h"

#include "unit/registry/on_registry.h"

/* ---- from nothing ---- */

IN_A_FOLDER(nothing_is_made_before_the_first_change)
{
    struct sl_registry *registry = open_registry();
    assert_string_equal(rules_of(registry), "");
    assert_string_equal(users_of(registry), "");
    assert_int_equal(sl_registry_revision(registry), 0);
    assert_false(sl_registry_is_changed(registry));
    assert_int_equal(files_in_folder(false), 0);
    put_rule(registry, "api", "{}");
    assert_true(files_in_folder(false) > 0);
    sl_registry_close(registry);
}

IN_A_FOLDER(one_that_only_reads_makes_nothing)
{
    struct sl_registry *reader = sl_registry_open(path, true, &error);
    struct sl_arena arena = { 0 };
    struct sl_tenant *tenants;
    struct sl_exemption *exemptions;
    struct sl_user_record record;
    size_t count = 1;
    bool found = true;
    const char *who = "";
    assert_string_equal(rules_of(reader), "");
    DONE(sl_registry_tenants(reader, &arena, &tenants, &count, &error));
    assert_int_equal(count, 0);
    count = 1;
    DONE(sl_registry_exemptions(reader, 0, &arena, &exemptions, &count, &error));
    assert_int_equal(count, 0);
    DONE(sl_registry_user(reader, "", "u1", &arena, &record, &found, &error));
    assert_false(found);
    DONE(sl_registry_tier_user(reader, "pro", &arena, &who, &error));
    assert_null(who);
    REFUSED(sl_registry_begin(reader, SL_CARE_KILL, &error), "it was opened for reading");
    assert_int_equal(files_in_folder(false), 0);
    sl_arena_release(&arena);
    sl_registry_close(reader);
}

IN_A_FOLDER(one_in_memory_ends_with_its_closing)
{
    for (int i = 0; i < 2; i++) {
        struct sl_registry *registry = sl_registry_open(NULL, false, &error);
        assert_string_equal(rules_of(registry), "");
        put_rule(registry, "api", "{}");
        assert_string_equal(rules_of(registry), "api={}");
        assert_false(sl_registry_is_changed(registry));
        sl_registry_close(registry);
    }
    struct sl_registry *reader = sl_registry_open(NULL, true, &error);
    REFUSED(sl_registry_begin(reader, SL_CARE_KILL, &error), "in memory cannot be written");
    assert_string_equal(rules_of(reader), "");
    sl_registry_close(reader);
}

/* ---- transactions ---- */

static void put_one_of_each(struct sl_registry *registry)
{
    bool is_new;
    struct sl_exemption exemption = { SL_EXEMPT_IP, "10.0.0.0/8", 0, NULL };
    struct sl_tenant_key key = { .tenant = "acme", .label = "ci" };
    DONE(sl_registry_put_rule(registry, NULL, "api", "{}", &error));
    DONE(sl_registry_put_tier(registry, "pro", "{}", &error));
    DONE(sl_registry_put_exemption(registry, &exemption, &is_new, &error));
    DONE(sl_registry_put_tenant(registry, "acme", "pro", &is_new, &error));
    DONE(sl_registry_put_key(registry, &key, &is_new, &error));
    put_user(registry, "acme", "u1", "pro");
    add_outcomes(registry, "u2", 3, 2, 1);
    add_violation(registry, "u2", 3 * 1440);
}

static void is_filled(struct sl_registry *registry, bool full)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    struct sl_tenant *tenants;
    size_t count;
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    DONE(sl_registry_tenants(registry, &arena, &tenants, &count, &error));
    assert_int_equal(overlay.rule_count, full);
    assert_int_equal(overlay.tier_count, full);
    assert_int_equal(overlay.exemption_count, full);
    assert_int_equal(count, full);
    if (full)
        assert_string_equal(tenants[0].keys[0].label, "ci");
    assert_string_equal(users_of(registry),
                        full ? "[acme/u1 tier pro][t/u2 day 3: 1/2, 1 at 4320]" : "");
    assert_int_equal(sl_registry_revision(registry), full);
    sl_arena_release(&arena);
}

IN_A_FOLDER(what_was_committed_is_there_when_it_is_opened_again)
{
    struct sl_registry *registry = open_registry();
    begin(registry);
    put_one_of_each(registry);
    is_filled(registry, true);
    commit(registry);
    is_filled(registry, true);
    sl_registry_close(registry);
    for (int read_only = 0; read_only < 2; read_only++) {
        registry = sl_registry_open(path, read_only, &error);
        is_filled(registry, true);
        sl_registry_close(registry);
    }
}

IN_A_FOLDER(a_rollback_leaves_nothing)
{
    struct sl_registry *registry = open_registry();
    begin(registry);
    put_one_of_each(registry);
    sl_registry_rollback(registry);
    is_filled(registry, false);
    begin(registry);
    put_one_of_each(registry);
    sl_registry_close(registry); /* in the middle of it */
    registry = open_registry();
    is_filled(registry, false);
    sl_registry_close(registry);
}

IN_A_FOLDER(the_revision_grows_with_every_transaction_that_changes_something)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    put_rule(registry, "b", "{}");
    assert_int_equal(sl_registry_revision(registry), 2);
    begin(registry);
    bool found;
    DONE(sl_registry_drop_rule(registry, NULL, "none", &found, &error));
    assert_int_equal(sl_registry_revision(registry), 2);
    commit(registry);
    assert_int_equal(sl_registry_revision(registry), 2);
    begin(registry);
    DONE(sl_registry_drop_rule(registry, NULL, "a", &found, &error));
    assert_int_equal(sl_registry_revision(registry), 3);
    commit(registry);
    assert_int_equal(sl_registry_revision(registry), 3);
    sl_registry_close(registry);
}

IN_A_FOLDER(a_revision_that_was_rolled_back_is_not_given_again)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    begin(registry);
    DONE(sl_registry_put_rule(registry, NULL, "a", "tried", &error));
    assert_int_equal(sl_registry_revision(registry), 2);
    sl_registry_rollback(registry);
    assert_int_equal(sl_registry_revision(registry), 1);
    begin(registry);
    sl_registry_rollback(registry);
    put_rule(registry, "a", "{}");
    assert_int_equal(sl_registry_revision(registry), 3);
    sl_registry_close(registry);
}

IN_A_FOLDER(users_do_not_change_the_revision_of_the_rules)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    begin(registry);
    put_user(registry, "", "u1", NULL);
    add_outcomes(registry, "u1", 1, 1, 1);
    commit(registry);
    assert_int_equal(sl_registry_revision(registry), 2);
    assert_int_equal(sl_registry_rules_revision(registry), 1);
    begin(registry);
    put_one_of_each(registry);
    assert_int_equal(sl_registry_rules_revision(registry), 3);
    sl_registry_rollback(registry);
    assert_int_equal(sl_registry_rules_revision(registry), 1);
    begin(registry);
    DONE(sl_registry_put_tier(registry, "pro", NULL, &error));
    commit(registry);
    assert_int_equal(sl_registry_rules_revision(registry), sl_registry_revision(registry));
    sl_registry_close(registry);
}

/* 1: NORMAL, 2: FULL. */
static int care_of(struct sl_registry *registry)
{
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(registry->db, "PRAGMA synchronous", -1, &statement, NULL);
    sqlite3_step(statement);
    int care = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return care;
}

IN_A_FOLDER(care_is_each_transactions_own)
{
    struct sl_registry *registry = open_registry();
    for (int i = 0; i < 3; i++) {
        begin_lightly(registry);
        assert_int_equal(care_of(registry), 1);
        commit(registry);
        begin(registry);
        assert_int_equal(care_of(registry), 2);
        commit(registry);
    }
    sl_registry_close(registry);
}
