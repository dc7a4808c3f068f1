/* What gives way is kept whole, or nothing is said to be kept; and not for ever. */
#include "registry/replication/replica.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit/registry/on_registry.h"

static const char *saved(const char *end)
{
    static char name[256];
    snprintf(name, sizeof name, "%s" SL_SAVED_BEFORE "%s", path, end);
    return name;
}

static bool is_there(const char *end)
{
    return access(saved(end), F_OK) == 0;
}

/* A file that was written at that second. */
static void put_file(const char *end, time_t at)
{
    const struct timespec times[] = { { .tv_sec = at }, { .tv_sec = at } };
    int fd = open(saved(end), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void expect_rule(const char *file, const char *rules)
{
    struct sl_registry *copy = sl_registry_open(file, true, &error);
    assert_non_null(copy);
    assert_string_equal(rules_of(copy), rules);
    sl_registry_close(copy);
}

IN_A_FOLDER(a_saved_replica_is_complete_and_readable_by_its_owner_only)
{
    struct stat about;
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    DONE(sl_replica_save(registry, saved("1-1"), &error));
    assert_int_equal(stat(saved("1-1"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    put_rule(registry, "b", "{}");
    expect_rule(saved("1-1"), "a={}");
    DONE(sl_replica_save(registry, saved("1-1"), &error)); /* another state under the same name */
    expect_rule(saved("1-1"), "a={} b={}");
    sl_registry_close(registry);
    assert_int_equal(files_in_folder(false), 2); /* nothing is left over */
}

IN_A_FOLDER(a_file_left_by_a_killed_process_does_not_stop_a_save)
{
    char part[64];
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    snprintf(part, sizeof part, "1-1.part-%ld", (long)getpid());
    put_file(part, 1);
    DONE(sl_replica_save(registry, saved("1-1"), &error));
    expect_rule(saved("1-1"), "a={}");
    assert_false(is_there(part));
    sl_registry_close(registry);
}

/* As on a full disk: no file may grow beyond one page. */
IN_A_FOLDER(where_there_is_no_room_there_is_no_file)
{
    struct rlimit before, tight;
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    bool is_saved = sl_replica_save(registry, saved("1-1"), &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(is_saved);
    assert_true(*error.text);
    sl_registry_close(registry);
    assert_int_equal(files_in_folder(false), 1);
}

IN_A_FOLDER(where_there_is_no_folder_it_is_said)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "a", "{}");
    REFUSED(sl_replica_save(registry, "/tmp/sluice-unit-none/x", &error), "cannot be copied");
    sl_registry_close(registry);
}

IN_A_FOLDER(the_newest_stay)
{
    put_file("1-1", 40);
    put_file("2-1", 10);
    put_file("3-1", 30);
    put_file("4-1", 20);
    put_file("5-1", 5); /* it was made now, whatever its clock says */
    sl_replica_leave_newest(path, saved("5-1"));
    assert_true(is_there("5-1") && is_there("1-1") && is_there("3-1"));
    assert_false(is_there("2-1") || is_there("4-1"));
    sl_replica_leave_newest(path, saved("5-1"));
    assert_int_equal(files_in_folder(false), SL_SAVED_MAX);
}

IN_A_FOLDER(half_files_go_with_their_processes)
{
    char dead[64], living[64];
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    snprintf(dead, sizeof dead, "1-1.part-%ld", (long)child);
    snprintf(living, sizeof living, "1-1.part-%ld", (long)getpid());
    put_file(dead, 1);
    put_file(living, 1);
    put_file("9-9", 9);
    sl_replica_leave_newest(path, saved("9-9"));
    assert_false(is_there(dead));
    assert_true(is_there(living) && is_there("9-9"));
}

IN_A_FOLDER(other_files_are_left_alone)
{
    char other[128];
    for (int i = 0; i < 5; i++) {
        snprintf(other, sizeof other, "%s-wal.before-%d", path, i);
        close(open(other, O_WRONLY | O_CREAT, 0600));
    }
    put_file("1-1", 1);
    sl_replica_leave_newest(path, saved("1-1"));
    assert_int_equal(files_in_folder(false), 6);
    assert_int_equal(chdir(folder), 0); /* a name without a folder */
    for (int i = 2; i < 8; i++) {
        snprintf(other, sizeof other, "table" SL_SAVED_BEFORE "%d-1", i);
        close(open(other, O_WRONLY | O_CREAT, 0600));
    }
    sl_replica_leave_newest("table", "table" SL_SAVED_BEFORE "7-1");
    assert_int_equal(files_in_folder(false), 5 + SL_SAVED_MAX);
    assert_int_equal(chdir("/"), 0);
}
