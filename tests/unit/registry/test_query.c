#include "registry/query.h"

#include "unit/registry/in_memory.h"

/* These look at everything because they are asked to. */
static bool may_walk(enum sl_sql which)
{
    return which == SL_SQL_VISIT_RECORDS;
}

static void look_at_plan(sqlite3_stmt *plan, enum sl_sql which, const char *sql)
{
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(plan, 3);
        bool walks = strstr(step, "SCAN user") && !strstr(step, "SCAN user_gone");
        bool sorts = strstr(step, "USE TEMP B-TREE");
        /* The first entry of an index is found by a "scan" that ends there. */
        bool ends = which == SL_SQL_LEAST_KNOWN;
        if ((walks && !ends && !may_walk(which)) || sorts)
            fail_msg("%s\n  %s", sql, step);
    }
}

IN_MEMORY(no_statement_walks_through_all_users_or_days)
{
    for (enum sl_sql which = 0; which < SL_SQL_COUNT; which++) {
        char text[2048];
        sqlite3_stmt *plan;
        const char *sql = sqlite3_sql(registry->statements[which]);
        snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", sql);
        assert_int_equal(sqlite3_prepare_v2(registry->db, text, -1, &plan, NULL), SQLITE_OK);
        look_at_plan(plan, which, sql);
        sqlite3_finalize(plan);
    }
}

IN_MEMORY(where_there_is_no_database_there_are_no_rows)
{
    struct sl_registry absent = { .db = NULL };
    int64_t number = 7;
    struct sl_sql_query query = sl_query(&absent, SL_SQL_FIND_USER);
    sl_bind_text(&query, "");
    sl_bind_text(&query, "u1");
    assert_int_equal(sl_sql_query_step(&query, &error), SL_STEP_DONE);
    assert_true(sl_sql_query_number(&query, &number, &error));
    assert_int_equal(number, 0);
}

IN_MEMORY(a_failure_dooms_the_transaction_for_its_first_reason)
{
    bool is_new;
    DONE(sl_registry_put_rule(registry, NULL, "api", "{}", &error));
    REFUSED(sl_registry_put_rule(registry, "nobody", "own", "{}", &error), "no tenant `nobody`");
    REFUSED(sl_registry_put_tenant(registry, "nobody", NULL, &is_new, &error), "no tenant");
    REFUSED(sl_registry_overlay(registry, 0, &arena, &(struct sl_overlay){ 0 }, &error),
            "no tenant");
    REFUSED(sl_registry_commit(registry, &error), "no tenant `nobody`");
    assert_string_equal(rules_of(registry), "");
    begin(registry);
    DONE(sl_registry_put_rule(registry, NULL, "api", "{}", &error));
    commit(registry);
    assert_string_equal(rules_of(registry), "api={}");
}

IN_MEMORY(what_sqlite_rolled_back_by_itself_is_not_committed_in_parts)
{
    DONE(sl_registry_put_rule(registry, NULL, "before", "{}", &error));
    assert_int_equal(sqlite3_exec(registry->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_exec(registry->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
    REFUSED(sl_registry_put_rule(registry, NULL, "during", "{}", &error), "cannot be written");
    sqlite3_exec(registry->db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
    REFUSED(sl_registry_put_rule(registry, NULL, "after", "{}", &error), "cannot be written");
    REFUSED(sl_registry_commit(registry, &error), "cannot be written");
    assert_string_equal(rules_of(registry), "");
}

IN_MEMORY(a_text_that_is_null_where_it_must_not_be_is_empty)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(registry->db, "SELECT NULL, 'a'", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    struct sl_sql_query query = { .registry = registry, .statement = statement };
    assert_string_equal(sl_row_text(&query, 0), "");
    assert_string_equal(sl_row_copy(&query, 0, &arena), "");
    assert_null(sl_row_maybe(&query, 0));
    assert_null(sl_row_maybe_copy(&query, 0, &arena));
    assert_string_equal(sl_row_maybe_copy(&query, 1, &arena), "a");
    sqlite3_finalize(statement);
}
