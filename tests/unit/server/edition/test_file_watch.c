#include "server/edition/file_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit/store/folder.h"

/* Time is what utimensat(2) and the order of looks say: nothing here sleeps. */

static char rules[80], key[80];
static struct sl_watch watch;

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* As fast as a test writes, two contents may bear one moment: gives it one of its own. */
static void date(const char *name)
{
    static time_t second = 1000000000;
    const struct timespec times[2] = { { .tv_sec = ++second }, { .tv_sec = second } };
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void write_in_place(const char *name, const char *text)
{
    put_file(name, text);
    date(name);
}

static void write_and_rename(const char *name, const char *text)
{
    char other[100];
    snprintf(other, sizeof other, "%s.new", name);
    put_file(other, text);
    assert_int_equal(rename(other, name), 0);
}

static int open_watch(void **state)
{
    if (open_folder(state) != 0)
        return -1;
    snprintf(rules, sizeof rules, "%s/rules.yaml", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    write_in_place(rules, "rules: 1\n");
    write_in_place(key, "a key\n");
    bool good = sl_watch_add(&watch, rules) && sl_watch_add(&watch, key);
    return good ? 0 : -1;
}

static int close_watch(void **state)
{
    sl_watch_release(&watch);
    return close_folder(state);
}

#define WATCHING(name) TEST_WITH(name, open_watch, close_watch)

static void quiet(void)
{
    for (int i = 0; i < 3; i++)
        assert_false(sl_watch_changed(&watch));
}

/* Seen at the first look, said at the second, and never again. */
static void said_once(void)
{
    assert_false(sl_watch_changed(&watch));
    assert_true(sl_watch_changed(&watch));
    quiet();
}

WATCHING(nothing_is_said_of_what_was_there)
{
    quiet();
}

WATCHING(a_set_without_files_never_changes)
{
    struct sl_watch none = { 0 };
    assert_true(sl_watch_add(&none, NULL));
    assert_false(sl_watch_changed(&none));
    sl_watch_accept(&none);
    assert_false(sl_watch_changed(&none));
    sl_watch_release(&none);
}

WATCHING(eight_paths_are_copied_and_a_ninth_is_refused)
{
    struct sl_watch full = { 0 };
    char name[100];
    for (int i = 0; i < SL_WATCH_MAX; i++) {
        snprintf(name, sizeof name, "%s/%d", folder, i);
        assert_true(sl_watch_add(&full, name));
    }
    strcpy(name, rules);
    assert_false(sl_watch_add(&full, name));
    assert_true(sl_watch_add(&full, NULL));
    assert_false(sl_watch_changed(&full));
    snprintf(name, sizeof name, "%s/7", folder);
    put_file(name, "the last");
    strcpy(name, "gone");
    assert_false(sl_watch_changed(&full));
    assert_true(sl_watch_changed(&full));
    sl_watch_release(&full);
}

WATCHING(a_write_in_place_is_said_when_it_has_come_to_rest)
{
    write_in_place(rules, ""); /* cut, and then filled in steps */
    assert_false(sl_watch_changed(&watch));
    write_in_place(rules, "rules: 1\nmore");
    assert_false(sl_watch_changed(&watch));
    write_in_place(rules, "rules: 1\nmore: 2\n");
    said_once();
}

WATCHING(the_same_size_is_a_change_too)
{
    write_in_place(rules, "rules: 2\n");
    said_once();
}

WATCHING(an_old_date_hides_nothing)
{
    struct stat before, after;
    assert_int_equal(stat(rules, &before), 0);
    const struct timespec times[2] = { before.st_atim, before.st_mtim };
    do { /* until the kernel's clock has gone on */
        put_file(rules, "rules: 3\n");
        assert_int_equal(utimensat(AT_FDCWD, rules, times, 0), 0);
        assert_int_equal(stat(rules, &after), 0);
    } while (memcmp(&after.st_ctim, &before.st_ctim, sizeof after.st_ctim) == 0);
    said_once();
}

WATCHING(renaming_over_it_is_a_change)
{
    write_and_rename(rules, "rules: 2\n");
    said_once();
}

WATCHING(a_change_back_is_a_change)
{
    write_in_place(rules, "rules: 22\n");
    said_once();
    write_in_place(rules, "rules: 1\n");
    said_once();
}

WATCHING(a_file_that_is_gone_is_no_change_until_it_is_back)
{
    assert_int_equal(unlink(rules), 0);
    quiet();
    put_file(rules, "rules: 2\n");
    said_once();
}

WATCHING(a_file_that_was_never_there_may_come)
{
    char late[100];
    snprintf(late, sizeof late, "%s/late", folder);
    assert_true(sl_watch_add(&watch, late));
    quiet();
    put_file(late, "");
    said_once();
}

/* As Kubernetes does it: rules.yaml -> ..data/rules.yaml, ..data -> a folder of one version. */
WATCHING(swapped_symlinks_are_a_change)
{
    char first[100], second[100], data[100], swap[100], name[120], link_path[100];
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(swap, sizeof swap, "%s/swap", folder);
    snprintf(link_path, sizeof link_path, "%s/linked.yaml", folder);
    assert_int_equal(mkdir(first, 0700) | mkdir(second, 0700), 0);
    snprintf(name, sizeof name, "%s/linked.yaml", second);
    put_file(name, "same");
    snprintf(name, sizeof name, "%s/linked.yaml", first);
    put_file(name, "same");
    assert_int_equal(symlink("first", data) | symlink("data/linked.yaml", link_path), 0);
    assert_true(sl_watch_add(&watch, link_path));
    quiet();
    assert_int_equal(symlink("second", swap) | rename(swap, data), 0);
    said_once();
    unlink(name); /* of the old version, which is not watched any more */
    quiet();
    snprintf(name, sizeof name, "%s/linked.yaml", second);
    unlink(name);
    quiet(); /* a link to nothing is a file that is gone */
    assert_int_equal(rmdir(first) | rmdir(second), 0);
}

WATCHING(two_files_are_one_change_when_both_rest)
{
    write_in_place(rules, "rules: 2\n");
    assert_false(sl_watch_changed(&watch));
    write_and_rename(key, "another key\n"); /* the first rests, the second has just moved */
    said_once();
    write_and_rename(key, "a third key\n");
    said_once();
}

WATCHING(a_missing_file_does_not_silence_the_others)
{
    assert_int_equal(unlink(key), 0);
    quiet();
    write_in_place(rules, "rules: 2\n");
    said_once();
    put_file(key, "a key\n");
    said_once();
}

WATCHING(a_file_that_was_missed_is_said_when_the_same_is_back)
{
    char linked[100];
    snprintf(linked, sizeof linked, "%s/linked", folder);
    assert_int_equal(symlink("key.pem", linked), 0);
    assert_true(sl_watch_add(&watch, linked));
    assert_int_equal(unlink(linked), 0);
    quiet();
    write_in_place(rules, "rules: 2\n"); /* and a reader of it cannot read the other */
    said_once();
    assert_int_equal(symlink("key.pem", linked), 0);
    said_once();
}

WATCHING(what_was_accepted_is_not_said)
{
    write_in_place(rules, "rules: 2\n");
    sl_watch_accept(&watch);
    quiet();
    write_in_place(rules, "rules: 3\n");
    assert_false(sl_watch_changed(&watch));
    sl_watch_accept(&watch); /* between the two looks */
    quiet();
}

WATCHING(what_changes_after_it_was_accepted_is_said)
{
    write_in_place(rules, "rules: 2");
    sl_watch_accept(&watch);
    write_in_place(rules, "rules: 2\nmore: 3\n"); /* while it is read */
    said_once();
}

WATCHING(a_file_that_was_missing_when_accepted_is_said_when_back)
{
    assert_int_equal(unlink(rules), 0);
    sl_watch_accept(&watch);
    quiet();
    put_file(rules, "rules: 2\n");
    said_once();
}
