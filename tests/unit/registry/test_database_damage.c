/* Files that were cut, scribbled on, or changed by hand: refused, or an error when they are
 * read; never a crash. */
#include "unit/registry/database_file.h"

/* Large enough for several pages of everything. */
static void make_large_one(void)
{
    char id[32], json[600];
    bool is_new;
    memset(json, 'j', sizeof json);
    json[sizeof json - 1] = 0;
    struct sl_registry *registry = open_registry();
    begin(registry);
    for (int i = 0; i < 60; i++) {
        snprintf(id, sizeof id, "n%d", i);
        struct sl_tenant_key key = { .tenant = id, .digest = { { (uint8_t)i } } };
        struct sl_exemption exemption = { SL_EXEMPT_USER, id, i, json };
        DONE(sl_registry_put_rule(registry, NULL, id, json, &error));
        DONE(sl_registry_put_tier(registry, id, json, &error));
        DONE(sl_registry_put_exemption(registry, &exemption, &is_new, &error));
        DONE(sl_registry_put_tenant(registry, id, NULL, &is_new, &error));
        DONE(sl_registry_put_key(registry, &key, &is_new, &error));
        put_user(registry, "t", id, id);
        add_outcomes(registry, id, i % 7, 1, 1);
        put_user(registry, "t", "gone", NULL);
        drop_user(registry, "t", "gone");
    }
    commit(registry);
    sl_registry_close(registry);
}

/* The first page of a table or an index, from 1. */
static size_t root_of(const char *name)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?", -1, &statement,
                       NULL);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    size_t page = (size_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return page;
}

static void ignore_record(void *about, const struct sl_user_record *record)
{
    *(size_t *)about += strlen(record->id) + strlen(record->tenant);
}

static void ignore_day(void *about, const struct sl_user_day *day)
{
    *(size_t *)about += strlen(day->id) + strlen(day->tenant);
}

static void ignore_gone(void *about, const char *tenant, const char *id)
{
    *(size_t *)about += strlen(id) + strlen(tenant);
}

/* Reads and changes everything. Whether it works is all the same. */
static void use_all(struct sl_registry *registry)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    struct sl_tenant *tenants;
    struct sl_exemption *exemptions;
    size_t count, sum = 0;
    bool found;
    struct sl_user_visitor visitor = { NULL, ignore_gone, ignore_record, ignore_day, &sum };
    sl_registry_overlay(registry, 0, &arena, &overlay, &error);
    sl_registry_tenants(registry, &arena, &tenants, &count, &error);
    sl_registry_exemptions(registry, 0, &arena, &exemptions, &count, &error);
    sl_registry_visit_users(registry, 0, 0, &visitor, &error);
    sl_registry_visit_users(registry, 1, 0, &visitor, &error);
    sl_registry_is_changed(registry);
    if (sl_registry_begin(registry, SL_CARE_KILL, &error)) {
        struct sl_user_day day = { .tenant = "t", .id = "n1", .day = 3, .calls = 1 };
        if (sl_registry_add_outcomes(registry, &day, &error) &&
            sl_registry_drop_user(registry, "t", "n2", &found, &error) &&
            sl_registry_drop_tenant(registry, "n3", &found, &error) &&
            sl_registry_forget_days(registry, 3, &error))
            sl_registry_put_rule(registry, NULL, "n4", "{}", &error);
        sl_registry_commit(registry, &error);
    }
    sl_arena_release(&arena);
}

static bool use_damaged(void)
{
    struct sl_registry *registry = open_at(path, false);
    if (!registry) {
        assert_true(strstr(error.text, "database") != NULL);
        assert_null(strchr(error.text, '\n'));
        return false;
    }
    use_all(registry);
    sl_registry_close(registry);
    return true;
}

IN_A_FOLDER(a_file_cut_short_anywhere_is_refused)
{
    size_t len;
    make_large_one();
    uint8_t *whole = read_all(&len);
    for (size_t cut = 2; /* one byte is none to SQLite */ cut < len; cut += cut < 200 ? 7 : 2048) {
        write_all(whole, cut);
        if (use_damaged())
            fail_msg("%zu of %zu bytes were enough", cut, len);
        files_in_folder(true);
    }
    write_all(whole, len);
    assert_true(use_damaged());
    free(whole);
}

IN_A_FOLDER(no_flipped_byte_brings_it_down)
{
    size_t len;
    int refused = 0;
    make_large_one();
    uint8_t *whole = read_all(&len);
    uint8_t *bytes = malloc(len);
    for (uint64_t seed = 0; seed < 400; seed++) {
        uint64_t random = seed;
        memcpy(bytes, whole, len);
        for (int64_t flips = 1 + unit_up_to(&random, 20); flips > 0; flips--) {
            /* Every second hits the first bytes of a page: there is its structure. */
            size_t at = (size_t)unit_up_to(&random, (int64_t)len - 1);
            at = flips % 2 ? at : at / 4096 * 4096 + at % 40;
            bytes[at] = (uint8_t)unit_random(&random);
        }
        write_all(bytes, len);
        refused += !use_damaged();
        files_in_folder(true);
    }
    assert_in_range(refused, 200, 400);
    free(bytes);
    free(whole);
}

IN_A_FOLDER(damaged_users_are_noticed_at_opening)
{
    static const char *const tables[] = { "user", "user_day", "user_gone", "user_day_revision" };
    for (size_t i = 0; i < COUNT(tables); i++) {
        size_t len;
        make_large_one();
        uint8_t *bytes = read_all(&len);
        memset(bytes + 4096 * (root_of(tables[i]) - 1), 0x55, 200);
        write_all(bytes, len);
        free(bytes);
        REFUSED(open_at(path, false), "is damaged");
        files_in_folder(true);
    }
}

/* Users beyond what is checked at opening: the same without that check. */
IN_A_FOLDER(damaged_users_are_an_error_when_they_are_read)
{
    char wal[80];
    size_t len;
    make_large_one();
    struct sl_registry *registry = open_registry();
    sqlite3_exec(registry->db, "PRAGMA cache_size = 0", NULL, NULL, NULL);
    assert_string_not_equal(users_of(registry), "");
    snprintf(wal, sizeof wal, "%s-wal", path);
    assert_true(size_of(wal) <= 0);
    uint8_t *bytes = read_all(&len);
    memset(bytes + 4096, 0xff, len - 4096);
    write_all(bytes, len);
    free(bytes);
    REFUSED(sl_registry_visit_users(registry, 0, 0, &writer, &error), "is damaged");
    use_all(registry);
    sl_registry_close(registry);
}

IN_A_FOLDER(a_table_that_is_missing_is_damage)
{
    static const char *const rows[] = {
        "DROP TABLE rule",      "DROP TABLE user_gone",
        "DROP INDEX user_tier", "ALTER TABLE user DROP COLUMN limits",
        "DELETE FROM counter",  "PRAGMA user_version = 0",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        make_one();
        run_sql(rows[i]);
        REFUSED(open_at(path, false), "is damaged");
        files_in_folder(true);
    }
}

IN_A_FOLDER(an_index_that_has_lost_a_rule_is_damage)
{
    make_one();
    run_sql("PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, 'tenant IS NULL', 'tenant = 1') "
            "WHERE name = 'rule_of_all'; PRAGMA writable_schema = RESET;"
            "INSERT INTO rule (name, revision) VALUES ('lost', 1);"
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, 'tenant = 1', 'tenant IS NULL') "
            "WHERE name = 'rule_of_all'");
    REFUSED(open_at(path, false), "is damaged: row 2 missing from index rule_of_all");
}

IN_A_FOLDER(a_counter_at_its_end_is_an_error)
{
    make_one();
    run_sql("UPDATE counter SET revision = 9223372036854775807");
    struct sl_registry *registry = open_registry();
    REFUSED(sl_registry_begin(registry, SL_CARE_KILL, &error), "its revision is 9223372036854775");
    sl_registry_close(registry);
}

IN_A_FOLDER(triggers_found_in_the_file_do_not_run)
{
    make_one();
    run_sql("CREATE TRIGGER evil AFTER INSERT ON tier BEGIN DELETE FROM rule; END");
    struct sl_registry *registry = open_registry();
    begin(registry);
    DONE(sl_registry_put_tier(registry, "pro", "{}", &error));
    commit(registry);
    assert_string_equal(rules_of(registry), "api={}");
    sl_registry_close(registry);
}
