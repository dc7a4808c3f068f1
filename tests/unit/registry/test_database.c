#include "registry/database.h"

#include "unit/registry/children.h"
#include "unit/registry/database_file.h"

static mode_t mode_of(const char *at)
{
    struct stat found;
    assert_int_equal(stat(at, &found), 0);
    return found.st_mode & 07777;
}

/* Refused, reading or not, with these words, and left as it was. */
static void refused_untouched(const char *words)
{
    size_t len, len_after;
    uint8_t *before = read_all(&len);
    REFUSED(open_at(path, true), words);
    REFUSED(open_at(path, false), words);
    uint8_t *after = read_all(&len_after);
    assert_int_equal(len_after, len);
    assert_memory_equal(after, before, len);
    assert_int_equal(files_in_folder(false), 1);
    free(before);
    free(after);
}

/* ---- making one ---- */

IN_A_FOLDER(it_is_its_owners_alone)
{
    char wal[80];
    mode_t before = umask(0);
    struct sl_registry *registry = open_registry();
    put_rule(registry, "api", "{}");
    umask(before);
    assert_int_equal(mode_of(path), 0600);
    snprintf(wal, sizeof wal, "%s-wal", path);
    assert_int_equal(mode_of(wal), 0600);
    sl_registry_close(registry);
    assert_int_equal(files_in_folder(false), 1);
}

IN_A_FOLDER(it_says_whose_and_which_it_is)
{
    size_t len;
    make_one();
    uint8_t *bytes = read_all(&len);
    assert_memory_equal(bytes + 68, "SLUI", 4);
    assert_memory_equal(bytes + 60, "\0\0\0\1", 4);
    free(bytes);
}

IN_A_FOLDER(names_that_mean_something_to_sqlite_are_files)
{
    static const char *const names[] = { ":memory:", "file:x?mode=memory", "file:y" };
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        struct sl_registry *registry = open_at(names[i], false);
        put_rule(registry, "api", "{}");
        sl_registry_close(registry);
        assert_true(size_of(names[i]) > 0);
    }
    assert_int_equal(files_in_folder(false), COUNT(names));
    assert_int_equal(chdir("/"), 0);
}

IN_A_FOLDER(an_empty_file_becomes_one)
{
    write_all(NULL, 0);
    struct sl_registry *reader = open_at(path, true);
    assert_string_equal(rules_of(reader), "");
    struct sl_registry *registry = open_registry();
    assert_string_equal(rules_of(registry), "");
    assert_int_equal(size_of(path), 0);
    put_rule(registry, "api", "{}");
    assert_string_equal(rules_of(reader), "api={}");
    sl_registry_close(reader);
    sl_registry_close(registry);
}

IN_A_FOLDER(where_it_cannot_be_made_the_change_fails_and_may_work_later)
{
    char below[96], file[128];
    snprintf(below, sizeof below, "%s/below", folder);
    snprintf(file, sizeof file, "%s/sluice.db", below);
    struct sl_registry *registry = open_at(file, false);
    assert_non_null(registry);
    REFUSED(sl_registry_begin(registry, SL_CARE_KILL, &error),
            "sluice.db` cannot be created: No such file or directory");
    assert_string_equal(rules_of(registry), "");
    assert_int_equal(mkdir(below, 0700), 0);
    put_rule(registry, "api", "{}");
    sl_registry_close(registry);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(below), 0);
}

static void make_together(void *about)
{
    struct sl_registry *registry = open_at(path, false);
    char name[16], go;
    snprintf(name, sizeof name, "r%d", (int)getpid());
    CHILD(registry && read(*(int *)about, &go, 1) == 0);
    CHILD(sl_registry_begin(registry, SL_CARE_KILL, &error));
    CHILD(sl_registry_put_rule(registry, NULL, name, "{}", &error));
    CHILD(sl_registry_commit(registry, &error));
    sl_registry_close(registry);
}

IN_A_FOLDER(several_that_make_it_at_once_make_one)
{
    for (int round = 0; round < 10; round++) {
        pid_t children[6];
        int start[2];
        assert_int_equal(pipe(start), 0);
        for (size_t i = 0; i < COUNT(children); i++) {
            children[i] = fork();
            if (children[i] == 0) {
                close(start[1]);
                make_together(&start[0]);
                _exit(0);
            }
        }
        close(start[1]); /* all of them see the end of it */
        close(start[0]);
        for (size_t i = 0; i < COUNT(children); i++)
            assert_int_equal(end_of(children[i]), 0);
        struct sl_registry *registry = open_registry();
        assert_int_equal(sl_registry_revision(registry), COUNT(children));
        sl_registry_close(registry);
        files_in_folder(true);
    }
}

/* ---- what is not ours ---- */

IN_A_FOLDER(a_database_of_another_program_is_left_alone)
{
    run_sql("CREATE TABLE rule (name TEXT); INSERT INTO rule VALUES ('theirs')");
    refused_untouched("belongs to another program");
    unlink(path);
    run_sql("PRAGMA application_id = 7; VACUUM");
    refused_untouched("belongs to another program");
    unlink(path);
    run_sql("PRAGMA user_version = 3; VACUUM");
    refused_untouched("belongs to another program");
}

IN_A_FOLDER(a_newer_version_is_left_alone)
{
    make_one();
    run_sql("PRAGMA user_version = 2");
    refused_untouched("has version 2, this program reads version 1");
}

IN_A_FOLDER(a_newer_sluice_may_take_over_while_we_are_running)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "api", "{}");
    run_sql("PRAGMA user_version = 2");
    REFUSED(sl_registry_begin(registry, SL_CARE_KILL, &error), "has version 2");
    REFUSED(sl_registry_begin(registry, SL_CARE_POWER_CUT, &error), "has version 2");
    sl_registry_close(registry);
}

IN_A_FOLDER(what_is_no_database_is_left_alone)
{
    uint8_t noise[8192];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)unit_random(&seed);
    write_all(noise, sizeof noise);
    refused_untouched("file is not a database");
    write_all((const uint8_t *)"rules: []\n", 10);
    refused_untouched("file is not a database");
}

IN_A_FOLDER(what_is_no_file_is_refused)
{
    REFUSED(open_at(folder, false), "is not a file");
    assert_int_equal(mkfifo(path, 0600), 0);
    REFUSED(open_at(path, false), "is not a file");
}

/* ---- permission ---- */

static void try_without_permission(void *unused)
{
    (void)unused;
    drop_root();
    CHILD(!open_at(path, false) && strstr(error.text, "cannot be opened"));
    CHILD(!open_at(path, true) && strstr(error.text, "cannot be opened"));
}

static void try_with_permission_to_read(void *unused)
{
    (void)unused;
    drop_root();
    CHILD(!open_at(path, false) && strstr(error.text, "cannot be written: Permission denied"));
    struct sl_registry *reader = open_at(path, true);
    CHILD(reader && sl_registry_revision(reader) == 1);
    CHILD(!sl_registry_begin(reader, SL_CARE_KILL, &error));
    CHILD(strstr(error.text, "it was opened for reading"));
    sl_registry_close(reader);
}

IN_A_FOLDER(a_file_that_may_not_be_written_is_refused_unless_it_is_only_read)
{
    make_one();
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(chmod(path, 0), 0);
    run_child(try_without_permission, NULL);
    assert_int_equal(chmod(path, 0444), 0);
    run_child(try_with_permission_to_read, NULL);
}
