#include "registry/replication/replica.h"

#include "registry/rows.h"
#include "unit/registry/in_memory.h"

#define SIXTEEN    "0123456789abcdef"
#define SIXTY_FOUR SIXTEEN SIXTEEN SIXTEEN SIXTEEN

/* Another one, to which everything is carried over. */
static struct sl_registry *other;

static int open_both(void **unused)
{
    other = sl_registry_open(NULL, false, &error);
    return other && sl_registry_begin(other, SL_CARE_POWER_CUT, &error) ? open_it(unused) : -1;
}

static int close_both(void **unused)
{
    sl_registry_close(other);
    return close_it(unused);
}

static struct sl_row *noted(size_t *count)
{
    struct sl_row *rows;
    DONE(sl_replica_noted(registry, &arena, &rows, count, &error));
    return rows;
}

/* By way of text, as Redis has them. */
static void carry_over(void)
{
    size_t count;
    struct sl_row *rows = noted(&count);
    for (size_t i = 0; i < count; i++) {
        struct sl_buffer name = sl_buffer(4096), value = sl_buffer(1 << 20);
        sl_row_name_print(&name, &rows[i].name);
        sl_row_print(&value, &rows[i]);
        DONE(sl_row_parse((struct sluice_text){ name.at, name.len },
                          (struct sluice_text){ value.at, value.len }, &arena, &rows[i], &error));
        sl_buffer_release(&name);
        sl_buffer_release(&value);
    }
    size_t rules = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].name.kind == SL_ROW_USER)
            DONE(sl_replica_apply_user(other, &rows[i], false, &error));
        else
            rows[rules++] = rows[i];
    DONE(sl_replica_apply(other, rows, rules, false, &error));
    commit(other);
    begin(other);
}

/* Everything in it that is shared, row by row. */
static const char *all_of(struct sl_registry *which)
{
    struct sl_buffer out = sl_buffer(1 << 20);
    struct sl_row *rows, users[64];
    size_t count, user_count;
    int64_t after = 0;
    DONE(sl_replica_rules(which, &arena, &rows, &count, &error));
    DONE(sl_replica_users(which, &after, COUNT(users), &arena, users, &user_count, &error));
    for (size_t i = 0; i < count + user_count; i++) {
        const struct sl_row *row = i < count ? &rows[i] : &users[i - count];
        sl_row_name_print(&out, &row->name);
        sl_buffer_add(&out, SL_TEXT(" "));
        sl_row_print(&out, row);
        sl_buffer_add(&out, SL_TEXT("\n"));
    }
    const char *text = sl_arena_copy(&arena, (struct sluice_text){ out.at, out.len });
    sl_buffer_release(&out);
    return text;
}

static void are_equal(void)
{
    assert_string_equal(all_of(registry), all_of(other));
}

static void put_key(const char *tenant, char byte)
{
    bool is_new;
    struct sl_tenant_key key = { .tenant = tenant, .label = "ci", .created_at_us = 5 };
    memset(key.digest.byte, byte, sizeof key.digest.byte);
    DONE(sl_registry_put_key(registry, &key, &is_new, &error));
}

static void put_exemption(const char *value, int64_t until_us)
{
    bool is_new;
    struct sl_exemption exemption = { SL_EXEMPT_IP, value, until_us, "because" };
    DONE(sl_registry_put_exemption(registry, &exemption, &is_new, &error));
}

static void put_record(const char *id, const char *tier)
{
    struct sl_user_record record = { .tenant = "acme", .id = id, .tier = tier, .limits = "{}" };
    DONE(sl_registry_put_user(registry, &record, &error));
}

static void put_tenant(const char *name)
{
    bool is_new;
    DONE(sl_registry_put_tenant(registry, name, "pro", &is_new, &error));
}

/* One of everything. */
static void put_one_of_each(uint64_t change)
{
    sl_replica_note(registry, change);
    put_tenant("acme");
    put_key("acme", 1);
    DONE(sl_registry_put_rule(registry, "acme", "own", "{}", &error));
    DONE(sl_registry_put_rule(registry, NULL, "a", "{\"x\": 1.50}", &error));
    DONE(sl_registry_put_rule(registry, NULL, "hidden", NULL, &error));
    DONE(sl_registry_put_tier(registry, "pro", "{}", &error));
    put_exemption("10.0.0.0/8", 0);
    put_exemption("fd00::/8", 77);
    put_record("u1", "pro");
}

TEST(numbers_of_changes_grow_and_differ)
{
    uint64_t a = sl_change_new(7), b = sl_change_new(7), c = sl_change_new(8);
    assert_true(a != b && a < c && b < c);
    assert_int_equal(SL_CHANGE_VERSION(a), 7);
    assert_true(sl_change_new(UINT32_MAX) <= INT64_MAX);
}

IN_MEMORY(what_changes_is_noted_once_and_carries_its_number)
{
    size_t count;
    put_one_of_each(sl_change_new(1));
    put_record("u1", NULL);
    struct sl_row *rows = noted(&count);
    assert_int_equal(count, 9);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(SL_CHANGE_VERSION(rows[i].change), 1);
}

/* In the order in which they first were, however many there are. */
IN_MEMORY(a_long_list_is_noted_as_a_short_one)
{
    enum { MANY = 20000 };
    char name[16];
    size_t count;
    sl_replica_note(registry, sl_change_new(1));
    for (int i = 0; i < 2 * MANY; i++) {
        snprintf(name, sizeof name, "r%d", i * 7 % MANY);
        DONE(sl_note_row(registry, SL_ROW_RULE, "", name, &error));
    }
    struct sl_row *rows = noted(&count);
    assert_int_equal(count, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "r%d", i * 7 % MANY);
        assert_string_equal(rows[i].name.second, name);
        assert_true(rows[i].is_gone);
    }
}

IN_MEMORY(without_being_asked_nothing_is_noted)
{
    size_t count;
    DONE(sl_registry_put_rule(registry, NULL, "a", "{}", &error));
    noted(&count);
    assert_int_equal(count, 0);
    sl_replica_note(registry, sl_change_new(1));
    DONE(sl_registry_put_rule(registry, NULL, "b", "{}", &error));
    next_transaction();
    DONE(sl_registry_put_rule(registry, NULL, "c", "{}", &error));
    noted(&count);
    assert_int_equal(count, 1); /* of the one before, until the next is asked for */
}

#define WITH_BOTH(name) TEST_WITH(name, open_both, close_both)

WITH_BOTH(all_that_changes_is_carried_over)
{
    bool found;
    put_one_of_each(sl_change_new(1));
    carry_over();
    are_equal();
    next_transaction();
    sl_replica_note(registry, sl_change_new(2));
    DONE(sl_registry_drop_rule(registry, NULL, "a", &found, &error));
    DONE(sl_registry_drop_tier(registry, "pro", &found, &error));
    DONE(sl_registry_drop_exemption(registry, SL_EXEMPT_IP, "10.0.0.0/8", &found, &error));
    DONE(sl_registry_sweep(registry, 100, &found, &error)); /* the other one */
    DONE(sl_registry_drop_user(registry, "acme", "u1", &found, &error));
    carry_over();
    are_equal();
    next_transaction();
    sl_replica_note(registry, sl_change_new(3));
    DONE(sl_registry_drop_tenant(registry, "acme", &found, &error)); /* with key and rule */
    carry_over();
    are_equal();
    assert_non_null(strstr(all_of(other), "hidden"));
    assert_null(strstr(all_of(other), "acme"));
}

WITH_BOTH(a_tenant_changes_with_its_keys_and_rules)
{
    put_one_of_each(sl_change_new(1));
    carry_over();
    next_transaction();
    sl_replica_note(registry, sl_change_new(2));
    put_key("acme", 2);
    carry_over();
    are_equal(); /* the tag of the tenant is of the change */
}

/* What was last goes, another gets its place, and the first comes back: rows arrive in the order
 * of names, not of what happened. */
WITH_BOTH(places_are_those_of_the_end)
{
    bool found;
    sl_replica_note(registry, sl_change_new(1));
    DONE(sl_registry_put_rule(registry, NULL, "a", "{}", &error));
    DONE(sl_registry_put_rule(registry, NULL, "z", "{}", &error));
    put_tenant("old");
    put_key("old", 1);
    carry_over();
    next_transaction();
    sl_replica_note(registry, sl_change_new(2));
    DONE(sl_registry_drop_rule(registry, NULL, "z", &found, &error));
    DONE(sl_registry_put_rule(registry, NULL, "b", "{}", &error));
    DONE(sl_registry_put_rule(registry, NULL, "z", "{}", &error));
    DONE(sl_registry_drop_tenant(registry, "old", &found, &error));
    put_tenant("new");
    put_key("new", 1); /* the same key, another's now */
    carry_over();
    are_equal();
}

WITH_BOTH(afresh_there_is_nothing_else)
{
    struct sl_row *rows;
    size_t count;
    DONE(sl_registry_put_rule(other, NULL, "alone", "{}", &error));
    put_one_of_each(sl_change_new(1));
    DONE(sl_replica_rules(registry, &arena, &rows, &count, &error));
    DONE(sl_replica_apply(other, rows, count, true, &error));
    put_record("u2", NULL);
    assert_null(strstr(all_of(other), "alone"));
    assert_non_null(strstr(all_of(other), "rule:acme:own"));
}

/* A row's body never gets another row's name. */
IN_MEMORY(a_row_whose_place_another_has_is_refused)
{
    static const struct sl_row_number first = { true, 1 };
    const struct sl_row rows[] = {
        { .name = { SL_ROW_RULE, "", "x" }, .made = first, .json = "{\"x\": 1}" },
        { .name = { SL_ROW_RULE, "acme", "x" }, .made = first, .json = "{\"x\": 1}" },
        { .name = { SL_ROW_TIER, "x", NULL }, .made = first, .json = "{\"x\": 1}" },
        { .name = { SL_ROW_EXEMPTION, "ip", "::1" }, .made = first, .reason = "x" },
        { .name = { SL_ROW_KEY, SIXTY_FOUR, NULL },
          .made = first,
          .tenant = "acme",
          .created_at_us = first },
    };
    put_one_of_each(sl_change_new(1));
    const char *before = all_of(registry);
    next_transaction();
    for (size_t i = 0; i < COUNT(rows); i++) {
        REFUSED(sl_replica_apply(registry, &rows[i], 1, false, &error), ".made");
        sl_registry_rollback(registry);
        begin(registry);
        assert_string_equal(all_of(registry), before);
    }
}

/* Those are what is meant by a conflict. */
WITH_BOTH(a_row_that_is_there_is_replaced)
{
    struct sl_row *rows;
    size_t count;
    put_one_of_each(sl_change_new(1));
    const char *before = all_of(registry);
    DONE(sl_replica_rules(registry, &arena, &rows, &count, &error));
    DONE(sl_replica_apply(other, rows, count, true, &error));
    DONE(sl_replica_apply(other, rows, count, false, &error));
    struct sl_row twice[] = { rows[0], rows[0] };
    DONE(sl_replica_apply(other, twice, 2, false, &error));
    assert_non_null(strstr(before, "rule:acme:own"));
    assert_int_equal(
        strncmp(all_of(other), before, strlen(before) - strlen(strstr(before, "user:"))), 0);
}

/* It was changed while it told no other node. */
IN_MEMORY(a_database_that_leaves_is_no_replica_any_more)
{
    struct sl_replica_position place = { 5, { { 7, 70 }, { 9, 90 } }, false }, back;
    DONE(sl_replica_leave(registry, &error)); /* none ever was */
    DONE(sl_replica_put_place(registry, &place, &error));
    next_transaction();
    DONE(sl_replica_leave(registry, &error));
    sl_registry_rollback(registry);
    DONE(sl_replica_place(registry, &back, &error));
    assert_int_equal(back.epoch, 5);
    begin(registry);
    DONE(sl_replica_leave(registry, &error));
    next_transaction();
    DONE(sl_replica_place(registry, &back, &error));
    assert_int_equal(back.epoch, 0);
    assert_int_equal(back.logs[SL_LOG_RULES].last, 0);
}

IN_MEMORY(the_place_is_kept)
{
    struct sl_replica_position place = { 5, { { 7, 70 }, { 9, 90 } }, true }, back;
    DONE(sl_replica_place(registry, &back, &error));
    assert_int_equal(back.epoch, 0);
    DONE(sl_replica_put_place(registry, &place, &error));
    next_transaction();
    DONE(sl_replica_place(registry, &back, &error));
    assert_int_equal(back.epoch, 5);
    assert_int_equal(back.logs[SL_LOG_RULES].version, 7);
    assert_int_equal(back.logs[SL_LOG_USERS].last, 90);
    assert_true(back.is_partial);
    place.epoch = 6;
    DONE(sl_replica_put_place(registry, &place, &error));
    sl_registry_rollback(registry);
    DONE(sl_replica_place(registry, &back, &error));
    assert_int_equal(back.epoch, 5);
}

struct seen {
    int afresh, gone, records, days;
};

static void see_afresh(void *about)
{
    ((struct seen *)about)->afresh++;
}

static void see_record(void *about, const struct sl_user_record *record)
{
    (void)record;
    ((struct seen *)about)->records++;
}

static void see_day(void *about, const struct sl_user_day *day)
{
    (void)day;
    ((struct seen *)about)->days++;
}

/* A user that is not confirmed loses its record; its outcomes stay; all users are loaded again. */
IN_MEMORY(users_that_are_not_there_any_more_lose_their_records)
{
    struct seen seen = { 0 };
    struct sl_user_visitor visitor = {
        .afresh = see_afresh, .record = see_record, .day = see_day, .about = &seen
    };
    put_record("stays", NULL);
    put_record("goes", NULL);
    put_record("acts", NULL);
    DONE(sl_registry_add_outcomes(
        registry, &(struct sl_user_day){ .tenant = "acme", .id = "acts", .day = 5, .calls = 1 },
        &error));
    uint64_t known = next_transaction();
    DONE(sl_replica_begin_users(registry, &error));
    struct sl_row row = { .name = { SL_ROW_USER, "acme", "stays" }, .tier = "pro" };
    DONE(sl_replica_apply_user(registry, &row, true, &error));
    next_transaction();
    DONE(sl_replica_end_users(registry, &error));
    next_transaction();
    DONE(sl_registry_visit_users(registry, known, 0, &visitor, &error));
    assert_int_equal(seen.afresh, 1);
    assert_int_equal(seen.records, 1);
    assert_int_equal(seen.days, 1);
    assert_int_equal(registry->counters.users, 2);
}

IN_MEMORY(rows_without_a_number_get_one)
{
    uint64_t change = sl_change_new(1);
    DONE(sl_registry_put_rule(registry, NULL, "old", "{}", &error));
    next_transaction();
    sl_replica_note(registry, sl_change_new(9));
    DONE(sl_registry_put_rule(registry, NULL, "new", "{}", &error));
    next_transaction();
    DONE(sl_replica_stamp(registry, change, &error));
    struct sl_row *rows;
    size_t count;
    DONE(sl_replica_rules(registry, &arena, &rows, &count, &error));
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].change, change);
    assert_int_equal(SL_CHANGE_VERSION(rows[1].change), 9);
}

IN_MEMORY(days_alone_are_nothing_to_share)
{
    bool is_empty;
    DONE(sl_registry_add_violation(registry, "acme", "u1", 5, &error));
    DONE(sl_replica_is_empty(registry, &is_empty, &error));
    assert_true(is_empty);
    put_record("u1", NULL);
    DONE(sl_replica_is_empty(registry, &is_empty, &error));
    assert_false(is_empty);
}
