#include <stdlib.h>

#include "rules/tree/report.h"
#include "unit/base/unit.h"

static struct sl_mark at(uint32_t line, uint32_t column)
{
    return (struct sl_mark){ line, column };
}

/* What a report prints; the caller frees it. */
static char *printed(struct sl_report *report)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    sl_report_print(report, out);
    fclose(out);
    return text;
}

static void assert_printed(struct sl_report *report, const char *expected)
{
    char *text = printed(report);
    assert_string_equal(text, expected);
    free(text);
    sl_report_release(report);
}

TEST(an_empty_report_prints_nothing)
{
    struct sl_report report = { .file = "r.yaml" };
    assert_printed(&report, "");
}

TEST(problems_come_out_in_the_order_of_the_file)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_error(&report, at(9, 1), "third");
    sl_report_error(&report, at(2, 7), "second");
    sl_report_error(&report, at(2, 3), "first");
    assert_printed(&report, "r.yaml:2:3: first\nr.yaml:2:7: second\nr.yaml:9:1: third\n");
}

TEST(problems_of_one_place_stay_in_the_order_they_were_found)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_error(&report, at(5, 1), "b");
    for (int i = 0; i < 3; i++)
        sl_report_error(&report, at(2, 1), "a%d", i);
    assert_printed(&report, "r.yaml:2:1: a0\nr.yaml:2:1: a1\nr.yaml:2:1: a2\nr.yaml:5:1: b\n");
}

TEST(a_warning_says_so_and_is_no_error)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_warning(&report, at(1, 2), "odd");
    assert_int_equal(report.errors, 0);
    assert_int_equal(report.count, 1);
    assert_printed(&report, "r.yaml:1:2: warning: odd\n");
}

TEST(a_problem_of_the_whole_file_has_no_place_and_comes_first)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_error(&report, at(1, 1), "there");
    sl_report_error(&report, at(0, 0), "everywhere");
    assert_printed(&report, "r.yaml: everywhere\nr.yaml:1:1: there\n");
}

TEST(what_is_said_last_has_no_place_either)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_warning(&report, SL_MARK_LAST, "and more");
    sl_report_warning(&report, at(7, 1), "there");
    assert_printed(&report, "r.yaml:7:1: warning: there\nr.yaml: warning: and more\n");
}

TEST(each_subject_has_its_problems_together_behind_the_files)
{
    struct sl_report report = { .file = "r.yaml" };
    const char *a = sl_report_subject(&report, "rule", "a");
    const char *b = sl_report_subject(&report, "rule", "b");
    report.subject = b;
    sl_report_error(&report, at(1, 9), "b, second");
    report.subject = a;
    sl_report_warning(&report, at(7, 1), "a");
    report.subject = NULL;
    sl_report_warning(&report, SL_MARK_LAST, "and more");
    sl_report_error(&report, at(9, 9), "the file");
    report.subject = sl_report_subject(&report, "rule", "b");
    sl_report_error(&report, at(1, 2), "b, first");
    sl_report_error(&report, at(0, 0), "b, as a whole");
    assert_int_equal(report.errors, 4);
    assert_null(report.problems[0].subject);
    assert_string_equal(report.problems[1].subject, "rule `a`");
    assert_printed(&report, "r.yaml:9:9: the file\n"
                            "rule `a`:7:1: warning: a\n"
                            "rule `b`: b, as a whole\n"
                            "rule `b`:1:2: b, first\n"
                            "rule `b`:1:9: b, second\n"
                            "r.yaml: warning: and more\n");
    assert_null(report.subject); /* a report that was released begins with the file */
}

TEST(a_subject_is_printable_and_cut_if_no_name_is_so_long)
{
    struct sl_report report = { 0 };
    char name[200] = "";
    memset(name, 'x', 129); /* a tenant's own rule at its longest */
    assert_int_equal(strlen(sl_report_subject(&report, "rule", name)), 129 + strlen("rule ``"));
    memset(name, 'x', sizeof name - 1);
    assert_true(strlen(sl_report_subject(&report, "rule", name)) < 100);
    assert_string_equal(sl_report_subject(&report, "tier", "a\nb\xff\xc3"), "tier `a?b??`");
    sl_report_release(&report);
}

TEST(what_is_no_utf8_is_shown_as_question_marks)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_error(&report, at(1, 1), "%s",
                    "\xff\xc3\xa9\xe2\x82 \xed\xa0\x80\xf0\x9f\x98\x80\xc3");
    assert_printed(&report, "r.yaml:1:1: ?\xc3\xa9?? ???\xf0\x9f\x98\x80?\n");
}

TEST(a_problem_is_one_line_whatever_it_quotes)
{
    struct sl_report report = { .file = "r.yaml" };
    sl_report_error(&report, at(1, 1), "`%s`",
                    "a\nb\033[2Jc\x7f\xc2\x9b"
                    "d\xc3\xa9");
    assert_printed(&report, "r.yaml:1:1: `a?b?[2Jc???d\xc3\xa9`\n");
}

TEST(problems_beyond_the_most_are_counted)
{
    struct sl_report report = { .file = "r.yaml" };
    for (uint32_t i = 0; i < SL_REPORT_MAX + 2; i++)
        sl_report_error(&report, at(i + 1, 1), "no");
    assert_int_equal(sl_report_kept(&report), SL_REPORT_MAX);
    assert_int_equal(report.count, SL_REPORT_MAX + 2);
    assert_int_equal(report.errors, SL_REPORT_MAX + 2);
    char *text = printed(&report);
    assert_non_null(strstr(text, "r.yaml:1000:1: no\nr.yaml: 2 more problems are not shown\n"));
    assert_null(strstr(text, "r.yaml:1001:"));
    free(text);
    sl_report_release(&report);
}

TEST(a_long_text_is_quoted_up_to_a_whole_character)
{
    struct sl_report report = { 0 };
    char text[80];
    memset(text, 'x', sizeof text);
    memcpy(text + 59, "\xc3\xa9", 2); /* the 60th byte is inside it */
    const char *quote = sl_report_quote(&report, (struct sluice_text){ text, sizeof text });
    assert_int_equal(strlen(quote), 59 + strlen("…"));
    assert_string_equal(quote + 59, "…");
    assert_string_equal(sl_report_quote(&report, SL_TEXT("a\0b")), "a?b");
    assert_string_equal(sl_report_quote(&report, (struct sluice_text){ 0 }), "");
    sl_report_release(&report);
}

static const char *const keys[] = { "name",   "per",    "capacity", "refill_rate",
                                    "window", "shadow", "ips",      NULL };

TEST(a_slip_of_the_fingers_is_recognised)
{
    assert_string_equal(sl_did_you_mean(SL_TEXT("capcity"), keys), "capacity");
    assert_string_equal(sl_did_you_mean(SL_TEXT("capaicty"), keys), "capacity");
    assert_string_equal(sl_did_you_mean(SL_TEXT("Capacity"), keys), "capacity");
    assert_string_equal(sl_did_you_mean(SL_TEXT("refillRate"), keys), "refill_rate");
    assert_string_equal(sl_did_you_mean(SL_TEXT("refill-rate"), keys), "refill_rate");
    assert_string_equal(sl_did_you_mean(SL_TEXT("nmae"), keys), "name");
    assert_string_equal(sl_did_you_mean(SL_TEXT("pre"), keys), "per");
    assert_string_equal(sl_did_you_mean(SL_TEXT("ip"), keys), "ips");
}

TEST(short_words_are_not_like_every_other)
{
    assert_null(sl_did_you_mean(SL_TEXT("tls"), keys));
    assert_null(sl_did_you_mean(SL_TEXT("p"), keys));
    assert_null(sl_did_you_mean(SL_TEXT(""), keys));
    assert_null(sl_did_you_mean(SL_TEXT("limit"), keys));
    assert_null(sl_did_you_mean(SL_TEXT("flux_capacitor"), keys));
}

TEST(a_word_without_end_is_like_none)
{
    char word[4096];
    memset(word, 'a', sizeof word);
    assert_null(sl_did_you_mean((struct sluice_text){ word, sizeof word }, keys));
}
