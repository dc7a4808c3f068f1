/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/terminal/printable.c"

#include "unit/base/unit.h"

TESTS_ALONE;

static struct sluice_text printed(struct sl_buffer *out, struct sluice_text text,
                                  enum sl_printable how)
{
    sl_buffer_clear(out);
    sl_printable_add(out, text, how);
    return (struct sluice_text){ out->at, out->len };
}

TEST(what_would_change_a_terminal_is_written_as_json_writes_it)
{
    static const struct {
        const char *row;
        struct sluice_text text;
        const char *wanted;
    } rows[] = {
        { "nothing", SL_TEXT(""), "" },
        { "plain", SL_TEXT("a b~\"\\"), "a b~\"\\" },
        { "letters", SL_TEXT("r\xc3\xb6ot \xe6\xbc\xa2 \xf0\x9f\x8c\x8a"),
          "r\xc3\xb6ot \xe6\xbc\xa2 \xf0\x9f\x8c\x8a" },
        { "escape", SL_TEXT("\033[31m"), "\\u001b[31m" },
        { "nul", SL_TEXT("a\0b"), "a\\u0000b" },
        { "delete", SL_TEXT("\x7f"), "\\u007f" },
        { "csi in one character", SL_TEXT("\xc2\x9b"), "\\u009b" },
        { "no-break space is seen", SL_TEXT("\xc2\xa0"), "\xc2\xa0" },
        { "right to left", SL_TEXT("\xe2\x80\xae"), "\\u202e" },
        { "isolate", SL_TEXT("\xe2\x81\xa6"), "\\u2066" },
        { "line separator", SL_TEXT("\xe2\x80\xa8"), "\\u2028" },
        { "zero width", SL_TEXT("a\xe2\x80\x8b"), "a\\u200b" },
        { "byte order mark", SL_TEXT("\xef\xbb\xbf"), "\\ufeff" },
    };
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME_TEXT(rows[i].row, printed(&out, rows[i].text, SL_ONE_LINE), rows[i].wanted);
    sl_buffer_release(&out);
}

TEST(a_byte_that_is_no_utf8_is_written_in_hex)
{
    static const struct {
        const char *row;
        struct sluice_text text;
        const char *wanted;
    } rows[] = {
        { "a continuation alone", SL_TEXT("\x80"), "\\x80" },
        { "cut short", SL_TEXT("\xe6\xbc"), "\\xe6\\xbc" },
        { "cut by another", SL_TEXT("\xe6\xbc."), "\\xe6\\xbc." },
        { "overlong escape", SL_TEXT("\xc0\x9b"), "\\xc0\\x9b" },
        { "overlong in three", SL_TEXT("\xe0\x82\x9b"), "\\xe0\\x82\\x9b" },
        { "overlong in four", SL_TEXT("\xf0\x80\x80\x9b"), "\\xf0\\x80\\x80\\x9b" },
        { "a surrogate", SL_TEXT("\xed\xa0\x80"), "\\xed\\xa0\\x80" },
        { "past the last", SL_TEXT("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80" },
        { "the last", SL_TEXT("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf" },
        { "five bytes", SL_TEXT("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80" },
        { "no first byte", SL_TEXT("\xff"), "\\xff" },
    };
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME_TEXT(rows[i].row, printed(&out, rows[i].text, SL_ONE_LINE), rows[i].wanted);
    sl_buffer_release(&out);
}

TEST(lines_and_tabs_stay_where_they_may)
{
    struct sluice_text text = SL_TEXT("a\n\tb\r\n");
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    SAME_TEXT("lines", printed(&out, text, SL_KEEP_LINES), "a\n\tb\\u000d\n");
    SAME_TEXT("one line", printed(&out, text, SL_ONE_LINE), "a\\u000a\\u0009b\\u000d\\u000a");
    sl_buffer_release(&out);
}

TEST(whatever_comes_in_only_characters_that_are_seen_go_out)
{
    uint64_t seed = 7;
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    for (int round = 0; round < 20000; round++) {
        char bytes[8];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(unit_up_to(&seed, 3) ? unit_up_to(&seed, 255)
                                                   : "\xc2\xe2\x80\x9b"[unit_up_to(&seed, 3)]);
        struct sluice_text text = printed(&out, (struct sluice_text){ bytes, 8 }, SL_ONE_LINE);
        while (text.len) {
            uint32_t code = 0;
            size_t len = read_character(text, &code);
            assert_true(len > 0 && !is_unseen(code));
            text = (struct sluice_text){ text.at + len, text.len - len };
        }
    }
    sl_buffer_release(&out);
}

TEST(a_character_takes_a_column_however_many_bytes_it_has)
{
    assert_int_equal(sl_printable_width(SL_TEXT("")), 0);
    assert_int_equal(sl_printable_width(SL_TEXT("root")), 4);
    assert_int_equal(sl_printable_width(SL_TEXT("r\xc3\xb6ot")), 4);
    assert_int_equal(sl_printable_width(SL_TEXT("\xf0\x9f\x8c\x8a")), 1);
}
