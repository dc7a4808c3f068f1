#include "rules/tree/tree_json.h"

#include "unit/base/unit.h"

/* A tree and the report it came with, both released by the next parse. */
static struct sl_arena arena;
static struct sl_report report;

static int release(void **unused)
{
    (void)unused;
    sl_arena_release(&arena);
    sl_report_release(&report);
    return 0;
}

/* From memory of exactly its size, so that reading one byte further is seen. */
static const struct sl_node *parse_text(struct sluice_text json)
{
    release(NULL);
    char *copy = malloc(json.len ? json.len : 1);
    assert_non_null(copy);
    if (json.len)
        memcpy(copy, json.at, json.len);
    const struct sl_node *root =
        sl_tree_json_parse(&arena, (struct sluice_text){ copy, json.len }, &report);
    free(copy);
    return root;
}

static const struct sl_node *parse(const char *json)
{
    const struct sl_node *root = parse_text(sl_text(json));
    if (!root)
        fail_msg("%s: %s", json, report.problems[0].text);
    assert_int_equal(report.count, 0);
    return root;
}

static void assert_mark(const char *row, struct sl_mark mark, uint32_t line, uint32_t column)
{
    SAME(row, mark.line, line);
    SAME(row, mark.column, column);
}

TEST(names_and_values_know_their_places)
{
    const struct sl_node *root = parse("{\"a\": 1,\n  \"b\" :\r\n\t[\"x\",\r\"y\"]}");
    assert_int_equal(root->kind, SL_NODE_MAP);
    assert_int_equal(root->count, 2);
    assert_mark("root", root->mark, 1, 1);
    const struct sl_node *a = sl_node_get(root, "a"), *b = sl_node_get(root, "b");
    assert_mark("a", a->key_mark, 1, 2);
    assert_mark("1", a->mark, 1, 7);
    assert_mark("b", b->key_mark, 2, 3);
    assert_mark("[", b->mark, 3, 2);
    assert_mark("x", b->first->mark, 3, 3);
    assert_mark("y", b->first->next->mark, 4, 1);
    assert_true(sl_text_is(b->first->key, "b")); /* an element has its list's */
}

TEST(columns_count_characters)
{
    const struct sl_node *root = parse("{\"caf\xc3\xa9\": \"\xf0\x9f\x98\x80\\u00e9\", \"b\": 2}");
    assert_mark("b", root->first->next->key_mark, 1, 21);
    assert_mark("2", root->first->next->mark, 1, 26);
}

TEST(numbers_keep_their_text_and_only_quotes_make_strings)
{
    static const char *const plain[] = { "0",
                                         "-0",
                                         "7",
                                         "100",
                                         "1.50",
                                         "-1.5e+10",
                                         "1E5",
                                         "0.00010",
                                         "123e-7",
                                         "true",
                                         "false",
                                         "null",
                                         "9007199254740993",
                                         "0.1000000000000000055511151231257827" };
    for (size_t i = 0; i < COUNT(plain); i++) {
        char json[80];
        snprintf(json, sizeof json, "{\"a\": %s}", plain[i]);
        const struct sl_node *value = parse(json)->first;
        SAME(plain[i], value->kind, SL_NODE_SCALAR);
        SAME(plain[i], value->plain, true);
        SAME_TEXT(plain[i], value->text, plain[i]);
        assert_int_equal(value->text.at[value->text.len], '\0');
        snprintf(json, sizeof json, "{\"a\": \"%s\"}", plain[i]);
        value = parse(json)->first;
        SAME(plain[i], value->plain, false);
        SAME_TEXT(plain[i], value->text, plain[i]);
    }
    assert_true(sl_node_is_null(parse("{\"a\": null}")->first));
    assert_false(sl_node_is_null(parse("{\"a\": \"null\"}")->first));
    assert_false(sl_node_is_null(parse("{\"a\": \"\"}")->first));
}

TEST(escapes_become_the_characters_that_they_stand_for)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        { "\\\"\\\\\\/", "\"\\/" },
        { "\\b\\f\\n\\r\\t", "\b\f\n\r\t" },
        { "\\u0041\\u00e9\\u00E9", "A\xc3\xa9\xc3\xa9" },
        { "\\u20ac\\u0001", "\xe2\x82\xac\x01" },
        { "\\ud83d\\ude00", "\xf0\x9f\x98\x80" },
        { "\\uDBFF\\uDFFF", "\xf4\x8f\xbf\xbf" },
        { "\\ud800\\udc00", "\xf0\x90\x80\x80" },
        { "\\ud7ff\\ue000\\uffff", "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf" },
        { "a\xc3\xa9\xe2\x82\xac\x7f", "a\xc3\xa9\xe2\x82\xac\x7f" },
        { "'/*#", "'/*#" },
        { "", "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[80];
        snprintf(json, sizeof json, "{\"%s\": \"%s\"}", rows[i].json, rows[i].json);
        const struct sl_node *value = parse(json)->first;
        SAME_TEXT(rows[i].json, value->key, rows[i].text);
        SAME_TEXT(rows[i].json, value->text, rows[i].text);
        assert_int_equal(value->text.at[value->text.len], '\0');
        assert_int_equal(value->key.at[value->key.len], '\0');
    }
}

TEST(empty_objects_and_lists_are_empty)
{
    const struct sl_node *root = parse(" { \"a\" : { } , \"b\" : [ ] } ");
    assert_int_equal(root->first->kind, SL_NODE_MAP);
    assert_int_equal(root->first->count, 0);
    assert_int_equal(root->first->next->kind, SL_NODE_LIST);
    assert_int_equal(root->first->next->count, 0);
    assert_int_equal(parse("{}")->count, 0);
}

static const struct bad {
    const char *json;
    uint32_t line, column;
    const char *says;
} bad[] = {
    { "", 1, 1, "it ends where a value belongs" },
    { " \n ", 2, 2, "it ends where a value belongs" },
    { "[]", 1, 1, "this is a list; write an object" },
    { "\n[1, 2]", 2, 1, "this is a list; write an object" },
    { "\"a\"", 1, 1, "this is a single value; write an object" },
    { "null", 1, 1, "this is a single value; write an object" },
    { "12", 1, 1, "this is a single value; write an object" },
    { "{} {}", 1, 4, "something stands behind its end" },
    { "{}\n,", 2, 1, "something stands behind its end" },
    { "{}\xff", 1, 3, "something stands behind its end" },
    { "{", 1, 2, "it ends inside an object; close it with `}`" },
    { "{\"a\": 1", 1, 8, "it ends inside an object; close it with `}`" },
    { "{\"a\": [1", 1, 9, "it ends inside a list; close it with `]`" },
    { "{\"a\": [", 1, 8, "it ends inside a list; close it with `]`" },
    { "{\"a\": 1,", 1, 9, "a name in double quotes belongs here" },
    { "{\"a\": [1,", 1, 10, "it ends where a value belongs" },
    { "{\"a\":", 1, 6, "it ends where a value belongs" },
    { "{\"a\"", 1, 5, "a `:` belongs between a name and its value" },
    { "{\"a\" 1}", 1, 6, "a `:` belongs between a name and its value" },
    { "{\"a\"; 1}", 1, 5, "a `:` belongs between a name and its value" },
    { "{\"a\": 1 \"b\": 2}", 1, 9, "a `,` or `}` belongs here" },
    { "{\"a\": [1 2]}", 1, 10, "a `,` or `]` belongs here" },
    { "{\"a\": [1}", 1, 9, "a `,` or `]` belongs here" },
    { "{\"a\": 1]", 1, 8, "a `,` or `}` belongs here" },
    { "{\"a\": 1,\n}", 1, 8, "nothing follows this comma; leave it out" },
    { "{\"a\": [1, ]}", 1, 9, "nothing follows this comma; leave it out" },
    { "{,}", 1, 2, "a name in double quotes belongs here" },
    { "{\"a\": [,]}", 1, 8, "a value belongs here" },
    { "{a: 1}", 1, 2, "a name in double quotes belongs here" },
    { "{'a': 1}", 1, 2, "a name in double quotes belongs here" },
    { "{1: 1}", 1, 2, "a name in double quotes belongs here" },
    { "{null: 1}", 1, 2, "a name in double quotes belongs here" },
    { "{\"a\": 1, // b\n}", 1, 10, "a name in double quotes belongs here" },
    { "/* */ {}", 1, 1, "a value belongs here" },
    { "\xef\xbb\xbf{}", 1, 1, "a value belongs here" },
    { "{\"a\": 'b'}", 1, 7, "a value belongs here; texts stand in double quotes" },
    { "{\"a\": b}", 1, 7, "`b` is no value; texts stand in double quotes" },
    { "{\"a\": True}", 1, 7, "`True` is no value" },
    { "{\"a\": nul}", 1, 7, "`nul` is no value" },
    { "{\"a\": nullx}", 1, 7, "`nullx` is no value" },
    { "{\"a\": NaN}", 1, 7, "`NaN` is no value" },
    { "{\"a\": yes}", 1, 7, "`yes` is no value" },
    { "{\"a\": ~}", 1, 7, "a value belongs here" },
    { "{\"a\": }", 1, 7, "a value belongs here" },
    { "{\"a\": 01}", 1, 7, "`01` is no number as JSON writes it" },
    { "{\"a\": 00}", 1, 7, "`00` is no number" },
    { "{\"a\": -01}", 1, 7, "`-01` is no number" },
    { "{\"a\": +1}", 1, 7, "`+1` is no number" },
    { "{\"a\": .5}", 1, 7, "`.5` is no number" },
    { "{\"a\": 5.}", 1, 7, "`5.` is no number" },
    { "{\"a\": -}", 1, 7, "`-` is no number" },
    { "{\"a\": 1e}", 1, 7, "`1e` is no number" },
    { "{\"a\": 1e+}", 1, 7, "`1e+` is no number" },
    { "{\"a\": 1.e5}", 1, 7, "`1.e5` is no number" },
    { "{\"a\": 0x10}", 1, 7, "`0x10` is no number" },
    { "{\"a\": 1_000}", 1, 7, "`1_000` is no number" },
    { "{\"a\": 1m}", 1, 7, "`1m` is no number" },
    { "{\"a\": -Infinity}", 1, 7, "`-Infinity` is no number" },
    { "{\"a\": 1.2.3}", 1, 7, "`1.2.3` is no number" },
    { "{\"a\": \"b}", 1, 7, "this string has no end; close the quotes" },
    { "{\"a\": \"b\\\"}", 1, 7, "this string has no end" },
    { "{\"a\": \"b\\", 1, 7, "this string has no end" },
    { "{\"a", 1, 2, "this string has no end" },
    { "{\"a\": \"b\nc\"}", 1, 9, "a control character stands in a string; write it as an escape" },
    { "{\"a\": \"b\tc\"}", 1, 9, "a control character stands in a string" },
    { "{\"a\x01\": 1}", 1, 4, "a control character stands in a string" },
    { "{\"a\": \"\\q\"}", 1, 8, "there is no such escape" },
    { "{\"a\": \"\xc3\xa9\\'\"}", 1, 9, "there is no such escape" },
    { "{\"a\": \"\\u12\"}", 1, 8, "`\\u` needs four hexadecimal digits" },
    { "{\"a\": \"\\u12g4\"}", 1, 8, "`\\u` needs four hexadecimal digits" },
    { "{\"a\": \"\\u\"}", 1, 8, "`\\u` needs four hexadecimal digits" },
    { "{\"a\": \"\\U0041\"}", 1, 8, "there is no such escape" },
    { "{\"a\": \"\\u0000\"}", 1, 8, "`\\u0000` is no character that a text can have" },
    { "{\"a\\u0000\": 1}", 1, 4, "`\\u0000` is no character" },
    { "{\"a\": \"x\\ud83d\"}", 1, 9, "half a surrogate pair is no character" },
    { "{\"a\": \"\\ud83dx\"}", 1, 8, "half a surrogate pair is no character" },
    { "{\"a\": \"\\ud83d\\n\"}", 1, 8, "half a surrogate pair is no character" },
    { "{\"a\": \"\\ud83d\\u0041\"}", 1, 8, "half a surrogate pair is no character" },
    { "{\"a\": \"\\ud83d\\ud83d\"}", 1, 8, "half a surrogate pair is no character" },
    { "{\"a\": \"\\ude00\\ud83d\"}", 1, 8, "half a surrogate pair is no character" },
    { "{\"a\": \"\\ud83d\\u\"}", 1, 8, "half a surrogate pair is no character" },
    { "{\"a\": \"\xff\"}", 1, 8, "a string is not UTF-8" },
    { "{\"a\": \"\xc3\"}", 1, 8, "a string is not UTF-8" },
    { "{\"a\": \"\xed\xa0\x80\"}", 1, 8, "a string is not UTF-8" },
    { "{\"a\": \"\xc0\x80\"}", 1, 8, "a string is not UTF-8" },
    { "{\"\xc3\xa9\xff\": 1}", 1, 4, "a string is not UTF-8" },
    { "{\"a\": \xff}", 1, 7, "a value belongs here" },
};

TEST(what_is_no_json_is_refused_where_it_stops_being_it)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        SAME(bad[i].json, parse_text(sl_text(bad[i].json)) == NULL, true);
        SAME(bad[i].json, report.count, 1);
        assert_mark(bad[i].json, report.problems[0].mark, bad[i].line, bad[i].column);
        if (!strstr(report.problems[0].text, bad[i].says))
            fail_msg("%s: `%s` is not in `%s`", bad[i].json, bad[i].says, report.problems[0].text);
    }
}

TEST(a_nul_byte_is_refused_wherever_it_stands)
{
    static const struct {
        struct sluice_text json;
        const char *says;
    } rows[] = {
        { SL_TEXT("{\"a\0\": 1}"), "a control character stands in a string" },
        { SL_TEXT("{\"a\": \0}"), "a value belongs here" },
        { SL_TEXT("{\"a\": \"\\\0\"}"), "there is no such escape" },
        { SL_TEXT("{}\0"), "something stands behind its end" },
        { SL_TEXT("\0"), "a value belongs here" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].says, parse_text(rows[i].json) == NULL, true);
        SAME(rows[i].says, report.count, 1);
        assert_non_null(strstr(report.problems[0].text, rows[i].says));
    }
}

TEST(nothing_at_all_is_refused)
{
    release(NULL);
    assert_null(sl_tree_json_parse(&arena, (struct sluice_text){ 0 }, &report));
    assert_int_equal(report.count, 1);
}

TEST(every_name_that_is_there_twice_is_reported)
{
    const struct sl_node *root = parse_text(
        SL_TEXT("{\"a\": 1,\n \"b\": {\"c\": 1, \"\\u0063\": 2},\n \"a\": 2, \"a\": 3}"));
    assert_non_null(root); /* reading goes on and finds more */
    assert_int_equal(report.count, 3);
    assert_int_equal(report.errors, 3);
    assert_mark("c", report.problems[0].mark, 2, 16);
    assert_mark("a", report.problems[1].mark, 3, 2);
    assert_mark("a", report.problems[2].mark, 3, 10);
    assert_string_equal(report.problems[1].text,
                        "`a` is here a second time; the first is in line 1, keep one");
}

/* An object with so many brackets in it. */
static const char *nested(size_t lists)
{
    static char json[256];
    size_t len = 0;
    len += (size_t)sprintf(json, "{\"a\": ");
    memset(json + len, '[', lists);
    memset(json + len + lists, ']', lists);
    json[len + 2 * lists] = '}';
    json[len + 2 * lists + 1] = '\0';
    return json;
}

TEST(nesting_has_a_limit)
{
    parse(nested(SL_TREE_DEPTH_MAX));
    assert_null(parse_text(sl_text(nested(SL_TREE_DEPTH_MAX + 1))));
    assert_int_equal(report.count, 1);
    assert_mark("deep", report.problems[0].mark, 1, 7 + SL_TREE_DEPTH_MAX);
    assert_non_null(strstr(report.problems[0].text, "nested more than 16 deep"));
}

/* A list of so many values, in an object. */
static struct sluice_text list_of(size_t count)
{
    char *json = malloc(2 * count + 16);
    assert_non_null(json);
    size_t len = (size_t)sprintf(json, "{\"a\": [");
    for (size_t i = 0; i < count; i++, len += 2)
        memcpy(json + len, "1,", 2);
    memcpy(json + len - 1, "]}", 2);
    return (struct sluice_text){ json, len + 1 };
}

TEST(bytes_and_values_have_a_limit)
{
    struct sluice_text most = list_of(SL_TREE_NODES_MAX - 2), more = list_of(SL_TREE_NODES_MAX - 1);
    assert_non_null(parse_text(most));
    assert_null(parse_text(more));
    assert_int_equal(report.count, 1);
    assert_non_null(strstr(report.problems[0].text, "there are more than 1000000 values"));
    free((char *)most.at);
    free((char *)more.at);
    size_t len = SL_RULES_FILE_MAX_BYTES + 1;
    char *blanks = malloc(len);
    assert_non_null(blanks);
    memset(blanks, ' ', len);
    memcpy(blanks, "{}", 2);
    assert_non_null(parse_text((struct sluice_text){ blanks, len - 1 }));
    assert_null(parse_text((struct sluice_text){ blanks, len }));
    assert_non_null(strstr(report.problems[0].text, "this has 16777217 bytes"));
    free(blanks);
}

TESTS_WITH(NULL, release)
