/* Several handles and several processes on one file, and a file that goes away. */
#include <fcntl.h>

#include "unit/registry/children.h"

/* ---- two of them ---- */

IN_A_FOLDER(what_one_commits_the_other_sees)
{
    struct sl_registry *a = open_registry(), *b = open_registry();
    put_rule(a, "api", "1");
    assert_true(sl_registry_is_changed(b));
    assert_string_equal(rules_of(b), "api=1");
    assert_false(sl_registry_is_changed(b));
    assert_false(sl_registry_is_changed(a));
    begin(b);
    DONE(sl_registry_put_rule(b, NULL, "api", "2", &error));
    assert_string_equal(rules_of(a), "api=1");
    assert_false(sl_registry_is_changed(a));
    commit(b);
    assert_false(sl_registry_is_changed(b));
    assert_true(sl_registry_is_changed(a));
    assert_false(sl_registry_is_changed(a));
    assert_string_equal(rules_of(a), "api=2");
    sl_registry_close(a);
    sl_registry_close(b);
}

IN_A_FOLDER(what_was_seen_in_passing_is_still_told)
{
    struct sl_registry *a = open_registry(), *b = open_registry();
    put_rule(a, "first", "1");
    put_rule(b, "second", "2"); /* b sees the first of it here */
    assert_true(sl_registry_is_changed(b));
    assert_false(sl_registry_is_changed(b));
    assert_true(sl_registry_is_changed(a));
    put_rule(a, "third", "3");
    put_rule(b, "fourth", "4");
    assert_true(sl_registry_is_changed(b));
    sl_registry_close(a);
    sl_registry_close(b);
}

IN_A_FOLDER(a_change_that_changed_nothing_is_not_told)
{
    struct sl_registry *a = open_registry(), *b = open_registry();
    put_rule(a, "api", "1");
    assert_true(sl_registry_is_changed(b));
    begin(a);
    bool found;
    DONE(sl_registry_drop_rule(a, NULL, "none", &found, &error));
    commit(a);
    begin(a);
    DONE(sl_registry_put_rule(a, NULL, "api", "2", &error));
    sl_registry_rollback(a);
    assert_false(sl_registry_is_changed(b));
    sl_registry_close(a);
    sl_registry_close(b);
}

IN_A_FOLDER(a_reader_of_nothing_notices_when_there_is_something)
{
    struct sl_registry *reader = sl_registry_open(path, true, &error);
    struct sl_registry *late = sl_registry_open(path, true, &error);
    struct sl_registry *writer_of_it = open_registry();
    assert_false(sl_registry_is_changed(reader));
    put_rule(writer_of_it, "api", "1");
    assert_string_equal(rules_of(late), "api=1");
    assert_true(sl_registry_is_changed(late));
    assert_true(sl_registry_is_changed(reader));
    assert_false(sl_registry_is_changed(reader));
    assert_string_equal(rules_of(reader), "api=1");
    sl_registry_close(reader);
    sl_registry_close(late);
    sl_registry_close(writer_of_it);
}

IN_A_FOLDER(one_that_waits_in_vain_says_so)
{
    struct sl_registry *a = open_registry(), *b = open_registry();
    put_rule(a, "api", "1");
    put_rule(b, "api", "1");
    sqlite3_busy_timeout(b->db, 1);
    begin(a);
    DONE(sl_registry_put_rule(a, NULL, "api", "2", &error));
    REFUSED(sl_registry_begin(b, SL_CARE_KILL, &error),
            "cannot be written: another process is busy with it");
    assert_string_equal(rules_of(b), "api=1");
    commit(a);
    put_rule(b, "api", "3");
    assert_string_equal(rules_of(a), "api=3");
    sl_registry_close(a);
    sl_registry_close(b);
}

struct turns {
    int ready[2], go[2];
};

static void hold_until_told(void *about)
{
    struct turns *turns = about;
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    char byte;
    CHILD(registry && sl_registry_begin(registry, SL_CARE_POWER_CUT, &error));
    CHILD(sl_registry_put_rule(registry, NULL, "theirs", "{}", &error));
    CHILD(write(turns->ready[1], "x", 1) == 1);
    CHILD(read(turns->go[0], &byte, 1) == 1);
    CHILD(sl_registry_commit(registry, &error));
    sl_registry_close(registry);
}

IN_A_FOLDER(a_transaction_waits_for_the_other_process_and_sees_its_changes)
{
    struct turns turns;
    char byte;
    assert_int_equal(pipe(turns.ready) | pipe(turns.go), 0);
    pid_t child = start_child(hold_until_told, &turns);
    assert_int_equal(read(turns.ready[0], &byte, 1), 1);
    struct sl_registry *registry = open_registry();
    assert_string_equal(rules_of(registry), "");
    assert_int_equal(write(turns.go[1], "x", 1), 1);
    begin(registry);
    assert_string_equal(rules_of(registry), "theirs={}");
    DONE(sl_registry_put_rule(registry, NULL, "ours", "{}", &error));
    commit(registry);
    assert_int_equal(end_of(child), 0);
    assert_string_equal(rules_of(registry), "theirs={} ours={}");
    assert_int_equal(sl_registry_revision(registry), 2);
    sl_registry_close(registry);
    for (int i = 0; i < 2; i++) {
        close(turns.ready[i]);
        close(turns.go[i]);
    }
}

/* ---- two processes ---- */

enum { ROUNDS = 300, MINUTES = 40 };

/* Counts up a rule's text, adds outcomes, and sees the same minutes as the other processes. */
static void count_up(void *about)
{
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    CHILD(registry && registry->db);
    sqlite3_busy_timeout(registry->db, 60000); /* on a busy machine every process's turn is late */
    for (int i = 0; i < ROUNDS; i++) {
        struct sl_arena arena = { 0 };
        struct sl_overlay overlay;
        struct sl_user_day more = {
            .tenant = "t", .id = "u1", .day = 3, .calls = 2, .successes = 1
        };
        char next[16];
        enum sl_registry_care care = i % 50 ? SL_CARE_KILL : SL_CARE_POWER_CUT;
        CHILD(sl_registry_begin(registry, care, &error));
        CHILD(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
        snprintf(next, sizeof next, "%d", overlay.rule_count ? atoi(overlay.rules[0].json) + 1 : 1);
        CHILD(sl_registry_put_rule(registry, NULL, "count", next, &error));
        CHILD(sl_registry_add_outcomes(registry, &more, &error));
        CHILD(sl_registry_add_violation(registry, "t", "u1", 4320 + i * MINUTES / ROUNDS, &error));
        sl_arena_release(&arena);
        if (i % 7 == 0)
            sl_registry_rollback(registry);
        else
            CHILD(sl_registry_commit(registry, &error));
    }
    sl_registry_close(registry);
    (void)about;
}

IN_A_FOLDER(no_update_of_several_processes_is_lost)
{
    pid_t children[3];
    struct sl_registry *registry = open_registry();
    begin(registry);
    commit(registry);
    for (size_t i = 0; i < COUNT(children); i++)
        children[i] = start_child(count_up, NULL);
    for (size_t i = 0; i < COUNT(children); i++)
        assert_int_equal(end_of(children[i]), 0);
    int commits = (int)COUNT(children) * (ROUNDS - (ROUNDS + 6) / 7);
    char wanted[96];
    snprintf(wanted, sizeof wanted, "count=%d", commits);
    assert_string_equal(rules_of(registry), wanted);
    snprintf(wanted, sizeof wanted, "[t/u1 day 3: %d/%d, ", commits, 2 * commits);
    assert_non_null(strstr(users_of(registry), wanted));
    assert_non_null(strstr(written, " at 4359]"));
    assert_int_equal(sl_registry_revision(registry) >= (uint64_t)commits, true);
    sl_registry_close(registry);
}

/* Two report the same minutes, in their order: each counts once. */
static void report_minutes(void *about)
{
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    (void)about;
    CHILD(registry);
    for (int minute = 0; minute < MINUTES; minute++) {
        CHILD(sl_registry_begin(registry, SL_CARE_KILL, &error));
        CHILD(sl_registry_add_violation(registry, "t", "u1", 1440 + minute, &error));
        CHILD(sl_registry_commit(registry, &error));
    }
    sl_registry_close(registry);
}

IN_A_FOLDER(a_minute_counts_once_if_several_processes_report_it)
{
    run_child(report_minutes, NULL);
    run_child(report_minutes, NULL);
    struct sl_registry *registry = open_registry();
    assert_string_equal(users_of(registry), "[t/u1 day 1: 0/0, 40 at 1479]");
    assert_int_equal(sl_registry_revision(registry), MINUTES);
    sl_registry_close(registry);
}

/* ---- a file that goes away ---- */

static void everything_fails(struct sl_registry *registry)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    const char *words = "was removed or replaced while it was in use";
    assert_true(sl_registry_is_changed(registry));
    assert_false(sl_registry_is_changed(registry));
    REFUSED(sl_registry_begin(registry, SL_CARE_POWER_CUT, &error), words);
    REFUSED(sl_registry_overlay(registry, 0, &arena, &overlay, &error), words);
    REFUSED(sl_registry_visit_users(registry, 0, 0, &writer, &error), words);
    sl_arena_release(&arena);
}

IN_A_FOLDER(a_file_that_was_removed_takes_nothing_more)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "api", "{}");
    files_in_folder(true);
    everything_fails(registry);
    sl_registry_close(registry);
    assert_int_equal(files_in_folder(false), 0);
    registry = open_registry();
    assert_string_equal(rules_of(registry), "");
    sl_registry_close(registry);
}

IN_A_FOLDER(a_file_that_was_replaced_is_left_to_its_new_owner)
{
    struct sl_registry *old = open_registry();
    put_rule(old, "api", "old");
    files_in_folder(true);
    struct sl_registry *new = open_registry();
    put_rule(new, "api", "new");
    everything_fails(old);
    sl_registry_close(old);
    put_rule(new, "more", "new");
    assert_int_equal(end_of(start_child(count_up, NULL)), 0);
    assert_non_null(strstr(rules_of(new), "api=new more=new"));
    sl_registry_close(new);
    new = open_registry();
    assert_non_null(strstr(rules_of(new), "api=new more=new"));
    sl_registry_close(new);
}

IN_A_FOLDER(a_file_that_appears_and_is_not_ours_is_told_once)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    struct sl_registry *registry = open_registry();
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "this is something else", 22), 22);
    close(fd);
    assert_true(sl_registry_is_changed(registry));
    assert_false(sl_registry_is_changed(registry));
    REFUSED(sl_registry_overlay(registry, 0, &arena, &overlay, &error), "not a database");
    REFUSED(sl_registry_begin(registry, SL_CARE_KILL, &error), "not a database");
    unlink(path);
    assert_false(sl_registry_is_changed(registry));
    put_rule(registry, "api", "{}");
    assert_false(sl_registry_is_changed(registry));
    sl_registry_close(registry);
}
