#include "lib/error.h"

#include "unit/base/unit.h"

enum { ROOM = sizeof((struct sluice_error *)0)->text };

TEST(lines_are_added_below_each_other)
{
    struct sluice_error own, *error = sl_error_start(NULL, &own);
    assert_ptr_equal(error, &own);
    assert_string_equal(error->text, "");
    assert_int_equal(sl_error_add(error, SLUICE_INVALID, "%s", "one"), SLUICE_INVALID);
    assert_int_equal(sl_error_add(error, SLUICE_OK, "%d", 2), SLUICE_OK);
    assert_string_equal(error->text, "one\n2");
    struct sluice_error given = { "before" };
    assert_ptr_equal(sl_error_start(&given, &own), &given);
    assert_string_equal(given.text, "");
}

/* Fills all but `left` bytes, the terminator's included. */
static void leave_room(struct sluice_error *error, size_t left)
{
    memset(error->text, 'x', ROOM);
    error->text[ROOM - left] = '\0';
}

TEST(what_does_not_fit_is_cut_between_characters)
{
    static const struct {
        const char *name;
        size_t left;
        const char *add, *end;
    } rows[] = {
        { "nothing", 1, "abc", "x" },          { "not even the new line", 2, "abc", "x\n" },
        { "one byte", 3, "abc", "x\na" },      { "all but one", 4, "abc", "x\nab" },
        { "exactly", 5, "abc", "x\nabc" },     { "half of two", 4, "aµ", "x\na" },
        { "all of two", 5, "aµ", "x\naµ" },    { "two of three", 5, "a…", "x\na" },
        { "all of three", 6, "a…b", "x\na…" }, { "three of four", 5, "😀", "x\n" },
        { "all of four", 6, "😀", "x\n😀" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_error error;
        leave_room(&error, rows[i].left);
        sl_error_add(&error, 0, "%s", rows[i].add);
        size_t len = strlen(error.text);
        assert_true(len < ROOM);
        SAME_TEXT(rows[i].name, sl_text(error.text + ROOM - rows[i].left - 1), rows[i].end);
    }
}

static void report_of(struct sl_report *report, size_t count, size_t len)
{
    *report = (struct sl_report){ .file = "f" };
    for (size_t i = 0; i < count; i++)
        sl_report_error(report, (struct sl_mark){ 1 + (uint32_t)i, 1 }, "%0*d", (int)len, 7);
}

TEST(problems_are_shown_whole_and_the_rest_counted)
{
    static const struct {
        const char *name;
        size_t count, len, shown;
    } rows[] = {
        { "one", 1, 10, 1 },
        { "all fit", 10, 80, 10 },
        { "some fit", 50, 80, 11 },
        { "the first alone is too long", 2, 2000, 1 },
        { "more than a report keeps", SL_REPORT_MAX + 5, 400, 2 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_report report;
        struct sluice_error error = { "" };
        report_of(&report, rows[i].count, rows[i].len);
        SAME(rows[i].name, sl_error_report(&error, SLUICE_BAD_RULES, &report), SLUICE_BAD_RULES);
        size_t lines = 1;
        for (const char *at = error.text; (at = strchr(at, '\n')); at++)
            lines++;
        bool more = rows[i].shown < rows[i].count;
        SAME(rows[i].name, lines, rows[i].shown + more);
        const char *last = strrchr(error.text, '\n');
        char wanted[64];
        snprintf(wanted, sizeof wanted, "\nand %zu more", rows[i].count - rows[i].shown);
        if (more)
            SAME_TEXT(rows[i].name, sl_text(last), wanted);
        assert_memory_equal(error.text, "f:1:1: 000", 10);
        sl_report_release(&report);
    }
}
