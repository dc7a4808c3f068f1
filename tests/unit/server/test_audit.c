#include "server/audit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit/store/folder.h"

#define AT_US INT64_C(1700000000123456)

static struct sl_audit audit;

static void open_audit(const char *where)
{
    struct sluice_error error = { 0 };
    assert_true(sl_audit_open(&audit, where, &error));
    assert_string_equal(error.text, "");
}

/* Where the folder's file is, as the setting says it. */
static const char *to_file(void)
{
    static char where[80];
    snprintf(where, sizeof where, "file:%s", path);
    return where;
}

static const char *content_of(const char *of)
{
    static char text[1 << 16];
    FILE *file = fopen(of, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void write_event(const char *name, const char *reason)
{
    struct sl_audit_event event = {
        .name = name, .severity = "error", .store = "cache:6379", .reason = reason
    };
    sl_audit_write(&audit, &event, AT_US);
}

#define LINE(event, rest)                                                                          \
    "{\"at\": \"2023-11-14T22:13:20.123456Z\", \"event\": \"" event                                \
    "\", \"severity\": \"error\", \"store\": \"cache:6379\"" rest "}\n"

static void an_event_is_a_line_of_json(void **unused)
{
    (void)unused;
    open_audit(to_file());
    write_event("store_unavailable", "it does not answer");
    write_event("store_recovered", NULL);
    sl_audit_close(&audit);
    assert_string_equal(content_of(path),
                        LINE("store_unavailable", ", \"reason\": \"it does not answer\"")
                            LINE("store_recovered", ""));
}

static void whatever_the_reason_it_stays_one_line(void **unused)
{
    (void)unused;
    open_audit(to_file());
    write_event("e", "a \"b\"\n\\c\t\x01");
    sl_audit_close(&audit);
    const char *text = content_of(path);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_non_null(strstr(text, "\"reason\": \"a \\\"b\\\"\\u000a\\\\c\\u0009\\u0001\"}"));
}

static void times_are_printed_to_the_microsecond(void **unused)
{
    (void)unused;
    static const struct {
        int64_t at_us;
        const char *printed;
    } rows[] = {
        { 0, "1970-01-01T00:00:00.000000Z" },
        { 1, "1970-01-01T00:00:00.000001Z" },
        { INT64_C(951782399999999), "2000-02-28T23:59:59.999999Z" },
        { INT64_C(4400000000000000), "2109-06-06T22:13:20.000000Z" },
    };
    open_audit(to_file());
    for (size_t i = 0; i < COUNT(rows); i++)
        sl_audit_write(&audit, &(struct sl_audit_event){ "e", "info", "s" }, rows[i].at_us);
    sl_audit_close(&audit);
    const char *at = content_of(path);
    for (size_t i = 0; i < COUNT(rows); i++, at = strchr(at, '\n') + 1)
        SAME_TEXT("time", ((struct sluice_text){ at + 8, strlen(rows[i].printed) }),
                  rows[i].printed);
}

static void what_is_there_is_added_to_and_not_for_everybody_to_read(void **unused)
{
    (void)unused;
    struct stat facts;
    for (int i = 0; i < 2; i++) {
        open_audit(to_file());
        write_event("e", NULL);
        sl_audit_close(&audit);
    }
    assert_string_equal(content_of(path), LINE("e", "") LINE("e", ""));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0007, 0);
}

static void a_file_that_was_moved_away_is_opened_anew(void **unused)
{
    (void)unused;
    char moved[80];
    snprintf(moved, sizeof moved, "%s.1", path);
    open_audit(to_file());
    write_event("before", NULL);
    assert_int_equal(rename(path, moved), 0);
    write_event("meanwhile", NULL);
    sl_audit_reopen(&audit);
    write_event("after", NULL);
    sl_audit_close(&audit);
    assert_string_equal(content_of(moved), LINE("before", "") LINE("meanwhile", ""));
    assert_string_equal(content_of(path), LINE("after", ""));
}

static void a_file_that_cannot_be_opened_anew_is_written_on(void **unused)
{
    (void)unused;
    char moved[80];
    snprintf(moved, sizeof moved, "%s.1", path);
    open_audit(to_file());
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    sl_audit_reopen(&audit);
    write_event("still", NULL);
    sl_audit_close(&audit);
    assert_int_equal(rmdir(path), 0);
    assert_string_equal(content_of(moved), LINE("still", ""));
}

static void a_file_that_cannot_be_opened_is_said(void **unused)
{
    (void)unused;
    struct sluice_error error = { 0 };
    assert_false(sl_audit_open(&audit, "file:/nowhere/at/all", &error));
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    write_event("e", NULL); /* goes nowhere */
    sl_audit_close(&audit);
}

/* The file stands in for the terminal. */
static void stdout_is_written_to_and_left_open(void **unused)
{
    (void)unused;
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), file = open(path, O_CREAT | O_WRONLY, 0600);
    dup2(file, STDOUT_FILENO);
    open_audit("stdout");
    write_event("one", NULL);
    sl_audit_reopen(&audit);
    write_event("two", NULL);
    sl_audit_close(&audit);
    ssize_t more = write(STDOUT_FILENO, "more\n", 5);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    assert_int_equal(more, 5);
    assert_string_equal(content_of(path), LINE("one", "") LINE("two", "") "more\n");
}

static void off_is_off(void **unused)
{
    (void)unused;
    open_audit("off");
    assert_int_equal(audit.to, SL_AUDIT_OFF);
    write_event("e", NULL);
    sl_audit_reopen(&audit);
    sl_audit_close(&audit);
    sl_audit_close(&audit);
}

/* No half of it, which nobody could read. */
static void a_line_that_is_far_too_long_is_left_out(void **unused)
{
    (void)unused;
    static char reason[20000];
    memset(reason, 'x', sizeof reason - 1);
    open_audit(to_file());
    write_event("long", reason);
    write_event("e", NULL);
    sl_audit_close(&audit);
    assert_string_equal(content_of(path), LINE("e", ""));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_A_FOLDER(an_event_is_a_line_of_json),
        IN_A_FOLDER(whatever_the_reason_it_stays_one_line),
        IN_A_FOLDER(times_are_printed_to_the_microsecond),
        IN_A_FOLDER(what_is_there_is_added_to_and_not_for_everybody_to_read),
        IN_A_FOLDER(a_file_that_was_moved_away_is_opened_anew),
        IN_A_FOLDER(a_file_that_cannot_be_opened_anew_is_written_on),
        IN_A_FOLDER(a_file_that_cannot_be_opened_is_said),
        IN_A_FOLDER(stdout_is_written_to_and_left_open),
        IN_A_FOLDER(off_is_off),
        IN_A_FOLDER(a_line_that_is_far_too_long_is_left_out),
    };
    return RUN(tests);
}
