/* Whatever is printed is read again as it was. */
#include "import/yaml_print.h"

#include "rules/tree/tree.h"
#include "unit/base/unit.h"

static struct sl_buffer out;

static struct sluice_text printed(void)
{
    return (struct sluice_text){ out.at, out.len };
}

static void assert_printed(const char *row, const char *wanted)
{
    SAME_TEXT(row, printed(), wanted);
    sl_buffer_release(&out);
    out = sl_buffer(1 << 20);
}

TEST(texts_are_quoted_where_they_would_be_something_else)
{
    static const struct {
        const char *text, *yaml;
    } rows[] = {
        { "word", "word" },
        { "a-b_c.9", "a-b_c.9" },
        { "/a/b", "/a/b" },
        { "127.0.0.1:8081", "127.0.0.1:8081" },
        { "unix:/run/x", "unix:/run/x" },
        { "7", "\"7\"" },
        { "1.5", "\"1.5\"" },
        { "10:30", "\"10:30\"" },
        { "null", "\"null\"" },
        { "Yes", "\"Yes\"" },
        { "a:", "\"a:\"" },
        { "a b", "\"a b\"" },
        { "*", "\"*\"" },
        { "-", "\"-\"" },
        { "a, b", "\"a, b\"" },
        { "say \"x\\y\"", "\"say \\\"x\\\\y\\\"\"" },
        { "k\xc3\xa4se", "\"k\xc3\xa4se\"" },
        { "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf", "\"\\u0085\\u2028\\ufeff\"" },
        { "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        sl_yaml_text(&out, sl_text(rows[i].text));
        assert_printed(rows[i].text, rows[i].yaml);
    }
}

TEST(a_list_is_broken_before_its_lines_are_long)
{
    struct sluice_text texts[40];
    for (size_t i = 0; i < COUNT(texts); i++)
        texts[i] = sl_text(i % 7 ? "a-word-of-some-length" : "x y");
    sl_yaml_texts(&out, "one", &(struct sl_texts){ texts, 1 }, 4);
    assert_printed("one", "one: \"x y\"");
    sl_yaml_texts(&out, "two", &(struct sl_texts){ texts, 2 }, 4);
    assert_printed("two", "two: [\"x y\", a-word-of-some-length]");
    sl_yaml_texts(&out, "all", &(struct sl_texts){ texts, COUNT(texts) }, 4);
    size_t lines = 0;
    for (const char *at = out.at, *end; at < out.at + out.len; at = end + 1, lines++) {
        end = memchr(at, '\n', (size_t)(out.at + out.len - at));
        end = end ? end : out.at + out.len;
        assert_true(end - at <= 102);
        assert_true(lines == 0 || strncmp(at, "    ", 4) == 0);
    }
    assert_true(lines > 5 && lines < 15);
}

/* All characters but those that no text may have, in all places. */
TEST(what_is_printed_is_read_as_it_was)
{
    uint64_t seed = 1;
    static const char *const pieces[] = { "a",
                                          "B",
                                          "7",
                                          " ",
                                          ":",
                                          "#",
                                          "-",
                                          ",",
                                          "[",
                                          "}",
                                          "\"",
                                          "'",
                                          "\\",
                                          "*",
                                          "&",
                                          "!",
                                          "|",
                                          ">",
                                          "%",
                                          "@",
                                          "`",
                                          "~",
                                          "\xc3\xa9",
                                          "\xc2\x85",
                                          "\xe2\x80\xa8",
                                          "\xef\xbb\xbf",
                                          "\xf0\x9f\x98\x80",
                                          "null",
                                          "\xef\xbf\xbd" };
    for (int i = 0; i < 20000; i++) {
        char text[64] = "";
        for (int64_t n = unit_up_to(&seed, 5); n >= 0; n--)
            strcat(text, pieces[unit_up_to(&seed, COUNT(pieces) - 1)]);
        struct sluice_text two[] = { sl_text(text), sl_text("z") };
        struct sl_arena arena = { 0 };
        struct sl_report report = { 0 };
        sl_buffer_clear(&out);
        sl_yaml_texts(&out, "k", &(struct sl_texts){ two, 2 }, 4);
        sl_buffer_add(&out, SL_TEXT(" # "));
        sl_yaml_comment(&out, two[0]);
        const struct sl_node *tree = sl_tree_parse(&arena, printed(), &report);
        if (!tree || report.count || !sl_text_equal(tree->first->first->text, two[0]))
            fail_msg("%.*s", (int)out.len, out.at);
        sl_arena_release(&arena);
        sl_report_release(&report);
    }
}

TEST(a_comment_stays_on_its_line)
{
    sl_buffer_clear(&out);
    sl_yaml_comment(&out, SL_TEXT("a\nb\r\tc\x7f\0d"));
    assert_printed("comment", "a?b??c??d");
}

TEST(control_characters_cannot_be_said)
{
    assert_true(sl_yaml_can_say(SL_TEXT("a b")));
    assert_false(sl_yaml_can_say(SL_TEXT("")));
    assert_false(sl_yaml_can_say(SL_TEXT("a\nb")));
    assert_false(sl_yaml_can_say(SL_TEXT("a\0b")));
    assert_false(sl_yaml_can_say(SL_TEXT("\x7f")));
}

static int open_buffer(void **unused)
{
    (void)unused;
    out = sl_buffer(1 << 20);
    return 0;
}

static int close_buffer(void **unused)
{
    (void)unused;
    sl_buffer_release(&out);
    return 0;
}

TESTS_WITH(open_buffer, close_buffer)
