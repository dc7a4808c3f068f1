#include <stdlib.h>

#include "rules/tree/tree.h"
#include "unit/base/unit.h"

/* A tree and the report it came with, both released by the next parse. */
static struct sl_arena arena;
static struct sl_report report;

static const struct sl_node *parse_text(struct sluice_text yaml)
{
    sl_arena_release(&arena);
    sl_report_release(&report);
    return sl_tree_parse(&arena, yaml, &report);
}

static const struct sl_node *parse(const char *yaml)
{
    return parse_text(sl_text(yaml));
}

static int release(void **state)
{
    (void)state;
    sl_arena_release(&arena);
    sl_report_release(&report);
    return 0;
}

static void assert_mark(struct sl_mark mark, uint32_t line, uint32_t column)
{
    assert_int_equal(mark.line, line);
    assert_int_equal(mark.column, column);
}

/* Exactly one problem: there, and saying this. */
static void assert_problem(uint32_t line, uint32_t column, const char *part)
{
    assert_int_equal(report.count, 1);
    assert_mark(report.problems[0].mark, line, column);
    if (!strstr(report.problems[0].text, part))
        fail_msg("`%s` is not in `%s`", part, report.problems[0].text);
}

TEST(keys_and_values_know_their_places)
{
    const struct sl_node *root = parse("# a comment\nworkers: 4\ntls:\n  key: \"a b\"\n");
    assert_int_equal(report.count, 0);
    assert_int_equal(root->kind, SL_NODE_MAP);
    assert_int_equal(root->count, 2);
    const struct sl_node *workers = root->first;
    assert_true(sl_text_is(workers->key, "workers"));
    assert_true(sl_text_is(workers->text, "4"));
    assert_true(workers->plain);
    assert_mark(workers->key_mark, 2, 1);
    assert_mark(workers->mark, 2, 10);
    const struct sl_node *key = sl_node_get(workers->next, "key");
    assert_true(sl_text_is(key->text, "a b"));
    assert_false(key->plain);
    assert_mark(key->key_mark, 4, 3);
    assert_mark(key->mark, 4, 8);
}

TEST(elements_of_a_list_carry_its_key)
{
    const struct sl_node *ips = parse("exempt: { ips: [a, b] }")->first->first;
    assert_int_equal(ips->kind, SL_NODE_LIST);
    assert_int_equal(ips->count, 2);
    assert_true(sl_text_is(ips->first->key, "ips"));
    assert_true(sl_text_is(ips->first->next->text, "b"));
    assert_mark(ips->first->next->mark, 1, 20);
    assert_null(ips->first->next->next);
}

TEST(columns_count_characters_not_bytes)
{
    const struct sl_node *root = parse("{ \"é\": 1, b: 2 }");
    assert_mark(root->first->next->key_mark, 1, 11);
}

TEST(a_byte_order_mark_is_no_column)
{
    assert_mark(parse("\xef\xbb\xbf---\na: 1")->first->key_mark, 2, 1);
    assert_mark(parse("\xef\xbb\xbf"
                      "a: 1")
                    ->first->key_mark,
                1, 1);
}

TEST(nothing_written_is_null_and_quotes_are_something)
{
    const struct sl_node *root = parse("a:\nb: ~\nc: null\nd: \"\"\ne: \"null\"\nf: []\ng: no\n");
    assert_true(sl_node_is_null(sl_node_get(root, "a")));
    assert_true(sl_node_is_null(sl_node_get(root, "b")));
    assert_true(sl_node_is_null(sl_node_get(root, "c")));
    assert_false(sl_node_is_null(sl_node_get(root, "d")));
    assert_false(sl_node_is_null(sl_node_get(root, "e")));
    assert_false(sl_node_is_null(sl_node_get(root, "f")));
    assert_false(sl_node_is_null(sl_node_get(root, "g")));
    assert_null(sl_node_get(root, "h"));
}

TEST(an_empty_file_is_a_problem)
{
    static const char *const empty[] = { "", "\n\n", "# only words\n", "---\n", "---\n...\n", "~" };
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_null(parse(empty[i]));
        assert_problem(0, 0, "nothing in the file");
    }
    assert_null(parse_text((struct sluice_text){ 0 }));
    assert_problem(0, 0, "nothing in the file");
}

TEST(a_file_is_a_map)
{
    assert_null(parse("- a\n- b\n"));
    assert_problem(1, 1, "this is a list");
    assert_null(parse("\nwords\n"));
    assert_problem(2, 1, "this is a text");
}

TEST(an_alias_is_refused_and_not_complained_of_again)
{
    const struct sl_node *root = parse("a: 1\nb: *x\n");
    assert_problem(2, 4, "`*x` is an alias");
    assert_int_equal(sl_node_get(root, "b")->kind, SL_NODE_BROKEN);
}

TEST(anchors_and_tags_are_refused_and_the_value_read_on)
{
    const struct sl_node *root = parse("a: &x 1\n");
    assert_problem(1, 4, "`&x` is an anchor");
    assert_true(sl_text_is(root->first->text, "1"));
    parse("a: !!int 1\n");
    assert_problem(1, 4, "`!!int` is a tag");
    parse("a: !mine [1]\n");
    assert_problem(1, 4, "`!mine` is a tag");
    parse("a: !mine { b: 1 }\n");
    assert_problem(1, 4, "`!mine` is a tag");
}

TEST(tags_beyond_what_a_report_holds_are_counted)
{
    char text[8 * (SL_REPORT_MAX + 5) + 8] = "a: [";
    for (size_t i = 0; i < SL_REPORT_MAX + 5; i++)
        strcat(text + 4 + 7 * (i ? i - 1 : 0), "!!a x, ");
    strcat(text, "]");
    assert_non_null(parse(text));
    assert_int_equal(report.errors, SL_REPORT_MAX + 5);
    assert_int_equal(sl_report_kept(&report), SL_REPORT_MAX);
}

TEST(merging_is_refused_and_a_quoted_merge_is_a_key)
{
    assert_int_equal(parse("a: 1\n<<: { b: 2 }\n")->count, 1);
    assert_problem(2, 1, "`<<` merges maps");
    assert_int_equal(parse("\"<<\": 1\n")->count, 1);
    assert_int_equal(report.count, 0);
}

TEST(keys_that_are_no_words_are_refused)
{
    assert_int_equal(parse("[a, b]: 1\nc: 2\n")->count, 1);
    assert_problem(1, 1, "a key is a word, not a list");
    parse("{ a: b }: 1\n");
    assert_problem(1, 1, "a key is a word, not a map");
    parse("*a : 1\n");
    assert_problem(1, 1, "is an alias");
}

TEST(a_key_twice_is_refused_naming_the_first)
{
    parse("a: 1\nb: 2\nc: 3\n\"b\": 4\n");
    assert_problem(4, 1, "`b` is here a second time; the first is in line 2");
    parse("x: { a: 1 }\ny: { a: 1 }\n");
    assert_int_equal(report.count, 0);
    parse("a: 1\na: 2\na: 3\n");
    assert_int_equal(report.count, 2);
    assert_non_null(strstr(report.problems[1].text, "line 1"));
}

TEST(a_second_document_is_refused)
{
    assert_non_null(parse("a: 1\n---\nb: 2\n"));
    assert_problem(2, 1, "a second document");
    assert_non_null(parse("---\na: 1\n...\n# the end\n"));
    assert_int_equal(report.count, 0);
}

TEST(a_directive_is_refused)
{
    /* behind every break that libyaml takes for the end of a line */
    static const char *const breaks[] = { "\n",       "\r",           "\r\n",
                                          "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
    char text[64];
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        snprintf(text, sizeof text, "# words%1$s#%1$s%%TAG ! x%1$s---%1$sa: 1%1$s", breaks[i]);
        assert_null(parse(text));
        assert_problem(3, 1, "is a directive");
    }
    assert_non_null(parse("a: 5%\nb: \"\xe2\x80\xaa%\"\n"));
    assert_int_equal(report.count, 0);
}

static char *nested(char *out, size_t depth)
{
    memcpy(out, "a: ", 3);
    memset(out + 3, '[', depth);
    memset(out + 3 + depth, ']', depth);
    out[3 + 2 * depth] = '\0';
    return out;
}

TEST(nesting_has_a_limit)
{
    char text[64];
    assert_non_null(parse(nested(text, SL_TREE_DEPTH_MAX)));
    assert_int_equal(report.count, 0);
    assert_null(parse(nested(text, SL_TREE_DEPTH_MAX + 1)));
    assert_problem(1, 4 + SL_TREE_DEPTH_MAX, "nested more than 16 deep");
}

TEST(bytes_and_values_have_a_limit)
{
    size_t len = SL_RULES_FILE_MAX_BYTES;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, ' ', len + 1);
    memcpy(text, "a: 1\n#", 6);
    assert_non_null(parse_text((struct sluice_text){ text, len }));
    assert_null(parse_text((struct sluice_text){ text, len + 1 }));
    assert_problem(0, 0, "the file has 16777217 bytes");

    /* The map, its key and the list are three of them. */
    size_t count = SL_TREE_NODES_MAX - 3;
    memcpy(text, "a: [", 4);
    for (size_t i = 0; i < count + 1; i++)
        memcpy(text + 4 + 2 * i, "x,", 2);
    text[4 + 2 * count] = ']';
    assert_non_null(parse_text((struct sluice_text){ text, 5 + 2 * count }));
    text[4 + 2 * count] = 'x';
    assert_null(parse_text((struct sluice_text){ text, 6 + 2 * count }));
    assert_problem(1, (uint32_t)(5 + 2 * count), "at most 1000000 values");
    free(text);
}

TEST(a_map_of_many_keys_is_no_square)
{
    size_t count = 200000;
    char *text = malloc(count * 12 + 16);
    assert_non_null(text);
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += (size_t)sprintf(text + len, "k%zu: 1\n", i);
    len += (size_t)sprintf(text + len, "k77: 1\n");
    parse_text((struct sluice_text){ text, len });
    assert_problem((uint32_t)count + 1, 1, "the first is in line 78");
    free(text);
}

TEST(bad_syntax_says_where_and_what_to_do)
{
    assert_null(parse("a:\n\t- b\n"));
    assert_problem(2, 1, "indent with spaces, not tabs");
    assert_null(parse("a: *\n"));
    assert_problem(1, 5, "in quotes");
    assert_null(parse("a: @b\n"));
    assert_problem(1, 4, "in quotes");
    assert_null(parse("a: \"b\nc: d\n"));
    assert_problem(3, 1, "close the quotes");
    assert_null(parse("é: é: 1\n"));
    assert_problem(1, 5, "mapping values are not allowed");
    assert_null(parse("a: 1\rb:\r\t- b\r"));
    assert_problem(3, 1, "indent with spaces, not tabs");
    assert_null(parse("a: [1\nb: 2\n"));
    assert_problem(2, 2, "(while parsing a flow sequence from line 1 on)");
}

TEST(a_text_that_ends_in_a_colon_is_told_to_be_quoted)
{
    static const char *const texts[] = { "store: memory:\n", "store: memory: # private\n",
                                         "store: memory:\t\r\nb: c\r\n", "store: memory:" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_null(parse(texts[i]));
        assert_problem(1, 14, "a text that ends in a colon in quotes: `store: \"memory:\"`");
    }
    assert_null(parse("store: memory: private\n"));
    assert_problem(1, 14, "quote a text that holds a colon and a space");
}

TEST(bytes_that_are_no_text_are_refused_where_they_stand)
{
    assert_null(parse("a: 1\nb: \xff\xfe\n"));
    assert_problem(2, 4, "save the file as plain UTF-8");
    assert_null(parse_text(SL_TEXT("a: 1\nb: \0\n")));
    assert_problem(2, 4, "control characters");
    assert_null(parse_text(SL_TEXT("\xff\xfe"
                                   "a\0:\0 \0")));
    assert_problem(1, 1, "plain UTF-8");
}

TESTS_WITH(NULL, release)
