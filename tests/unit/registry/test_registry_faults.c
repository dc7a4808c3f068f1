/* Kills and failing disks, at every step of every kind of transaction. What must hold: each
 * transaction is there whole or not at all, each that was acknowledged is there, and of one
 * that failed nothing is. */
#include <sys/resource.h>

#include "unit/registry/children.h"
#include "unit/registry/faulty_disk.h"

enum { TRANSACTIONS = 4, STEPS_MAX = 2000 };

/* The n-th transaction (from 1): puts the number everywhere. */
static bool change(struct sl_registry *registry, int n)
{
    char json[4000];
    bool is_new, found;
    enum sl_registry_care care = n % 2 ? SL_CARE_POWER_CUT : SL_CARE_KILL;
    struct sl_user_day more = { .tenant = "t", .id = "u1", .day = 3, .calls = 1, .successes = 1 };
    struct sl_user_record passing = { .tenant = "t", .id = "passing" };
    memset(json, ' ', sizeof json);
    snprintf(json + sizeof json - 20, 20, "%d", n);
    if (!sl_registry_begin(registry, care, &error))
        return false;
    if (sl_registry_put_tenant(registry, "acme", NULL, &is_new, &error) &&
        sl_registry_put_rule(registry, NULL, "everybody's", json, &error) &&
        sl_registry_put_rule(registry, "acme", "own", json, &error) &&
        sl_registry_add_outcomes(registry, &more, &error) &&
        sl_registry_add_violation(registry, "t", "u1", 4320 + n, &error) &&
        sl_registry_put_user(registry, &passing, &error) &&
        sl_registry_drop_user(registry, "t", "passing", &found, &error))
        return sl_registry_commit(registry, &error);
    sl_registry_rollback(registry);
    return false;
}

/* How many transactions are in there, if all of it agrees. */
static int count_transactions(struct sl_registry *registry)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    int count = overlay.rule_count ? atoi(overlay.rules[0].json) : 0;
    assert_int_equal(overlay.rule_count, count ? 2 : 0);
    assert_int_equal(count ? atoi(overlay.rules[1].json) : 0, count);
    char wanted[64] = "";
    if (count)
        snprintf(wanted, sizeof wanted, "[t/u1 day 3: %d/%d, %d at %d]", count, count, count,
                 4320 + count);
    assert_string_equal(users_of(registry), wanted);
    sl_arena_release(&arena);
    return count;
}

static int count_by_opening(void)
{
    struct sl_registry *registry = open_registry();
    int count = count_transactions(registry);
    sl_registry_close(registry);
    return count;
}

/* ---- kills ---- */

struct life {
    int kill_at; /* 0: the test that started it kills it */
    int before;  /* transactions in there already */
    int told[2]; /* a byte is written for each that was acknowledged */
};

static void change_until_killed(void *about)
{
    struct life *life = about;
    disk.count = 0;
    disk.at = life->kill_at;
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    CHILD(registry);
    for (int i = 1; i <= TRANSACTIONS || !life->kill_at; i++) {
        CHILD(change(registry, life->before + i));
        CHILD(write(life->told[1], "x", 1) == 1);
    }
    sl_registry_close(registry);
}

static int told_by(struct life *life)
{
    char bytes[4096];
    int count = 0;
    close(life->told[1]);
    for (ssize_t len; (len = read(life->told[0], bytes, sizeof bytes)) > 0;)
        count += (int)len;
    close(life->told[0]);
    return count;
}

/* False: it was not killed any more. */
static bool live_once(struct life *life)
{
    assert_int_equal(pipe(life->told), 0);
    pid_t child = start_child(change_until_killed, life);
    int told = told_by(life);
    int end = end_of(child);
    assert_true(end == 0 || end == -SIGKILL);
    int found = count_by_opening() - life->before;
    if (found != told && (found != told + 1 || end == 0))
        fail_msg("killed at step %d: %d told, %d found", life->kill_at, told, found);
    return end != 0;
}

IN_A_FOLDER(killed_at_any_step_from_the_first_on_it_keeps_what_it_said)
{
    struct life life = { .kill_at = 1 };
    while (live_once(&life)) {
        files_in_folder(true);
        assert_true(++life.kill_at < STEPS_MAX);
    }
    assert_true(life.kill_at > 30);
}

IN_A_FOLDER(killed_again_and_again_it_goes_on_from_there)
{
    struct life life = { .kill_at = 1 };
    while (live_once(&life)) {
        life.before = count_by_opening();
        life.kill_at += 3;
        assert_true(life.kill_at < STEPS_MAX);
    }
    assert_true(life.before > TRANSACTIONS);
}

IN_A_FOLDER(killed_at_any_moment_it_keeps_what_it_said)
{
    uint64_t seed = 7;
    struct life life = { .kill_at = 0 };
    for (int round = 0; round < 20; round++) {
        assert_int_equal(pipe(life.told), 0);
        pid_t child = start_child(change_until_killed, &life);
        char bytes[64];
        int told = 0, wanted = (int)unit_up_to(&seed, 30);
        while (told < wanted) {
            ssize_t len = read(life.told[0], bytes, (size_t)(wanted - told));
            assert_true(len > 0);
            told += (int)len;
        }
        kill(child, SIGKILL);
        assert_int_equal(end_of(child), -SIGKILL);
        told += told_by(&life);
        int found = count_by_opening() - life.before;
        assert_in_range(found, told, told + 1);
        life.before += found;
    }
}

/* ---- a disk that fails ---- */

/* Two on one file: one that changes it, one that must never see a part of a change. */
static struct sl_registry *changer, *witness;
static int done;

static void both_hold_what_is_done(void)
{
    int at = disk.at;
    disk.at = 0;
    assert_int_equal(count_transactions(changer), done);
    assert_int_equal(count_transactions(witness), done);
    disk.at = at;
}

/* The disk fails from that step on, so many times. False: that step was not reached. */
static bool fail_once(int at, int times, int code)
{
    disk.count = 0;
    disk.at = at;
    disk.until = at + times;
    disk.code = code;
    for (int tries = 0; tries < 3; tries++) {
        error.text[0] = 0;
        if (change(changer, done + 1))
            done++;
        else
            assert_non_null(strstr(error.text, "the database `"));
        both_hold_what_is_done();
    }
    bool reached = disk.count >= at;
    disk.at = 0;
    assert_true(change(changer, ++done));
    both_hold_what_is_done();
    return reached;
}

IN_A_FOLDER(a_disk_that_fails_at_any_step_changes_nothing_and_may_work_later)
{
    static const struct {
        int code, times;
    } rows[] = {
        { SQLITE_FULL, 1 },
        { SQLITE_FULL, 100 },
        { SQLITE_IOERR_WRITE, 4 },
        { SQLITE_IOERR_FSYNC, 1 },
    };
    changer = open_registry();
    witness = sl_registry_open(path, true, &error);
    assert_true(change(changer, ++done));
    /* Also the steps by which what was committed gets into the file itself. */
    sqlite3_wal_autocheckpoint(changer->db, 25);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int at = 1;
        while (fail_once(at, rows[i].times, rows[i].code))
            assert_true(++at < STEPS_MAX);
        assert_true(at > 20);
    }
    sl_registry_close(changer);
    sl_registry_close(witness);
    assert_int_equal(count_by_opening(), done);
}

static void make_on_failing_disk(void *about)
{
    disk.count = 0;
    disk.at = *(int *)about;
    disk.until = INT32_MAX;
    disk.code = SQLITE_FULL;
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    CHILD(registry);
    bool is_made = change(registry, 1);
    CHILD(is_made == (disk.count < disk.at));
    disk.at = 0;
    if (!is_made)
        CHILD(change(registry, 1));
    sl_registry_close(registry);
    _exit(is_made ? 42 : 0);
}

IN_A_FOLDER(one_that_could_not_be_made_is_made_later)
{
    int end = 0, at = 0;
    while (end == 0) {
        assert_true(++at < STEPS_MAX);
        end = end_of(start_child(make_on_failing_disk, &at));
        assert_int_equal(count_by_opening(), 1);
        files_in_folder(true);
    }
    assert_int_equal(end, 42);
    assert_true(at > 20);
}

/* ---- a disk that is full ---- */

static void fill_up(void *unused)
{
    (void)unused;
    done = 0;
    struct rlimit room = { 256 << 10, RLIM_INFINITY };
    signal(SIGXFSZ, SIG_IGN);
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    CHILD(registry);
    CHILD(setrlimit(RLIMIT_FSIZE, &room) == 0);
    while (change(registry, done + 1))
        CHILD(++done < 190);
    CHILD(done > 0 && strstr(error.text, "cannot be written"));
    CHILD(!change(registry, done + 1));
    room.rlim_cur = RLIM_INFINITY;
    CHILD(setrlimit(RLIMIT_FSIZE, &room) == 0);
    CHILD(change(registry, done + 1));
    CHILD(change(registry, done + 2));
    sl_registry_close(registry);
    _exit(done + 2);
}

IN_A_FOLDER(a_file_that_may_not_grow_takes_no_change_until_it_may)
{
    int told = end_of(start_child(fill_up, NULL));
    assert_in_range(told, 3, 199);
    assert_int_equal(count_by_opening(), told);
}

IN_A_FOLDER(a_database_without_free_pages_takes_no_change_until_it_has)
{
    struct sl_registry *registry = open_registry();
    assert_true(change(registry, 1));
    sqlite3_exec(registry->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL);
    char *json = malloc(1 << 20);
    memset(json, 'x', 1 << 20);
    json[(1 << 20) - 1] = 0;
    for (int i = 0; i < 3; i++) {
        begin(registry);
        DONE(sl_registry_put_tier(registry, "before", "{}", &error));
        REFUSED(sl_registry_put_rule(registry, NULL, "large", json, &error),
                "cannot be written: database or disk is full");
        REFUSED(sl_registry_put_rule(registry, NULL, "small", "{}", &error), "disk is full");
        REFUSED(sl_registry_commit(registry, &error), "disk is full");
        assert_int_equal(count_transactions(registry), 1);
    }
    sqlite3_exec(registry->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL);
    assert_true(change(registry, 2));
    put_rule(registry, "large", json);
    free(json);
    sl_registry_close(registry);
}

static int lie_on_the_faulty_disk(void **unused)
{
    (void)unused;
    use_faulty_disk();
    return 0;
}

TESTS_WITH(lie_on_the_faulty_disk, NULL)
