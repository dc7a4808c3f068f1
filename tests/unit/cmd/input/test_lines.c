/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/input/lines.h"

#include <errno.h>
#include <unistd.h>

#include "unit/base/unit.h"

static char path[] = "/tmp/sluice-lines-XXXXXX";

static int make_file(void **unused)
{
    (void)unused;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **unused)
{
    (void)unused;
    return unlink(path);
}

static void write_file(struct sluice_text text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text.at, 1, text.len, file), text.len);
    fclose(file);
}

/* `count` times c */
static char *run_of(char c, size_t count)
{
    char *text = malloc(count + 1);
    assert_non_null(text);
    memset(text, c, count);
    text[count] = 0;
    return text;
}

TEST(a_file_is_cut_at_its_newlines)
{
    static const struct {
        struct sluice_text file;
        const char *lines[4];
    } rows[] = {
        { SL_TEXT(""), { NULL } },
        { SL_TEXT("\n"), { "" } },
        { SL_TEXT("a"), { "a" } },
        { SL_TEXT("a\n"), { "a" } },
        { SL_TEXT("a\nb"), { "a", "b" } },
        { SL_TEXT("a\r\nb\r\n"), { "a\r", "b\r" } },
        { SL_TEXT("\n\na\n"), { "", "", "a" } },
        { SL_TEXT("a\n\n"), { "a", "" } },
        { SL_TEXT("a\rb\vc\n"), { "a\rb\vc" } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_lines lines;
        struct sl_input_line line;
        write_file(rows[i].file);
        assert_true(sl_lines_open(&lines, path));
        SAME(rows[i].file.at, lines.size, rows[i].file.len);
        for (size_t k = 0; rows[i].lines[k]; k++) {
            SAME(rows[i].file.at, sl_lines_next(&lines, &line), true);
            SAME_TEXT(rows[i].file.at, ((struct sluice_text){ line.at, line.len }),
                      rows[i].lines[k]);
            SAME(rows[i].file.at, line.too_long, false);
        }
        SAME(rows[i].file.at, sl_lines_next(&lines, &line), false);
        SAME(rows[i].file.at, sl_lines_next(&lines, &line), false);
        SAME(rows[i].file.at, lines.bytes, rows[i].file.len);
        SAME(rows[i].file.at, lines.error, 0);
        sl_lines_close(&lines);
    }
}

TEST(a_mark_at_the_start_of_the_file_is_no_part_of_it)
{
    static const struct {
        struct sluice_text file;
        const char *lines[3];
    } rows[] = {
        { SL_TEXT("\xef\xbb\xbf"), { NULL } },
        { SL_TEXT("\xef\xbb\xbf\n"), { "" } },
        { SL_TEXT("\xef\xbb\xbf\nb"), { "", "b" } },
        { SL_TEXT("\xef\xbb\xbfz\n\xef\xbb\xbfz"), { "z", "\xef\xbb\xbfz" } }, /* once */
        { SL_TEXT("\xef\xbb\xbf\xef\xbb\xbfz"), { "\xef\xbb\xbfz" } },
        { SL_TEXT("\n\xef\xbb\xbfz"), { "", "\xef\xbb\xbfz" } },
        { SL_TEXT("\xef\xbb"), { "\xef\xbb" } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        struct sl_lines lines;
        struct sl_input_line line;
        snprintf(row, sizeof row, "row %zu", i);
        write_file(rows[i].file);
        assert_true(sl_lines_open(&lines, path));
        for (size_t k = 0; rows[i].lines[k]; k++) {
            SAME(row, sl_lines_next(&lines, &line), true);
            SAME_TEXT(row, ((struct sluice_text){ line.at, line.len }), rows[i].lines[k]);
        }
        SAME(row, sl_lines_next(&lines, &line), false);
        sl_lines_close(&lines);
    }
}

TEST(a_line_may_be_64_kib_long_and_no_longer)
{
    static const size_t lengths[] = { 65535,      65536,          65537,  16 * 65536 - 1,
                                      16 * 65536, 16 * 65536 + 1, 3000000 };
    for (size_t i = 0; i < COUNT(lengths) * 2; i++) {
        size_t len = lengths[i / 2];
        bool ended = i % 2; /* by a newline, or by the file's end */
        char *text = run_of('x', len + 8);
        strcpy(text + len, ended ? "\nnext\n" : "");
        write_file(sl_text(text));
        struct sl_lines lines;
        struct sl_input_line line;
        assert_true(sl_lines_open(&lines, path));
        assert_true(sl_lines_next(&lines, &line));
        assert_int_equal(line.too_long, len > 65536);
        if (!line.too_long) {
            assert_int_equal(line.len, len);
            assert_int_equal(line.at[len - 1], 'x');
        }
        if (ended) {
            assert_true(sl_lines_next(&lines, &line));
            SAME_TEXT("the next", ((struct sluice_text){ line.at, line.len }), "next");
        }
        assert_false(sl_lines_next(&lines, &line));
        assert_int_equal(lines.bytes, strlen(text));
        sl_lines_close(&lines);
        free(text);
    }
}

TEST(lines_of_any_length_come_whole_and_in_order)
{
    enum { LINES = 3000 };
    FILE *file = fopen(path, "wb");
    uint64_t seed = 1;
    for (int i = 0; i < LINES; i++) {
        char *text = run_of((char)('a' + i % 26), (size_t)unit_up_to(&seed, 3000));
        fprintf(file, "%d %s\n", i, text);
        free(text);
    }
    fclose(file);
    struct sl_lines lines;
    struct sl_input_line line;
    seed = 1;
    assert_true(sl_lines_open(&lines, path));
    for (int i = 0; i < LINES; i++) {
        char start[16];
        size_t start_len = (size_t)sprintf(start, "%d ", i);
        size_t len = (size_t)unit_up_to(&seed, 3000);
        assert_true(sl_lines_next(&lines, &line));
        assert_int_equal(line.len, start_len + len);
        assert_memory_equal(line.at, start, start_len);
        for (size_t k = start_len; k < line.len; k++)
            assert_int_equal(line.at[k], 'a' + i % 26);
        memset(line.at, '!', line.len); /* the caller may write into it */
    }
    assert_false(sl_lines_next(&lines, &line));
    sl_lines_close(&lines);
}

TEST(what_is_no_file_is_refused)
{
    struct sl_lines lines;
    assert_false(sl_lines_open(&lines, "/nonexistent/trace"));
    assert_int_equal(errno, ENOENT);
    assert_false(sl_lines_open(&lines, "/"));
    assert_int_equal(errno, EISDIR);
}

TESTS_WITH(make_file, remove_file)
