#include <stdlib.h>

#include "rules/tree/read.h"
#include "unit/base/unit.h"

static struct sl_arena arena, scratch;
static struct sl_report report;

static int release(void **state)
{
    (void)state;
    sl_arena_release(&arena);
    sl_arena_release(&scratch);
    sl_report_release(&report);
    return 0;
}

/* Reads `yaml` as the value of `k`; the report has what was wrong with it. */
static bool read_value(const char *yaml, sl_reading *read, const void *shape, void *out)
{
    release(NULL);
    char text[256];
    snprintf(text, sizeof text, "k: %s\n", yaml);
    const struct sl_node *root = sl_tree_parse(&scratch, sl_text(text), &report);
    assert_non_null(root);
    struct sl_reader in = {
        .arena = &arena, .scratch = &scratch, .report = &report, .folder = SL_TEXT("etc/sluice/")
    };
    return read(&in, root->first, shape, out);
}

static void assert_refused(const char *yaml, sl_reading *read, const void *shape,
                           const char *problem)
{
    char out[64] = "as it was";
    assert_false(read_value(yaml, read, shape, out));
    assert_string_equal(out, "as it was");
    assert_int_equal(report.count, 1);
    assert_string_equal(report.problems[0].text, problem);
    assert_int_equal(report.problems[0].mark.line, 1);
}

static const struct sl_range one_to_ten = { 1, 10 };

TEST(an_integer_is_digits_in_its_range)
{
    uint32_t small = 0;
    uint64_t large = 0;
    assert_true(read_value("1", sl_read_u32, &one_to_ten, &small));
    assert_int_equal(small, 1);
    assert_true(read_value("10", sl_read_u64, &one_to_ten, &large));
    assert_int_equal(large, 10);
    const char *right = "; write a whole number from 1 to 10";
    static const char *const wrong[] = { "0", "11", "-1", "+1", "1.0", "1e0", "0x5", "1_0", "ten" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char problem[128];
        snprintf(problem, sizeof problem, "`k` cannot be `%s`%s", wrong[i], right);
        assert_refused(wrong[i], sl_read_u32, &one_to_ten, problem);
    }
}

TEST(whatever_is_no_value_is_called_what_it_is)
{
    const struct sl_range *range = &one_to_ten;
    assert_refused("", sl_read_u64, range, "`k` has no value; write a whole number from 1 to 10");
    assert_refused("[1]", sl_read_u64, range,
                   "`k` cannot be a list; write a whole number from 1 to 10");
    assert_refused("[]", sl_read_u64, range,
                   "`k` cannot be an empty list; write a whole number from 1 to 10");
    assert_refused("{ a: 1 }", sl_read_u64, range,
                   "`k` cannot be a map; write a whole number from 1 to 10");
    assert_refused("\"5\"", sl_read_u64, range,
                   "`k` cannot be `\"5\"`; write a whole number from 1 to 10, without quotes");
}

TEST(a_broken_value_is_refused_without_another_word)
{
    uint64_t out;
    assert_false(read_value("*alias", sl_read_u64, &one_to_ten, &out));
    assert_int_equal(report.count, 1);
    assert_non_null(strstr(report.problems[0].text, "alias"));
}

static const struct sl_decimal_range zero_to_two = { 0, 2000000000, "a decimal from 0 to 2" };

TEST(a_decimal_is_kept_exactly)
{
    struct sl_decimal out;
    assert_true(read_value("0.083", sl_read_decimal, &zero_to_two, &out));
    assert_int_equal(out.digits, 83);
    assert_int_equal(out.places, 3);
    assert_true(read_value("2", sl_read_decimal, &zero_to_two, &out));
    assert_true(read_value("0.000000001", sl_read_decimal, &zero_to_two, &out));
    int64_t billionths;
    assert_true(read_value("1.5", sl_read_billionths, &zero_to_two, &billionths));
    assert_int_equal(billionths, 1500000000);
}

TEST(a_decimal_outside_its_range_or_too_fine_is_refused)
{
    static const char *const wrong[] = {
        "2.000000001", "0.0000000001", "-1", ".5", "1.", "1e1", "NaN", "18446744073709551616"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char problem[128];
        snprintf(problem, sizeof problem,
                 "`k` cannot be `%s`; write a decimal from 0 to 2 with at most 9 places", wrong[i]);
        assert_refused(wrong[i], sl_read_decimal, &zero_to_two, problem);
    }
}

TEST(percent_is_told_as_the_decimal_it_means)
{
    static const struct {
        const char *percent, *decimal;
    } pairs[] = { { "150%", "1.5" }, { "5%", "0.05" },     { "200%", "2" },
                  { "0%", "0" },     { "12.5%", "0.125" }, { "100%", "1" } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char problem[128];
        snprintf(problem, sizeof problem, "`k` cannot be `%s`; write %s: a decimal, never percent",
                 pairs[i].percent, pairs[i].decimal);
        assert_refused(pairs[i].percent, sl_read_decimal, &zero_to_two, problem);
    }
}

static const struct sl_duration_range up_to_a_day = { 1000, INT64_C(86400) * 1000000,
                                                      "from 1ms to 1d" };

TEST(a_duration_has_a_unit_or_is_seconds)
{
    int64_t us;
    assert_true(read_value("1ms", sl_read_duration, &up_to_a_day, &us));
    assert_int_equal(us, 1000);
    assert_true(read_value("90", sl_read_duration, &up_to_a_day, &us));
    assert_int_equal(us, 90000000);
    assert_true(read_value("\"1.5h\"", sl_read_duration, &up_to_a_day, &us));
    assert_int_equal(us, INT64_C(5400) * 1000000);
    assert_true(read_value("1d", sl_read_duration, &up_to_a_day, &us));
    assert_refused("86400.001", sl_read_duration, &up_to_a_day,
                   "`k` cannot be `86400.001`; write a duration from 1ms to 1d");
    assert_refused("0.5ms", sl_read_duration, &up_to_a_day,
                   "`k` cannot be `0.5ms`; write a duration from 1ms to 1d");
    assert_refused("2 h", sl_read_duration, &up_to_a_day,
                   "`k` cannot be `2 h`; write a duration from 1ms to 1d: 500ms, 10s, 15m, 24h, "
                   "30d or a plain number of seconds");
}

TEST(only_true_and_false_are_booleans)
{
    bool out = false;
    assert_true(read_value("true", sl_read_bool, NULL, &out));
    assert_true(out);
    assert_true(read_value("false", sl_read_bool, NULL, &out));
    assert_false(out);
    assert_refused("yes", sl_read_bool, NULL, "`k` cannot be `yes`; write true");
    assert_refused("On", sl_read_bool, NULL, "`k` cannot be `On`; write true");
    assert_refused("off", sl_read_bool, NULL, "`k` cannot be `off`; write false");
    assert_refused("FALSE", sl_read_bool, NULL, "`k` cannot be `FALSE`; write false");
    assert_refused("\"true\"", sl_read_bool, NULL,
                   "`k` cannot be `\"true\"`; write true, without quotes");
    assert_refused("enabled", sl_read_bool, NULL, "`k` cannot be `enabled`; write true or false");
}

TEST(a_word_is_one_of_those_that_are_known)
{
    static const char *const words[] = { "skip", "deny", "local", NULL };
    uint32_t out;
    assert_true(read_value("deny", sl_read_word, words, &out));
    assert_int_equal(out, 1);
    assert_true(read_value("\"local\"", sl_read_word, words, &out));
    assert_int_equal(out, 2);
    assert_refused("dney", sl_read_word, words,
                   "`k` cannot be `dney`; write `skip`, `deny` or `local` (did you mean `deny`?)");
    assert_refused("perhaps", sl_read_word, words,
                   "`k` cannot be `perhaps`; write `skip`, `deny` or `local`");
}

TEST(a_text_is_not_empty_and_has_no_control_characters)
{
    const char *out;
    assert_true(read_value("some words", sl_read_text, NULL, &out));
    assert_string_equal(out, "some words");
    assert_true(read_value("404", sl_read_text, NULL, &out));
    assert_string_equal(out, "404");
    assert_refused("\"\"", sl_read_text, NULL, "`k` cannot be `\"\"`; write a text");
    assert_refused("\"a\\0b\"", sl_read_text, NULL,
                   "`k` cannot be `\"a?b\"`; write a text without control characters");
    assert_refused("\"a\\nb\"", sl_read_text, NULL,
                   "`k` cannot be `\"a?b\"`; write a text without control characters");
}

TEST(a_path_starts_from_the_files_folder)
{
    const char *out;
    assert_true(read_value("keys/a.pem", sl_read_path, NULL, &out));
    assert_string_equal(out, "etc/sluice/keys/a.pem");
    assert_true(read_value("/etc/a.pem", sl_read_path, NULL, &out));
    assert_string_equal(out, "/etc/a.pem");
}

struct numbers {
    size_t count;
    const uint32_t *at;
};

static const struct sl_each numbers = { sl_read_u32, &one_to_ten, sizeof(uint32_t),
                                        offsetof(struct numbers, at),
                                        offsetof(struct numbers, count) };

TEST(one_value_is_a_list_of_one)
{
    struct numbers list;
    assert_true(read_value("7", sl_read_each, &numbers, &list));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.at[0], 7);
    assert_true(read_value("[7, 8, 9]", sl_read_each, &numbers, &list));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.at[2], 9);
    assert_true(read_value("[]", sl_read_each, &numbers, &list));
    assert_int_equal(list.count, 0);
}

TEST(every_wrong_element_of_a_list_is_reported)
{
    struct numbers list;
    assert_false(read_value("[0, 5, x, [6]]", sl_read_each, &numbers, &list));
    assert_int_equal(report.count, 3);
    assert_int_equal(report.problems[0].mark.column, 5);
    assert_int_equal(report.problems[1].mark.column, 11);
    assert_int_equal(report.problems[2].mark.column, 14);
}

TEST(words_are_joined_as_people_list_them)
{
    assert_string_equal(sl_words_join(&arena, (const char *const[]){ "a", NULL }, "or"), "`a`");
    assert_string_equal(sl_words_join(&arena, (const char *const[]){ "a", "b", NULL }, "or"),
                        "`a` or `b`");
    assert_string_equal(sl_words_join(&arena, (const char *const[]){ "a", "b", "c", NULL }, "and"),
                        "`a`, `b` and `c`");
}

TESTS_WITH(NULL, release)
